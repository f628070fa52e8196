"""The tables of everything that runs in Slurm: sessions, jobs and TensorBoards, and the shares of
TensorBoards.
"""

from collections import Counter
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Index,
    Integer,
    String,
    Text,
    UniqueConstraint,
    event,
    inspect,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column, relationship

from portal.db import utcnow
from portal.models.base import (
    GROUP_NAME_LENGTH,
    Base,
    JobKind,
    JobState,
    TensorboardState,
    Wanted,
    new_id,
)
from portal.models.users import User
from spawner.slurm.model import Outcome

# In a federation, Slurm's numbers exceed 31 bits. SQLite's INTEGER has 64.
JOB_ID = BigInteger().with_variant(Integer, "sqlite")


class Job(Base):
    """A Slurm job of the portal. `state` is its actual state, `wanted` the desired one.

    Its script first claims the row: it creates `claimed` in the job's folder, which only one copy
    of the job can do; another one exits.

    `secret_hash` is the SHA-256 of the secret that the node program must present; it is empty once
    the folder of a session that was removed from its owner's list has been deleted. `version`
    guards updates: a writer that read an older row gets StaleDataError instead of overwriting.
    `changed_at` is the time of the last write; the reconcile loop finds changed rows by it.
    `submit_time` is the submission according to Slurm, by which its job is distinguished from a
    later one with the same number; `submitted_at` is the first submission. `stale_since` is since
    when Slurm has not answered, null while it does. `duration_s` follows from `started_at` and
    `ended_at`, for lists that are sorted by it.
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
        Index("ix_jobs_user_id_name", "user_id", "name"),
        Index("ix_jobs_user_id_ended_at", "user_id", "ended_at"),
        Index("ix_jobs_user_id_started_at", "user_id", "started_at"),
        Index("ix_jobs_user_id_duration_s", "user_id", "duration_s"),
        Index("ix_jobs_job_id", "job_id"),
        Index("ix_jobs_state", "state"),
        Index("ix_jobs_created_at", "created_at"),
        Index("ix_jobs_changed_at", "changed_at"),
        Index("ix_jobs_started_at", "started_at"),
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
    suggestion: Mapped[str | None] = mapped_column(Text)
    wanted: Mapped[Wanted] = mapped_column(default=Wanted.RUN)
    stale_since: Mapped[datetime | None]
    cluster: Mapped[str] = mapped_column(String(100), default="")
    job_id: Mapped[int | None] = mapped_column(JOB_ID)
    submit_time: Mapped[datetime | None]
    node: Mapped[str | None] = mapped_column(String(255))
    secret_hash: Mapped[str] = mapped_column(String(64), default="")
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    changed_at: Mapped[datetime | None] = mapped_column(default=utcnow, onupdate=utcnow)
    submitted_at: Mapped[datetime | None]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    duration_s: Mapped[int | None]
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


JOBS_TABLE = Job.metadata.tables[Job.__tablename__]


@event.listens_for(Job, "before_insert", propagate=True)
@event.listens_for(Job, "before_update", propagate=True)
def _set_duration(_mapper: object, _connection: object, job: Job) -> None:
    if job.started_at is None or job.ended_at is None:
        job.duration_s = None
    else:
        job.duration_s = max(0, int((job.ended_at - job.started_at).total_seconds()))


class Session(Job):
    """A JupyterLab server: a job in Slurm and a named server in JupyterHub.

    `server_env` is set as long as the hub has the named server, also after the session's end.
    `called_home_at` is the time at which the node program called the portal, with `target_host` and
    `target_port`; a `target_port` that is null after that means that the program has ended.

    `opens` is the path below `base_url` that its page opens with, null for JupyterLab's own choice.
    `tls_name` is the name in the certificate that the server presents; a server without one is
    reached over plain HTTP. `adopted_at` is the time at which the hub adopted the session as its
    named server, by handing over the environment that became `server_env`. `ready_at` is cleared
    when the hub releases the server, `first_ready_at` never is. `timings` are the times of the
    steps that the node program reported. `usage` is from Slurm's accounting, which is read when
    `usage_due` has come.

    `idempotency_key` and `body_hash` work as for a BatchJob; `owner_id` is repeated here because
    their uniqueness is per owner.
    """

    __tablename__ = "sessions"
    __table_args__ = (  # type: ignore[assignment]  # each table has its own
        UniqueConstraint("owner_id", "idempotency_key"),
        Index("ix_sessions_usage_due", "usage_due"),
        Index(
            "ix_sessions_at_hub",
            "id",
            sqlite_where=text("server_env IS NOT NULL"),
            postgresql_where=text("server_env IS NOT NULL"),
        ),
    )
    __mapper_args__ = {"polymorphic_identity": JobKind.SESSION}  # noqa: RUF012

    id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    owner_id: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    body_hash: Mapped[str] = mapped_column(String(64), default="", server_default="")
    idempotency_key: Mapped[str | None] = mapped_column(String(200))
    logdir: Mapped[str] = mapped_column(String(4096), default="")
    target_host: Mapped[str | None] = mapped_column(String(255))
    target_port: Mapped[int | None]
    tls_name: Mapped[str | None] = mapped_column(String(100))
    called_home_at: Mapped[datetime | None]
    first_ready_at: Mapped[datetime | None]
    server_env: Mapped[dict[str, Any] | None]
    server_args: Mapped[list[Any] | None]
    base_url: Mapped[str] = mapped_column(String(255), default="")
    opens: Mapped[str | None] = mapped_column(String(1000))
    adopted_at: Mapped[datetime | None]
    ready_at: Mapped[datetime | None]
    timings: Mapped[dict[str, Any]] = mapped_column(default=dict)
    usage: Mapped[dict[str, Any] | None]
    usage_due: Mapped[datetime | None]


SESSIONS_TABLE = Job.metadata.tables[Session.__tablename__]


class SessionMeasurements(Base):
    """The last measurements that a session's node program reported. They are the owner's claim:
    nothing verifies them.

    Kept in a separate table because reports are frequent and do not change the session.
    `idle_since` is set once the session has been idle for so long that its owner is notified.
    """

    __tablename__ = "session_uses"

    session_id: Mapped[str] = mapped_column(
        ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True
    )
    series: Mapped[dict[str, Any]]
    reported_at: Mapped[datetime] = mapped_column(index=True)
    idle_since: Mapped[datetime | None]


class BatchJob(Job):
    """A compute job: from a template, from a custom script, or `external` (submitted outside the
    portal).

    `script`, `source`, `files` and `resources` are the submitted content, stored so that a retry
    submits the same. `metrics` holds the last values of a few scalars that an ended job has logged;
    those of an array are in its `tasks`, which are long: lists read only `task_counts`, the numbers
    of its tasks by state, or by outcome for ended ones. `gpu_percent` is the mean use of the GPUs
    of an ended job, as its samplers measured it. The client's idempotency key is unique per owner;
    `body_hash` shows whether the same key came with a different request. `usage` and `usage_due`
    are as in Session.

    `lost_jobs` are the Slurm jobs that were submitted for it before, and that Slurm forgot
    (`outcome` is null) or ended before the script began: `job_id`, `submit_time`, `outcome`.
    `claim_check_since`: Slurm has ended the job, and the portal still has to find out whether its
    script began.
    """

    __tablename__ = "batch_jobs"
    __table_args__ = (  # type: ignore[assignment]  # each table has its own
        UniqueConstraint("owner_id", "idempotency_key"),
        Index("ix_batch_jobs_template", "template"),
        Index("ix_batch_jobs_owner_id_template", "owner_id", "template"),
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
    task_counts: Mapped[dict[str, Any] | None]
    metrics: Mapped[dict[str, Any] | None]
    gpu_percent: Mapped[float | None]
    lost_jobs: Mapped[list[Any] | None]
    claim_check_since: Mapped[datetime | None]


@event.listens_for(BatchJob, "before_insert")
@event.listens_for(BatchJob, "before_update")
def _set_task_counts(_mapper: object, _connection: object, job: BatchJob) -> None:
    if "tasks" in inspect(job).unloaded or job.tasks is None:
        return
    job.task_counts = dict(Counter(str(task.get("outcome") or task["state"]) for task in job.tasks))


class Share(Base):
    """A user or group with read access to a job's TensorBoard, and to nothing else."""

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


