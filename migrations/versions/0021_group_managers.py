"""The table of group managers gets its name.

Revision: 0021, after 0020
"""

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _rename("group_leaders", "group_managers")


def downgrade() -> None:
    _rename("group_managers", "group_leaders")


def _rename(old: str, new: str) -> None:
    op.drop_index(f"ix_{old}_user_id", old)
    op.rename_table(old, new)
    op.create_index(f"ix_{new}_user_id", new, ["user_id"])
