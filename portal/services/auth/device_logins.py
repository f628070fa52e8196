"""Logins of programs on a user's device, confirmed in the browser: RFC 8628's flow.

A device gets two codes. It keeps the device code, 256 random bits, and shows the user code, which
its user enters on a page of the portal, logged in there. Once the user has confirmed, the device
exchanges its code for an access token, which is an ordinary one. Both codes are stored as hashes,
work once, and expire after minutes. The user code is short, so wrong ones are rate limited, and its
hash is keyed: a copy of the database does not reveal it.
"""

import hashlib
import hmac
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import ColumnElement, and_, delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from portal import errors
from portal.config.settings import Settings
from portal.db import AdvisoryLock, Database, take_advisory_lock, utcnow
from portal.models import AccessToken, DeviceLogin, User, WebSession
from portal.services.audit.audit import Action, record
from portal.services.audit.refused_logins import network_of
from portal.services.auth import tokens
from portal.services.auth.attempts import Attempt, Caller, SecretKind, count_attempt
from portal.services.auth.tokens import Scope, TokenRequest
from portal.services.hashes import hash_token
from portal.services.identity.roles import is_admitted_and_enabled
from portal.services.store import affects_one_row

LIFETIME = timedelta(minutes=10)
INTERVAL = timedelta(seconds=5)
POLL_TOLERANCE = timedelta(seconds=1)
"""A poll may come this much earlier than INTERVAL, because network delays vary."""
MAX_WAITING = 10_000
CODE_BYTES = 32
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""The letters of user codes, as RFC 8628, 6.1 recommends: no vowels, so no words."""
USER_CODE_LETTERS = 8


@dataclass(frozen=True)
class DeviceRequest:
    """What a device asks for. `device` is what it calls itself, and becomes the token's name."""

    device: str
    scopes: Collection[Scope]


@dataclass(frozen=True)
class DeviceCodes:
    """The codes of a new login, which can't be read again."""

    device_code: str
    user_code: str


# --- the device's part ----------------------------------------------------------------------------


async def start(
    database: Database, settings: Settings, request: DeviceRequest, caller: Caller
) -> DeviceCodes:
    """Store a login that waits for its user, and return its codes.

    Raises InvalidInput, and TooManyRequests if too many logins wait at this address.
    """
    _validate(request)
    codes = DeviceCodes(secrets.token_urlsafe(CODE_BYTES), _new_user_code())
    now, network = utcnow(), network_of(caller.ip)
    login = DeviceLogin(
        device_code_hash=hash_token(codes.device_code),
        user_code_hash=_hash_user_code(settings, codes.user_code),
        device=request.device,
        scopes=sorted({scope.value for scope in request.scopes}),
        ip=caller.ip,
        network=network,
        created_at=now,
        expires_at=now + LIFETIME,
    )
    async with database.session() as db:
        await take_advisory_lock(db, AdvisoryLock.DEVICE_LOGINS)
        await db.execute(delete(DeviceLogin).where(DeviceLogin.expires_at <= now))
        await _refuse_beyond(
            db, DeviceLogin.network == network, settings.login_attempts_per_address
        )
        await _refuse_beyond(db, DeviceLogin.id.is_not(None), MAX_WAITING)
        db.add(login)
        await db.commit()
    return codes


async def collect(
    database: Database, settings: Settings, device_code: str, caller: Caller
) -> tuple[AccessToken, str, User]:
    """Exchange a device code for the token that its user has confirmed: the token, its text, and
    the user.

    Raises AuthorizationPending and SlowDown, after which the device asks again; AccessDenied,
    DeviceCodeExpired, and Conflict if the user has too many tokens, after which the code is gone.
    """
    login = await _load(database, DeviceLogin.device_code_hash == hash_token(device_code))
    if login is None:
        raise errors.DeviceCodeExpired
    if login.approved is None:
        if not await _may_poll(database, login):
            raise errors.SlowDown
        raise errors.AuthorizationPending
    async with database.session() as db:
        # Lock the user's row first, as disabling a user does: a disabling that waits for it then
        # finds the new token and deletes it.
        user = await db.get(User, login.user_id, with_for_update=True)
        if user is None or not await _consume(db, login):
            raise errors.DeviceCodeExpired
        try:
            request = await _token_request(db, login, user)
        except (errors.AccessDenied, errors.Conflict):
            await db.commit()
            raise
        token, text = await tokens.add(db, settings, user, request, caller)
        await db.commit()
    return token, text, user


async def _token_request(db: AsyncSession, login: DeviceLogin, user: User) -> TokenRequest:
    """Return the token to create for a decided login. Raises AccessDenied and Conflict."""
    if not login.approved or login.days is None:
        raise errors.AccessDenied
    await db.refresh(user)  # SQLite locks with the first change, not with the row
    if not is_admitted_and_enabled(user):
        raise errors.AccessDenied
    name = await tokens.find_free_name(db, user, login.device)
    return TokenRequest(name=name, scopes=[Scope(scope) for scope in login.scopes], days=login.days)


# --- the user's part ------------------------------------------------------------------------------


