"""Dependencies for the signatures of routes: authorization, and objects of the application.

Every route names exactly one guard of `GUARDS`, or a dependency that leads to one; a test walks all
routes and fails for one that does not. The guard also determines the scope that an access token
needs: a route with `CurrentUser` can be read with the scope `read`, `SessionsUser` changes things
with `sessions`, `JobsUser` with `jobs`, `FilesUser` reads and changes files with `files`; `Admin`,
`RecentPasswordAdmin`, `ReenteredPasswordAdmin`, `Reader` and `RecentPasswordGroupManager` need
`admin`; `GroupReader` needs `read` for a group manager, else `admin`; `CurrentToken` accepts a
token of any scope; `CurrentWebSession` and `ReenteredPasswordUser` accept no token.

For a web session, `ReenteredPassword` in a name means that the password was entered again,
recently, after the login; `RecentPassword` also admits a login in the last minute
(services/auth/web_sessions.py).

All are coroutines, because FastAPI runs any other function in a thread, which takes longer than the
function.
"""

import hmac
import ipaddress
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header
from starlette.requests import HTTPConnection

from portal import errors
from portal.config.settings import Settings
from portal.context import AppContext
from portal.models import AccessToken, HalfLogin, HalfLoginStep, Role, User, WebSession
from portal.services.audit.audit import Actor, set_token_of_request
from portal.services.auth import tokens, web_sessions
from portal.services.auth.tokens import Scope
from portal.services.identity.roles import is_manager
from portal.web.bearer import bearer, has_bearer
from portal.web.request_origin import SAFE_METHODS

ONLY_BROWSERS = "This isn't possible with an access token. Use the portal's pages."

# --- the application's objects ------------------------------------------------------------------


def _from_app_state(name: str) -> Callable[[HTTPConnection], Awaitable[Any]]:
    """Return a dependency for the attribute of this name in the application's state."""

    async def get_from_state(connection: HTTPConnection) -> Any:
        return getattr(connection.app.state, name)

    return get_from_state


ContextDep = Annotated[AppContext, Depends(_from_app_state("context"))]
SettingsDep = Annotated[Settings, Depends(_from_app_state("settings"))]


async def client_ip(connection: HTTPConnection) -> str:
    """Return the client's address.

    X-Forwarded-For is trusted only from our own nginx, on loopback.
    """
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
"""The client's idempotency key for a request that must not be executed twice: see
services/idempotency.py.
"""


# --- authorization ------------------------------------------------------------------------------


async def anyone() -> None:
    """Allow requests without a login."""


@dataclass(frozen=True)
class Identity:
    """The identity of a request: a user, by a browser's web session or by an access token."""

    user: User
    session: WebSession | None = None
    token: AccessToken | None = None

    @property
    def login_id(self) -> str:
        """Return the web session's id, or the token's."""
        return self.token.id if self.token is not None else self.session.id if self.session else ""

    def allowed(self, scope: Scope) -> User:
        """Return the user, if the request may act with this scope: a web session always may, a
        token only with its scopes.
        """
        if self.token is not None and scope.value not in self.token.scopes:
            raise errors.InsufficientScope(scope.value)
        return self.user


async def identity(connection: HTTPConnection, context: ContextDep) -> Identity:
    """Return the identity of the logged-in user or of the token's owner; a web session is kept
    alive by this request.

    A request with a token is decided by the token: its cookie is ignored. That is why the origin
    check lets it pass. Roles above user are refreshed from the directory from time to time. Raises
    LoginRequired, InvalidToken, SecondFactorRequired.
    """
    loaded = await _load_identity(connection, context)
    user = loaded.user
    may_read_all = user.role is not Role.USER
    if may_read_all and await context.directory_users.refresh_if_old(
        user.id, user.username, user.groups_at
    ):
        return await _load_identity(connection, context)
    return loaded


async def _load_identity(connection: HTTPConnection, context: AppContext) -> Identity:
    settings, database = context.settings, context.db
    if has_bearer(connection):
        token = await tokens.use(database, settings, bearer(connection))
        set_token_of_request(token.name)
        return Identity(token.user, token=token)
    cookie = connection.cookies.get(settings.cookie_name, "")
    resumed = await web_sessions.resume_any(database, settings, cookie)
    if resumed is None:
        raise errors.LoginRequired(await web_sessions.explain_refusal(database, cookie))
    if web_sessions.must_enrol(resumed, settings):
        raise errors.SecondFactorRequired("Your role requires a second factor. Set one up.")
    return Identity(resumed.user, session=resumed)


CurrentIdentity = Annotated[Identity, Depends(identity)]


async def no_token(connection: HTTPConnection) -> None:
    """Refuse access tokens: such routes are for browsers."""
    if has_bearer(connection):
        raise errors.Forbidden(ONLY_BROWSERS)


