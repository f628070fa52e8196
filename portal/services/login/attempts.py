"""Tries at a password or a code, counted by name and by address, so that nobody tries for long."""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

import anyio
import structlog
from sqlalchemy import ColumnElement, and_, delete, func, select

from portal import errors
from portal.db import Database, one_by_one, utcnow
from portal.directory.contract import Directory
from portal.models import LoginFailure
from portal.services.audit.audit import Action
from portal.services.login import refusals
from portal.settings import Settings

log = structlog.get_logger(__name__)
TRIES = 1


class Kind(StrEnum):
    """What is tried; each has a count of its own for a name, so that knowing the password doesn't
    buy more tries at the code."""

    PASSWORD = "password"  # noqa: S105
    SECOND_FACTOR = "second-factor"


@dataclass(frozen=True)
class Caller:
    """Where a request comes from, for the rate limit and the audit."""

    ip: str
    user_agent: str = ""


@dataclass(frozen=True)
class Attempt:
    """One try; `refused` is what the audit calls a failure. `directory` says whether a name that
    the portal doesn't know is somebody's."""

    username: str
    caller: Caller
    refused: Action
    kind: Kind = Kind.PASSWORD
    directory: Directory | None = field(default=None, repr=False)


@asynccontextmanager
async def counted(database: Database, settings: Settings, attempt: Attempt) -> AsyncIterator[None]:
    """One try, counted before it is made, so that many at once count too.

    Success forgets the name's failures of this kind; when the directory failed, nobody did. Raises
    TooManyAttempts when the name or the address has had its share.
    """
    try:
        begun = await _begin(database, settings, attempt)
    except errors.TooManyAttempts as error:
        await _write_down(database, attempt, type(error).__name__)
        raise
    name = attempt.username.lower()
    mine = and_(LoginFailure.username == name, LoginFailure.kind == attempt.kind.value)
    try:
        yield
    except (errors.WrongCredentials, errors.Forbidden) as error:
        await _write_down(database, attempt, type(error).__name__)
        raise
    except BaseException:
        await _forget(database, LoginFailure.id == begun)
        raise
    await _forget(database, mine)


async def _write_down(database: Database, attempt: Attempt, why: str) -> None:
    await refusals.note(
        database,
        attempt.refused,
        attempt.username.lower(),
        ip=attempt.caller.ip,
        why=why,
        directory=attempt.directory,
    )


async def _forget(database: Database, which: ColumnElement[bool]) -> None:
    with anyio.CancelScope(shield=True):
        async with database.session() as db:
            await db.execute(delete(LoginFailure).where(which))
            await db.commit()


async def _begin(database: Database, settings: Settings, attempt: Attempt) -> int:
    now = utcnow()
    window = timedelta(minutes=settings.login_window_minutes)
    name, ip, kind = attempt.username.lower(), attempt.caller.ip, attempt.kind.value
    by_name = and_(LoginFailure.username == name, LoginFailure.kind == kind)
    async with database.session() as db:
        await one_by_one(db, TRIES)
        await db.execute(delete(LoginFailure).where(LoginFailure.at < now - window))
        row = LoginFailure(username=name, ip=ip, kind=kind, at=now)
        db.add(row)
        await db.flush()
        for what, which, limit in (
            ("username", by_name, settings.login_attempts),
            ("ip", LoginFailure.ip == ip, settings.login_attempts_per_address),
        ):
            found = select(func.count(), func.min(LoginFailure.at)).where(which)
            count, oldest = (await db.execute(found)).one()
            if count > limit:
                # Rolled back: waiting helps.
                log.warning("login throttled", by=what, kind=kind, ip=ip)
                raise errors.TooManyAttempts(_seconds_until(oldest + window, now))
        await db.commit()
        return row.id


def _seconds_until(then: datetime, now: datetime) -> int:
    return max(1, math.ceil((then - now).total_seconds()))
