"""Logging in, staying logged in, and being asked for the password again.

The directory alone knows passwords; the browser holds a random token, the database its hash.
"""

import hashlib
import math
import re
import secrets
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import anyio
import structlog
from sqlalchemy import ColumnElement, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from portal import errors
from portal.db import Database, utcnow
from portal.ldap import Directory, Person
from portal.models import LoginFailure, Role, User, WebSession
from portal.services import people
from portal.services.audit import Action, record
from portal.settings import USERNAME_PATTERN, Settings

log = structlog.get_logger(__name__)

TOUCH_EVERY = timedelta(minutes=1)
TOKEN_BYTES = 32
MAX_TOKEN_LENGTH = 100


@dataclass(frozen=True)
class Accounts:
    """What the functions below need; one instance per application."""

    settings: Settings
    database: Database
    directory: Directory


@dataclass(frozen=True)
class Caller:
    """Where a request comes from, for the rate limit and the audit."""

    ip: str
    user_agent: str = ""


def hash_token(token: str) -> str:
    """SHA-256 is enough for 256 random bits; a slow hash is for what people choose."""
    return hashlib.sha256(token.encode()).hexdigest()


async def login(
    accounts: Accounts, username: str, password: str, caller: Caller
) -> tuple[User, str]:
    """Check the password and open a web session; returns the user and the cookie's token.

    Raises TooManyAttempts, WrongCredentials (AccountLocked, PasswordExpired), Forbidden for the
    disabled and for those outside the portal's groups, DirectoryUnavailable.
    """
    person = await _check(accounts, username, password, caller, Action.LOGIN_FAILED)
    async with accounts.database.session() as db:
        user = await _upsert(db, accounts.settings, person)
        if user.disabled_at is not None:
            record(db, Action.LOGIN_FAILED, actor=user, detail={"why": "disabled"}, ip=caller.ip)
            await db.commit()
            raise errors.Forbidden("Your account in this portal is switched off.")
        user.last_login_at = utcnow()
        await people.remember(db, user, person.groups)
        token = _open_web_session(db, accounts.settings, user, caller)
        await db.execute(delete(WebSession).where(WebSession.expires_at < utcnow()))
        record(db, Action.LOGIN, actor=user, ip=caller.ip)
        await db.commit()
        return user, token


async def confirm_password(
    accounts: Accounts, session: WebSession, password: str, caller: Caller
) -> None:
    """Ask the directory again, and note in the web session when that was."""
    try:
        username = session.user.username
        await _check(accounts, username, password, caller, Action.PASSWORD_REFUSED)
    except errors.WrongCredentials as error:
        if type(error) is errors.WrongCredentials:
            message = "This isn't your password."
            field = errors.FieldError("password", message)
            raise errors.WrongCredentials(message, errors=[field]) from error
        raise
    async with accounts.database.session() as db:
        await db.execute(
            update(WebSession).where(WebSession.id == session.id).values(password_at=utcnow())
        )
        record(db, Action.PASSWORD_CONFIRMED, actor=session.user, ip=caller.ip)
        await db.commit()


async def change_password(
    accounts: Accounts, session: WebSession, current: str, new: str, caller: Caller
) -> None:
    """Set a new password in the directory, and end every other web session of this user.

    Raises InvalidInput with the directory's own reason for refusing.
    """
    user = session.user
    async with _counted(accounts, user.username, caller, Action.PASSWORD_REFUSED):
        await accounts.directory.change_password(user.username, current, new)
    async with accounts.database.session() as db:
        await db.execute(
            delete(WebSession).where(WebSession.user_id == user.id, WebSession.id != session.id)
        )
        record(db, Action.PASSWORD_CHANGED, actor=user, ip=caller.ip)
        await db.commit()


async def logout(database: Database, session: WebSession, caller: Caller) -> None:
    async with database.session() as db:
        await db.execute(delete(WebSession).where(WebSession.id == session.id))
        record(db, Action.LOGOUT, actor=session.user, ip=caller.ip)
        await db.commit()


async def resume(
    database: Database, settings: Settings, token: str, *, touch: bool = True
) -> WebSession | None:
    """The web session that a cookie's token opens, its user loaded; None when it opens nothing.

    Each use keeps the session alive, up to its fixed end; `touch=False` only looks.
    """
    if not 0 < len(token) <= MAX_TOKEN_LENGTH:
        return None
    now = utcnow()
    async with database.session() as db:
        session = await db.scalar(
            select(WebSession).where(WebSession.token_hash == hash_token(token))
        )
        if session is None or session.user.disabled_at is not None:
            return None
        idle = now - session.last_seen_at
        if session.expires_at <= now or idle >= timedelta(hours=settings.web_session_idle_hours):
            return None
        if touch and idle >= TOUCH_EVERY:
            session.last_seen_at = now
            await db.commit()
        return session


