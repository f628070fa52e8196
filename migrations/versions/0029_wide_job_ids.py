"""Job ids of a federation exceed 31 bits. SQLite's integers have 64 already.

Revision: 0029, after 0028
"""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _alter_type(sa.BigInteger())


def downgrade() -> None:
    _alter_type(sa.Integer())


def _alter_type(to: sa.Integer) -> None:
    if op.get_context().dialect.name == "postgresql":
        op.alter_column("jobs", "job_id", type_=to)
