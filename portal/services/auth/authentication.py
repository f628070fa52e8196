"""Login, and password confirmation during a session. Web sessions are in web_sessions.py.

Only the directory knows passwords. Users with a second factor log in with a password and a code;
between the two there is a half login, which grants no access. A one-time password (one that must be
changed) also gives only a half login: it allows the password change, for which the password must be
entered again. Users who need a second factor and have none get a web session that only allows
enrollment.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from portal import errors
from portal.background.notifier import HOMES
from portal.config.settings import Settings
from portal.context import AppContext
from portal.db import Database, utcnow
from portal.directory.contract import DirectoryUser
from portal.models import (
    AccountState,
    HalfLogin,
    HalfLoginStep,
    Role,
    User,
    WebSession,
)
from portal.services.audit import refused_logins
from portal.services.audit.audit import Action, record
from portal.services.auth import known_browsers, second_factor, web_sessions
from portal.services.auth.attempts import Attempt, Caller, count_attempt
from portal.services.identity import home_directories, memberships
from portal.services.identity.roles import NOT_ADMITTED, derive_role, is_admitted
from spawner.names import USERNAME

DELETED = "This account was deleted. Ask your administrators about it."
OTHER_NUMBER = (
    "The UID of your username in the directory has changed (now {new}, before {old}), so "
    "your account may not be the one that used this portal before. Ask your "
    "administrators to confirm the new UID."
)


class Next(StrEnum):
    """The step that a login still needs."""

    NOTHING = "none"
    CODE = "required"
    ENROLMENT = "enrolment-required"
    PASSWORD = "password-change-required"  # noqa: S105


@dataclass(frozen=True)
class LoggedIn:
    """The result of a login step: the user and the cookie's token.

    If `next` is NOTHING, the token is that of a web session; else it only allows the step that
    `next` names. `shows_reset_notice`: the user should be shown that an administrator reset their
    second factor.
    """

    user: User
    token: str
    next: Next
    shows_reset_notice: bool = False


async def login(context: AppContext, username: str, password: str, caller: Caller) -> LoggedIn:
    """Check the password, and open a web session or a half login.

    A half login is opened for users with a second factor, and for those who must change their
    password first.

    Raises TooManyAttempts, WrongCredentials (AccountLocked, AccountDisabled, PasswordExpired),
    Forbidden for deleted users and users outside the portal's groups, DirectoryUnavailable.
    """
    name = username.lower()
    known = known_browsers.find_nonce(context.settings, name, caller.browser_cookie, utcnow())
    async with _hide_existing_accounts(context.settings, is_known=bool(known)):
        if not USERNAME.fullmatch(name):
            # Not a valid user name. The directory is not queried, as it may fold the text into
            # another user's name.
            why = errors.WrongCredentials.__name__
            await refused_logins.note(context.db, Action.LOGIN_FAILED, name, ip=caller.ip, why=why)
            raise errors.WrongCredentials
        entry = await _authenticate(
            context, name, password, caller, Action.LOGIN_FAILED, one_time=True
        )
    return await _accept_password(context, entry, caller)


@asynccontextmanager
async def _hide_existing_accounts(settings: Settings, *, is_known: bool) -> AsyncIterator[None]:
    """Refuse logins in a way, and after a time, that does not reveal which accounts exist.

    A directory reports a locked account as locked whatever the password was. Only a browser in
    which the user has logged in before (`is_known`) is shown that.
    """
    clock = asyncio.get_running_loop()
    began = clock.time()
    try:
        yield
    except errors.WrongCredentials as error:
        await asyncio.sleep(began + settings.refused_login_seconds - clock.time())
        locked = isinstance(error, errors.AccountLocked) and not error.password_was_right
        if locked and not is_known:
            raise errors.WrongCredentials from error
        raise


async def _accept_password(context: AppContext, entry: DirectoryUser, caller: Caller) -> LoggedIn:
    """Open a session or half login for a user whose password was right.

    At the first login their home directory is requested.
    """
    settings = context.settings
    async with context.db.session() as db:
        user = await _upsert(db, settings, entry, caller)
        home = await home_directories.request_once(db, settings, user, entry, by=user.username)
        for table in (WebSession, HalfLogin):
            await db.execute(delete(table).where(table.expires_at < utcnow()))
        result = await _open_session(db, settings, user, entry, caller)
    if home:
        context.notifier.notify(HOMES)
    return result


async def _open_session(
    db: AsyncSession, settings: Settings, user: User, entry: DirectoryUser, caller: Caller
) -> LoggedIn:
    """Open a web session, or a half login if a step is missing, and commit."""
    step = await _find_missing_step(db, user, entry)
    if step is not None:
        token = web_sessions.open_half_login(db, user, step)
        record(db, Action.LOGIN_HALF, actor=user, detail={"awaits": step.value}, ip=caller.ip)
        await db.commit()
        follows = {HalfLoginStep.CODE: Next.CODE, HalfLoginStep.PASSWORD: Next.PASSWORD}
        return LoggedIn(user, token, follows[step])
    session, token = web_sessions.new_web_session(settings, user, caller, password_at=utcnow())
    return await _finish(db, settings, user, session, token, caller)


async def _find_missing_step(
    db: AsyncSession, user: User, entry: DirectoryUser
) -> HalfLoginStep | None:
    if entry.must_change:
        return HalfLoginStep.PASSWORD
    return HalfLoginStep.CODE if await second_factor.is_enrolled(db, user.id) else None


async def login_with_new_password(
    context: AppContext, half: HalfLogin, current: str, new: str, caller: Caller
) -> LoggedIn:
    """Continue a half login with a one-time password: change the password, then log in with it.

    A second factor may still follow. Raises InvalidInput with the directory's reason for refusing
    the new password, and what `login` raises; a wrong current password is reported at its field.
    """
    user = half.user
    await _change_password(context, user, current, new, caller)
    async with context.db.session() as db:
        for table in (WebSession, HalfLogin):
            await db.execute(delete(table).where(table.user_id == user.id))
        record(db, Action.PASSWORD_CHANGED, actor=user, ip=caller.ip)
        await db.commit()
    entry = await _authenticate(context, user.username, new, caller, Action.LOGIN_FAILED)
    return await _accept_password(context, entry, caller)


async def _change_password(
    context: AppContext,
    user: User,
    current: str,
    new: str,
    caller: Caller,
    web_session_id: str = "",
) -> None:
    """Change the password in the directory. A wrong current password counts as a failed attempt."""
    attempt = Attempt(user.username, caller, Action.PASSWORD_REFUSED, web_session_id=web_session_id)
    with _report_at_field("current_password"):
        async with count_attempt(context.db, context.settings, attempt):
            await context.directory.change_password(user.username, current, new)


@contextmanager
def _report_at_field(name: str) -> Iterator[None]:
    """Report a wrong password at this form field.

    Other account problems (subclasses of WrongCredentials) are not about the field and pass
    unchanged.
    """
    try:
        yield
    except errors.WrongCredentials as error:
        if type(error) is not errors.WrongCredentials:
            raise
        message = "This isn't your password."
        raise errors.WrongCredentials(message, errors=[errors.FieldError(name, message)]) from error


async def complete_login(
    context: AppContext, half: HalfLogin, code: str, caller: Caller
) -> LoggedIn:
    """Complete a half login with a TOTP or recovery code, and open the web session.

    Raises WrongCode, TooManyAttempts; LoginRequired if the half login was used or has ended.
    """
    settings, user = context.settings, half.user
    way = await second_factor.accept(context.db, settings, user, code, caller)
    async with context.db.session() as db:
        current = await db.get(HalfLogin, half.id)
        if current is None:
            raise errors.LoginRequired
        await db.delete(current)
        await _refuse_disabled(db, current.user, caller)
        if not is_admitted(current.user):
            error = errors.Forbidden(NOT_ADMITTED)
            await _refuse(db, current.user, {"why": "no group"}, error, caller)
        session, token = web_sessions.new_web_session(
            settings, current.user, caller, password_at=current.created_at
        )
        session.second_factor_at = utcnow()
        return await _finish(db, settings, current.user, session, token, caller, way)


async def _refuse_disabled(db: AsyncSession, user: User, caller: Caller) -> None:
    if user.disabled_at is None:
        return
    # `directory_wants`: the state that the portal still has to write to the directory
    if user.deleted_at is not None or user.directory_wants is AccountState.DELETED:
        await _refuse(db, user, {"why": "deleted"}, errors.Forbidden(DELETED), caller)
    # as once the directory has the account locked
    error = errors.AccountDisabled(password_was_right=True)
    await _refuse(db, user, {"why": "disabled"}, error, caller)


async def _refuse(
    db: AsyncSession, user: User, detail: dict[str, Any], error: errors.PortalError, caller: Caller
) -> NoReturn:
    await refused_logins.note_in(db, Action.LOGIN_FAILED, user, detail=detail, ip=caller.ip)
    await db.commit()
    raise error


async def _finish(
    db: AsyncSession,
    settings: Settings,
    user: User,
    session: WebSession,
    token: str,
    caller: Caller,
    way: second_factor.CodeKind | None = None,
) -> LoggedIn:
    """Store the web session, record the login and commit."""
    user.last_login_at = utcnow()
    db.add(session)
    await db.flush()
    detail: dict[str, Any] = {"second_factor": way.value} if way else {}
    ended = await web_sessions.end_oldest(db, user, settings.logins_per_user)
    if ended:
        detail["ended_older"] = ended
    record(db, Action.LOGIN, actor=user, detail=detail, ip=caller.ip)
    await db.commit()
    must = way is None and second_factor.is_required(user, settings)
    was_reset = second_factor.shows_reset_notice(user, utcnow())
    return LoggedIn(user, token, Next.ENROLMENT if must else Next.NOTHING, was_reset)


async def confirm_password(
    context: AppContext, session: WebSession, password: str, caller: Caller
) -> None:
    """Check the password with the directory again, and store the time in the web session."""
    name, refused = session.user.username, Action.PASSWORD_REFUSED
    with _report_at_field("password"):
        await _authenticate(context, name, password, caller, refused, web_session_id=session.id)
    async with context.db.session() as db:
        await db.execute(
            update(WebSession).where(WebSession.id == session.id).values(password_at=utcnow())
        )
        record(db, Action.PASSWORD_CONFIRMED, actor=session.user, ip=caller.ip)
        await db.commit()


async def change_password(
    context: AppContext, session: WebSession, current: str, new: str, caller: Caller
) -> None:
    """Set a new password in the directory, and end the user's other web sessions.

    Raises InvalidInput with the directory's reason for refusing it.
    """
    user = session.user
    await _change_password(context, user, current, new, caller, session.id)
    async with context.db.session() as db:
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


async def load_user_by_name(database: Database, username: str) -> User | None:
    """Return the portal's row of this name, if any."""
    async with database.session() as db:
        return await db.scalar(select(User).where(User.username == username))


