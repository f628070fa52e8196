"""Imports of container images from registries.

Revision: 0004, after 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
WORD = sa.String(length=16)
LIVE_IMPORT = sa.text("state IN ('queued', 'running')")


def upgrade() -> None:
    op.create_table(
        "image_imports",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("reference", sa.String(length=600), nullable=False),
        sa.Column("file", sa.String(length=100), nullable=False),
        sa.Column("replace", sa.Boolean(), nullable=False),
        sa.Column("state", WORD, nullable=False),
        sa.Column("wanted", WORD, nullable=False),
        sa.Column("phase", WORD),
        sa.Column("percent", sa.Integer()),
        sa.Column("bytes_done", sa.BigInteger()),
        sa.Column("bytes_total", sa.BigInteger()),
        sa.Column("reason", sa.Text()),
        sa.Column("requested_by", sa.String(length=100), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("started_at", TIME),
        sa.Column("ended_at", TIME),
        sa.Column("size_bytes", sa.BigInteger()),
        sa.Column("sha256", sa.String(length=64)),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_image_imports"),
    )
    op.create_index("ix_image_imports_created_at", "image_imports", ["created_at"])
    op.create_index("ix_image_imports_file", "image_imports", ["file"])
    op.create_index(
        "uq_image_imports_live_file",
        "image_imports",
        ["file"],
        unique=True,
        sqlite_where=LIVE_IMPORT,
        postgresql_where=LIVE_IMPORT,
    )


def downgrade() -> None:
    op.drop_table("image_imports")
