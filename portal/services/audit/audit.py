"""The audit log: the actions that are recorded, and the function that records them.

Search is in services/audit/search.py, retention in services/audit/retention.py.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from portal.models import AuditEvent, Job, User
from spawner.names import replace_unprintable

log = structlog.get_logger(__name__)

PORTAL = "portal"  # the actor of what the portal does by itself
UNKNOWN = "\ufffd"  # instead of a character that is not printable
MAX_DETAIL_CHARS = 500
MAX_DETAIL_ENTRIES = 100
MAX_DETAIL_DEPTH = 4
_SECRETS = {"password", "new_password", "current_password", "code", "secret", "token", "cookie"}

_token: ContextVar[str] = ContextVar("audit_token", default="")
"""The access token's name that this request was authenticated with, if any.

Each request runs in a task of its own.
"""
_request: ContextVar[str] = ContextVar("audit_request", default="")
"""The request id, as in the response header and the log."""


class Action(StrEnum):
    """Recorded actions. A value, once used, keeps its meaning: it is stored in the database."""

    LOGIN = "login"
    LOGIN_FAILED = "login.failed"
    LOGOUT = "logout"
    LOGIN_ENDED = "login.ended"
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
    DEVICE_APPROVED = "device.approved"
    DEVICE_DENIED = "device.denied"
    USER_CODE_REFUSED = "device.code_refused"
    SESSION_START = "session.start"
    SESSION_EXTEND = "session.extend"
    SESSION_STOP = "session.stop"
    SESSION_REMOVE = "session.remove"
    SESSION_STOP_BY_ADMIN = "session.stop_by_admin"
    JOB_SUBMIT = "job.submit"
    JOB_CANCEL = "job.cancel"
    JOB_CANCEL_MANY = "job.cancel_many"
    JOB_REMOVE = "job.remove"
    JOB_REMOVE_MANY = "job.remove_many"
    FILE_DELETE = "file.delete"
    SHARE_ADD = "share.add"
    SHARE_REMOVE = "share.remove"
    APP_START = "app.start"
    APP_STOP = "app.stop"
    APP_RESTART = "app.restart"
    TENSORBOARD_START = "tensorboard.start"
    TENSORBOARD_STOP = "tensorboard.stop"
    IMAGE_IMPORT = "image.import"
    IMAGE_CANCEL = "image.cancel"
    IMAGE_DELETE = "image.delete"
    ANNOUNCEMENT_ADD = "announcement.add"
    ANNOUNCEMENT_EDIT = "announcement.edit"
    ANNOUNCEMENT_DELETE = "announcement.delete"
    AUDIT_EXPORT = "audit.export"
    AUDIT_RETENTION = "audit.retention"
    USER_CREATE = "user.create"
    USER_EDIT = "user.edit"
    USER_LOCK = "user.lock"
    USER_UNLOCK = "user.unlock"
    USER_PASSWORD = "user.password"  # noqa: S105
    USER_DISABLE = "user.disable"
    USER_ENABLE = "user.enable"
    USER_CLOSED = "user.closed"
    USER_DELETE = "user.delete"
    USER_DELETED = "user.deleted"
    USER_NUMBER = "user.number"
    ROLE_GRANT = "role.grant"
    ROLE_REVOKE = "role.revoke"
    MANAGER_ADD = "leader.add"
    MANAGER_REMOVE = "leader.remove"
    USERS_IMPORT = "users.import"
    HOME_REQUEST = "home.request"
    HOME_DONE = "home.done"
    HOME_FAILED = "home.failed"
    LIMIT_SET = "limit.set"
    LIMIT_REMOVE = "limit.remove"
    DRIFT_MEND = "drift.mend"
    DRIFT_ACCEPT = "drift.accept"
    GROUP_CREATE = "group.create"
    GROUP_DELETE = "group.delete"
    GROUP_ADD = "group.add"
    GROUP_REMOVE = "group.remove"


_FORMER_PREFIXES = {"user.": "person.", "users.": "people."}
"""Prefixes of actions, and those of the same actions in older events, which are never changed."""


def to_current_action(recorded: str) -> str:
    """Return the present name of an action, or of a prefix that ends in a dot."""
    for prefix, former in _FORMER_PREFIXES.items():
        if recorded.startswith(former):
            return prefix + recorded.removeprefix(former)
    return recorded


def list_recorded_actions(action: str) -> list[str]:
    """Return all names, the present one first, under which an action may be recorded.

    `action` may be a prefix that ends in a dot.
    """
    action = to_current_action(action)
    former = (
        old + action.removeprefix(prefix)
        for prefix, old in _FORMER_PREFIXES.items()
        if action.startswith(prefix)
    )
    return [action, *former]


@dataclass(frozen=True)
class Actor:
    """The actor of a change: a user, or `cli:` and the UNIX account for the command line."""

    actor: User | str
    ip: str = ""

    @property
    def name(self) -> str:
        return self.actor.username if isinstance(self.actor, User) else self.actor


def list_changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the changed fields as an event's detail: `{"email": {"old": …, "new": …}}`."""
    return {
        field: {"old": before.get(field), "new": new}
        for field, new in after.items()
        if before.get(field) != new
    }


def set_token_of_request(name: str) -> None:
    """Attach the name of the access token to all further events of this request."""
    _token.set(name)


def set_request_id(request_id: str) -> None:
    """Attach the request id to all further events of this task."""
    _request.set(request_id)


def record(
    db: AsyncSession,
    action: Action,
    *,
    actor: User | str,
    target: str = "",
    detail: Mapping[str, Any] | None = None,
    ip: str = "",
) -> None:
    """Add an event to the caller's transaction, so that action and event commit together.

    `detail` is JSON. Long values are truncated, and secrets (by field name) are masked.
    """
    # failed logins record the name that was typed
    name = replace_unprintable(actor.username if isinstance(actor, User) else actor, UNKNOWN)[:100]
    about = replace_unprintable(target, UNKNOWN)[:200]
    db.add(
        AuditEvent(
            actor_id=actor.id if isinstance(actor, User) else None,
            actor=name,
            action=action.value,
            target=about,
            detail=_truncate(detail or {}),
            ip=ip[:45],
            token=_token.get()[:100],
            request_id=_request.get()[:32],
        )
    )
    log.info("audit", action=action.value, actor=name, target=about, ip=ip[:45])


def prepare_job_event(
    action: Action, job: Job, by: User, ip: str, detail: Mapping[str, Any] | None = None
) -> Callable[[AsyncSession, object], None]:
    """Return a callback that records a change to a job or session in the change's transaction."""
    target = f"{job.user.username}/{job.name}"
    return lambda db, _row: record(db, action, actor=by, target=target, detail=detail, ip=ip)


def _truncate(value: Any, depth: int = MAX_DETAIL_DEPTH) -> Any:
    if isinstance(value, str):
        return value[:MAX_DETAIL_CHARS].replace("\0", UNKNOWN)
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth == 0:
        return "…"
    if isinstance(value, Mapping):
        entries = list(value.items())[:MAX_DETAIL_ENTRIES]
        return {
            str(key)[:100]: "…" if key in _SECRETS else _truncate(inner, depth - 1)
            for key, inner in entries
        }
    return [_truncate(inner, depth - 1) for inner in list(value)[:MAX_DETAIL_ENTRIES]]
