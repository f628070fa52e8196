"""Jobs have the mean use of their GPUs, and a duration; lists are sorted by it along an index.

Revision: 0031, after 0030
"""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("duration_s", sa.Integer(), nullable=True))
    if op.get_bind().dialect.name == "sqlite":
        days = "julianday(ended_at) - julianday(started_at)"
        seconds = f"MAX(0, CAST(ROUND(({days}) * 86400, 2) AS INTEGER))"
    else:
        seconds = "GREATEST(0, FLOOR(EXTRACT(EPOCH FROM ended_at - started_at)))"
    jobs = sa.table("jobs", sa.column("duration_s"), sa.column("started_at"), sa.column("ended_at"))
    both = jobs.c.started_at.is_not(None) & jobs.c.ended_at.is_not(None)
    op.execute(jobs.update().where(both).values(duration_s=sa.literal_column(seconds)))
    op.add_column("batch_jobs", sa.Column("gpu_percent", sa.Double(), nullable=True))
    op.create_index("ix_jobs_user_id_duration_s", "jobs", ["user_id", "duration_s"])


def downgrade() -> None:
    op.drop_index("ix_jobs_user_id_duration_s", "jobs")
    op.drop_column("batch_jobs", "gpu_percent")
    op.drop_column("jobs", "duration_s")
