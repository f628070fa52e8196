"""Web sessions, and half logins, which grant no access yet, by a browser's cookie.

The browser holds a random token, the database its hash.
"""

import hashlib
import secrets
from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from portal import errors
from portal.config.settings import Settings
from portal.db import Database, utcnow
from portal.models import (
    AccessToken,
    ContentLogin,
    DeviceLogin,
    HalfLogin,
    HalfLoginStep,
    User,
    WebSession,
)
from portal.services.audit.audit import Action, record
from portal.services.auth import second_factor
from portal.services.auth.attempts import Caller
from portal.services.hashes import hash_token
from portal.services.identity.roles import NOT_ADMITTED, is_admitted, is_admitted_and_enabled

TOUCH_EVERY = timedelta(minutes=1)
TOKEN_BYTES = 32
LOGIN_COUNTS_FOR = timedelta(minutes=1)
"""Period in which the password of the login itself counts as just entered."""
MAX_TOKEN_LENGTH = 100
HALF_LOGIN = timedelta(minutes=5)


def new_web_session(
    settings: Settings, user: User, caller: Caller, *, password_at: datetime
) -> tuple[WebSession, str]:
    """Return a web session, not yet stored, and the cookie's token."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    now = utcnow()
    session = WebSession(
        token_hash=hash_token(token),
        user_id=user.id,
        created_at=now,
        last_seen_at=now,
        password_at=password_at,
        expires_at=now + timedelta(hours=settings.web_session_hours),
        ip=caller.ip,
        user_agent=caller.user_agent[:300],
    )
    return session, token


def derive_login_id(token_hash: str) -> str:
    """Return a public id of a login, by which a browser's pages recognize their own."""
    return hashlib.sha256(f"login id|{token_hash}".encode()).hexdigest()[:16]


def open_half_login(db: AsyncSession, user: User, step: HalfLoginStep) -> str:
    """Add a half login that awaits `step`. Return the cookie's token.

    Runs in the caller's transaction.
    """
    token = secrets.token_urlsafe(TOKEN_BYTES)
    now = utcnow()
    db.add(
        HalfLogin(
            token_hash=hash_token(token),
            user_id=user.id,
            awaits=step,
            created_at=now,
            expires_at=now + HALF_LOGIN,
        )
    )
    return token


async def load_half_login(database: Database, token: str, step: HalfLoginStep) -> HalfLogin | None:
    """Return the half login with this token that awaits `step`, its user loaded."""
    if not 0 < len(token) <= MAX_TOKEN_LENGTH:
        return None
    async with database.session() as db:
        half = await db.scalar(select(HalfLogin).where(HalfLogin.token_hash == hash_token(token)))
    if half is None or half.awaits is not step or not is_admitted_and_enabled(half.user):
        return None
    return half if utcnow() < half.expires_at else None


async def forget_half_login(database: Database, token: str) -> None:
    """Delete a half login."""
    async with database.session() as db:
        await db.execute(delete(HalfLogin).where(HalfLogin.token_hash == hash_token(token)))
        await db.commit()


def is_password_confirmed(session: WebSession, settings: Settings) -> bool:
    """Return whether the password was entered again after the login, and recently."""
    age = utcnow() - session.password_at
    again = session.password_at > session.created_at
    return again and age < timedelta(minutes=settings.reauth_minutes)


def is_password_fresh(session: WebSession, settings: Settings) -> bool:
    """Return whether the password was confirmed recently, or the login was just now.

    The time for a login is short: a page that a user opens some time after logging in must not find
    the password fresh.
    """
    just_logged_in = utcnow() - session.password_at < LOGIN_COUNTS_FOR
    return just_logged_in or is_password_confirmed(session, settings)


def may_enrol(session: WebSession, settings: Settings) -> bool:
    """Return whether a second factor may be set up.

    Either the password was confirmed, or this login grants nothing but enrollment, so that no other
    page can have used it.
    """
    if not must_enrol(session, settings):
        return is_password_confirmed(session, settings)
    return utcnow() - session.password_at < timedelta(minutes=settings.reauth_minutes)


def must_enrol(session: WebSession, settings: Settings) -> bool:
    """Return whether this web session grants nothing until its owner has set up a second factor.

    Enrolled users give a code at every login, so one who gave none is not enrolled.
    """
    return session.second_factor_at is None and second_factor.is_required(session.user, settings)


async def resume(
    database: Database, settings: Settings, token: str, *, touch: bool = True
) -> WebSession | None:
    """Return the web session with this cookie token, its user loaded.

    Returns None if there is none, or if it only allows enrollment. Each use keeps the session
    alive, up to its fixed end; `touch=False` does not count as use.
    """
    session = await resume_any(database, settings, token, touch=touch)
    return None if session is None or must_enrol(session, settings) else session


async def resume_any(
    database: Database, settings: Settings, token: str, *, touch: bool = True
) -> WebSession | None:
    """Return the web session as `resume` does, also if its owner must still enroll."""
    if not 0 < len(token) <= MAX_TOKEN_LENGTH:
        return None
    return await _open_one(database, settings, WebSession.token_hash == hash_token(token), touch)


