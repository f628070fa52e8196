"""The time of a job's last change, and indexes on jobs by creation and by last change.

Revision: 0005, after 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("changed_at", sa.DateTime(timezone=True)))
    op.create_index("ix_jobs_created_at", "jobs", ["created_at"])
    op.create_index("ix_jobs_changed_at", "jobs", ["changed_at"])


def downgrade() -> None:
    op.drop_index("ix_jobs_changed_at", "jobs")
    op.drop_index("ix_jobs_created_at", "jobs")
    op.drop_column("jobs", "changed_at")
