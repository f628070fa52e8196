"""Rate limit for password and code attempts, by account and by address.

Attempts are counted separately for unknown browsers, for each browser in which the user has logged
in before, and for each web session: guesses from elsewhere use up none of the user's own. In IPv6 a
/64 counts as one address.
"""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

import anyio
import structlog
from sqlalchemy import ColumnElement, and_, delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from portal import errors
from portal.config.settings import Settings
from portal.db import AdvisoryLock, Database, take_advisory_lock, utcnow
from portal.directory.contract import Directory
from portal.models import LoginFailure
from portal.services.audit import refused_logins
from portal.services.audit.audit import Action
from portal.services.audit.refused_logins import network_of
from portal.services.auth import known_browsers

log = structlog.get_logger(__name__)


class SecretKind(StrEnum):
    """The secret that is tried.

    Each kind is counted separately per name, so that knowing the password does not give more
    attempts at the code.
    """

    PASSWORD = "password"  # noqa: S105
    SECOND_FACTOR = "second-factor"
    USER_CODE = "device-code"


@dataclass(frozen=True)
class Caller:
    """The origin of a request, for the rate limit and the audit.

    `browser_cookie` is the cookie by which a browser proves that this user has logged in there
    before, as the browser sent it.
    """

    ip: str
    user_agent: str = ""
    browser_cookie: str = ""


@dataclass(frozen=True)
class Attempt:
    """One attempt.

    `refused` is the audit action of a failure. `directory` is asked whether a name that is unknown
    to the portal exists. `web_session_id` is set if a web session asks its own user again.
    """

    username: str
    caller: Caller
    refused: Action
    kind: SecretKind = SecretKind.PASSWORD
    directory: Directory | None = field(default=None, repr=False)
    web_session_id: str = ""

    def browser(self, settings: Settings) -> str:
        """Return the counter of this attempt: a web session, a known browser, or "" for others."""
        if self.web_session_id:
            return f"session:{self.web_session_id}"
        cookie = self.caller.browser_cookie
        nonce = known_browsers.find_nonce(settings, self.username, cookie, utcnow())
        return f"device:{nonce}" if nonce else ""


@asynccontextmanager
async def count_attempt(
    database: Database, settings: Settings, attempt: Attempt
) -> AsyncIterator[None]:
    """Count an attempt before it is made, so that concurrent attempts count too.

    Success deletes the name's failures of this kind; a correct user code deletes only its own
    attempt: otherwise users could reset the counter with codes of their own and keep guessing
    others'. If the directory failed, the attempt is not counted. Raises TooManyAttempts if the
    limit of the name or the address is exceeded.
    """
    try:
        begun = await _count_attempt(database, settings, attempt)
    except errors.TooManyAttempts as error:
        await _record_refusal(database, attempt, type(error).__name__)
        raise
    name, own = attempt.username, LoginFailure.id == begun
    same = and_(LoginFailure.username == name, LoginFailure.kind == attempt.kind.value)
    try:
        yield
    except (errors.WrongCredentials, errors.Forbidden) as error:
        await _record_refusal(database, attempt, type(error).__name__)
        raise
    except BaseException:
        await _delete_failures(database, own)
        raise
    await _delete_failures(database, own if attempt.kind is SecretKind.USER_CODE else same)


async def _record_refusal(database: Database, attempt: Attempt, why: str) -> None:
    await refused_logins.note(
        database,
        attempt.refused,
        attempt.username,
        ip=attempt.caller.ip,
        why=why,
        directory=attempt.directory,
    )


async def _delete_failures(database: Database, which: ColumnElement[bool]) -> None:
    with anyio.CancelScope(shield=True):
        async with database.session() as db:
            await db.execute(delete(LoginFailure).where(which))
            await db.commit()


async def _count_attempt(database: Database, settings: Settings, attempt: Attempt) -> int:
    now = utcnow()
    window = timedelta(minutes=settings.login_window_minutes)
    name, ip, kind = attempt.username, network_of(attempt.caller.ip), attempt.kind.value
    browser = attempt.browser(settings)
    by_name = and_(
        LoginFailure.username == name, LoginFailure.kind == kind, LoginFailure.browser == browser
    )
    limits = [("username", by_name, settings.login_attempts_known_browser)]
    if not browser:
        by_address = and_(LoginFailure.ip == ip, LoginFailure.browser == "")
        limits = [
            ("username", by_name, settings.login_attempts),
            ("ip", by_address, settings.login_attempts_per_address),
        ]
    async with database.session() as db:
        await take_advisory_lock(db, AdvisoryLock.LOGIN_ATTEMPTS)
        await db.execute(delete(LoginFailure).where(LoginFailure.at < now - window))
        row = LoginFailure(username=name, ip=ip, kind=kind, browser=browser, at=now)
        db.add(row)
        await db.flush()
        for what, which, limit in limits:
            failures = select(func.count(), func.min(LoginFailure.at)).where(which)
            count, oldest = (await db.execute(failures)).one()
            if count > limit:
                # Leaving the block rolls this row back: refused attempts do not extend the wait.
                log.warning("login throttled", by=what, kind=kind, ip=ip)
                raise errors.TooManyAttempts(_seconds_until(oldest + window, now))
        await db.commit()
        return row.id


async def delete_failures(db: AsyncSession, username: str) -> None:
    """Delete all failures of an account, of every kind, in the caller's transaction."""
    await db.execute(delete(LoginFailure).where(LoginFailure.username == username))


def _seconds_until(then: datetime, now: datetime) -> int:
    return max(1, math.ceil((then - now).total_seconds()))
