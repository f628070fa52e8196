"""Personal access tokens: credentials for programs, in place of the cookie.

A token is 256 random bits, shown once and stored as its hash. So a wrong one is never a near miss,
a lookup is one indexed read, and failures need no rate limit: guessing takes 2²⁵⁵ tries.
"""

import re
import secrets
import string
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from sqlalchemy import delete, exists, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from portal import errors
from portal.config.settings import Settings
from portal.db import Database, utcnow
from portal.models import AccessToken, Role, SecondFactor, User
from portal.services.audit.audit import Action, record
from portal.services.auth import second_factor
from portal.services.auth.attempts import Caller
from portal.services.hashes import hash_token
from portal.services.identity.roles import NOT_ADMITTED, is_admitted, is_admitted_and_enabled

PREFIX = "dsp_"
SECRET_DIGITS = 43  # 62⁴³ > 2²⁵⁶
CHECK_DIGITS = 6  # 62⁶ > 2³²
PATTERN = rf"{PREFIX}[0-9A-Za-z]{{{SECRET_DIGITS + CHECK_DIGITS}}}"
MAX_TOKENS = 50
TOUCH_EVERY = timedelta(minutes=1)
KEPT_AFTER_END = timedelta(days=30)

_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_FORM = re.compile(PATTERN)


class Scope(StrEnum):
    """Permissions of a token; none includes another."""

    READ = "read"
    SESSIONS = "sessions"
    JOBS = "jobs"
    FILES = "files"
    SSH = "ssh"
    ADMIN = "admin"


@dataclass(frozen=True)
class TokenRequest:
    """A requested token. `scopes` is not empty; `days` until expiry is at least 1."""

    name: str
    scopes: Collection[Scope]
    days: int


# --- the text of a token (pure) -------------------------------------------------------------------


def new_text() -> str:
    """Return a new token: prefix, 256 random bits, and a checksum of both.

    With the checksum, scanners for leaked secrets recognize a real token without asking the portal.
    """
    body = PREFIX + _base62(int.from_bytes(secrets.token_bytes(32), "big"), SECRET_DIGITS)
    return body + _checksum(body)


def is_well_formed(text: str) -> bool:
    """Return whether the text has the form of a token and a valid checksum."""
    return (
        _FORM.fullmatch(text) is not None
        and _checksum(text[:-CHECK_DIGITS]) == text[-CHECK_DIGITS:]
    )


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), CHECK_DIGITS)


def _base62(number: int, digits: int) -> str:
    encoded = []
    for _ in range(digits):
        number, rest = divmod(number, len(_ALPHABET))
        encoded.append(_ALPHABET[rest])
    return "".join(reversed(encoded))


# --- authentication -------------------------------------------------------------------------------

_ENROLLED = exists().where(
    SecondFactor.user_id == AccessToken.user_id, SecondFactor.confirmed_at.is_not(None)
)


async def use(database: Database, settings: Settings, text: str) -> AccessToken:
    """Return the token with this text, its user loaded. Record its use, once a minute at most.

    Raises InvalidToken for a token that is unknown, revoked or expired, or whose owner is disabled
    or in no admitted group, and SecondFactorRequired if the owner must first set up a second
    factor.
    """
    if not is_well_formed(text):
        raise errors.InvalidToken
    now = utcnow()
    async with database.session() as db:
        query = select(AccessToken, _ENROLLED).where(AccessToken.token_hash == hash_token(text))
        row = (await db.execute(query)).one_or_none()
        if row is None:
            raise errors.InvalidToken
        token, enrolled = row
        if token.expires_at <= now or token.user.disabled_at is not None:
            raise errors.InvalidToken
        if not is_admitted(token.user):
            raise errors.InvalidToken(NOT_ADMITTED)
        if second_factor.is_required(token.user, settings) and not enrolled:
            raise errors.SecondFactorRequired
        if token.last_used_at is None or now - token.last_used_at >= TOUCH_EVERY:
            await _touch(db, token)
        return token


async def _touch(db: AsyncSession, token: AccessToken) -> None:
    """Update `last_used_at` with a conditional write: of many requests at once one writes."""
    now = utcnow()
    long_ago = or_(
        AccessToken.last_used_at.is_(None), AccessToken.last_used_at <= now - TOUCH_EVERY
    )
    this_token = update(AccessToken).where(AccessToken.id == token.id, long_ago)
    await db.execute(
        this_token.values(last_used_at=now), execution_options={"synchronize_session": False}
    )
    await db.commit()


async def is_valid(database: Database, settings: Settings, token_id: str) -> bool:
    """Return whether a token still grants access; for streams that were opened long ago."""
    return await find_valid(database, settings, token_id) is not None