class TensorboardJob(Job):
    """The Slurm job of a TensorBoard, in the service partition. It needs no columns of its own."""

    __mapper_args__ = {"polymorphic_identity": JobKind.TENSORBOARD}  # noqa: RUF012


class Tensorboard(Base):
    """The TensorBoard of one job or session; at most one each.

    `secret_hash` is the hash of the secret with which the run's program calls back, as for a Job.
    `guard_key` is stored in the clear because the portal signs every request with it
    (spawner/signing.py); it grants no access to the portal. Both change with `run_id`, at each
    start. `tls_name` is as in Session. `own_job_id` is the row of its own Slurm job (a
    TensorboardJob), null while it runs in its parent's allocation.
    """

    __tablename__ = "tensorboards"
    __table_args__ = (
        Index(
            "ix_tensorboards_wanted",
            "wanted",
            sqlite_where=text("wanted = 1"),
            postgresql_where=text("wanted"),
        ),
    )

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    parent_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), unique=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"), index=True)
    logdir: Mapped[str] = mapped_column(String(4096))
    wanted: Mapped[bool] = mapped_column(default=True)
    state: Mapped[TensorboardState] = mapped_column(default=TensorboardState.STOPPED)
    reason: Mapped[str | None] = mapped_column(Text)
    host: Mapped[str | None] = mapped_column(String(255))
    port: Mapped[int | None]
    tls_name: Mapped[str | None] = mapped_column(String(100))
    secret_hash: Mapped[str] = mapped_column(String(64), default="")
    guard_key: Mapped[str] = mapped_column(String(100), default="")
    run_id: Mapped[str] = mapped_column(String(36), default=new_id)
    own_job_id: Mapped[str | None] = mapped_column(
        "slurm_job", ForeignKey("jobs.id", ondelete="SET NULL")
    )
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    started_at: Mapped[datetime | None]
    last_request_at: Mapped[datetime | None]
    version: Mapped[int] = mapped_column(default=1)

    parent: Mapped[Job] = relationship(foreign_keys=[parent_id], lazy="joined", innerjoin=True)
    user: Mapped[User] = relationship(lazy="joined", innerjoin=True)

    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012


class Setup(Base):
    """A saved setup: an environment with resources that a user saved under a name, to start
    sessions from.
    """

    __tablename__ = "setups"
    __table_args__ = (UniqueConstraint("user_id", "name"),)

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(100))
    environment: Mapped[str] = mapped_column(String(100))
    resources: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    used_at: Mapped[datetime | None]
