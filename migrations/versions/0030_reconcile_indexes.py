"""The reconcile loop finds wanted TensorBoards, and sessions that the hub has, along an index.

Revision: 0030, after 0029
"""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _create_index("ix_tensorboards_wanted", "tensorboards", "wanted", "wanted = 1", "wanted")
    at_hub = "server_env IS NOT NULL"
    _create_index("ix_sessions_at_hub", "sessions", "id", at_hub, at_hub)


def downgrade() -> None:
    op.drop_index("ix_sessions_at_hub", "sessions")
    op.drop_index("ix_tensorboards_wanted", "tensorboards")


def _create_index(name: str, table: str, column: str, sqlite: str, postgresql: str) -> None:
    op.create_index(
        name, table, [column], sqlite_where=sa.text(sqlite), postgresql_where=sa.text(postgresql)
    )
