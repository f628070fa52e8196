"""Logging in, and being asked for the password again. Staying logged in is web_sessions.py.

The directory alone knows passwords. Who has a second factor is logged in by a password and a code:
between the two there is a half login, which opens nothing. Nor does that of someone whose password
is good for one change only: it opens the change, for which the password must be given again. Who
needs a second factor and has none gets a web session in which they can only enrol.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NoReturn

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from portal import errors
from portal.db import Database, utcnow
from portal.directory.contract import Directory, Person
from portal.models import (
    AccountState,
    HalfLogin,
    HalfLoginStep,
    Role,
    User,
    WebSession,
)
from portal.services.audit.audit import Action, record
from portal.services.changes import HOMES, Changes
from portal.services.login import refusals, second_factor, web_sessions
from portal.services.login.attempts import Attempt, Caller, counted
from portal.services.people import homes, people
from portal.services.people.roles import NOT_ADMITTED, is_admitted, role_for
from portal.settings import USERNAME_PATTERN, Settings

OTHER_NUMBER = (
    "The directory now gives your user name another number ({new}, before {old}), so you may be "
    "someone else than the person who used this portal by that name. Ask your administrators: "
    "they can confirm the new number."
)


@dataclass(frozen=True)
class Accounts:
    """What the functions below need; one instance per application. `admins` is held by whoever
    may cost the portal an administrator (services/people/admins.py)."""

    settings: Settings
    database: Database
    directory: Directory
    changes: Changes = field(default_factory=Changes, repr=False, compare=False)
    admins: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False, compare=False)


class Next(StrEnum):
    """What a login still needs."""

    NOTHING = "none"
    CODE = "required"
    ENROLMENT = "enrolment-required"
    PASSWORD = "password-change-required"  # noqa: S105


@dataclass(frozen=True)
class LoggedIn:
    """What came of a login: the cookie's token, and what it is good for. `next` is NOTHING for a
    web session; else the token opens only what `next` says. `told_reset`: the person should hear
    that an administrator has taken their second factor away."""

    user: User
    token: str
    next: Next
    told_reset: bool = False


async def login(accounts: Accounts, username: str, password: str, caller: Caller) -> LoggedIn:
    """Check the password and open a web session, or half of one: for those enrolled, and for those
    whose password must be changed first.

    Raises TooManyAttempts, WrongCredentials (AccountLocked, PasswordExpired), Forbidden for the
    disabled and for those outside the portal's groups, DirectoryUnavailable.
    """
    person = await _check(accounts, username, password, caller, Action.LOGIN_FAILED, one_time=True)
    return await _enter(accounts, person, caller)


async def _enter(accounts: Accounts, person: Person, caller: Caller) -> LoggedIn:
    """Let someone in whose password was right, as far as that alone does; at the first time their
    home directory is asked for."""
    settings = accounts.settings
    async with accounts.database.session() as db:
        user = await _upsert(db, settings, person, caller)
        home = await homes.request_once(db, settings, user, person, by=user.username)
        for table in (WebSession, HalfLogin):
            await db.execute(delete(table).where(table.expires_at < utcnow()))
        found = await _open(db, settings, user, person, caller)
    if home:
        accounts.changes.notify(HOMES)
    return found


async def _open(
    db: AsyncSession, settings: Settings, user: User, person: Person, caller: Caller
) -> LoggedIn:
    """A web session, or half a login where something is missing still; written."""
    step = await _missing_step(db, user, person)
    if step is not None:
        token = web_sessions.open_half_login(db, user, step)
        record(db, Action.LOGIN_HALF, actor=user, detail={"awaits": step.value}, ip=caller.ip)
        await db.commit()
        follows = {HalfLoginStep.CODE: Next.CODE, HalfLoginStep.PASSWORD: Next.PASSWORD}
        return LoggedIn(user, token, follows[step])
    session, token = web_sessions.new_web_session(settings, user, caller, password_at=utcnow())
    return await _finish(db, settings, user, session, token, caller)


async def _missing_step(db: AsyncSession, user: User, person: Person) -> HalfLoginStep | None:
    if person.must_change:
        return HalfLoginStep.PASSWORD
    return HalfLoginStep.CODE if await second_factor.is_enrolled(db, user.id) else None


async def login_with_new_password(
    accounts: Accounts, half: HalfLogin, current: str, new: str, caller: Caller
) -> LoggedIn:
    """Go on with a login whose password was good for one change: make the change, and log in with
    the new one, for which a second factor may still follow.

    Raises InvalidInput with the directory's reason for refusing the new one, and what `login`
    raises, of the current one with its field.
    """
    user = half.user
    with _about_field("current_password"):
        await _change(accounts, user, current, new, caller)
    async with accounts.database.session() as db:
        for table in (WebSession, HalfLogin):
            await db.execute(delete(table).where(table.user_id == user.id))
        record(db, Action.PASSWORD_CHANGED, actor=user, ip=caller.ip)
        await db.commit()
    person = await _check(accounts, user.username, new, caller, Action.LOGIN_FAILED)
    return await _enter(accounts, person, caller)


async def _change(accounts: Accounts, user: User, current: str, new: str, caller: Caller) -> None:
    """Tell the directory; a wrong current password counts as a failed try."""
    attempt = Attempt(user.username, caller, Action.PASSWORD_REFUSED)
    async with counted(accounts.database, accounts.settings, attempt):
        await accounts.directory.change_password(user.username, current, new)


@contextmanager
def _about_field(name: str) -> Iterator[None]:
    """A password that isn't right is said at its field; what else may be wrong with an account is
    not about the field."""
    try:
        yield
    except errors.WrongCredentials as error:
        if type(error) is not errors.WrongCredentials:
            raise
        message = "This isn't your password."
        raise errors.WrongCredentials(message, errors=[errors.FieldError(name, message)]) from error


async def complete_login(
    accounts: Accounts, half: HalfLogin, code: str, caller: Caller
) -> LoggedIn:
    """The other half of a login: a code of the app or a recovery code opens the web session.

    Raises WrongCode, TooManyAttempts; LoginRequired when the half login was used or ended.
    """
    settings, user = accounts.settings, half.user
    way = await second_factor.accept(accounts.database, settings, user, code, caller)
    async with accounts.database.session() as db:
        current = await db.get(HalfLogin, half.id)
        if current is None:
            raise errors.LoginRequired
        await db.delete(current)
        await _refuse_disabled(db, current.user, caller)
        if not is_admitted(current.user):
            await _refuse(db, current.user, {"why": "no group"}, NOT_ADMITTED, caller)
        session, token = web_sessions.new_web_session(
            settings, current.user, caller, password_at=current.created_at
        )
        session.second_factor_at = utcnow()
        return await _finish(db, settings, current.user, session, token, caller, way)


async def _refuse_disabled(db: AsyncSession, user: User, caller: Caller) -> None:
    if user.disabled_at is None:
        return
    words, why = "Your account in this portal is switched off.", "disabled"
    if user.deleted_at is not None or user.directory_wants is AccountState.DELETED:
        words, why = "This account was deleted. Ask your administrators about it.", "deleted"
    await _refuse(db, user, {"why": why}, words, caller)


async def _refuse(
    db: AsyncSession, user: User, detail: dict[str, Any], words: str, caller: Caller
) -> NoReturn:
    await refusals.note_in(db, Action.LOGIN_FAILED, user, detail=detail, ip=caller.ip)
    await db.commit()
    raise errors.Forbidden(words)


async def _finish(
    db: AsyncSession,
    settings: Settings,
    user: User,
    session: WebSession,
    token: str,
    caller: Caller,
    way: second_factor.Way | None = None,
) -> LoggedIn:
    """Write the web session and the login down."""
    user.last_login_at = utcnow()
    db.add(session)
    detail = {"second_factor": way.value} if way else {}
    record(db, Action.LOGIN, actor=user, detail=detail, ip=caller.ip)
    await db.commit()
    must = way is None and second_factor.required_of(user, settings)
    told = second_factor.told_reset(user, utcnow())
    return LoggedIn(user, token, Next.ENROLMENT if must else Next.NOTHING, told)


async def confirm_password(
    accounts: Accounts, session: WebSession, password: str, caller: Caller
) -> None:
    """Ask the directory again, and note in the web session when that was."""
    with _about_field("password"):
        await _check(accounts, session.user.username, password, caller, Action.PASSWORD_REFUSED)
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
    await _change(accounts, user, current, new, caller)
    async with accounts.database.session() as db:
        await db.execute(
            delete(WebSession).where(WebSession.user_id == user.id, WebSession.id != session.id)
        )
        await db.execute(delete(HalfLogin).where(HalfLogin.user_id == user.id))
        record(db, Action.PASSWORD_CHANGED, actor=user, ip=caller.ip)
        await db.commit()


async def logout(database: Database, session: WebSession, caller: Caller) -> None:
    async with database.session() as db:
        await db.execute(delete(WebSession).where(WebSession.id == session.id))
        record(db, Action.LOGOUT, actor=session.user, ip=caller.ip)
        await db.commit()


async def by_username(database: Database, username: str) -> User | None:
    """The account of that name, if its owner has ever logged in."""
    async with database.session() as db:
        return await db.scalar(select(User).where(User.username == username))


def admit(person: Person, settings: Settings) -> Role:
    """The person's role here; raises Forbidden with the reason when there is none."""
    if not re.fullmatch(USERNAME_PATTERN, person.username):
        raise errors.Forbidden("Your username has characters that the cluster can't use.")
    if person.uid is not None and person.uid < settings.min_uid:
        raise errors.Forbidden("System accounts can't use this portal.")
    role = role_for(person.groups, settings)
    if role is None:
        raise errors.Forbidden(NOT_ADMITTED)
    return role


