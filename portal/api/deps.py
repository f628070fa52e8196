"""What routes ask for in their signatures: who may call them, and the live objects they use.

Every route names exactly one guard of `GUARDS`, or a dependency that leads to one; a test walks all
routes and fails for one that doesn't. What an access token needs stands there too: a route of
`CurrentUser` can be read with the scope `read`, `SessionsUser` changes things with `sessions`,
`JobsUser` with `jobs`, `FilesUser` reads and changes files with `files`; `Admin`, `FreshAdmin` and
`Reader` want `admin`; `CurrentWebSession` and `FreshPassword` take no token at all.
"""

import hmac
import ipaddress
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from fastapi import Depends, Header
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.requests import HTTPConnection

from portal import errors
from portal.api.bearer import bearer, has_bearer
from portal.db import Database, utcnow
from portal.models import AccessToken, HalfLogin, HalfLoginStep, Role, User, WebSession
from portal.origin import SAFE_METHODS
from portal.parts import Parts
from portal.services.audit.audit import By, came_with_token
from portal.services.files.roots import Files
from portal.services.login import tokens, web_sessions
from portal.services.login.accounts import Accounts
from portal.services.login.tokens import Scope
from portal.services.people.people import People
from portal.services.people.people_import import Imports
from portal.services.people.roles import leads
from portal.settings import Settings

ONLY_BROWSERS = "An access token can't do this. Use the portal's pages."

# --- the live objects ---------------------------------------------------------------------------


def _of_app(name: str) -> Callable[[HTTPConnection], Any]:
    """A dependency: what the application made at its start and keeps by this name."""

    def kept(connection: HTTPConnection) -> Any:
        return getattr(connection.app.state, name)

    return kept


FilesDep = Annotated[Files, Depends(_of_app("files"))]
PartsDep = Annotated[Parts, Depends(_of_app("parts"))]
AccountsDep = Annotated[Accounts, Depends(_of_app("accounts"))]
PeopleImportsDep = Annotated[Imports, Depends(_of_app("people_imports"))]
SettingsDep = Annotated[Settings, Depends(_of_app("settings"))]
DatabaseDep = Annotated[Database, Depends(_of_app("db"))]
PeopleDep = Annotated[People, Depends(_of_app("people"))]


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
IdempotencyKey = Annotated[str | None, Header(min_length=1, max_length=200)]
"""The caller's own name for a wish that must not be fulfilled twice: see services/once.py."""


# --- who may call -------------------------------------------------------------------------------


def anyone() -> None:
    """Nobody needs to be logged in for this."""


@dataclass(frozen=True)
class Identity:
    """Who a request comes from: by a browser's web session, or by an access token of theirs."""

    user: User
    session: WebSession | None = None
    token: AccessToken | None = None

    def allowed(self, scope: Scope) -> User:
        """The user, who may do everything of theirs, and a token what its scopes say."""
        if self.token is not None and scope.value not in self.token.scopes:
            raise errors.InsufficientScope(scope.value)
        return self.user


async def identity(
    connection: HTTPConnection, settings: SettingsDep, database: DatabaseDep, people: PeopleDep
) -> Identity:
    """Whoever is logged in, their web session kept alive by this request, or whose token it is.

    A request that shows a token stands or falls by it: its cookie isn't looked at. That is why the
    origin check lets it pass. The role of whoever is more than a user is asked of the directory
    again now and then. Raises LoginRequired, InvalidToken, EnrolmentRequired.
    """
    found = await _identity(connection, settings, database)
    user = found.user
    more = user.role is not Role.USER
    if more and await people.freshen(user.id, user.username, user.groups_at):
        return await _identity(connection, settings, database)
    return found


async def _identity(connection: HTTPConnection, settings: Settings, database: Database) -> Identity:
    if has_bearer(connection):
        token = await tokens.use(database, settings, bearer(connection))
        came_with_token(token.name)
        return Identity(token.user, token=token)
    cookie = connection.cookies.get(settings.cookie_name, "")
    found = await web_sessions.resume_any(database, settings, cookie)
    if found is None:
        raise errors.LoginRequired(await web_sessions.why_closed(database, cookie))
    if web_sessions.must_enrol(found, settings):
        raise errors.EnrolmentRequired("Your role needs a second factor. Please set one up.")
    return Identity(found.user, session=found)


