"""The cluster's history, and indexes for it and for usage over time.

Revision: 0026, after 0025
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "cluster_samples",
        sa.Column("cluster", sa.String(length=100), nullable=False),
        sa.Column("step_s", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("gpus", sa.Double(), nullable=False),
        sa.Column("gpus_allocated", sa.Double(), nullable=False),
        sa.Column("gpus_used", sa.Double()),
        sa.Column("cpus", sa.Double(), nullable=False),
        sa.Column("cpus_allocated", sa.Double(), nullable=False),
        sa.Column("cpus_used", sa.Double()),
        sa.Column("pending_jobs", sa.Double(), nullable=False),
        sa.Column("median_wait_s", sa.Double()),
        sa.PrimaryKeyConstraint("cluster", "step_s", "at", name="pk_cluster_samples"),
    )
    op.create_index("ix_jobs_started_at", "jobs", ["started_at"])
    sums = ["day", "username", "account", "gpu_seconds", "cpu_seconds", "jobs"]
    op.create_index("ix_usage_days_sums", "usage_days", sums)


def downgrade() -> None:
    op.drop_index("ix_usage_days_sums", "usage_days")
    op.drop_index("ix_jobs_started_at", "jobs")
    op.drop_table("cluster_samples")
