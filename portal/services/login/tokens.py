"""Personal access tokens: what someone's programs show instead of a cookie.

A token is 256 random bits, shown once and kept as its hash. So a wrong one is never a near miss, a
lookup costs one indexed read, and failures need no rate limit: guessing would take 2²⁵⁵ tries.
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
from portal.db import Database, utcnow
from portal.models import AccessToken, Role, SecondFactor, User
from portal.services.audit.audit import Action, record
from portal.services.login import second_factor
from portal.services.login.attempts import Caller
from portal.services.login.hashes import hash_token
from portal.services.people.roles import NOT_ADMITTED, is_admitted, may_enter
from portal.settings import Settings

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
    """What a token may do; none contains another."""

    READ = "read"
    SESSIONS = "sessions"
    JOBS = "jobs"
    FILES = "files"
    ADMIN = "admin"


@dataclass(frozen=True)
class Wish:
    """What a token should be; `scopes` aren't empty, `days` until it expires are at least one."""

    name: str
    scopes: Collection[Scope]
    days: int


# --- the text of a token (pure) -------------------------------------------------------------------


def new_text() -> str:
    """A token: prefix, 256 random bits, and a checksum of both, so that a scanner for lost secrets
    can tell a real one without asking us."""
    body = PREFIX + _base62(int.from_bytes(secrets.token_bytes(32), "big"), SECRET_DIGITS)
    return body + _check(body)


def well_formed(text: str) -> bool:
    """Whether this can be a token at all."""
    return (
        _FORM.fullmatch(text) is not None and _check(text[:-CHECK_DIGITS]) == text[-CHECK_DIGITS:]
    )


def _check(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), CHECK_DIGITS)


def _base62(number: int, digits: int) -> str:
    found = []
    for _ in range(digits):
        number, rest = divmod(number, len(_ALPHABET))
        found.append(_ALPHABET[rest])
    return "".join(reversed(found))


# --- showing one ----------------------------------------------------------------------------------

_ENROLLED = exists().where(
    SecondFactor.user_id == AccessToken.user_id, SecondFactor.confirmed_at.is_not(None)
)


async def use(database: Database, settings: Settings, text: str) -> AccessToken:
    """The token that this text is, its user loaded; its last use is noted once a minute at most.

    Raises InvalidToken for one that is unknown, revoked, expired or of someone disabled or in no
    group that lets them in, and EnrolmentRequired when its owner must first set up a second factor.
    """
    if not well_formed(text):
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
        if second_factor.required_of(token.user, settings) and not enrolled:
            raise errors.EnrolmentRequired
        if token.last_used_at is None or now - token.last_used_at >= TOUCH_EVERY:
            await _touch(db, token)
        return token


async def _touch(db: AsyncSession, token: AccessToken) -> None:
    """One conditional write: of many requests at once one notes the time."""
    now = utcnow()
    long_ago = or_(
        AccessToken.last_used_at.is_(None), AccessToken.last_used_at <= now - TOUCH_EVERY
    )
    mine = update(AccessToken).where(AccessToken.id == token.id, long_ago)
    await db.execute(
        mine.values(last_used_at=now), execution_options={"synchronize_session": False}
    )
    await db.commit()


async def is_valid(database: Database, token_id: str) -> bool:
    """Whether a token still opens anything: for a stream, which was let in long ago."""
    async with database.session() as db:
        token = await db.get(AccessToken, token_id)
    if token is None or not may_enter(token.user):
        return False
    return utcnow() < token.expires_at


# --- keeping them ---------------------------------------------------------------------------------


async def listed(database: Database, user: User) -> Sequence[AccessToken]:
    """Someone's tokens, the newest first, expired ones among them."""
    mine = select(AccessToken).where(AccessToken.user_id == user.id)
    async with database.session() as db:
        return (await db.scalars(mine.order_by(AccessToken.created_at.desc()))).all()


async def create(
    database: Database,
    settings: Settings,
    user: User,
    wish: Wish,
    caller: Caller,
) -> tuple[AccessToken, str]:
    """A new token and its text, which nobody can ever read again.

    Raises InvalidInput with the field, Conflict when there are too many.
    """
    _check_wish(settings, user, wish)
    text, now = new_text(), utcnow()
    token = AccessToken(
        user_id=user.id,
        name=wish.name,
        token_hash=hash_token(text),
        scopes=sorted({scope.value for scope in wish.scopes}),
        created_at=now,
        expires_at=now + timedelta(days=wish.days),
    )
    async with database.session() as db:
        mine = AccessToken.user_id == user.id
        old = AccessToken.expires_at < now - KEPT_AFTER_END
        await db.execute(delete(AccessToken).where(mine, old))
        names = (await db.scalars(select(AccessToken.name).where(mine))).all()
        if wish.name in names:
            raise _taken()
        if len(names) >= MAX_TOKENS:
            raise errors.Conflict(f"You have {MAX_TOKENS} tokens. Revoke one that you don't need.")
        db.add(token)
        detail = {"scopes": " ".join(token.scopes), "expires_at": token.expires_at.isoformat()}
        record(db, Action.TOKEN_CREATED, actor=user, target=wish.name, detail=detail, ip=caller.ip)
        try:
            await db.commit()
        except IntegrityError as error:  # the same name in two requests at once
            raise _taken() from error
    return token, text


async def revoke(database: Database, user: User, token_id: str, caller: Caller) -> None:
    """End one of this person's tokens; raises NotFound. The next request with it is refused."""
    async with database.session() as db:
        token = await db.get(AccessToken, token_id)
        if token is None or token.user_id != user.id:
            raise errors.NotFound("You have no such token; it may have been revoked already.")
        await db.delete(token)
        record(db, Action.TOKEN_REVOKED, actor=user, target=token.name, ip=caller.ip)
        await db.commit()


def _check_wish(settings: Settings, user: User, wish: Wish) -> None:
    found = []
    if not wish.name or not wish.name.isprintable():
        found.append(errors.FieldError("name", "Give the token a name, in one line."))
    if wish.days > settings.access_token_max_days:
        longest = settings.access_token_max_days
        message = f"A token may be valid for at most {longest} days."
        found.append(errors.FieldError("expires_in_days", message))
    if Scope.ADMIN in wish.scopes and user.role is Role.USER:
        message = "Only administrators and viewers can have tokens for administration."
        found.append(errors.FieldError("scopes", message))
    if found:
        raise errors.invalid_input(found)


def _taken() -> errors.InvalidInput:
    message = "You have a token of this name. Choose another name, or revoke that one."
    return errors.invalid_input([errors.FieldError("name", message)])