CurrentIdentity = Annotated[Identity, Depends(identity)]


def no_token(connection: HTTPConnection) -> None:
    """Refuses access tokens: what is behind this is for browsers."""
    if has_bearer(connection):
        raise errors.Forbidden(ONLY_BROWSERS)


def web_session(who: CurrentIdentity) -> WebSession:
    """The caller's web session; a token is refused, whatever its scopes."""
    if who.session is None:
        raise errors.Forbidden(ONLY_BROWSERS)
    return who.session


CurrentWebSession = Annotated[WebSession, Depends(web_session)]


async def enrolling_session(
    connection: HTTPConnection,
    settings: SettingsDep,
    database: DatabaseDep,
    _no_token: Annotated[None, Depends(no_token)],
) -> WebSession:
    """The caller's web session, even if a second factor is still missing: to set one up."""
    cookie = connection.cookies.get(settings.cookie_name, "")
    found = await web_sessions.resume_any(database, settings, cookie)
    if found is None:
        raise errors.LoginRequired(await web_sessions.why_closed(database, cookie))
    return found


EnrollingSession = Annotated[WebSession, Depends(enrolling_session)]


async def half_login(
    connection: HTTPConnection,
    settings: SettingsDep,
    database: DatabaseDep,
    _no_token: Annotated[None, Depends(no_token)],
) -> HalfLogin:
    """A login whose password was right and whose code is still to come."""
    return await _half_login(connection, settings, database, HalfLoginStep.CODE)


async def changing_login(
    connection: HTTPConnection,
    settings: SettingsDep,
    database: DatabaseDep,
    _no_token: Annotated[None, Depends(no_token)],
) -> HalfLogin:
    """A login whose password was right and has to be changed first."""
    return await _half_login(connection, settings, database, HalfLoginStep.PASSWORD)


async def _half_login(
    connection: HTTPConnection, settings: Settings, database: Database, step: HalfLoginStep
) -> HalfLogin:
    cookie = connection.cookies.get(settings.cookie_name, "")
    found = await web_sessions.half_login(database, cookie, step)
    if found is None:
        raise errors.LoginRequired("Please begin again with your user name and password.")
    return found


CurrentHalfLogin = Annotated[HalfLogin, Depends(half_login)]
ChangingLogin = Annotated[HalfLogin, Depends(changing_login)]


def current_user(who: CurrentIdentity, connection: HTTPConnection) -> User:
    """Whoever is logged in. A token may only read: what changes anything names its own scope."""
    if who.token is not None and connection.scope["method"] not in SAFE_METHODS:
        raise errors.Forbidden(ONLY_BROWSERS)
    return who.allowed(Scope.READ)


def sessions_user(who: CurrentIdentity) -> User:
    """Whoever is logged in, to change sessions or TensorBoards."""
    return who.allowed(Scope.SESSIONS)


def jobs_user(who: CurrentIdentity) -> User:
    """Whoever is logged in, to submit or change jobs, or to try out what they would be."""
    return who.allowed(Scope.JOBS)


def files_user(who: CurrentIdentity) -> User:
    """Whoever is logged in, to look at their files or to change them: what lies in a home is worth
    more than what the scope `read` was given for."""
    return who.allowed(Scope.FILES)


FilesUser = Annotated[User, Depends(files_user)]
CurrentUser = Annotated[User, Depends(current_user)]
SessionsUser = Annotated[User, Depends(sessions_user)]
JobsUser = Annotated[User, Depends(jobs_user)]


def admin(who: CurrentIdentity) -> User:
    """An administrator; anyone else gets 403."""
    if who.user.role is not Role.ADMIN:
        raise errors.Forbidden("Only administrators may do this.")
    return who.allowed(Scope.ADMIN)


Admin = Annotated[User, Depends(admin)]


def reader(who: CurrentIdentity) -> User:
    """An administrator or a viewer, to look at what administrators look at."""
    if who.user.role not in {Role.ADMIN, Role.VIEWER}:
        raise errors.Forbidden("Only administrators may see this.")
    return who.allowed(Scope.ADMIN)


Reader = Annotated[User, Depends(reader)]


