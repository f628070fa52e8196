"""The time of a usage report gets its name.

Revision: 0022, after 0021
"""

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _rename("told_at", "reported_at")


def downgrade() -> None:
    _rename("reported_at", "told_at")


def _rename(old: str, new: str) -> None:
    op.drop_index(f"ix_session_uses_{old}", "session_uses")
    op.execute(f"ALTER TABLE session_uses RENAME COLUMN {old} TO {new}")
    op.create_index(f"ix_session_uses_{new}", "session_uses", [new])
