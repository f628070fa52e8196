"""What routes ask for in their signatures: who may call them, and the live objects they use.

Every route names exactly one guard of `GUARDS`, or a dependency that leads to one; a test walks all
routes and fails for one that doesn't.
"""

import hmac
import ipaddress
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Annotated, Any

from fastapi import Depends
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.requests import HTTPConnection

from portal import errors
from portal.db import Database, utcnow
from portal.models import Role, User, WebSession
from portal.parts import Parts
from portal.services import accounts
from portal.services.people import People
from portal.settings import Settings

# --- the live objects ---------------------------------------------------------------------------


def _settings(connection: HTTPConnection) -> Settings:
    settings: Settings = connection.app.state.settings
    return settings


def _database(connection: HTTPConnection) -> Database:
    database: Database = connection.app.state.db
    return database


def _parts(connection: HTTPConnection) -> Parts:
    parts: Parts = connection.app.state.parts
    return parts


def _people(connection: HTTPConnection) -> People:
    people: People = connection.app.state.people
    return people


PartsDep = Annotated[Parts, Depends(_parts)]
SettingsDep = Annotated[Settings, Depends(_settings)]
DatabaseDep = Annotated[Database, Depends(_database)]
PeopleDep = Annotated[People, Depends(_people)]


async def _db(database: DatabaseDep) -> AsyncIterator[AsyncSession]:
    async with database.session() as session:
        yield session


Db = Annotated[AsyncSession, Depends(_db, scope="function")]
"""A session of this request's own; commit in it what you mean to keep, and call nothing slow."""


def client_ip(connection: HTTPConnection) -> str:
    """The browser's address. Only our own nginx, which is on loopback, is believed about it."""
    peer = connection.client.host if connection.client else ""
    forwarded = connection.headers.get("x-forwarded-for", "")
    if not forwarded or not _is_loopback(peer):
        return peer
    last = forwarded.rsplit(",", 1)[-1].strip()
    return last if _is_ip(last) else peer


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return _is_ip(host) and ipaddress.ip_address(host).is_loopback


ClientIp = Annotated[str, Depends(client_ip)]


# --- who may call -------------------------------------------------------------------------------


def anyone() -> None:
    """Nobody needs to be logged in for this."""


async def web_session(
    connection: HTTPConnection, settings: SettingsDep, database: DatabaseDep
) -> WebSession:
    """The caller's web session, kept alive by this request; raises LoginRequired."""
    token = connection.cookies.get(settings.cookie_name, "")
    found = await accounts.resume(database, settings, token)
    if found is None:
        raise errors.LoginRequired
    return found


CurrentWebSession = Annotated[WebSession, Depends(web_session)]


def current_user(session: CurrentWebSession) -> User:
    """Whoever is logged in."""
    return session.user


CurrentUser = Annotated[User, Depends(current_user)]


def admin(user: CurrentUser) -> User:
    """An administrator; anyone else gets 403."""
    if user.role is not Role.ADMIN:
        raise errors.Forbidden("Only administrators may do this.")
    return user


Admin = Annotated[User, Depends(admin)]


def password_is_fresh(session: WebSession, settings: Settings) -> bool:
    return utcnow() - session.password_at < timedelta(minutes=settings.reauth_minutes)


def fresh_password(session: CurrentWebSession, settings: SettingsDep) -> User:
    """Someone who gave the password not long ago: for what a page of theirs must not do alone."""
    if not password_is_fresh(session, settings):
        raise errors.PasswordRequired
    return session.user


FreshPassword = Annotated[User, Depends(fresh_password)]


def fresh_admin(user: Admin, _fresh: FreshPassword) -> User:
    """An administrator who gave the password not long ago; for every change an admin makes."""
    return user


FreshAdmin = Annotated[User, Depends(fresh_admin)]


def loopback_only(connection: HTTPConnection) -> None:
    """Programs on this host that came straight here, not through nginx. To others: nothing here."""
    peer = connection.client.host if connection.client else ""
    if "x-forwarded-for" in connection.headers or not _is_loopback(peer):
        raise errors.NotFound


def internal_secret(
    connection: HTTPConnection,
    settings: SettingsDep,
    _here: Annotated[None, Depends(loopback_only)],
) -> None:
    """The hub's spawner and authenticator, by the secret that both read from a file."""
    if not hmac.compare_digest(bearer(connection).encode(), settings.internal_secret.encode()):
        raise errors.LoginRequired("This address wants the internal secret.")


def bearer(connection: HTTPConnection) -> str:
    """The token of `Authorization: Bearer …`, or an empty string."""
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


GUARDS: set[Callable[..., Any]] = {anyone, web_session, loopback_only}
"""The functions that decide who enters. A module with a guard of its own (the node programs'
secret) adds it here."""

Anyone = Depends(anyone)
LoopbackOnly = Depends(loopback_only)
InternalSecret = Depends(internal_secret)
