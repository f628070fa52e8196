"""Batch jobs, the users who may view their TensorBoards, and the position reached in accounting.

Revision: 0002, after 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
ID = sa.String(length=36)
PATH = sa.String(length=4096)
JSON = sa.JSON(none_as_null=True)


def upgrade() -> None:
    op.create_table(
        "batch_jobs",
        sa.Column("id", ID, nullable=False),
        sa.Column("owner_id", ID, nullable=False),
        sa.Column("template", sa.String(length=100)),
        sa.Column("parameters", JSON, nullable=False),
        sa.Column("script", sa.Text(), nullable=False),
        sa.Column("source", sa.Text()),
        sa.Column("files", JSON, nullable=False),
        sa.Column("body_hash", sa.String(length=64), nullable=False),
        sa.Column("idempotency_key", sa.String(length=200)),
        sa.Column("logdir", PATH),
        sa.Column("workdir", PATH),
        sa.Column("array_size", sa.Integer()),
        sa.Column("requeue", sa.Boolean(), nullable=False),
        sa.Column("signal", sa.String(length=40)),
        sa.Column("external", sa.Boolean(), nullable=False),
        sa.Column("stdout_path", PATH),
        sa.Column("stderr_path", PATH),
        sa.Column("nodes", JSON, nullable=False),
        sa.Column("usage", JSON),
        sa.Column("usage_due", TIME),
        sa.Column("tasks", JSON),
        sa.ForeignKeyConstraint(
            ["id"], ["jobs.id"], name="fk_batch_jobs_id_jobs", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name="fk_batch_jobs_owner_id_users"),
        sa.PrimaryKeyConstraint("id", name="pk_batch_jobs"),
        sa.UniqueConstraint(
            "owner_id", "idempotency_key", name="uq_batch_jobs_owner_id_idempotency_key"
        ),
    )
    op.create_index("ix_batch_jobs_template", "batch_jobs", ["template"])
    op.create_index("ix_batch_jobs_usage_due", "batch_jobs", ["usage_due"])
    op.create_table(
        "shares",
        sa.Column("id", ID, nullable=False),
        sa.Column("parent_id", ID, nullable=False),
        sa.Column("username", sa.String(length=32), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["parent_id"], ["jobs.id"], name="fk_shares_parent_id_jobs", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_shares"),
        sa.UniqueConstraint("parent_id", "username", name="uq_shares_parent_id_username"),
    )
    op.create_index("ix_shares_parent_id", "shares", ["parent_id"])
    op.create_index("ix_shares_username", "shares", ["username"])
    op.create_table(
        "marks",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_marks"),
    )


def downgrade() -> None:
    op.drop_table("marks")
    op.drop_table("shares")
    op.drop_table("batch_jobs")
