"""Limits of people and groups, and the associations that Slurm was told of.

Revision: 0008, after 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
ID = sa.String(length=36)
WHO = sa.String(length=100)
NUMBERS = ("gpus", "sessions", "jobs", "cpus", "memory_gb", "time_limit_minutes")
LISTS = ("gpus_by_type", "partitions", "accounts", "qos")


def upgrade() -> None:
    op.create_table(
        "limits",
        sa.Column("id", ID, nullable=False),
        sa.Column("scope", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        *(sa.Column(name, sa.Integer()) for name in NUMBERS),
        *(sa.Column(name, sa.JSON(none_as_null=True)) for name in LISTS),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("updated_by", WHO, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_limits"),
        sa.UniqueConstraint("scope", "name", name="uq_limits_scope_name"),
    )
    op.create_table(
        "associations",
        sa.Column("id", ID, nullable=False),
        sa.Column("account", sa.String(length=100), nullable=False),
        sa.Column("username", sa.String(length=32), nullable=False),
        *(sa.Column(name, sa.JSON(none_as_null=True)) for name in ("written", "found", "accepted")),
        sa.Column("refused", sa.String(length=500)),
        sa.Column("written_at", TIME),
        sa.Column("drift_since", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_associations"),
        sa.UniqueConstraint("account", "username", name="uq_associations_account_username"),
    )
    op.create_index("ix_associations_username", "associations", ["username"])
    op.create_index("ix_associations_drift_since", "associations", ["drift_since"])


def downgrade() -> None:
    op.drop_table("associations")
    op.drop_table("limits")
