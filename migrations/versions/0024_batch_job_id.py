"""A benchmark run names its batch job `batch_job_id`: `job_id` is Slurm's number everywhere.

Revision: 0024, after 0023
"""

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _rename("job_id", "batch_job_id")


def downgrade() -> None:
    _rename("batch_job_id", "job_id")


def _rename(old: str, new: str) -> None:
    op.execute(f"ALTER TABLE benchmark_runs RENAME COLUMN {old} TO {new}")
    if op.get_context().dialect.name == "postgresql":  # SQLite cannot rename a constraint
        op.execute(
            f"ALTER TABLE benchmark_runs RENAME CONSTRAINT fk_benchmark_runs_{old}_jobs"
            f" TO fk_benchmark_runs_{new}_jobs"
        )
