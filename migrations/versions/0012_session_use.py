"""Usage of sessions: as measured on their nodes, and as reported by Slurm's accounting afterwards.

Revision: 0012, after 0011
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column("sessions", sa.Column("usage", sa.JSON()))
    op.add_column("sessions", sa.Column("usage_due", TIME))
    op.create_index("ix_sessions_usage_due", "sessions", ["usage_due"])
    op.create_table(
        "session_uses",
        sa.Column("session_id", sa.String(length=36), nullable=False),
        sa.Column("series", sa.JSON(), nullable=False),
        sa.Column("told_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"], ["jobs.id"], ondelete="CASCADE", name="fk_session_uses_session_id_jobs"
        ),
        sa.PrimaryKeyConstraint("session_id", name="pk_session_uses"),
    )
    op.create_index("ix_session_uses_told_at", "session_uses", ["told_at"])


def downgrade() -> None:
    op.drop_table("session_uses")
    op.drop_index("ix_sessions_usage_due", "sessions")
    op.drop_column("sessions", "usage_due")
    op.drop_column("sessions", "usage")
