"""Logins at content hosts (separate hosts for users' notebooks and TensorBoards), derived from the
portal's login by a one-time code.

A content host redirects an unknown browser to the portal, with the hash of a random value (the
state) that it stored in this browser. With the portal's cookie the portal issues a code for that
host and that state; the host accepts it only together with the state itself. So a leaked code opens
nothing, and no user can be tricked into using another user's login. The resulting login is a child
of the web session and ends with it.
"""

import hmac
import secrets
from datetime import timedelta

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from portal.config.settings import Settings
from portal.db import Database, utcnow
from portal.models import ContentCode, ContentLogin, WebSession
from portal.services.auth import web_sessions
from portal.services.auth.web_sessions import MAX_TOKEN_LENGTH, TOKEN_BYTES
from portal.services.hashes import hash_token

CODE_LIFE = timedelta(seconds=60)
CODES_OF_ONE = 10
LOGINS_OF_ONE = 3
"""Maximum per web session and host: several tabs may log in at the same time."""


def new_state() -> str:
    """Return a random state for a browser to keep at a content host.

    Only its `hash_token` is sent to the portal.
    """
    return secrets.token_urlsafe(TOKEN_BYTES)


async def issue(database: Database, session: WebSession, host: str, state_hash: str) -> str | None:
    """Issue a code for this web session's browser at `host`.

    Returns None if the web session has just ended.
    """
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
        own_codes = select(ContentCode.id).where(ContentCode.web_session_id == session.id)
        newest = own_codes.order_by(ContentCode.expires_at.desc()).limit(CODES_OF_ONE)
        old = ContentCode.web_session_id == session.id, ContentCode.id.not_in(newest)
        await db.execute(delete(ContentCode).where(*old))
        await db.commit()
    return code


async def exchange(
    database: Database, settings: Settings, code: str, host: str, state: str
) -> tuple[str, WebSession] | None:
    """Exchange a code for the token of this host's cookie and the web session.

    Returns None for an unknown or expired code, or one of another host or browser. A presented code
    is used up in any case.
    """
    if not 0 < len(code) <= MAX_TOKEN_LENGTH or not 0 < len(state) <= MAX_TOKEN_LENGTH:
        return None
    code_row = await _consume_code(database, code)
    if code_row is None or code_row.expires_at <= utcnow() or code_row.host != host:
        return None
    if not hmac.compare_digest(code_row.state_hash, hash_token(state)):
        return None
    session = await web_sessions.open_by_id(database, settings, code_row.web_session_id)
    if session is None:
        return None
    token = secrets.token_urlsafe(TOKEN_BYTES)
    login = ContentLogin(token_hash=hash_token(token), web_session_id=session.id, host=host)
    async with database.session() as db:
        db.add(login)
        try:
            await db.flush()
        except IntegrityError:  # the web session was ended concurrently
            return None
        await _delete_older(db, login)
        await db.commit()
    return token, session


async def _consume_code(database: Database, code: str) -> ContentCode | None:
    """Delete the code and return its row; None if it does not exist or was already taken."""
    async with database.session() as db:
        row = await db.scalar(select(ContentCode).where(ContentCode.code_hash == hash_token(code)))
        if row is None:
            return None
        gone = delete(ContentCode).where(ContentCode.id == row.id).returning(ContentCode.id)
        taken = (await db.scalars(gone)).all()
        await db.commit()
    return row if taken else None


async def _delete_older(db: AsyncSession, login: ContentLogin) -> None:
    same = (
        ContentLogin.web_session_id == login.web_session_id,
        ContentLogin.host == login.host,
    )
    own_logins = select(ContentLogin.id).where(*same).order_by(ContentLogin.created_at.desc())
    newest = own_logins.limit(LOGINS_OF_ONE)
    await db.execute(delete(ContentLogin).where(*same, ContentLogin.id.not_in(newest)))
