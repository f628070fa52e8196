"""The notebook that a session's page opens with.

Revision: 0014, after 0013
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("opens", sa.String(length=1000)))


def downgrade() -> None:
    op.drop_column("sessions", "opens")
