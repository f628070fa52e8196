"""Results of benchmark jobs, and indexes for lists of jobs sorted by other columns than time.

Revision: 0013, after 0012
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
ID = sa.String(length=36)
INDEXES = (
    ("ix_jobs_user_id_name", "jobs", ["user_id", "name"]),
    ("ix_jobs_user_id_ended_at", "jobs", ["user_id", "ended_at"]),
    ("ix_batch_jobs_owner_id_template", "batch_jobs", ["owner_id", "template"]),
    ("ix_benchmark_runs_user_id_ended_at", "benchmark_runs", ["user_id", "ended_at"]),
    ("ix_benchmark_runs_ended_at", "benchmark_runs", ["ended_at"]),
)


def upgrade() -> None:
    op.create_table(
        "benchmark_runs",
        sa.Column("job_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("template", sa.String(length=100), nullable=False),
        sa.Column("gpu_type", sa.String(length=100)),
        sa.Column("gpus", sa.Integer(), nullable=False),
        sa.Column("nodes", sa.Integer(), nullable=False),
        sa.Column("device", sa.String(length=100)),
        sa.Column("figures", sa.JSON(), nullable=False),
        sa.Column("ended_at", TIME, nullable=False),
        sa.Column("read_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], ondelete="CASCADE", name="fk_benchmark_runs_job_id_jobs"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_benchmark_runs_user_id_users"),
        sa.PrimaryKeyConstraint("job_id", name="pk_benchmark_runs"),
    )
    for name, table, columns in INDEXES:
        op.create_index(name, table, columns)


def downgrade() -> None:
    for name, table, _ in reversed(INDEXES):
        op.drop_index(name, table)
    op.drop_table("benchmark_runs")
