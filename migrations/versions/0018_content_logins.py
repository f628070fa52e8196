"""Logins on the hosts of user content, and the one-time codes for them.

Revision: 0018, after 0017
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
ID = sa.String(length=36)
HASH = sa.String(length=64)
HOST = sa.String(length=255)


def upgrade() -> None:
    _make("content_logins", "token_hash", sa.Column("created_at", TIME, nullable=False))
    _make(
        "content_codes",
        "code_hash",
        sa.Column("state_hash", HASH, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
    )
    op.create_index("ix_content_codes_expires_at", "content_codes", ["expires_at"])


def downgrade() -> None:
    for table in ("content_codes", "content_logins"):
        op.drop_table(table)


def _make(table: str, secret: str, *columns: sa.Column[object]) -> None:
    of = "web_session_id"
    parent = f"fk_{table}_{of}_web_sessions"
    op.create_table(
        table,
        sa.Column("id", ID, nullable=False),
        sa.Column(secret, HASH, nullable=False),
        sa.Column(of, ID, nullable=False),
        sa.Column("host", HOST, nullable=False),
        *columns,
        sa.ForeignKeyConstraint([of], ["web_sessions.id"], name=parent, ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=f"pk_{table}"),
        sa.UniqueConstraint(secret, name=f"uq_{table}_{secret}"),
    )
    op.create_index(f"ix_{table}_{of}", table, [of])
