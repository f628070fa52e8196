"""How a login of the portal's opens a content host too: a code, good once, in one browser.

The content host sends a browser that it doesn't know to the portal, with the hash of a random
value that this browser keeps there (its state). Of the portal's cookie comes a code for that host
and that state; the host takes it only together with the value itself. So a code that gets about
opens nothing, and nobody can be made to enter with another's. What it opens is a child of the web
session, and ends with it.
"""

import hmac
import secrets
from datetime import timedelta

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from portal.db import Database, utcnow
from portal.models import ContentCode, ContentLogin, WebSession
from portal.services.login import web_sessions
from portal.services.login.hashes import hash_token
from portal.services.login.web_sessions import MAX_TOKEN_LENGTH, TOKEN_BYTES
from portal.settings import Settings

CODE_LIFE = timedelta(seconds=60)
CODES_OF_ONE = 10
LOGINS_OF_ONE = 3
"""So many of a web session's are kept for a host: tabs may enter at the same time."""


def new_state() -> str:
    """What a browser keeps at a content host; the portal is told its `hash_token`."""
    return secrets.token_urlsafe(TOKEN_BYTES)


async def issue(database: Database, session: WebSession, host: str, state_hash: str) -> str | None:
    """A code by which this web session's browser may enter there; None if that has just ended."""
    code = secrets.token_urlsafe(TOKEN_BYTES)
    now = utcnow()
    row = ContentCode(
        code_hash=hash_token(code),
        web_session_id=session.id,
        host=host,
        state_hash=state_hash,
        expires_at=now + CODE_LIFE,
    )
    async with database.session() as db:
        await db.execute(delete(ContentCode).where(ContentCode.expires_at < now))
        db.add(row)
        try:
            await db.flush()
        except IntegrityError:
            return None
        mine = select(ContentCode.id).where(ContentCode.web_session_id == session.id)
        newest = mine.order_by(ContentCode.expires_at.desc()).limit(CODES_OF_ONE)
        old = ContentCode.web_session_id == session.id, ContentCode.id.not_in(newest)
        await db.execute(delete(ContentCode).where(*old))
        await db.commit()
    return code


async def exchange(
    database: Database, settings: Settings, code: str, host: str, state: str
) -> tuple[str, WebSession] | None:
    """The token of the cookie for this host, and whose login it is; None where the code isn't for
    this host and this browser, or is none. A code that was shown is used up whatever comes of it.
    """
    if not 0 < len(code) <= MAX_TOKEN_LENGTH or not 0 < len(state) <= MAX_TOKEN_LENGTH:
        return None
    found = await _take(database, code)
    if found is None or found.expires_at <= utcnow() or found.host != host:
        return None
    if not hmac.compare_digest(found.state_hash, hash_token(state)):
        return None
    session = await web_sessions.open_by_id(database, settings, found.web_session_id)
    if session is None:
        return None
    token = secrets.token_urlsafe(TOKEN_BYTES)
    login = ContentLogin(token_hash=hash_token(token), web_session_id=session.id, host=host)
    async with database.session() as db:
        db.add(login)
        try:
            await db.flush()
        except IntegrityError:  # the web session was ended just now
            return None
        await _forget_older(db, login)
        await db.commit()
    return token, session


async def _take(database: Database, code: str) -> ContentCode | None:
    """The code's row, for the one who deletes it."""
    async with database.session() as db:
        found = await db.scalar(
            select(ContentCode).where(ContentCode.code_hash == hash_token(code))
        )
        if found is None:
            return None
        gone = delete(ContentCode).where(ContentCode.id == found.id).returning(ContentCode.id)
        taken = (await db.scalars(gone)).all()
        await db.commit()
    return found if taken else None


async def _forget_older(db: AsyncSession, login: ContentLogin) -> None:
    same = (
        ContentLogin.web_session_id == login.web_session_id,
        ContentLogin.host == login.host,
    )
    mine = select(ContentLogin.id).where(*same).order_by(ContentLogin.created_at.desc())
    newest = mine.limit(LOGINS_OF_ONE)
    await db.execute(delete(ContentLogin).where(*same, ContentLogin.id.not_in(newest)))