async def group_reader(group: str, who: CurrentIdentity, database: DatabaseDep) -> User:
    """A leader of the group that the path names, an administrator or a viewer: to look."""
    if who.user.role in {Role.ADMIN, Role.VIEWER}:
        return who.allowed(Scope.ADMIN)
    if not await leads(database, who.user.id, group):
        raise errors.Forbidden("Only this group's leaders and administrators may see this.")
    return who.allowed(Scope.READ)


GroupReader = Annotated[User, Depends(group_reader)]


def password_is_fresh(session: WebSession, settings: Settings) -> bool:
    return utcnow() - session.password_at < timedelta(minutes=settings.reauth_minutes)


def fresh_password(session: CurrentWebSession, settings: SettingsDep) -> User:
    """Someone who gave the password not long ago: for what a page of theirs must not do alone."""
    if not password_is_fresh(session, settings):
        raise errors.PasswordRequired
    return session.user


FreshPassword = Annotated[User, Depends(fresh_password)]


def fresh_enrolling(session: EnrollingSession, settings: SettingsDep) -> WebSession:
    """As `fresh_password`, even if a second factor is still missing."""
    if not password_is_fresh(session, settings):
        raise errors.PasswordRequired
    return session


FreshEnrolling = Annotated[WebSession, Depends(fresh_enrolling)]


def fresh_admin(user: Admin, who: CurrentIdentity, settings: SettingsDep) -> User:
    """An administrator who gave the password not long ago, or a token of theirs, which no page of
    a user's can show; for every change an admin makes."""
    if who.session is not None and not password_is_fresh(who.session, settings):
        raise errors.PasswordRequired
    return user


FreshAdmin = Annotated[User, Depends(fresh_admin)]


def by(who: CurrentIdentity, ip: ClientIp) -> By:
    """Who makes this change and from where, for the audit; the guard says whether they may."""
    return By(who.user, ip)


ByDep = Annotated[By, Depends(by)]


async def fresh_group_leader(
    group: str, who: CurrentIdentity, database: DatabaseDep, settings: SettingsDep
) -> User:
    """A leader of the group that the path names, or an administrator, who gave the password not
    long ago; a token needs the scope `admin` for either."""
    if who.user.role is not Role.ADMIN and not await leads(database, who.user.id, group):
        raise errors.Forbidden("Only this group's leaders and administrators may do this.")
    user = who.allowed(Scope.ADMIN)
    if who.session is not None and not password_is_fresh(who.session, settings):
        raise errors.PasswordRequired
    return user


FreshGroupLeader = Annotated[User, Depends(fresh_group_leader)]


async def still_open(database: Database, settings: Settings, who: Identity) -> bool:
    """Whether what let a stream in still would."""
    if who.token is not None:
        return await tokens.is_valid(database, who.token.id)
    return who.session is not None and await web_sessions.is_open(
        database, settings, who.session.id
    )


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


def metrics_reader(connection: HTTPConnection, settings: SettingsDep) -> None:
    """Prometheus: a program on this host, or one that has its token. To others: nothing here."""
    token = settings.metrics_token
    if token is None or not hmac.compare_digest(bearer(connection).encode(), token.encode()):
        loopback_only(connection)


GUARDS: set[Callable[..., Any]] = {
    anyone,
    identity,
    enrolling_session,
    half_login,
    changing_login,
    loopback_only,
    metrics_reader,
}
"""The functions that decide who enters. A module with a guard of its own (the node programs'
secret) adds it here."""

SCOPES: dict[Callable[..., Any], Scope] = {
    current_user: Scope.READ,
    sessions_user: Scope.SESSIONS,
    jobs_user: Scope.JOBS,
    files_user: Scope.FILES,
    admin: Scope.ADMIN,
    reader: Scope.ADMIN,
    group_reader: Scope.ADMIN,  # an administrator's; of a leader's own group `read` is enough
    fresh_group_leader: Scope.ADMIN,
}
"""What a token needs for the routes that name one of these; others refuse tokens."""

Anyone = Depends(anyone)
NoToken = Depends(no_token)
LoopbackOnly = Depends(loopback_only)
InternalSecret = Depends(internal_secret)
MetricsReader = Depends(metrics_reader)
