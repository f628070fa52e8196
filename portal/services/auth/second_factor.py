"""The second factor of a login: an authenticator app, and recovery codes.

A login of an enrolled user is complete only with a code. Each code counts once: the newest accepted
time step is stored, and a recovery code's row is deleted with its use. Both are single conditional
statements, so that of two requests with the same code one is refused. Anything that would weaken
the factor requires a code, however recently the password was entered.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import delete, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from portal import errors
from portal.config.settings import Settings
from portal.db import Database, utcnow
from portal.models import HalfLogin, RecoveryCode, SecondFactor, User, WebSession
from portal.services.audit.audit import Action, record
from portal.services.auth import totp
from portal.services.auth.attempts import Attempt, Caller, SecretKind, count_attempt
from portal.services.auth.sealed import SealBroken, key_of, seal, unseal
from portal.services.hashes import hash_token
from portal.services.store import affects_one_row

RESET_NOTICE_PERIOD = timedelta(days=30)
"""Period in which logins show a notice about a reset, unless the user has enrolled again."""

MAX_CODE_LENGTH = 40


class CodeKind(StrEnum):
    """The kind of code that was used."""

    APP = "app"
    RECOVERY_CODE = "recovery-code"


@dataclass(frozen=True)
class SecondFactorStatus:
    """A user's second factor; `enrolled_at` is None without one."""

    enrolled_at: datetime | None
    required: bool
    recovery_codes_left: int
    reset_at: datetime | None


@dataclass(frozen=True)
class Enrolment:
    """A secret for an authenticator app, as text and as a URI."""

    secret: str
    uri: str


def is_required(user: User, settings: Settings) -> bool:
    """Return whether the user's role requires a second factor."""
    return user.role in settings.second_factor_required_for


def shows_reset_notice(user: User, now: datetime) -> bool:
    """Return whether to show the user that an administrator reset their second factor."""
    at = user.second_factor_reset_at
    return at is not None and now - at < RESET_NOTICE_PERIOD


async def is_enrolled(db: AsyncSession, user_id: str) -> bool:
    return await _load_enrolled(db, user_id) is not None


async def load_status(database: Database, settings: Settings, user: User) -> SecondFactorStatus:
    async with database.session() as db:
        factor = await _load_enrolled(db, user.id)
        own_codes = select(func.count()).where(RecoveryCode.user_id == user.id)
        left = await db.scalar(own_codes)
    return SecondFactorStatus(
        enrolled_at=factor.confirmed_at if factor else None,
        required=is_required(user, settings),
        recovery_codes_left=left or 0,
        reset_at=user.second_factor_reset_at if shows_reset_notice(user, utcnow()) else None,
    )


# --- enrollment -----------------------------------------------------------------------------------


async def begin_enrolment(database: Database, settings: Settings, user: User) -> Enrolment:
    """Create a secret, which becomes active once `confirm` receives a code of it.

    An earlier unconfirmed secret is replaced. Raises Conflict for an enrolled user.
    """
    secret = totp.new_secret()
    sealed = seal(_load_key(settings), secret, owner=user.id)
    async with database.session() as db:
        await _refuse_enrolled(db, user.id)
        unconfirmed = SecondFactor.user_id == user.id, SecondFactor.confirmed_at.is_(None)
        await db.execute(delete(SecondFactor).where(*unconfirmed))
        db.add(SecondFactor(user_id=user.id, secret=sealed))
        try:
            await db.commit()
        except IntegrityError as error:  # two concurrent requests
            raise errors.Conflict(
                "The setup was started again in another page. Start over."
            ) from error
    issuer = f"Data Scientist Portal {settings.cluster_name}"
    uri = totp.key_uri(secret, issuer=issuer, account=user.username)
    return Enrolment(secret=totp.encode_secret(secret), uri=uri)


async def confirm(
    database: Database, settings: Settings, session: WebSession, code: str, caller: Caller
) -> list[str]:
    """Activate the factor with its first code. Return the recovery codes, to be shown once.

    This web session then counts as authenticated with a second factor; the user's others are ended.
    Raises WrongCode, TooManyAttempts, Conflict if there is nothing to confirm.
    """
    user = session.user
    async with (
        count_attempt(database, settings, _new_attempt(user, caller)),
        database.session() as db,
    ):
        await _refuse_enrolled(db, user.id)
        factor = await db.get(SecondFactor, user.id)
        if factor is None:
            raise errors.Conflict("There is no setup to confirm. Start over.")
        now = utcnow()
        step = totp.find_matching_step(
            _decrypt_secret(settings, factor), totp.normalize_code(code), now.timestamp(), after=0
        )
        if step is None:
            raise _wrong_code_error()
        factor.confirmed_at, factor.last_step = now, step
        codes = await _replace_codes(db, user.id)
        others = WebSession.user_id == user.id, WebSession.id != session.id
        await db.execute(delete(WebSession).where(*others))
        await db.execute(delete(HalfLogin).where(HalfLogin.user_id == user.id))
        this = update(WebSession).where(WebSession.id == session.id)
        await db.execute(this.values(second_factor_at=now))
        await db.execute(update(User).where(User.id == user.id).values(second_factor_reset_at=None))
        record(db, Action.SECOND_FACTOR_ON, actor=user, ip=caller.ip)
        await db.commit()
        return codes


# --- using a code ---------------------------------------------------------------------------------


