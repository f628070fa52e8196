"""A list of jobs sorted by their start is read along an index.

Revision: 0027, after 0026
"""

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_jobs_user_id_started_at", "jobs", ["user_id", "started_at"])


def downgrade() -> None:
    op.drop_index("ix_jobs_user_id_started_at", "jobs")
