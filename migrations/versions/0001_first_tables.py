"""The first tables: users, web sessions, jobs, sessions, TensorBoards, the audit log.

Revision: 0001, after nothing
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# A migration describes the schema of its time, so it must not import portal/models.
TIME = sa.DateTime(timezone=True)
ID = sa.String(length=36)
WORD = sa.String(length=16)
JSON = sa.JSON(none_as_null=True)
LIVE_SESSION = sa.text("kind = 'session' AND state != 'ended'")


def upgrade() -> None:
    op.create_table(
        "login_failures",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("username", sa.String(length=256), nullable=False),
        sa.Column("ip", sa.String(length=45), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_login_failures"),
    )
    op.create_index("ix_login_failures_at", "login_failures", ["at"])
    op.create_index("ix_login_failures_ip_at", "login_failures", ["ip", "at"])
    op.create_index("ix_login_failures_username_at", "login_failures", ["username", "at"])

    op.create_table(
        "users",
        sa.Column("id", ID, nullable=False),
        sa.Column("username", sa.String(length=32), nullable=False),
        sa.Column("display_name", sa.String(length=200), nullable=False),
        sa.Column("email", sa.String(length=320)),
        sa.Column("role", WORD, nullable=False),
        sa.Column("uid", sa.BigInteger()),
        sa.Column("disabled_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("last_login_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.UniqueConstraint("username", name="uq_users_username"),
    )
    op.create_table(
        "audit_events",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("actor_id", ID),
        sa.Column("actor", sa.String(length=100), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("target", sa.String(length=200), nullable=False),
        sa.Column("detail", JSON, nullable=False),
        sa.Column("ip", sa.String(length=45), nullable=False),
        sa.ForeignKeyConstraint(
            ["actor_id"],
            ["users.id"],
            name="fk_audit_events_actor_id_users",
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_audit_events"),
    )
    op.create_index("ix_audit_events_action", "audit_events", ["action"])
    op.create_index("ix_audit_events_at", "audit_events", ["at"])

    op.create_table(
        "jobs",
        sa.Column("id", ID, nullable=False),
        sa.Column("kind", WORD, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("environment", sa.String(length=100)),
        sa.Column("resources", JSON, nullable=False),
        sa.Column("state", WORD, nullable=False),
        sa.Column("outcome", WORD),
        sa.Column("reason", sa.Text()),
        sa.Column("advice", sa.Text()),
        sa.Column("wanted", WORD, nullable=False),
        sa.Column("stale_since", TIME),
        sa.Column("cluster", sa.String(length=100), nullable=False),
        sa.Column("job_id", sa.Integer()),
        sa.Column("submit_time", TIME),
        sa.Column("node", sa.String(length=255)),
        sa.Column("secret_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("submitted_at", TIME),
        sa.Column("started_at", TIME),
        sa.Column("ended_at", TIME),
        sa.Column("expires_at", TIME),
        sa.Column("estimated_start", TIME),
        sa.Column("exit_code", sa.Integer()),
        sa.Column("removed_at", TIME),
        sa.Column("stop_requested_at", TIME),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_jobs_user_id_users"),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    op.create_index("ix_jobs_job_id", "jobs", ["job_id"])
    op.create_index("ix_jobs_state", "jobs", ["state"])
    op.create_index("ix_jobs_user_id_created_at", "jobs", ["user_id", "created_at"])
    op.create_index(
        "uq_jobs_live_session_name",
        "jobs",
        ["user_id", "name"],
        unique=True,
        sqlite_where=LIVE_SESSION,
        postgresql_where=LIVE_SESSION,
    )

    op.create_table(
        "web_sessions",
        sa.Column("id", ID, nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("last_seen_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.Column("password_at", TIME, nullable=False),
        sa.Column("ip", sa.String(length=45), nullable=False),
        sa.Column("user_agent", sa.String(length=300), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"],
            ["users.id"],
            name="fk_web_sessions_user_id_users",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_web_sessions"),
        sa.UniqueConstraint("token_hash", name="uq_web_sessions_token_hash"),
    )
    op.create_index("ix_web_sessions_expires_at", "web_sessions", ["expires_at"])
    op.create_index("ix_web_sessions_user_id", "web_sessions", ["user_id"])

    op.create_table(
        "sessions",
        sa.Column("id", ID, nullable=False),
        sa.Column("logdir", sa.String(length=4096), nullable=False),
        sa.Column("target_host", sa.String(length=255)),
        sa.Column("target_port", sa.Integer()),
        sa.Column("called_home_at", TIME),
        sa.Column("server_env", JSON),
        sa.Column("server_args", JSON),
        sa.Column("base_url", sa.String(length=255), nullable=False),
        sa.Column("adopted_at", TIME),
        sa.Column("ready_at", TIME),
        sa.Column("timings", JSON, nullable=False),
        sa.ForeignKeyConstraint(
            ["id"],
            ["jobs.id"],
            name="fk_sessions_id_jobs",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
    )
    op.create_table(
        "tensorboards",
        sa.Column("id", ID, nullable=False),
        sa.Column("parent_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("logdir", sa.String(length=4096), nullable=False),
        sa.Column("wanted", sa.Boolean(), nullable=False),
        sa.Column("state", WORD, nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("host", sa.String(length=255)),
        sa.Column("port", sa.Integer()),
        sa.Column("secret", sa.String(length=100), nullable=False),
        sa.Column("run_id", ID, nullable=False),
        sa.Column("slurm_job", ID),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("started_at", TIME),
        sa.Column("last_request_at", TIME),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["parent_id"],
            ["jobs.id"],
            name="fk_tensorboards_parent_id_jobs",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["slurm_job"],
            ["jobs.id"],
            name="fk_tensorboards_slurm_job_jobs",
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_tensorboards_user_id_users"),
        sa.PrimaryKeyConstraint("id", name="pk_tensorboards"),
        sa.UniqueConstraint("parent_id", name="uq_tensorboards_parent_id"),
    )
    op.create_index("ix_tensorboards_user_id", "tensorboards", ["user_id"])


def downgrade() -> None:
    op.drop_table("tensorboards")
    op.drop_table("sessions")

    op.drop_table("web_sessions")

    op.drop_table("jobs")

    op.drop_table("audit_events")
    op.drop_table("users")

    op.drop_table("login_failures")