async def web_session(who: CurrentIdentity) -> WebSession:
    """Return the caller's web session; a token is refused regardless of its scopes."""
    if who.session is None:
        raise errors.Forbidden(ONLY_BROWSERS)
    return who.session


CurrentWebSession = Annotated[WebSession, Depends(web_session)]


async def access_token(who: CurrentIdentity) -> AccessToken:
    """Return the access token of the request, whatever its scopes; a browser is refused."""
    if who.token is None:
        raise errors.Forbidden("This is only possible with an access token.")
    return who.token


CurrentToken = Annotated[AccessToken, Depends(access_token)]


async def enrolling_session(
    connection: HTTPConnection, context: ContextDep, _no_token: Annotated[None, Depends(no_token)]
) -> WebSession:
    """Return the caller's web session, even if a second factor is still missing, to set one up."""
    cookie = connection.cookies.get(context.settings.cookie_name, "")
    resumed = await web_sessions.resume_any(context.db, context.settings, cookie)
    if resumed is None:
        raise errors.LoginRequired(await web_sessions.explain_refusal(context.db, cookie))
    return resumed


EnrollingSession = Annotated[WebSession, Depends(enrolling_session)]


async def half_login(
    connection: HTTPConnection, context: ContextDep, _no_token: Annotated[None, Depends(no_token)]
) -> HalfLogin:
    """Return a login with a correct password that still needs a code."""
    return await _load_half_login(connection, context, HalfLoginStep.CODE)


async def changing_login(
    connection: HTTPConnection, context: ContextDep, _no_token: Annotated[None, Depends(no_token)]
) -> HalfLogin:
    """Return a login with a correct password that has to be changed first."""
    return await _load_half_login(connection, context, HalfLoginStep.PASSWORD)


async def _load_half_login(
    connection: HTTPConnection, context: AppContext, step: HalfLoginStep
) -> HalfLogin:
    cookie = connection.cookies.get(context.settings.cookie_name, "")
    half = await web_sessions.load_half_login(context.db, cookie, step)
    if half is None:
        raise errors.LoginRequired("Start again with your username and password.")
    return half


CurrentHalfLogin = Annotated[HalfLogin, Depends(half_login)]
ChangingLogin = Annotated[HalfLogin, Depends(changing_login)]


async def current_user(who: CurrentIdentity, connection: HTTPConnection) -> User:
    """Return the logged-in user.

    A token may only read here: routes that change anything name their own scope.
    """
    if who.token is not None and connection.scope["method"] not in SAFE_METHODS:
        raise errors.Forbidden(ONLY_BROWSERS)
    return who.allowed(Scope.READ)


async def sessions_user(who: CurrentIdentity) -> User:
    """Return the logged-in user, for changes to sessions or TensorBoards."""
    return who.allowed(Scope.SESSIONS)


async def jobs_user(who: CurrentIdentity) -> User:
    """Return the logged-in user, for submitting, changing or previewing jobs."""
    return who.allowed(Scope.JOBS)


async def files_user(who: CurrentIdentity) -> User:
    """Return the logged-in user, for reading or changing their files.

    Files in a home are more sensitive than the data for which the scope `read` is granted, so they
    need a scope of their own.
    """
    return who.allowed(Scope.FILES)


FilesUser = Annotated[User, Depends(files_user)]
CurrentUser = Annotated[User, Depends(current_user)]
SessionsUser = Annotated[User, Depends(sessions_user)]
JobsUser = Annotated[User, Depends(jobs_user)]


async def admin(who: CurrentIdentity) -> User:
    """Return an administrator; other users get 403."""
    if who.user.role is not Role.ADMIN:
        raise errors.Forbidden("Only administrators may do this.")
    return who.allowed(Scope.ADMIN)


Admin = Annotated[User, Depends(admin)]


async def reader(who: CurrentIdentity) -> User:
    """Return an administrator or a viewer, for reading administrators' data."""
    if who.user.role not in {Role.ADMIN, Role.VIEWER}:
        raise errors.Forbidden("Only administrators may see this.")
    return who.allowed(Scope.ADMIN)


Reader = Annotated[User, Depends(reader)]


async def group_reader(group: str, who: CurrentIdentity, context: ContextDep) -> User:
    """Return a manager of the group in the path, an administrator or a viewer, for reading."""
    if who.user.role in {Role.ADMIN, Role.VIEWER}:
        return who.allowed(Scope.ADMIN)
    if not await is_manager(context.db, who.user.id, group):
        raise errors.Forbidden("Only this group's managers and administrators may see this.")
    return who.allowed(Scope.READ)


GroupReader = Annotated[User, Depends(group_reader)]


async def reentered_password_user(session: CurrentWebSession, settings: SettingsDep) -> User:
    """Return a user who entered the password again recently, for changes that outlive a login.

    The login itself does not count: a page that is opened after it must not be able to make such a
    change alone.
    """
    if not web_sessions.is_password_confirmed(session, settings):
        raise errors.PasswordRequired
    return session.user


