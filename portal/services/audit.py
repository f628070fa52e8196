"""The record of who did what. One function, one list of things that are worth recording."""

from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from portal.models import AuditEvent, User

log = structlog.get_logger(__name__)

MAX_DETAIL_CHARS = 500

_token: ContextVar[str] = ContextVar("audit_token", default="")
"""The name of the access token that this request came with; each request is a task of its own."""


class Action(StrEnum):
    """Every act that leaves a trace; a name, once used, keeps its meaning."""

    LOGIN = "login"
    LOGIN_FAILED = "login.failed"
    LOGOUT = "logout"
    PASSWORD_CONFIRMED = "password.confirmed"  # noqa: S105
    PASSWORD_REFUSED = "password.refused"  # noqa: S105
    PASSWORD_CHANGED = "password.changed"  # noqa: S105
    LOGIN_HALF = "login.half"
    SECOND_FACTOR_ON = "second_factor.on"
    SECOND_FACTOR_OFF = "second_factor.off"
    SECOND_FACTOR_REFUSED = "second_factor.refused"
    SECOND_FACTOR_RESET = "second_factor.reset"
    RECOVERY_CODE_USED = "recovery_code.used"
    RECOVERY_CODES_NEW = "recovery_codes.new"
    TOKEN_CREATED = "token.created"  # noqa: S105
    TOKEN_REVOKED = "token.revoked"  # noqa: S105
    SESSION_START = "session.start"
    SESSION_STOP = "session.stop"
    SESSION_REMOVE = "session.remove"
    SESSION_STOP_BY_ADMIN = "session.stop_by_admin"
    JOB_SUBMIT = "job.submit"
    JOB_CANCEL = "job.cancel"
    JOB_REMOVE = "job.remove"
    SHARE_ADD = "share.add"
    SHARE_REMOVE = "share.remove"
    TENSORBOARD_START = "tensorboard.start"
    TENSORBOARD_STOP = "tensorboard.stop"
    IMAGE_IMPORT = "image.import"
    IMAGE_CANCEL = "image.cancel"
    IMAGE_DELETE = "image.delete"
    PERSON_CREATE = "person.create"
    PERSON_EDIT = "person.edit"
    PERSON_LOCK = "person.lock"
    PERSON_UNLOCK = "person.unlock"
    PERSON_PASSWORD = "person.password"  # noqa: S105
    PEOPLE_IMPORT = "people.import"
    HOME_REQUEST = "home.request"
    HOME_DONE = "home.done"
    HOME_FAILED = "home.failed"
    GROUP_CREATE = "group.create"
    GROUP_DELETE = "group.delete"
    GROUP_ADD = "group.add"
    GROUP_REMOVE = "group.remove"


@dataclass(frozen=True)
class By:
    """Who does something: a user, or at the command line `cli:` and a UNIX account."""

    actor: User | str
    ip: str = ""

    @property
    def name(self) -> str:
        return self.actor.username if isinstance(self.actor, User) else self.actor


def came_with_token(name: str) -> None:
    """From now on this request's events say which of the actor's tokens it was."""
    _token.set(name)


def record(
    db: AsyncSession,
    action: Action,
    *,
    actor: User | str,
    target: str = "",
    detail: dict[str, Any] | None = None,
    ip: str = "",
) -> None:
    """Add the event to the caller's transaction, so that act and record stand or fall together."""
    name = actor.username if isinstance(actor, User) else actor
    bounded = {
        key: value[:MAX_DETAIL_CHARS] if isinstance(value, str) else value
        for key, value in (detail or {}).items()
    }
    if token := _token.get():
        bounded["token"] = token
    db.add(
        AuditEvent(
            actor_id=actor.id if isinstance(actor, User) else None,
            actor=name[:100],
            action=action.value,
            target=target[:200],
            detail=bounded,
            ip=ip[:45],
        )
    )
    log.info("audit", action=action.value, actor=name[:100], target=target[:200], ip=ip[:45])
