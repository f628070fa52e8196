"""The base class of all tables, their ids, and the enumerations that columns hold."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import uuid4

from sqlalchemy import JSON, Enum, MetaData
from sqlalchemy.orm import DeclarativeBase

from portal.db import UtcDateTime
from spawner.slurm.model import Outcome

NAMING_CONVENTION = {
    "ix": "ix_%(column_0_N_label)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

GROUP_NAME_LENGTH = 200


class Role(StrEnum):
    """The permissions of an account: a viewer sees what an administrator sees, but cannot change
    it.
    """

    USER = "user"
    VIEWER = "viewer"
    ADMIN = "admin"


class JobsPolicy(StrEnum):
    """The fate of a disabled user's batch jobs. Sessions always end."""

    CANCEL = "cancel"
    LEAVE = "leave"


class AccountState(StrEnum):
    """The state of an account that the portal still has to write to the directory."""

    DISABLED = "disabled"
    ENABLED = "enabled"
    DELETED = "deleted"


class HalfLoginStep(StrEnum):
    """The step that a login still needs after the correct password."""

    CODE = "code"
    PASSWORD = "password"  # noqa: S105


class HomeTask(StrEnum):
    """The tasks that the site's command performs on a home directory."""

    CREATE = "create"
    ARCHIVE = "archive"
    DELETE = "delete"


class HomeState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class LimitScope(StrEnum):
    """The target of a limit. MEMBER: each member of a group; GROUP: the total of its members."""

    DEFAULT = "default"
    MEMBER = "member"
    GROUP = "group"
    USER = "user"


class AnnouncementLevel(StrEnum):
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class JobKind(StrEnum):
    SESSION = "session"
    JOB = "job"
    TENSORBOARD = "tensorboard"


class JobState(StrEnum):
    """The state of a Slurm job of the portal. STARTING: a session that runs in Slurm, and whose
    server does not answer yet.
    """

    SUBMITTING = "submitting"
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    SUSPENDED = "suspended"
    STOPPING = "stopping"
    ENDED = "ended"


class Wanted(StrEnum):
    """The desired state of a job or of an image import."""

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


def _enum_column(kind: type[StrEnum]) -> Enum:
    """Return a column type that stores a StrEnum as plain text, so that a new member needs no
    migration.
    """
    return Enum(
        kind,
        native_enum=False,
        create_constraint=False,
        length=16,
        values_callable=lambda members: [member.value for member in members],
    )


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMING_CONVENTION)
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy declares it as a mutable class attribute
        datetime: UtcDateTime(),
        dict[str, Any]: JSON(none_as_null=True),
        list[Any]: JSON(none_as_null=True),
        Role: _enum_column(Role),
        JobsPolicy: _enum_column(JobsPolicy),
        AccountState: _enum_column(AccountState),
        HalfLoginStep: _enum_column(HalfLoginStep),
        HomeTask: _enum_column(HomeTask),
        HomeState: _enum_column(HomeState),
        LimitScope: _enum_column(LimitScope),
        AnnouncementLevel: _enum_column(AnnouncementLevel),
        JobKind: _enum_column(JobKind),
        JobState: _enum_column(JobState),
        Wanted: _enum_column(Wanted),
        TensorboardState: _enum_column(TensorboardState),
        ImportState: _enum_column(ImportState),
        Outcome: _enum_column(Outcome),
    }
