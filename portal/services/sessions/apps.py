"""Apps (web programs such as VS Code that the catalog offers) inside a running session; the
session's server lists, starts and stops them.

Nothing but the audit event of each change is stored here. What the server answers is the user's
own, so only the owner may see it, and it decides nothing but whether a change is recorded.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import structlog

from portal import errors
from portal.context import AppContext
from portal.errors import FieldError
from portal.models import JobState, Session
from portal.services.audit import audit
from portal.services.sessions import server_requests
from portal.services.sessions.server_requests import ServerAnswer
from spawner.names import remove_invisible

log = structlog.get_logger(__name__)

LIST_TIMEOUT_S = 5.0
CHANGE_TIMEOUT_S = 30.0
"""Longer than an app may take to end."""
NO_ANSWER = (
    "The session's server doesn't answer about apps. Try again, or start a new session: sessions "
    "started before the portal was upgraded don't support apps."
)
ACTIONS = {
    "PUT": audit.Action.APP_START,
    "DELETE": audit.Action.APP_STOP,
    "POST": audit.Action.APP_RESTART,
}
UNKNOWN = "unknown"
"""In the audit log, the outcome of a change without an answer."""
FIELDS = frozenset({"file", "command", "port"})
"""Fields of a request that a refusal may name."""


async def list_apps(context: AppContext, session: Session) -> list[Any]:
    """Return the apps that the session offers, as its server describes them.

    Raises NotRunning, Unavailable.
    """
    answer = await _ask(context, session, "GET", "apps", timeout_s=LIST_TIMEOUT_S)
    found = answer.body.get("apps")
    return found if isinstance(found, list) else []


async def change_app(
    context: AppContext,
    session: Session,
    method: str,
    name: str,
    given: dict[str, Any] | None = None,
    *,
    ip: str = "",
    by: str = "portal",
) -> dict[str, Any]:
    """Start an app (PUT), stop it (DELETE) or restart it (POST); return it.

    `by` is the interface that its owner used, for the audit log. A request that changed nothing is
    not recorded; one without an answer is, because it may have changed something.

    Raises NotRunning, NotFound, Conflict, InvalidInput, TooManyRequests, Unavailable.
    """
    log.info("app", action=method, app=name, user=session.user.username, session=session.id)
    with _count_change(context, f"{session.user.username} {method}") as change:
        detail = {"app": name, "by": by}
        try:
            answer = await _ask(
                context, session, method, f"apps/{name}", timeout_s=CHANGE_TIMEOUT_S, body=given
            )
        except errors.Unavailable as error:
            if not isinstance(error.__cause__, aiohttp.ClientConnectorError):  # it may have arrived
                change.is_recorded = True
                unknown = {**detail, "outcome": UNKNOWN}
                await _record(context, session, ACTIONS[method], unknown, ip)
            raise
        if answer.status != 200:
            raise _to_error(answer)
        if answer.body.get("changed") is not False:
            change.is_recorded = True
            await _record(context, session, ACTIONS[method], detail, ip)
    return answer.body


@dataclass
class _Change:
    is_recorded: bool = False


@contextmanager
def _count_change(context: AppContext, key: str) -> Iterator[_Change]:
    """Count a change against the rate limit before it is requested, so that concurrent requests
    count, too; undo this if it is not recorded. Raises TooManyRequests.
    """
    limit, change = context.app_changes, _Change()
    if (wait_s := limit.wait_s(key)) > 0:
        seconds = int(wait_s) + 1
        raise errors.TooManyRequests(
            f"Starts and stops of apps are rate limited. Try again in {seconds} seconds.",
            headers={"Retry-After": str(seconds)},
        )
    event = limit.count(key)
    try:
        yield change
    finally:
        if not change.is_recorded:
            limit.take_back(key, event)


async def _record(
    context: AppContext, session: Session, action: audit.Action, detail: dict[str, Any], ip: str
) -> None:
    """Record a change, without the command or the file: a command can contain a password."""
    async with context.db.session() as db:
        audit.prepare_job_event(action, session, session.user, ip, detail)(db, None)
        await db.commit()


def _to_error(answer: ServerAnswer) -> errors.PortalError:
    """Convert a refusal of the session's server."""
    detail, field = answer.body.get("detail"), answer.body.get("field")
    text = remove_invisible(detail)[:500] if isinstance(detail, str) else ""
    if answer.status == 422:
        fields = [FieldError(field, text)] if field in FIELDS else []
        return errors.InvalidInput(text, errors=fields)
    if answer.status == 404:
        return errors.NotFound(text)
    return errors.Conflict(text)


async def _ask(
    context: AppContext, session: Session, method: str, action: str, **options: Any
) -> ServerAnswer:
    if session.state is not JobState.RUNNING:
        raise errors.NotRunning("The session isn't running.")
    try:
        return await server_requests.ask(context, session, method, action, **options)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        log.info("a session does not answer about apps", session=session.id, error=str(error)[:200])
        raise errors.Unavailable(NO_ANSWER) from error
