"""The start of a session's idle time, once it is long enough to report.

Revision: 0015, after 0014
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("session_uses", sa.Column("idle_since", sa.DateTime(timezone=True)))


def downgrade() -> None:
    op.drop_column("session_uses", "idle_since")