async def _check(
    accounts: Accounts,
    username: str,
    password: str,
    caller: Caller,
    refused: Action,
    *,
    one_time: bool = False,
) -> Person:
    """The person, if the password is right and they may be here. `one_time`: also a password that
    is good for one change only, and then `must_change` says so."""
    attempt = Attempt(username, caller, refused, directory=accounts.directory)
    async with counted(accounts.database, accounts.settings, attempt):
        async with _switched_off(accounts, username):
            person = await accounts.directory.authenticate(username, password, one_time=one_time)
        admit(person, accounts.settings)
        return person


@asynccontextmanager
async def _switched_off(accounts: Accounts, username: str) -> AsyncIterator[None]:
    """Whom an administrator has disabled here hears that: their directory says "locked"."""
    try:
        yield
    except errors.AccountLocked as error:
        user = await by_username(accounts.database, username.lower())
        if user is not None and user.disabled_at is not None:
            raise errors.AccountDisabled from error
        raise


async def _upsert(db: AsyncSession, settings: Settings, person: Person, caller: Caller) -> User:
    """The person's row, brought up to what the directory says today. Raises Forbidden for the
    disabled, and for someone who has the name of another person's row."""
    user = await db.scalar(select(User).where(User.username == person.username))
    if user is None:
        user = User(username=person.username)
        db.add(user)
    await _refuse_disabled(db, user, caller)
    if not people.is_same(user, person):
        detail = {"why": "another number", "old": user.uid, "new": person.uid}
        await _refuse(db, user, detail, OTHER_NUMBER.format(old=user.uid, new=person.uid), caller)
    user.display_name = person.display_name
    user.email = person.email
    user.uid = person.uid
    user.missing_since = None
    await people.learn(db, settings, user, person.groups)
    return user
