"""Batch jobs remember the Slurm jobs that were lost and submitted again.

Revision: 0034, after 0032
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("batch_jobs", sa.Column("lost_jobs", sa.JSON(), nullable=True))
    claim_check_since = sa.Column("claim_check_since", sa.DateTime(timezone=True), nullable=True)
    op.add_column("batch_jobs", claim_check_since)


def downgrade() -> None:
    op.drop_column("batch_jobs", "claim_check_since")
    op.drop_column("batch_jobs", "lost_jobs")
