"""Access tokens, and the second factor of a login.

Revision: 0006, after 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
ID = sa.String(length=36)
HASH = sa.String(length=64)


def upgrade() -> None:
    op.add_column("users", sa.Column("second_factor_reset_at", TIME))
    op.add_column("web_sessions", sa.Column("second_factor_at", TIME))
    kind = sa.Column("kind", sa.String(length=16), nullable=False, server_default="password")
    op.add_column("login_failures", kind)
    _half_logins()
    _access_tokens()
    _second_factors()


def downgrade() -> None:
    for table in ("recovery_codes", "second_factors", "access_tokens", "half_logins"):
        op.drop_table(table)
    for table, column in (
        ("login_failures", "kind"),
        ("web_sessions", "second_factor_at"),
        ("users", "second_factor_reset_at"),
    ):
        op.drop_column(table, column)


def _owner(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_user_id_users"
    return sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=name, ondelete="CASCADE")


def _half_logins() -> None:
    op.create_table(
        "half_logins",
        sa.Column("id", ID, nullable=False),
        sa.Column("token_hash", HASH, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        _owner("half_logins"),
        sa.PrimaryKeyConstraint("id", name="pk_half_logins"),
        sa.UniqueConstraint("token_hash", name="uq_half_logins_token_hash"),
    )
    op.create_index("ix_half_logins_user_id", "half_logins", ["user_id"])
    op.create_index("ix_half_logins_expires_at", "half_logins", ["expires_at"])


def _access_tokens() -> None:
    op.create_table(
        "access_tokens",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("token_hash", HASH, nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("last_used_at", TIME),
        _owner("access_tokens"),
        sa.PrimaryKeyConstraint("id", name="pk_access_tokens"),
        sa.UniqueConstraint("token_hash", name="uq_access_tokens_token_hash"),
        sa.UniqueConstraint("user_id", "name", name="uq_access_tokens_user_id_name"),
    )


def _second_factors() -> None:
    op.create_table(
        "second_factors",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("secret", sa.String(length=200), nullable=False),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("confirmed_at", TIME),
        _owner("second_factors"),
        sa.PrimaryKeyConstraint("user_id", name="pk_second_factors"),
    )
    op.create_table(
        "recovery_codes",
        sa.Column("code_hash", HASH, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        _owner("recovery_codes"),
        sa.PrimaryKeyConstraint("code_hash", name="pk_recovery_codes"),
    )
    op.create_index("ix_recovery_codes_user_id", "recovery_codes", ["user_id"])