async def find_valid(database: Database, settings: Settings, token_id: str) -> AccessToken | None:
    """Return a token that still grants access; None if it does not."""
    async with database.session() as db:
        query = select(AccessToken, _ENROLLED).where(AccessToken.id == token_id)
        row = (await db.execute(query)).one_or_none()
    if row is None or not is_admitted_and_enabled(row[0].user):
        return None
    token: AccessToken = row[0]
    if second_factor.is_required(token.user, settings) and not row[1]:
        return None
    return token if utcnow() < token.expires_at else None


# --- management -----------------------------------------------------------------------------------


async def list_tokens(database: Database, user: User) -> Sequence[AccessToken]:
    """Return the user's tokens, newest first, including expired ones."""
    own_tokens = select(AccessToken).where(AccessToken.user_id == user.id)
    async with database.session() as db:
        return (await db.scalars(own_tokens.order_by(AccessToken.created_at.desc()))).all()


async def create(
    database: Database,
    settings: Settings,
    user: User,
    request: TokenRequest,
    caller: Caller,
) -> tuple[AccessToken, str]:
    """Create a token. Return it and its text, which cannot be read again.

    Raises InvalidInput with the field, Conflict if the user has too many.
    """
    async with database.session() as db:
        created = await add(db, settings, user, request, caller)
        await db.commit()
    return created


async def add(
    db: AsyncSession, settings: Settings, user: User, request: TokenRequest, caller: Caller
) -> tuple[AccessToken, str]:
    """Like `create`, in the caller's transaction."""
    validate_request(settings, user, request)
    text, now = new_text(), utcnow()
    token = AccessToken(
        user_id=user.id,
        name=request.name,
        token_hash=hash_token(text),
        scopes=sorted({scope.value for scope in request.scopes}),
        created_at=now,
        expires_at=now + timedelta(days=request.days),
    )
    is_own = AccessToken.user_id == user.id
    old = AccessToken.expires_at < now - KEPT_AFTER_END
    await db.execute(delete(AccessToken).where(is_own, old))
    names = (await db.scalars(select(AccessToken.name).where(is_own))).all()
    if request.name in names:
        raise _name_taken_error()
    if len(names) >= MAX_TOKENS:
        raise _too_many_error()
    db.add(token)
    detail = {"scopes": " ".join(token.scopes), "expires_at": token.expires_at.isoformat()}
    record(db, Action.TOKEN_CREATED, actor=user, target=request.name, detail=detail, ip=caller.ip)
    try:
        await db.flush()
    except IntegrityError as error:  # the same name in two concurrent requests
        raise _name_taken_error() from error
    return token, text


async def find_free_name(db: AsyncSession, user: User, wanted: str) -> str:
    """Return the wanted name, with a number if the user already has a token of this name.

    Raises Conflict if the user can have no further token.
    """
    names = (await db.scalars(select(AccessToken.name).where(AccessToken.user_id == user.id))).all()
    if len(names) >= MAX_TOKENS:
        raise _too_many_error()
    numbered = (f"{wanted} ({number})" for number in range(2, MAX_TOKENS + 2))
    return next(name for name in (wanted, *numbered) if name not in names)


async def revoke(database: Database, user: User, token_id: str, caller: Caller) -> None:
    """Revoke one of the user's tokens, effective with the next request. Raises NotFound."""
    async with database.session() as db:
        token = await db.get(AccessToken, token_id)
        if token is None or token.user_id != user.id:
            raise errors.NotFound("There is no such token. It may have been revoked already.")
        await db.delete(token)
        record(db, Action.TOKEN_REVOKED, actor=user, target=token.name, ip=caller.ip)
        await db.commit()


def validate_request(settings: Settings, user: User, request: TokenRequest) -> None:
    """Raise InvalidInput with each field that a token can't have."""
    problems = []
    if not request.name or not request.name.isprintable():
        problems.append(errors.FieldError("name", "Enter a token name of one line."))
    if request.days > settings.access_token_max_days:
        longest = settings.access_token_max_days
        message = f"A token may be valid for at most {longest} days."
        problems.append(errors.FieldError("expires_in_days", message))
    if Scope.ADMIN in request.scopes and user.role is Role.USER:
        message = "Only administrators and viewers can have tokens for administration."
        problems.append(errors.FieldError("scopes", message))
    if problems:
        raise errors.invalid_input(problems)


def _too_many_error() -> errors.Conflict:
    return errors.Conflict(f"You have {MAX_TOKENS} tokens. Revoke one that you don't need.")


def _name_taken_error() -> errors.InvalidInput:
    message = "You already have a token with this name. Choose another name, or revoke that one."
    return errors.invalid_input([errors.FieldError("name", message)])