def admit(entry: DirectoryUser, settings: Settings) -> Role:
    """Return the role of a directory user. Raises Forbidden with the reason if there is none."""
    if not USERNAME.fullmatch(entry.username):
        raise errors.Forbidden("Your username has characters that the cluster can't use.")
    if entry.uid is not None and entry.uid < settings.min_uid:
        raise errors.Forbidden("System accounts can't use this portal.")
    role = derive_role(entry.groups, settings)
    if role is None:
        raise errors.Forbidden(NOT_ADMITTED)
    return role


async def _authenticate(
    context: AppContext,
    username: str,
    password: str,
    caller: Caller,
    refused: Action,
    *,
    one_time: bool = False,
    web_session_id: str = "",
) -> DirectoryUser:
    """Return the directory user if the password is right and they are admitted.

    `one_time`: also accept a one-time password; the result then has `must_change` set.
    """
    attempt = Attempt(
        username, caller, refused, directory=context.directory, web_session_id=web_session_id
    )
    async with count_attempt(context.db, context.settings, attempt):
        async with _report_disabled(context, username):
            entry = await context.directory.authenticate(username, password, one_time=one_time)
        admit(entry, context.settings)
        return entry


@asynccontextmanager
async def _report_disabled(context: AppContext, username: str) -> AsyncIterator[None]:
    """Report AccountDisabled for a user disabled in the portal; the directory says "locked"."""
    try:
        yield
    except errors.AccountLocked as error:
        user = await load_user_by_name(context.db, username.lower())
        if user is not None and user.disabled_at is not None:
            raise errors.AccountDisabled from error
        raise


async def _upsert(
    db: AsyncSession, settings: Settings, entry: DirectoryUser, caller: Caller
) -> User:
    """Create or update the user's row from the directory.

    Raises AccountDisabled, and Forbidden for a deleted user or another user's row of this name.
    """
    user = await db.scalar(select(User).where(User.username == entry.username))
    if user is None:
        user = User(username=entry.username)
        db.add(user)
    await _refuse_disabled(db, user, caller)
    if not memberships.is_same(user, entry):
        detail = {"why": "another UID", "old": user.uid, "new": entry.uid}
        error = errors.Forbidden(OTHER_NUMBER.format(old=user.uid, new=entry.uid))
        await _refuse(db, user, detail, error, caller)
    user.display_name = entry.display_name
    user.email = entry.email
    user.uid = entry.uid
    user.missing_since = None
    await memberships.store_groups_and_role(db, settings, user, entry.groups)
    return user
