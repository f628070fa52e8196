"""Logins of programs on users' devices, confirmed in the browser.

Revision: 0032, after 0031
"""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

TABLE = "device_logins"
TIME = sa.DateTime(timezone=True)
ID = sa.String(length=36)
HASH = sa.String(length=64)
ADDRESS = sa.String(length=45)
INDEXED = ("expires_at", "network", "user_id")


def upgrade() -> None:
    op.create_table(
        TABLE,
        sa.Column("id", ID, nullable=False),
        sa.Column("device_code_hash", HASH, nullable=False),
        sa.Column("user_code_hash", HASH, nullable=False),
        sa.Column("device", sa.String(length=60), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("ip", ADDRESS, nullable=False),
        sa.Column("network", ADDRESS, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("polled_at", TIME),
        sa.Column("approved", sa.Boolean()),
        sa.Column("user_id", ID),
        sa.Column("days", sa.Integer()),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=f"fk_{TABLE}_user_id_users", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=f"pk_{TABLE}"),
        sa.UniqueConstraint("device_code_hash", name=f"uq_{TABLE}_device_code_hash"),
        sa.UniqueConstraint("user_code_hash", name=f"uq_{TABLE}_user_code_hash"),
    )
    for column in INDEXED:
        op.create_index(f"ix_{TABLE}_{column}", TABLE, [column])


def downgrade() -> None:
    op.drop_table(TABLE)