async def accept(
    database: Database, settings: Settings, user: User, code: str, caller: Caller
) -> CodeKind:
    """Accept a TOTP or recovery code, which is then used up.

    Raises WrongCode (wrong, used before, too old), TooManyAttempts; Conflict without a factor.
    """
    async with (
        count_attempt(database, settings, _new_attempt(user, caller)),
        database.session() as db,
    ):
        way = await _consume_code(db, settings, user, totp.normalize_code(code))
        if way is CodeKind.RECOVERY_CODE:
            record(db, Action.RECOVERY_CODE_USED, actor=user, ip=caller.ip)
        await db.commit()
        return way


async def renew_codes(
    database: Database, settings: Settings, user: User, code: str, caller: Caller
) -> list[str]:
    """Replace all recovery codes by ten new ones. Needs a code. Raises as `accept`."""
    await accept(database, settings, user, code, caller)
    async with database.session() as db:
        codes = await _replace_codes(db, user.id)
        record(db, Action.RECOVERY_CODES_NEW, actor=user, ip=caller.ip)
        await db.commit()
        return codes


async def remove(
    database: Database, settings: Settings, user: User, code: str, caller: Caller
) -> None:
    """Remove the second factor. Needs a code. Raises as `accept`.

    Users who need one by their role can then only enroll again.
    """
    await accept(database, settings, user, code, caller)
    async with database.session() as db:
        await _delete_factor(db, user.id)
        own_sessions = update(WebSession).where(WebSession.user_id == user.id)
        await db.execute(own_sessions.values(second_factor_at=None))
        record(db, Action.SECOND_FACTOR_OFF, actor=user, ip=caller.ip)
        await db.commit()


async def reset(database: Database, admin: User, username: str, caller: Caller) -> None:
    """Remove the second factor of a user who lost it, and end all their logins.

    Raises NotFound, Conflict for a user without one, Forbidden for the administrator's own.
    """
    async with database.session() as db:
        user = await db.scalar(select(User).where(User.username == username))
        if user is None:
            raise errors.NotFound("The portal has no user with this name.")
        if user.id == admin.id:
            raise errors.Forbidden(
                "To turn off your own second factor, use one of its codes. If you have "
                "none, ask another administrator."
            )
        if not await is_enrolled(db, user.id):
            raise errors.Conflict(f"{username} has no second factor.")
        await _delete_factor(db, user.id)
        await db.execute(delete(WebSession).where(WebSession.user_id == user.id))
        await db.execute(delete(HalfLogin).where(HalfLogin.user_id == user.id))
        user.second_factor_reset_at = utcnow()
        record(db, Action.SECOND_FACTOR_RESET, actor=admin, target=username, ip=caller.ip)
        await db.commit()


# --- internals ------------------------------------------------------------------------------------


def _new_attempt(user: User, caller: Caller) -> Attempt:
    return Attempt(user.username, caller, Action.SECOND_FACTOR_REFUSED, SecretKind.SECOND_FACTOR)


def _load_key(settings: Settings) -> bytes:
    try:
        return key_of(settings.second_factor_key)
    except (OSError, ValueError) as error:
        raise errors.Unavailable(
            "Second factors can't be verified now. Ask your administrators."
        ) from error


def _decrypt_secret(settings: Settings, factor: SecondFactor) -> bytes:
    try:
        return unseal(_load_key(settings), factor.secret, owner=factor.user_id)
    except SealBroken as error:
        raise errors.Unavailable(
            "Your second factor can't be read. Ask an administrator to reset it."
        ) from error


def _wrong_code_error() -> errors.WrongCode:
    message = (
        "This code is wrong or was already used. Wait for the next one. If no code is "
        "accepted, check that your phone's clock is set automatically."
    )
    return errors.WrongCode(message, errors=[errors.FieldError("code", message)])


async def _load_enrolled(db: AsyncSession, user_id: str) -> SecondFactor | None:
    condition = SecondFactor.user_id == user_id, SecondFactor.confirmed_at.is_not(None)
    return await db.scalar(select(SecondFactor).where(*condition))


async def _refuse_enrolled(db: AsyncSession, user_id: str) -> None:
    if await is_enrolled(db, user_id):
        raise errors.Conflict(
            "You already have a second factor. Turn it off first to set up another."
        )


async def _consume_code(db: AsyncSession, settings: Settings, user: User, code: str) -> CodeKind:
    """Use up a normalized code, in the caller's transaction."""
    factor = await _load_enrolled(db, user.id)
    if factor is None:
        raise errors.Conflict("You have no second factor.")
    if totp.is_recovery_code(code):
        condition = RecoveryCode.user_id == user.id, RecoveryCode.code_hash == hash_token(code)
        if await affects_one_row(db, delete(RecoveryCode).where(*condition)):
            return CodeKind.RECOVERY_CODE
        raise _wrong_code_error()
    secret, now = _decrypt_secret(settings, factor), utcnow().timestamp()
    step = totp.find_matching_step(secret, code, now, after=factor.last_step)
    newer = SecondFactor.user_id == user.id, SecondFactor.last_step < (step or 0)
    statement = update(SecondFactor).where(*newer).values(last_step=step)
    if step is None or not await affects_one_row(db, statement):
        raise _wrong_code_error()
    return CodeKind.APP


async def _replace_codes(db: AsyncSession, user_id: str) -> list[str]:
    await db.execute(delete(RecoveryCode).where(RecoveryCode.user_id == user_id))
    codes = totp.new_recovery_codes()
    hashes = (hash_token(totp.normalize_code(code)) for code in codes)
    db.add_all(RecoveryCode(code_hash=code_hash, user_id=user_id) for code_hash in hashes)
    return codes


async def _delete_factor(db: AsyncSession, user_id: str) -> None:
    await db.execute(delete(RecoveryCode).where(RecoveryCode.user_id == user_id))
    await db.execute(delete(SecondFactor).where(SecondFactor.user_id == user_id))
