"""The kind of browser of a failed login: unknown, known, or with a web session.

Revision: 0020, after 0019
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    browser = sa.Column("browser", sa.String(length=80), nullable=False, server_default="")
    op.add_column("login_failures", browser)


def downgrade() -> None:
    op.drop_column("login_failures", "browser")
