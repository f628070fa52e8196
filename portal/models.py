"""The tables, typed. What a row means is decided in services/ and reconcile.py, never here.

Ids are UUIDs kept as text, times are aware UTC, and nothing here needs one database's own SQL.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import uuid4

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Enum,
    ForeignKey,
    Index,
    MetaData,
    String,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from portal.db import UtcDateTime, utcnow
from spawner.model import Outcome

NAMES = {
    "ix": "ix_%(column_0_N_label)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


GROUP_NAME_LENGTH = 200


class Role(StrEnum):
    USER = "user"
    ADMIN = "admin"


class JobKind(StrEnum):
    SESSION = "session"
    JOB = "job"
    TENSORBOARD = "tensorboard"


class JobState(StrEnum):
    SUBMITTING = "submitting"
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    SUSPENDED = "suspended"
    STOPPING = "stopping"
    ENDED = "ended"


class Wanted(StrEnum):
    RUN = "run"
    STOP = "stop"


class TensorboardState(StrEnum):
    STOPPED = "stopped"
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    FAILED = "failed"


class ImportState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


def new_id() -> str:
    return str(uuid4())


def _enum(kind: type[StrEnum]) -> Enum:
    """A StrEnum as plain text, so that a new member needs no migration."""
    return Enum(
        kind,
        native_enum=False,
        create_constraint=False,
        length=16,
        values_callable=lambda members: [member.value for member in members],
    )


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy's own way to say it
        datetime: UtcDateTime(),
        dict[str, Any]: JSON(none_as_null=True),
        list[Any]: JSON(none_as_null=True),
        Role: _enum(Role),
        JobKind: _enum(JobKind),
        JobState: _enum(JobState),
        Wanted: _enum(Wanted),
        TensorboardState: _enum(TensorboardState),
        ImportState: _enum(ImportState),
        Outcome: _enum(Outcome),
    }


class User(Base):
    """Someone who has logged in at least once. `uid` is what the directory said last."""

    __tablename__ = "users"

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    username: Mapped[str] = mapped_column(String(32), unique=True)
    display_name: Mapped[str] = mapped_column(String(200), default="")
    email: Mapped[str | None] = mapped_column(String(320))
    role: Mapped[Role] = mapped_column(default=Role.USER)
    uid: Mapped[int | None] = mapped_column(BigInteger)
    disabled_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    last_login_at: Mapped[datetime | None]
    groups_at: Mapped[datetime | None]
    second_factor_reset_at: Mapped[datetime | None]


class GroupMembership(Base):
    """A group that the directory named for someone when it was last asked, at `users.groups_at`."""

    __tablename__ = "group_memberships"

    user_id: Mapped[str] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True
    )
    name: Mapped[str] = mapped_column(String(GROUP_NAME_LENGTH), primary_key=True, index=True)


class WebSession(Base):
    """One login of one browser. The cookie's token itself is never stored.

    `second_factor_at` is null for a login that gave a password only.
    """

    __tablename__ = "web_sessions"

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    last_seen_at: Mapped[datetime] = mapped_column(default=utcnow)
    expires_at: Mapped[datetime] = mapped_column(index=True)
    password_at: Mapped[datetime] = mapped_column(default=utcnow)
    second_factor_at: Mapped[datetime | None]
    ip: Mapped[str] = mapped_column(String(45), default="")
    user_agent: Mapped[str] = mapped_column(String(300), default="")

    user: Mapped[User] = relationship(lazy="joined", innerjoin=True)


class HalfLogin(Base):
    """A login whose password was right and whose second factor is still to come.

    A table of its own, so that nothing which looks for a web session can take it for one.
    """

    __tablename__ = "half_logins"

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    expires_at: Mapped[datetime] = mapped_column(index=True)

    user: Mapped[User] = relationship(lazy="joined", innerjoin=True)


class AccessToken(Base):
    """What a program of someone's shows instead of a cookie; the token itself is never stored."""

    __tablename__ = "access_tokens"
    __table_args__ = (UniqueConstraint("user_id", "name"),)

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(100))
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    scopes: Mapped[list[Any]]
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    expires_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]

    user: Mapped[User] = relationship(lazy="joined", innerjoin=True)


class SecondFactor(Base):
    """Someone's authenticator app. `secret` is encrypted; it counts once `confirmed_at` is set.

    `last_step` is the time step of the newest code that was accepted: no code counts twice.
    """

    __tablename__ = "second_factors"

    user_id: Mapped[str] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True
    )
    secret: Mapped[str] = mapped_column(String(200))
    last_step: Mapped[int] = mapped_column(BigInteger, default=0)
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    confirmed_at: Mapped[datetime | None]


class RecoveryCode(Base):
    """One of the codes that replace the authenticator app, each once; the row goes with its use."""

    __tablename__ = "recovery_codes"

    code_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)


