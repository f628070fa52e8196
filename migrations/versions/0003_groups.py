"""Users' groups as reported by the directory, and sharing with a group.

Revision: 0003, after 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
ID = sa.String(length=36)
USERNAME = sa.String(length=32)
GROUP = sa.String(length=200)


def upgrade() -> None:
    op.create_table(
        "group_memberships",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("name", GROUP, nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"],
            ["users.id"],
            name="fk_group_memberships_user_id_users",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("user_id", "name", name="pk_group_memberships"),
    )
    op.create_index("ix_group_memberships_name", "group_memberships", ["name"])
    op.add_column("users", sa.Column("groups_at", TIME))
    with op.batch_alter_table("shares") as shares:
        shares.alter_column("username", existing_type=USERNAME, nullable=True)
        shares.add_column(sa.Column("group_name", GROUP))
        shares.create_unique_constraint(
            "uq_shares_parent_id_group_name", ["parent_id", "group_name"]
        )
        shares.create_check_constraint(
            "ck_shares_one_of_two", "(username IS NULL) <> (group_name IS NULL)"
        )
        shares.create_index("ix_shares_group_name", ["group_name"])


def downgrade() -> None:
    op.execute("DELETE FROM shares WHERE username IS NULL")
    with op.batch_alter_table("shares") as shares:
        shares.drop_index("ix_shares_group_name")
        shares.drop_constraint("ck_shares_one_of_two", type_="check")
        shares.drop_constraint("uq_shares_parent_id_group_name", type_="unique")
        shares.drop_column("group_name")
        shares.alter_column("username", existing_type=USERNAME, nullable=False)
    op.drop_column("users", "groups_at")
    op.drop_table("group_memberships")
