"""The names in the TLS certificates of sessions and TensorBoards; none: they serve plain HTTP.

Revision: 0017, after 0016
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("tls_name", sa.String(length=100)))
    op.add_column("tensorboards", sa.Column("tls_name", sa.String(length=100)))


def downgrade() -> None:
    op.drop_column("tensorboards", "tls_name")
    op.drop_column("sessions", "tls_name")
