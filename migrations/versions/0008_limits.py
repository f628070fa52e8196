"""Limits of users and groups, the associations applied to Slurm, and daily usage.

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
LISTS = ("gpus_by_type", "partitions", "accounts", "qos", "held")


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
        sa.Column("partition", sa.String(length=100), nullable=False),
        sa.Column("written", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("found", sa.JSON(none_as_null=True)),
        sa.Column("accepted", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("refused", sa.String(length=500)),
        sa.Column("tried_at", TIME),
        sa.Column("written_at", TIME),
        sa.Column("drift_since", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_associations"),
        sa.UniqueConstraint(
            "account", "username", "partition", name="uq_associations_account_username_partition"
        ),
    )
    op.create_index("ix_associations_username", "associations", ["username"])
    op.create_index("ix_associations_drift_since", "associations", ["drift_since"])
    op.create_table(
        "usage_days",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("username", sa.String(length=64), nullable=False),
        sa.Column("account", sa.String(length=100), nullable=False),
        sa.Column("gpu_seconds", sa.BigInteger(), nullable=False),
        sa.Column("cpu_seconds", sa.BigInteger(), nullable=False),
        sa.Column("jobs", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("day", "username", "account", name="pk_usage_days"),
    )
    op.create_index("ix_usage_days_username", "usage_days", ["username"])
    op.create_table(
        "usage_reads",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("read_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("day", name="pk_usage_reads"),
    )


def downgrade() -> None:
    for table in ("usage_reads", "usage_days", "associations", "limits"):
        op.drop_table(table)
