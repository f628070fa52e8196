"""What a browser's cookie opens: a web session, or a half login that opens nothing yet.

The browser holds a random token, the database its hash.
"""

import secrets
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.db import Database, utcnow
from portal.models import AccessToken, ContentLogin, HalfLogin, HalfLoginStep, User, WebSession
from portal.services.login import second_factor
from portal.services.login.attempts import Caller
from portal.services.login.hashes import hash_token
from portal.services.people.roles import NOT_ADMITTED, is_admitted, may_enter
from portal.settings import Settings

TOUCH_EVERY = timedelta(minutes=1)
TOKEN_BYTES = 32
MAX_TOKEN_LENGTH = 100
HALF_LOGIN = timedelta(minutes=5)


def new_web_session(
    settings: Settings, user: User, caller: Caller, *, password_at: datetime
) -> tuple[WebSession, str]:
    """A web session, not yet written, and the cookie's token."""
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


def open_half_login(db: AsyncSession, user: User, step: HalfLoginStep) -> str:
    """A half login that awaits this, in the caller's transaction; answers the cookie's token."""
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


async def half_login(database: Database, token: str, step: HalfLoginStep) -> HalfLogin | None:
    """The half login that a cookie's token is and that awaits this, its user loaded."""
    if not 0 < len(token) <= MAX_TOKEN_LENGTH:
        return None
    async with database.session() as db:
        half = await db.scalar(select(HalfLogin).where(HalfLogin.token_hash == hash_token(token)))
    if half is None or half.awaits is not step or not may_enter(half.user):
        return None
    return half if utcnow() < half.expires_at else None


async def forget_half_login(database: Database, token: str) -> None:
    """Give a half login up."""
    async with database.session() as db:
        await db.execute(delete(HalfLogin).where(HalfLogin.token_hash == hash_token(token)))
        await db.commit()


def must_enrol(session: WebSession, settings: Settings) -> bool:
    """Whether this web session opens nothing until its owner has set up a second factor.

    Those enrolled give a code at every login; so who gave none has none.
    """
    return session.second_factor_at is None and second_factor.required_of(session.user, settings)


async def resume(
    database: Database, settings: Settings, token: str, *, touch: bool = True
) -> WebSession | None:
    """The web session that a cookie's token opens, its user loaded; None when it opens nothing,
    or nothing but the enrolment.

    Each use keeps the session alive, up to its fixed end; `touch=False` only looks.
    """
    session = await resume_any(database, settings, token, touch=touch)
    return None if session is None or must_enrol(session, settings) else session


async def resume_any(
    database: Database, settings: Settings, token: str, *, touch: bool = True
) -> WebSession | None:
    """As `resume`, and also a web session in which its owner must still enrol."""
    if not 0 < len(token) <= MAX_TOKEN_LENGTH:
        return None
    return await _open_one(database, settings, WebSession.token_hash == hash_token(token), touch)


async def resume_at(
    database: Database, settings: Settings, token: str, host: str | None, *, touch: bool = True
) -> WebSession | None:
    """As `resume`, of what a browser shows at this content host; None is the portal's own. Neither
    host's cookie opens anything at another."""
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
    """As `resume`, of a web session that something of ours names."""
    session = await _open_one(database, settings, WebSession.id == web_session_id, touch=True)
    return None if session is None or must_enrol(session, settings) else session


async def _open_one(
    database: Database, settings: Settings, which: ColumnElement[bool], touch: bool
) -> WebSession | None:
    now = utcnow()
    async with database.session() as db:
        session = await db.scalar(select(WebSession).where(which))
        if session is None or not may_enter(session.user):
            return None
        idle = now - session.last_seen_at
        if session.expires_at <= now or idle >= timedelta(hours=settings.web_session_idle_hours):
            return None
        if touch and idle >= TOUCH_EVERY:
            session.last_seen_at = now
            await db.commit()
        return session


async def why_closed(database: Database, token: str) -> str:
    """What to tell someone whose cookie's token opens nothing, where it was theirs and another
    login wouldn't help; "" for all else."""
    if not 0 < len(token) <= MAX_TOKEN_LENGTH:
        return ""
    query = select(User).join(WebSession, WebSession.user_id == User.id)
    async with database.session() as db:
        user = await db.scalar(query.where(WebSession.token_hash == hash_token(token)))
    return "" if user is None or is_admitted(user) else NOT_ADMITTED


async def is_open(database: Database, settings: Settings, web_session_id: str) -> bool:
    """Whether a web session still is: for a stream, which was let in long ago."""
    async with database.session() as db:
        session = await db.get(WebSession, web_session_id)
    if session is None or not may_enter(session.user) or must_enrol(session, settings):
        return False
    return utcnow() < session.expires_at


async def end_all(db: AsyncSession, user_id: str) -> None:
    """Everything that lets this person in: web sessions, half logins, access tokens. In the
    caller's transaction, which is what disables them."""
    for table in (WebSession, HalfLogin, AccessToken):
        await db.execute(delete(table).where(table.user_id == user_id))
