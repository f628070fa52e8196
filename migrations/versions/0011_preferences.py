"""Users' preferences and saved setups, and the queue of e-mails to send.

Revision: 0011, after 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
ID = sa.String(length=36)


def upgrade() -> None:
    op.add_column("users", sa.Column("preferences", sa.JSON()))
    _setups()
    _mails()


def _setups() -> None:
    op.create_table(
        "setups",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("environment", sa.String(length=100), nullable=False),
        sa.Column("resources", sa.JSON(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("used_at", TIME),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], ondelete="CASCADE", name="fk_setups_user_id_users"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_setups"),
        sa.UniqueConstraint("user_id", "name", name="uq_setups_user_id_name"),
    )


def _mails() -> None:
    op.create_table(
        "mails",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("subject_id", ID, nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("next_try_at", TIME),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("sent_at", TIME),
        sa.Column("problem", sa.Text()),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], ondelete="CASCADE", name="fk_mails_user_id_users"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_mails"),
        sa.UniqueConstraint("subject_id", "event", name="uq_mails_subject_id_event"),
    )
    op.create_index("ix_mails_user_id", "mails", ["user_id"])
    op.create_index("ix_mails_next_try_at", "mails", ["next_try_at"])


def downgrade() -> None:
    op.drop_table("mails")
    op.drop_table("setups")
    op.drop_column("users", "preferences")