class LoginFailure(Base):
    """One failed login; counted by username and by address, and dropped once out of the window.

    `kind` tells passwords from second factors, whose failures a right password must not forgive.
    """

    __tablename__ = "login_failures"
    __table_args__ = (
        Index("ix_login_failures_username_at", "username", "at"),
        Index("ix_login_failures_ip_at", "ip", "at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    username: Mapped[str] = mapped_column(String(256))
    ip: Mapped[str] = mapped_column(String(45))
    kind: Mapped[str] = mapped_column(String(16), default="password")
    at: Mapped[datetime] = mapped_column(default=utcnow, index=True)


class Job(Base):
    """Anything of ours in Slurm. `state` is what is, `wanted` what should be.

    `secret_hash` is the SHA-256 of what the node program must show; `version` guards updates: a
    writer who read an older row gets StaleDataError instead of overwriting. `changed_at` is when
    the row was last written, by which the reconcile loop finds it.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        Index(
            "uq_jobs_live_session_name",
            "user_id",
            "name",
            unique=True,
            sqlite_where=text("kind = 'session' AND state != 'ended'"),
            postgresql_where=text("kind = 'session' AND state != 'ended'"),
        ),
        Index("ix_jobs_user_id_created_at", "user_id", "created_at"),
        Index("ix_jobs_job_id", "job_id"),
        Index("ix_jobs_state", "state"),
        Index("ix_jobs_created_at", "created_at"),
        Index("ix_jobs_changed_at", "changed_at"),
    )

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    kind: Mapped[JobKind]
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    name: Mapped[str] = mapped_column(String(100))
    environment: Mapped[str | None] = mapped_column(String(100))
    resources: Mapped[dict[str, Any]] = mapped_column(default=dict)
    state: Mapped[JobState] = mapped_column(default=JobState.SUBMITTING)
    outcome: Mapped[Outcome | None]
    reason: Mapped[str | None] = mapped_column(Text)
    advice: Mapped[str | None] = mapped_column(Text)
    wanted: Mapped[Wanted] = mapped_column(default=Wanted.RUN)
    stale_since: Mapped[datetime | None]
    cluster: Mapped[str] = mapped_column(String(100), default="")
    job_id: Mapped[int | None]
    submit_time: Mapped[datetime | None]
    node: Mapped[str | None] = mapped_column(String(255))
    secret_hash: Mapped[str] = mapped_column(String(64), default="")
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    changed_at: Mapped[datetime | None] = mapped_column(default=utcnow, onupdate=utcnow)
    submitted_at: Mapped[datetime | None]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    expires_at: Mapped[datetime | None]
    estimated_start: Mapped[datetime | None]
    exit_code: Mapped[int | None]
    removed_at: Mapped[datetime | None]
    stop_requested_at: Mapped[datetime | None]
    version: Mapped[int] = mapped_column(default=1)

    user: Mapped[User] = relationship(lazy="joined", innerjoin=True)

    __mapper_args__ = {  # noqa: RUF012
        "polymorphic_on": "kind",
        "polymorphic_abstract": True,
        "version_id_col": version,
    }


class Session(Job):
    """One JupyterLab server: to Slurm a job, to JupyterHub a named server."""

    __tablename__ = "sessions"
    __mapper_args__ = {"polymorphic_identity": JobKind.SESSION}  # noqa: RUF012

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    logdir: Mapped[str] = mapped_column(String(4096), default="")
    target_host: Mapped[str | None] = mapped_column(String(255))
    target_port: Mapped[int | None]
    called_home_at: Mapped[datetime | None]
    server_env: Mapped[dict[str, Any] | None]
    server_args: Mapped[list[Any] | None]
    base_url: Mapped[str] = mapped_column(String(255), default="")
    adopted_at: Mapped[datetime | None]
    ready_at: Mapped[datetime | None]
    timings: Mapped[dict[str, Any]] = mapped_column(default=dict)


class BatchJob(Job):
    """A job that computes: from a template, from a free script, or `external`, submitted outside.

    `script`, `files` and `options` are what is submitted, so that a repeated try submits the same.
    The key that a client gives against submitting twice is unique for its owner; `body_hash` tells
    whether the same key came with another wish.
    """

    __tablename__ = "batch_jobs"
    __table_args__ = (  # type: ignore[assignment]  # each table has its own
        UniqueConstraint("owner_id", "idempotency_key"),
        Index("ix_batch_jobs_template", "template"),
        Index("ix_batch_jobs_usage_due", "usage_due"),
    )
    __mapper_args__ = {"polymorphic_identity": JobKind.JOB}  # noqa: RUF012

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    template: Mapped[str | None] = mapped_column(String(100))
    parameters: Mapped[dict[str, Any]] = mapped_column(default=dict)
    script: Mapped[str] = mapped_column(Text, default="", deferred=True)
    source: Mapped[str | None] = mapped_column(Text, deferred=True)
    files: Mapped[dict[str, Any]] = mapped_column(default=dict, deferred=True)
    body_hash: Mapped[str] = mapped_column(String(64), default="")
    idempotency_key: Mapped[str | None] = mapped_column(String(200))
    logdir: Mapped[str | None] = mapped_column(String(4096))
    workdir: Mapped[str | None] = mapped_column(String(4096))
    array_size: Mapped[int | None]
    requeue: Mapped[bool] = mapped_column(default=False)
    signal: Mapped[str | None] = mapped_column(String(40))
    external: Mapped[bool] = mapped_column(default=False)
    stdout_path: Mapped[str | None] = mapped_column(String(4096))
    stderr_path: Mapped[str | None] = mapped_column(String(4096))
    nodes: Mapped[list[Any]] = mapped_column(default=list)
    usage: Mapped[dict[str, Any] | None]
    usage_due: Mapped[datetime | None]
    tasks: Mapped[list[Any] | None]


class Share(Base):
    """Who else may look at a job's TensorBoard, and at nothing else: a person, or a group."""

    __tablename__ = "shares"
    __table_args__ = (
        UniqueConstraint("parent_id", "username"),
        UniqueConstraint("parent_id", "group_name"),
        CheckConstraint("(username IS NULL) <> (group_name IS NULL)", name="ck_shares_one_of_two"),
    )

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    parent_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), index=True)
    username: Mapped[str | None] = mapped_column(String(32), index=True)
    group_name: Mapped[str | None] = mapped_column(String(GROUP_NAME_LENGTH), index=True)
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class Mark(Base):
    """How far something that goes on has come: until when accounting has been read."""

    __tablename__ = "marks"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    at: Mapped[datetime]


