"""Idempotency keys of sessions, so that a repeated request starts one session.

Revision: 0016, after 0015
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

OWNER = "fk_sessions_owner_id_users"
KEY = "uq_sessions_owner_id_idempotency_key"


def upgrade() -> None:
    with op.batch_alter_table("sessions") as sessions:
        sessions.add_column(sa.Column("owner_id", sa.String(length=36)))
        sessions.add_column(
            sa.Column("body_hash", sa.String(length=64), nullable=False, server_default="")
        )
        sessions.add_column(sa.Column("idempotency_key", sa.String(length=200)))
        sessions.create_foreign_key(OWNER, "users", ["owner_id"], ["id"])
        sessions.create_unique_constraint(KEY, ["owner_id", "idempotency_key"])


def downgrade() -> None:
    with op.batch_alter_table("sessions") as sessions:
        sessions.drop_constraint(KEY, type_="unique")
        sessions.drop_constraint(OWNER, type_="foreignkey")
        for column in ("idempotency_key", "body_hash", "owner_id"):
            sessions.drop_column(column)
