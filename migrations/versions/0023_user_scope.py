"""The scope of a user's limit gets its name.

Revision: 0023, after 0022
"""

from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("UPDATE limits SET scope = 'user' WHERE scope = 'person'")


def downgrade() -> None:
    op.execute("UPDATE limits SET scope = 'person' WHERE scope = 'user'")
