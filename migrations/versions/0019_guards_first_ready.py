"""A hashed secret and a guard key for each TensorBoard, and the time a session was first ready.

TensorBoards that run during the upgrade end, because their guards do not support signatures; each
can be started again.

Revision: 0019, after 0018
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

END_ALL = "UPDATE tensorboards SET wanted = false, state = 'stopped', host = NULL, port = NULL"


def upgrade() -> None:
    op.add_column("sessions", sa.Column("first_ready_at", sa.DateTime(timezone=True)))
    op.execute("UPDATE sessions SET first_ready_at = ready_at")
    _add_text("secret_hash", 64)
    _add_text("guard_key", 100)
    op.drop_column("tensorboards", "secret")
    op.execute(f"{END_ALL} WHERE wanted")


def downgrade() -> None:
    _add_text("secret", 100)
    op.drop_column("tensorboards", "guard_key")
    op.drop_column("tensorboards", "secret_hash")
    op.execute(f"{END_ALL} WHERE wanted")
    op.drop_column("sessions", "first_ready_at")


def _add_text(name: str, length: int) -> None:
    text = sa.Column(name, sa.String(length=length), nullable=False, server_default="")
    op.add_column("tensorboards", text)