async def find(
    database: Database, settings: Settings, session: WebSession, user_code: str, caller: Caller
) -> DeviceLogin:
    """Return the login that waits with this code. Raises WrongCode and TooManyAttempts."""
    async with count_attempt(database, settings, _attempt(session, caller)):
        code_hash = _hash_user_code(settings, user_code)
        login = await _load(database, DeviceLogin.user_code_hash == code_hash)
        if login is None or login.approved is not None:
            raise _wrong_code_error()
        return login


async def approve(
    database: Database,
    settings: Settings,
    session: WebSession,
    user_code: str,
    days: int,
    caller: Caller,
) -> None:
    """Confirm a login: its device gets a token of the user, valid for `days`.

    Raises WrongCode, TooManyAttempts, InvalidInput with the field, and Conflict if the user has too
    many tokens.
    """
    login = await find(database, settings, session, user_code, caller)
    user, name = session.user, login.device
    request = TokenRequest(name=name, scopes=[Scope(scope) for scope in login.scopes], days=days)
    tokens.validate_request(settings, user, request)
    async with database.session() as db:
        await tokens.find_free_name(db, user, name)
    await _decide(database, login, user, days=days, caller=caller)


async def deny(
    database: Database, settings: Settings, session: WebSession, user_code: str, caller: Caller
) -> None:
    """Refuse a login: its device gets no token. Raises WrongCode and TooManyAttempts."""
    login = await find(database, settings, session, user_code, caller)
    await _decide(database, login, session.user, days=None, caller=caller)


async def _decide(
    database: Database, login: DeviceLogin, user: User, *, days: int | None, caller: Caller
) -> None:
    waiting = and_(_is_live(login), DeviceLogin.approved.is_(None))
    approved = days is not None
    change = update(DeviceLogin).where(waiting)
    async with database.session() as db:
        if not await affects_one_row(
            db, change.values(approved=approved, user_id=user.id, days=days)
        ):
            raise _wrong_code_error()
        action = Action.DEVICE_APPROVED if approved else Action.DEVICE_DENIED
        detail = {"scopes": " ".join(login.scopes), "device_ip": login.ip}
        record(db, action, actor=user, target=login.device, detail=detail, ip=caller.ip)
        await db.commit()


# --- internals ------------------------------------------------------------------------------------


def _validate(request: DeviceRequest) -> None:
    problems = []
    if not request.device or not request.device.isprintable():
        problems.append(errors.FieldError("device", "Enter a device name of one line."))
    if Scope.ADMIN in request.scopes:
        message = "A device can't get this scope. Create such a token under Your account."
        problems.append(errors.FieldError("scopes", message))
    if problems:
        raise errors.invalid_input(problems)


def _attempt(session: WebSession, caller: Caller) -> Attempt:
    return Attempt(
        session.user.username,
        caller,
        Action.USER_CODE_REFUSED,
        SecretKind.USER_CODE,
        web_session_id=session.id,
    )


def _wrong_code_error() -> errors.WrongCode:
    message = "No login waits with this code. It may have expired: start the login again."
    return errors.WrongCode(message, errors=[errors.FieldError("user_code", message)])


def _new_user_code() -> str:
    letters = "".join(secrets.choice(LETTERS) for _ in range(USER_CODE_LETTERS))
    half = USER_CODE_LETTERS // 2
    return f"{letters[:half]}-{letters[half:]}"


def _hash_user_code(settings: Settings, user_code: str) -> str:
    """Return the keyed hash of a code as it was typed: case and separators do not matter."""
    letters = "".join(letter for letter in user_code.upper() if letter.isalnum())
    key = hmac.digest(settings.internal_secret.encode(), b"device user code", hashlib.sha256)
    return hmac.new(key, letters.encode(), hashlib.sha256).hexdigest()


async def _refuse_beyond(db: AsyncSession, which: ColumnElement[bool], limit: int) -> None:
    count = await db.scalar(select(func.count()).select_from(DeviceLogin).where(which))
    if (count or 0) >= limit:
        raise errors.TooManyRequests(
            "Too many device logins are waiting for confirmation. Try again in a few minutes.",
            headers={"Retry-After": "60"},
        )


def _is_live(login: DeviceLogin) -> ColumnElement[bool]:
    return and_(DeviceLogin.id == login.id, DeviceLogin.expires_at > utcnow())


async def _load(database: Database, which: ColumnElement[bool]) -> DeviceLogin | None:
    async with database.session() as db:
        return await db.scalar(select(DeviceLogin).where(which, DeviceLogin.expires_at > utcnow()))


async def _may_poll(database: Database, login: DeviceLogin) -> bool:
    """Record a poll; return False if the previous one was less than INTERVAL ago."""
    now = utcnow()
    long_ago = or_(
        DeviceLogin.polled_at.is_(None), DeviceLogin.polled_at <= now - (INTERVAL - POLL_TOLERANCE)
    )
    async with database.session() as db:
        change = update(DeviceLogin).where(_is_live(login), long_ago).values(polled_at=now)
        polled = await affects_one_row(db, change)
        await db.commit()
    return polled


async def _consume(db: AsyncSession, login: DeviceLogin) -> bool:
    """Delete a decided login; return False if another request already has."""
    gone = delete(DeviceLogin).where(_is_live(login)).returning(DeviceLogin.id)
    return bool((await db.scalars(gone)).all())