ReenteredPasswordUser = Annotated[User, Depends(reentered_password_user)]


async def confirmed_enrolling(session: EnrollingSession, settings: SettingsDep) -> WebSession:
    """Return the session as `reentered_password_user` requires it, even if a second factor is still
    missing.
    """
    if not web_sessions.may_enrol(session, settings):
        raise errors.PasswordRequired
    return session


ConfirmedEnrolling = Annotated[WebSession, Depends(confirmed_enrolling)]


async def recent_password_admin(user: Admin, who: CurrentIdentity, settings: SettingsDep) -> User:
    """Return an administrator who entered the password recently, or by a token, which no page of a
    user can send.

    Every change by an administrator requires it.
    """
    if who.session is not None and not web_sessions.is_password_fresh(who.session, settings):
        raise errors.PasswordRequired
    return user


RecentPasswordAdmin = Annotated[User, Depends(recent_password_admin)]


async def reentered_password_admin(
    user: RecentPasswordAdmin, who: CurrentIdentity, settings: SettingsDep
) -> User:
    """Return an administrator as `recent_password_admin` does, but with the password entered again
    after the login.

    Required for changes that grant a role or access to another user's account.
    """
    if who.session is not None and not web_sessions.is_password_confirmed(who.session, settings):
        raise errors.PasswordRequired
    return user


ReenteredPasswordAdmin = Annotated[User, Depends(reentered_password_admin)]


async def by(who: CurrentIdentity, ip: ClientIp) -> Actor:
    """Return the author and address of a change, for the audit log; the route's guard authorizes
    it.
    """
    return Actor(who.user, ip)


ByDep = Annotated[Actor, Depends(by)]


async def recent_password_group_manager(
    group: str, who: CurrentIdentity, context: ContextDep
) -> User:
    """Return a manager of the group in the path, or an administrator, who entered the password
    recently.

    A token needs the scope `admin` in either case.
    """
    if who.user.role is not Role.ADMIN and not await is_manager(context.db, who.user.id, group):
        raise errors.Forbidden("Only this group's managers and administrators may do this.")
    user = who.allowed(Scope.ADMIN)
    if who.session is not None and not web_sessions.is_password_fresh(
        who.session, context.settings
    ):
        raise errors.PasswordRequired
    return user


RecentPasswordGroupManager = Annotated[User, Depends(recent_password_group_manager)]


async def still_open(context: AppContext, who: Identity) -> bool:
    """Return whether the login or token that opened a stream is still valid."""
    database, settings = context.db, context.settings
    if who.token is not None:
        return await tokens.is_valid(database, settings, who.token.id)
    return who.session is not None and await context.login_checks.is_open(
        database, settings, who.session.id
    )


async def loopback_only(connection: HTTPConnection) -> None:
    """Allow only programs on this host that connect directly, not through nginx. Others get 404."""
    peer = connection.client.host if connection.client else ""
    if "x-forwarded-for" in connection.headers or not _is_loopback(peer):
        raise errors.NotFound


async def internal_secret(
    connection: HTTPConnection,
    settings: SettingsDep,
    _here: Annotated[None, Depends(loopback_only)],
) -> None:
    """Allow only the hub's spawner and authenticator, by the secret that both read from a file."""
    if not hmac.compare_digest(bearer(connection).encode(), settings.internal_secret.encode()):
        raise errors.LoginRequired("This address requires the internal secret.")


async def metrics_reader(connection: HTTPConnection, settings: SettingsDep) -> None:
    """Allow only Prometheus: a program on this host, or one with its token. Others get 404."""
    token = settings.metrics_token
    if token is None or not hmac.compare_digest(bearer(connection).encode(), token.encode()):
        await loopback_only(connection)


GUARDS: set[Callable[..., Any]] = {
    anyone,
    identity,
    enrolling_session,
    half_login,
    changing_login,
    loopback_only,
    metrics_reader,
}
"""The functions that authorize a request.

A module with a guard of its own (the node programs' secret) adds it here.
"""

SCOPES: dict[Callable[..., Any], Scope] = {
    current_user: Scope.READ,
    sessions_user: Scope.SESSIONS,
    jobs_user: Scope.JOBS,
    files_user: Scope.FILES,
    admin: Scope.ADMIN,
    reader: Scope.ADMIN,
    group_reader: Scope.ADMIN,  # for an administrator; a group manager needs only `read`
    recent_password_group_manager: Scope.ADMIN,
}
"""The scope that a token needs for routes with one of these.

Routes with CurrentToken accept a token of any scope; other routes refuse tokens.
"""

Anyone = Depends(anyone)
NoToken = Depends(no_token)
LoopbackOnly = Depends(loopback_only)
InternalSecret = Depends(internal_secret)
MetricsReader = Depends(metrics_reader)
