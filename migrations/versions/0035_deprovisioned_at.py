"""When a disabled user was deprovisioned, and the last problem with that, get their names.

Revision: 0035, after 0034
"""

from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

RENAMED = {"closed_at": "deprovisioned_at", "closing_problem": "deprovision_problem"}


def upgrade() -> None:
    for old, new in RENAMED.items():
        op.execute(f"ALTER TABLE users RENAME COLUMN {old} TO {new}")


def downgrade() -> None:
    for old, new in RENAMED.items():
        op.execute(f"ALTER TABLE users RENAME COLUMN {new} TO {old}")