async def is_open(database: Database, web_session_id: str) -> bool:
    """Whether a web session still is: for a stream, which was let in long ago."""
    async with database.session() as db:
        session = await db.get(WebSession, web_session_id)
    if session is None or session.user.disabled_at is not None:
        return False
    return utcnow() < session.expires_at


async def by_username(database: Database, username: str) -> User | None:
    """The account of that name, if its owner has ever logged in."""
    async with database.session() as db:
        return await db.scalar(select(User).where(User.username == username))


def role_for(groups: Collection[str], settings: Settings) -> Role | None:
    """The role that these groups give; None for those who may not use the portal."""
    if set(groups) & set(settings.ldap_admin_groups):
        return Role.ADMIN
    if not settings.ldap_user_groups or set(groups) & set(settings.ldap_user_groups):
        return Role.USER
    return None


def admit(person: Person, settings: Settings) -> Role:
    """The person's role here; raises Forbidden with the reason when there is none."""
    if not re.fullmatch(USERNAME_PATTERN, person.username):
        raise errors.Forbidden("Your username has characters that the cluster can't use.")
    if person.uid is not None and person.uid < settings.min_uid:
        raise errors.Forbidden("System accounts can't use this portal.")
    role = role_for(person.groups, settings)
    if role is None:
        raise errors.Forbidden(
            "Your account isn't in a group that may use this portal; ask your administrators."
        )
    return role


async def _check(
    accounts: Accounts, username: str, password: str, caller: Caller, refused: Action
) -> Person:
    """The person, if the password is right and they may be here."""
    async with _counted(accounts, username, caller, refused):
        person = await accounts.directory.authenticate(username, password)
        admit(person, accounts.settings)
        return person


@asynccontextmanager
async def _counted(
    accounts: Accounts, username: str, caller: Caller, refused: Action
) -> AsyncIterator[None]:
    """One attempt with a password, counted before it is made, so that many at once count too.

    Success forgets the username's failures; when the directory failed, nobody did. `refused` is
    what the audit calls a failure.
    """
    attempt = await _begin_attempt(accounts, username, caller)
    mine = LoginFailure.username == username.lower()
    forget = LoginFailure.id == attempt
    try:
        yield
    except (errors.WrongCredentials, errors.Forbidden) as error:
        async with accounts.database.session() as db:
            why = {"why": type(error).__name__}
            record(db, refused, actor=username.lower(), detail=why, ip=caller.ip)
            await db.commit()
        raise
    except BaseException:
        await _forget(accounts.database, forget)
        raise
    await _forget(accounts.database, mine)


async def _forget(database: Database, which: ColumnElement[bool]) -> None:
    with anyio.CancelScope(shield=True):
        async with database.session() as db:
            await db.execute(delete(LoginFailure).where(which))
            await db.commit()


async def _begin_attempt(accounts: Accounts, username: str, caller: Caller) -> int:
    """Note the attempt; raises TooManyAttempts when the name or the address has had its share."""
    settings = accounts.settings
    now = utcnow()
    window = timedelta(minutes=settings.login_window_minutes)
    async with accounts.database.session() as db:
        await db.execute(delete(LoginFailure).where(LoginFailure.at < now - window))
        attempt = LoginFailure(username=username.lower(), ip=caller.ip, at=now)
        db.add(attempt)
        await db.flush()
        for column, value, limit in (
            (LoginFailure.username, attempt.username, settings.login_attempts),
            (LoginFailure.ip, attempt.ip, settings.login_attempts_per_address),
        ):
            found = select(func.count(), func.min(LoginFailure.at)).where(column == value)
            count, oldest = (await db.execute(found)).one()
            if count > limit:
                # No audit row: a flood must not fill the database. Rolled back: waiting helps.
                log.warning("login throttled", by=column.key, value=value[:64], ip=caller.ip)
                raise errors.TooManyAttempts(_seconds_until(oldest + window, now))
        await db.commit()
        return attempt.id


def _seconds_until(then: datetime, now: datetime) -> int:
    return max(1, math.ceil((then - now).total_seconds()))


async def _upsert(db: AsyncSession, settings: Settings, person: Person) -> User:
    """The person's row, brought up to what the directory says today."""
    user = await db.scalar(select(User).where(User.username == person.username))
    if user is None:
        user = User(username=person.username)
        db.add(user)
    user.display_name = person.display_name
    user.email = person.email
    user.uid = person.uid
    user.role = admit(person, settings)
    await db.flush()
    return user


def _open_web_session(db: AsyncSession, settings: Settings, user: User, caller: Caller) -> str:
    token = secrets.token_urlsafe(TOKEN_BYTES)
    now = utcnow()
    db.add(
        WebSession(
            token_hash=hash_token(token),
            user_id=user.id,
            created_at=now,
            last_seen_at=now,
            password_at=now,
            expires_at=now + timedelta(hours=settings.web_session_hours),
            ip=caller.ip,
            user_agent=caller.user_agent[:300],
        )
    )
    return token