class TensorboardJob(Job):
    """A TensorBoard's own Slurm job, in the service partition; it needs no columns of its own."""

    __mapper_args__ = {"polymorphic_identity": JobKind.TENSORBOARD}  # noqa: RUF012


class Tensorboard(Base):
    """The TensorBoard of one job or session; at most one each.

    `secret` is kept as it is, for the portal must send it with every request; it changes, with
    `run_id`, at each start.
    """

    __tablename__ = "tensorboards"

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    parent_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), unique=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"), index=True)
    logdir: Mapped[str] = mapped_column(String(4096))
    wanted: Mapped[bool] = mapped_column(default=True)
    state: Mapped[TensorboardState] = mapped_column(default=TensorboardState.STOPPED)
    reason: Mapped[str | None] = mapped_column(Text)
    host: Mapped[str | None] = mapped_column(String(255))
    port: Mapped[int | None]
    secret: Mapped[str] = mapped_column(String(100), default="")
    run_id: Mapped[str] = mapped_column(String(36), default=new_id)
    slurm_job: Mapped[str | None] = mapped_column(ForeignKey("jobs.id", ondelete="SET NULL"))
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    started_at: Mapped[datetime | None]
    last_request_at: Mapped[datetime | None]
    version: Mapped[int] = mapped_column(default=1)

    parent: Mapped[Job] = relationship(foreign_keys=[parent_id], lazy="joined", innerjoin=True)
    user: Mapped[User] = relationship(lazy="joined", innerjoin=True)

    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012


class ImageImport(Base):
    """One import of an image from a registry into a file. `state` is what is, `wanted` what should
    be.

    `reference` holds no credentials: one with any is refused before it gets here. `percent` is of
    the phase, `bytes_done` what has been fetched, of `bytes_total` once that is known; `size_bytes`
    and `sha256` are the file's.
    """

    __tablename__ = "image_imports"
    __table_args__ = (
        Index(
            "uq_image_imports_live_file",
            "file",
            unique=True,
            sqlite_where=text("state IN ('queued', 'running')"),
            postgresql_where=text("state IN ('queued', 'running')"),
        ),
    )

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    reference: Mapped[str] = mapped_column(String(600))
    file: Mapped[str] = mapped_column(String(100), index=True)
    replace: Mapped[bool] = mapped_column(default=False)
    state: Mapped[ImportState] = mapped_column(default=ImportState.QUEUED)
    wanted: Mapped[Wanted] = mapped_column(default=Wanted.RUN)
    phase: Mapped[str | None] = mapped_column(String(16))
    percent: Mapped[int | None]
    bytes_done: Mapped[int | None] = mapped_column(BigInteger)
    bytes_total: Mapped[int | None] = mapped_column(BigInteger)
    reason: Mapped[str | None] = mapped_column(Text)
    requested_by: Mapped[str] = mapped_column(String(100))
    created_at: Mapped[datetime] = mapped_column(default=utcnow, index=True)
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    size_bytes: Mapped[int | None] = mapped_column(BigInteger)
    sha256: Mapped[str | None] = mapped_column(String(64))
    version: Mapped[int] = mapped_column(default=1)

    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012


class AuditEvent(Base):
    """Who did what to what. Rows are only ever added; the actor's name outlives the account."""

    __tablename__ = "audit_events"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(default=utcnow, index=True)
    actor_id: Mapped[str | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    actor: Mapped[str] = mapped_column(String(100))
    action: Mapped[str] = mapped_column(String(64), index=True)
    target: Mapped[str] = mapped_column(String(200), default="")
    detail: Mapped[dict[str, Any]] = mapped_column(default=dict)
    ip: Mapped[str] = mapped_column(String(45), default="")
