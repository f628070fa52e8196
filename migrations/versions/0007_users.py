"""User management: granted roles, group managers, disabled users, home directories.

Revision: 0007, after 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
ID = sa.String(length=36)
WHO = sa.String(length=100)
WORD = sa.String(length=16)
GROUP = sa.String(length=200)

USER_COLUMNS = (
    ("directory_role", WORD),
    ("granted_role", WORD),
    ("granted_by", WHO),
    ("granted_at", TIME),
    ("disabled_by", WHO),
    ("disabled_why", sa.Text()),
    ("disabled_jobs", WORD),
    ("closed_at", TIME),
    ("closing_problem", sa.Text()),
    ("directory_wants", WORD),
    ("missing_since", TIME),
    ("files_wanted", WORD),
    ("deleted_at", TIME),
    ("former_username", sa.String(length=32)),
)


def upgrade() -> None:
    for name, kind in USER_COLUMNS:
        op.add_column("users", sa.Column(name, kind))
    op.execute("UPDATE users SET directory_role = role")
    op.create_index("ix_users_disabled_at", "users", ["disabled_at"])
    awaits = sa.Column("awaits", WORD, nullable=False, server_default="code")
    op.add_column("half_logins", awaits)
    # a lock row: serializes changes that could remove the last administrator
    op.execute("INSERT INTO marks (name, at) VALUES ('admins', '2026-01-01 00:00:00.000000')")
    _group_leaders()
    _home_runs()


def downgrade() -> None:
    op.drop_table("home_runs")
    op.drop_table("group_leaders")
    op.execute("DELETE FROM marks WHERE name = 'admins'")
    op.execute("DELETE FROM half_logins WHERE awaits <> 'code'")
    op.drop_column("half_logins", "awaits")
    op.drop_index("ix_users_disabled_at", "users")
    op.execute("UPDATE users SET role = 'user' WHERE role = 'viewer'")
    for name, _ in reversed(USER_COLUMNS):
        op.drop_column("users", name)


def _owner(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_user_id_users"
    return sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=name, ondelete="CASCADE")


def _group_leaders() -> None:
    op.create_table(
        "group_leaders",
        sa.Column("group_name", GROUP, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("created_by", WHO, nullable=False),
        _owner("group_leaders"),
        sa.PrimaryKeyConstraint("group_name", "user_id", name="pk_group_leaders"),
    )
    op.create_index("ix_group_leaders_user_id", "group_leaders", ["user_id"])


def _home_runs() -> None:
    op.create_table(
        "home_runs",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("task", WORD, nullable=False),
        sa.Column("state", WORD, nullable=False),
        sa.Column("home", sa.String(length=4096), nullable=False),
        sa.Column("uid", sa.BigInteger(), nullable=False),
        sa.Column("gid", sa.BigInteger(), nullable=False),
        sa.Column("output", sa.Text(), nullable=False),
        sa.Column("exit_code", sa.Integer()),
        sa.Column("requested_by", WHO, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("started_at", TIME),
        sa.Column("ended_at", TIME),
        _owner("home_runs"),
        sa.PrimaryKeyConstraint("id", name="pk_home_runs"),
    )
    op.create_index("ix_home_runs_user_id", "home_runs", ["user_id"])
    op.create_index("ix_home_runs_state", "home_runs", ["state"])