async def resume_at(
    database: Database, settings: Settings, token: str, host: str | None, *, touch: bool = True
) -> WebSession | None:
    """Return the web session as `resume` does, for a cookie of this content host (a host for users'
    notebooks or TensorBoards).

    `host` None is the portal's own host. A host's cookie is not valid at another host.
    """
    if host is None:
        return await resume(database, settings, token, touch=touch)
    if not 0 < len(token) <= MAX_TOKEN_LENGTH:
        return None
    here = select(ContentLogin.web_session_id).where(
        ContentLogin.token_hash == hash_token(token), ContentLogin.host == host
    )
    session = await _open_one(database, settings, WebSession.id.in_(here), touch)
    return None if session is None or must_enrol(session, settings) else session


async def open_by_id(
    database: Database, settings: Settings, web_session_id: str
) -> WebSession | None:
    """Return the web session as `resume` does, by its id."""
    session = await _open_one(database, settings, WebSession.id == web_session_id, touch=True)
    return None if session is None or must_enrol(session, settings) else session


async def _open_one(
    database: Database, settings: Settings, which: ColumnElement[bool], touch: bool
) -> WebSession | None:
    now = utcnow()
    async with database.session() as db:
        session = await db.scalar(select(WebSession).where(which))
        if session is None or not is_admitted_and_enabled(session.user):
            return None
        idle = now - session.last_seen_at
        if session.expires_at <= now or idle >= timedelta(hours=settings.web_session_idle_hours):
            return None
        if touch and idle >= TOUCH_EVERY:
            session.last_seen_at = now
            await db.commit()
        return session


async def explain_refusal(database: Database, token: str) -> str:
    """Return the reason if a user's own cookie is refused and another login would not help.

    Returns "" in all other cases.
    """
    if not 0 < len(token) <= MAX_TOKEN_LENGTH:
        return ""
    query = select(User).join(WebSession, WebSession.user_id == User.id)
    async with database.session() as db:
        user = await db.scalar(query.where(WebSession.token_hash == hash_token(token)))
    return "" if user is None or is_admitted(user) else NOT_ADMITTED


async def find_open(
    database: Database, settings: Settings, web_session_ids: Collection[str]
) -> set[str]:
    """Return which of these web sessions are still open; for streams that were opened long ago.

    Open: not ended or expired; the idle limit does not count here.
    """
    async with database.session() as db:
        rows = await db.scalars(select(WebSession).where(WebSession.id.in_(web_session_ids)))
        found = [session for session in rows if not must_enrol(session, settings)]
    now = utcnow()
    return {s.id for s in found if is_admitted_and_enabled(s.user) and now < s.expires_at}


async def list_open(database: Database, settings: Settings, user_id: str) -> list[WebSession]:
    """Return the user's open web sessions, last used first."""
    now = utcnow()
    idle_since = now - timedelta(hours=settings.web_session_idle_hours)
    query = (
        select(WebSession)
        .where(WebSession.user_id == user_id, WebSession.expires_at > now)
        .where(WebSession.last_seen_at > idle_since)
        .order_by(WebSession.last_seen_at.desc(), WebSession.id)
    )
    async with database.session() as db:
        return list((await db.scalars(query)).all())


async def end_one(database: Database, session: WebSession, ended_id: str, ip: str) -> None:
    """End one of the caller's web sessions. Raises NotFound."""
    condition = WebSession.user_id == session.user_id, WebSession.id == ended_id
    async with database.session() as db:
        gone = await db.scalar(delete(WebSession).where(*condition).returning(WebSession.ip))
        if gone is None:
            raise errors.NotFound("This login has ended already.")
        record(db, Action.LOGIN_ENDED, actor=session.user, detail={"address": gone}, ip=ip)
        await db.commit()


async def end_others(database: Database, session: WebSession, ip: str) -> None:
    """End every other web session and every half login of the caller."""
    condition = WebSession.user_id == session.user_id, WebSession.id != session.id
    async with database.session() as db:
        gone = (
            await db.scalars(delete(WebSession).where(*condition).returning(WebSession.id))
        ).all()
        await db.execute(delete(HalfLogin).where(HalfLogin.user_id == session.user_id))
        record(db, Action.LOGIN_ENDED, actor=session.user, detail={"others": len(gone)}, ip=ip)
        await db.commit()


async def end_oldest(db: AsyncSession, user: User, most: int) -> int:
    """End the user's least recently used web sessions beyond `most`. Return their number.

    Runs in the caller's transaction.
    """
    own_sessions = select(WebSession.id).where(WebSession.user_id == user.id)
    newest = own_sessions.order_by(WebSession.last_seen_at.desc(), WebSession.id).limit(most)
    beyond = WebSession.user_id == user.id, WebSession.id.not_in(newest)
    gone = await db.scalars(delete(WebSession).where(*beyond).returning(WebSession.id))
    return len(gone.all())


async def end_all(db: AsyncSession, user_id: str) -> None:
    """Delete all credentials of a user: web sessions, half logins, access tokens and the logins
    of devices that have not collected theirs.

    Runs in the caller's transaction, in which the user is disabled.
    """
    for table in (WebSession, HalfLogin, AccessToken, DeviceLogin):
        await db.execute(delete(table).where(table.user_id == user_id))
