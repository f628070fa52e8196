"""What all tables share: their base class, ids, and the words their columns hold."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import uuid4

from sqlalchemy import JSON, Enum, MetaData
from sqlalchemy.orm import DeclarativeBase

from portal.db import UtcDateTime
from spawner.model import Outcome

NAMES = {
    "ix": "ix_%(column_0_N_label)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

GROUP_NAME_LENGTH = 200


class Role(StrEnum):
    """What someone may do: a viewer sees what an administrator sees, and changes nothing of it."""

    USER = "user"
    VIEWER = "viewer"
    ADMIN = "admin"


class JobsPolicy(StrEnum):
    """What becomes of the batch jobs of someone who is disabled; sessions always end."""

    CANCEL = "cancel"
    LEAVE = "leave"


class AccountState(StrEnum):
    """What the directory should hold someone for, as long as it hasn't been told."""

    DISABLED = "disabled"
    ENABLED = "enabled"
    DELETED = "deleted"


class HalfLoginStep(StrEnum):
    """What a login waits for whose password was right."""

    CODE = "code"
    PASSWORD = "password"  # noqa: S105


class HomeTask(StrEnum):
    """What the site's own command does with a home directory."""

    CREATE = "create"
    ARCHIVE = "archive"
    DELETE = "delete"


class HomeState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class LimitScope(StrEnum):
    """Whom a limit is for. MEMBER: each member of a group; GROUP: its members together."""

    DEFAULT = "default"
    MEMBER = "member"
    GROUP = "group"
    PERSON = "person"


class AnnouncementLevel(StrEnum):
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


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
        JobsPolicy: _enum(JobsPolicy),
        AccountState: _enum(AccountState),
        HalfLoginStep: _enum(HalfLoginStep),
        HomeTask: _enum(HomeTask),
        HomeState: _enum(HomeState),
        LimitScope: _enum(LimitScope),
        AnnouncementLevel: _enum(AnnouncementLevel),
        JobKind: _enum(JobKind),
        JobState: _enum(JobState),
        Wanted: _enum(Wanted),
        TensorboardState: _enum(TensorboardState),
        ImportState: _enum(ImportState),
        Outcome: _enum(Outcome),
    }
