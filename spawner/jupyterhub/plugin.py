"""JupyterHub plug-ins: a spawner, an authenticator and a proxy, for jupyterhub_config.

The portal owns every session and all user data; the hub only adopts them. So all three are thin:
they call the portal over loopback, and an unreachable portal never counts as "gone" or "logged
out". This module runs inside the hub, imports nothing else of this package, and depends on neither
Slurm nor LDAP nor a database.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import aiohttp
from jupyterhub.auth import Authenticator
from jupyterhub.handlers import BaseHandler, LogoutHandler
from jupyterhub.proxy import Proxy
from jupyterhub.spawner import Spawner, SpawnException
from traitlets import List, Unicode

USERNAME = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
START_TIMEOUT_S = 70.0
"""The portal holds a start request until the node's port connects, up to 60 s."""
ASK_TIMEOUT_S = 3.0
CONNECT_TIMEOUT_S = 2.0
"""For one of several portals: a host that is down does not refuse connections but is silent."""
STARTING_S = 30.0
"""By then a portal that starts together with the hub is up."""
STARTING_PAUSE_S = 0.3
HELD_S = 20.0
"""By then a portal that is being restarted is up again; a browser's login waits that long."""
DETAIL_CHARS = 500
NOT_NOW = frozenset({429, 500, 502, 503, 504})
REQUEST_ID = re.compile(r"[0-9a-f]{16,32}")
REQUEST: ContextVar[str] = ContextVar("request", default="")
"""Id, assigned by nginx or the portal, of the request that this task serves."""

PORTAL_UNREACHABLE = (
    "The portal doesn't answer. This page reloads automatically."
    " 门户没有响应。此页面会自动重新打开。"
)


class PortalAway(Exception):
    """The portal did not answer, or answered that it cannot serve the request now."""


def adopt_request_id(handler: Any) -> None:
    """Adopt the request's id for this task's log lines and its requests to the portal."""
    request_id = handler.request.headers.get("X-Request-Id", "") if handler is not None else ""
    REQUEST.set(request_id if REQUEST_ID.fullmatch(request_id) else "")


@dataclass(frozen=True)
class InternalResponse:
    """Status, and the JSON object in the body, if there was one."""

    status: int
    body: Mapping[str, Any]

    @property
    def detail(self) -> str:
        """Return the portal's explanation of an error."""
        text = self.body.get("detail") or self.body.get("title") or f"status {self.status}"
        return str(text)[:DETAIL_CHARS]


@dataclass(frozen=True)
class Portal:
    """Client for the /internal routes of one portal, or of several equivalent ones.

    If connecting to one fails, the next is tried. All requests made here are safe to repeat, as
    aiohttp does once when a connection breaks off.
    """

    urls: Sequence[str]
    secret: str = field(repr=False)

    async def request(
        self,
        method: str,
        path: str,
        *,
        timeout_s: float,
        json: Any = None,
        cookie: str | None = None,
        host: str = "",
    ) -> InternalResponse:
        """Send one request, with the user's cookie as received at `host` or with the shared secret.

        Raises PortalAway.
        """
        user_headers = {"Cookie": cookie or "", "X-Content-Host": host}
        headers = user_headers if cookie else {"Authorization": f"Bearer {self.secret}"}
        headers |= {"X-Request-Id": REQUEST.get()} if REQUEST.get() else {}
        connect_s = CONNECT_TIMEOUT_S if len(self.urls) > 1 else None
        limits = aiohttp.ClientTimeout(total=timeout_s, sock_connect=connect_s)
        failed: Exception | None = None
        for url in self.urls:
            try:
                return await _send(method, url + path, limits, json=json, headers=headers)
            except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
                failed = error  # nothing was sent
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                failed = error
                break
        raise PortalAway(f"the portal did not answer: {failed!r}") from failed


async def _send(
    method: str, url: str, limits: aiohttp.ClientTimeout, **options: Any
) -> InternalResponse:
    """Send one request with its own client: there are only a few a second, and nothing to close."""
    client = aiohttp.ClientSession(timeout=limits, cookie_jar=aiohttp.DummyCookieJar())
    async with client, client.request(method, url, allow_redirects=False, **options) as response:
        if response.status in NOT_NOW:
            raise PortalAway(f"the portal returned status {response.status}")
        return InternalResponse(response.status, await _read_object(response))


async def _read_object(response: aiohttp.ClientResponse) -> Mapping[str, Any]:
    if "json" not in response.content_type:
        return {}
    try:
        body = await response.json(content_type=None)
    except ValueError as error:
        raise PortalAway(f"the portal's response can't be parsed: {error}") from error
    return body if isinstance(body, dict) else {}


class PortalSpawner(Spawner):  # type: ignore[misc]
    """Server that the portal starts, watches and stops.

    The portal involves the hub only once the session's node program has called back, so `start`
    takes seconds at most. The data needed to adopt it again after a kill -9 is saved before any
    waiting.
    """

    portal_urls = List(Unicode(), config=True, help="The portals' addresses on loopback.")
    internal_secret = Unicode(config=True, help="The secret of the portal's /internal routes.")

    node_url = ""
    """Address at which the hub checks the server, once the portal has supplied it."""

    @property
    def _portal(self) -> Portal:
        return Portal(self.portal_urls, self.internal_secret)

    @property
    def _path(self) -> str:
        return f"/internal/servers/{quote(self.user.name, safe='')}/{quote(self.name, safe='')}"

    def get_state(self) -> dict[str, Any]:
        """Return the state to save. The hub calls this after `start`, this class also before it."""
        state: dict[str, Any] = super().get_state()
        if self.api_token:
            state |= {"api_token": self.api_token, "node_url": self.node_url}
        return state

    def load_state(self, state: Mapping[str, Any]) -> None:
        super().load_state(state)
        self.api_token = state.get("api_token", "")
        self.node_url = state.get("node_url", "")

    def clear_state(self) -> None:
        super().clear_state()
        self.node_url = ""

    async def start(self) -> str:
        """Pass the server's environment to the portal and return the server's URL.

        Raises SpawnException when the portal refuses. While the portal is away, retry until the
        hub's start_timeout cancels the call.
        """
        adopt_request_id(self.handler)
        self._save()
        self.node_url = await self._hand_over()
        self._save()
        return self.node_url

    async def poll(self) -> int | None:
        """Return None if the server runs or its state is unknown, else 0.

        Never raises, because the hub would take that as stopped. After a start the hub first polls
        each known server, and serves nothing else until it is done; for a server that has ended it
        tries to connect for a long time. So in that phase, wait for a portal that has started no
        earlier.
        """
        try:
            response = await self._ask_until(STARTING_S if self._is_first_check else 0.0)
        except PortalAway as error:
            self.log.warning("Cannot check whether %s runs: %s", self._log_name, error)
            return None
        if response.status == 404 or (
            response.status == 200 and response.body.get("alive") is False
        ):
            return 0
        return None

    @property
    def _is_first_check(self) -> bool:
        """Return whether the hub has just started and is checking the known servers.

        JupyterHub 6.1 has no public attribute for this; if the private one is missing, nothing
        waits.
        """
        return bool(getattr(self, "_check_pending", False))

    async def _ask_until(self, patience_s: float) -> InternalResponse:
        """Return the portal's answer about this server; raise PortalAway after `patience_s`."""
        deadline = time.monotonic() + patience_s
        while True:
            try:
                return await self._portal.request("GET", self._path, timeout_s=ASK_TIMEOUT_S)
            except PortalAway:
                if time.monotonic() >= deadline:
                    raise
                await asyncio.sleep(STARTING_PAUSE_S)

    async def get_url(self) -> str:
        """Return the server's URL; called only after a restart of the hub.

        If the hub died before the portal confirmed the start, pass on the environment now, with the
        same token.
        """
        if not self.node_url:
            try:
                async with asyncio.timeout(self.start_timeout):
                    self.node_url = await self._hand_over()
                self._save()
            except (SpawnException, TimeoutError) as error:
                self.log.warning("%s could not be adopted: %s", self._log_name, error)
                return str(self.server.url)
        return self.node_url + str(self.server.base_url)

    async def stop(self, now: bool = False) -> None:
        """Notify the portal that the hub no longer uses the server.

        The portal owns the job and ends it even if this request never arrives, so a failure is only
        logged.
        """
        try:
            response = await self._portal.request("DELETE", self._path, timeout_s=ASK_TIMEOUT_S)
        except PortalAway as error:
            self.log.warning(
                "Could not report to the portal that %s stops: %s", self._log_name, error
            )
            return
        if response.status >= 400 and response.status != 404:
            self.log.warning("The portal did not stop %s: %s", self._log_name, response.detail)

    async def _hand_over(self) -> str:
        """Repeat the idempotent PUT until the portal returns the server's address."""
        body = {
            "env": self.get_env(),
            "args": self.get_args(),
            "base_url": self.server.base_url,
        }
        pauses = _pauses()
        while True:
            try:
                response = await self._portal.request(
                    "PUT", self._path, json=body, timeout_s=START_TIMEOUT_S
                )
            except PortalAway as error:
                self.log.warning("Waiting for the portal to start %s: %s", self._log_name, error)
                await asyncio.sleep(next(pauses))
            else:
                url = _server_url(response, str(self.hub.url))
                # It already runs, with another token (this hub had given it up, or lost its
                # database): adopt that token, and the hub registers it after `start`.
                self.api_token = str(response.body.get("api_token") or self.api_token)
                return url

    def _save(self) -> None:
        """Save the state now; by itself the hub would do so only after `start` has returned."""
        self.orm_spawner.state = self.get_state()
        self.user.db.commit()


def _server_url(response: InternalResponse, hub_url: str) -> str:
    """Return the URL at which the hub checks the server.

    With TLS this is the hub's own address, because only the portal can verify the server's
    certificate. Raises SpawnException if the portal refused.
    """
    url = response.body.get("url")
    if response.status != 200 or not isinstance(url, str):
        raise SpawnException(response.detail, reason="refused")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not parts.port:
        raise SpawnException("the portal returned no usable address", reason="address")
    parts = urlsplit(hub_url) if parts.scheme == "https" else parts
    return f"{parts.scheme}://{parts.netloc}"


def _pauses() -> Iterator[float]:
    """Yield the seconds between retries: a restarted portal is back within a few."""
    return chain((0.2, 0.3, 0.5), repeat(1.0))


class PortalAuthenticator(Authenticator):  # type: ignore[misc]
    """Forward authentication: the portal identifies the user by the portal's cookie."""

    portal_urls = List(Unicode(), config=True, help="The portals' addresses on loopback.")
    internal_secret = Unicode(config=True, help="The secret of the portal's /internal routes.")
    public_url = Unicode(config=True, help="The address in the browser, without a final slash.")
    cookie_name = Unicode("portal_session", config=True, help="The portal's cookie, as seen here.")
    begin_url = Unicode(config=True, help="Where to log in, if not at the portal's login page.")

    @property
    def _portal(self) -> Portal:
        return Portal(self.portal_urls, self.internal_secret)

    def login_url(self, base_url: str) -> str:
        """Return the login URL, which must differ from /hub/login, because that redirects here."""
        return f"{base_url.rstrip('/')}/portal-login"

    def get_handlers(self, app: Any) -> list[tuple[str, type[BaseHandler]]]:
        """Return handlers that precede the hub's own.

        The hub's pages for starting servers and making tokens redirect to the portal, which
        provides both.
        """
        return [
            ("/portal-login", PortalLoginHandler),
            ("/logout", PortalLogoutHandler),
            (r"/(?:home|spawn(?:-pending)?(?:/.*)?|token|admin(?:/.*)?|shares?/.*)?", ToPortal),
        ]

    async def authenticate(self, handler: BaseHandler, data: Any) -> dict[str, Any] | None:
        """Return the user of the request's portal cookie, or None.

        Raises PortalAway.

        Users are never admins of the hub: the portal's administrators act through the portal.
        """
        adopt_request_id(handler)
        name = await self.find_username(handler)
        return {"name": name, "admin": False} if name else None

    async def refresh_user(self, user: Any, handler: BaseHandler | None = None) -> bool:
        """Return whether the user is still active and, in a browser, the same as before.

        Called at most once a second per user. An unreachable portal is not a logout.
        """
        adopt_request_id(handler)
        try:
            if handler is not None and self._is_from_browser(handler):
                return bool(await self.find_username(handler) == user.name)
            return await self._is_active(user.name)
        except PortalAway as error:
            self.log.warning("%s stays logged in unchecked: %s", user.name, error)
            return True

    async def find_username(self, handler: BaseHandler) -> str | None:
        """Return the user of the portal's cookie, the only one that is passed on.

        Raises PortalAway.
        """
        value = handler.get_cookie(self.cookie_name)
        if not value or not re.fullmatch(r"[A-Za-z0-9_.~=+/-]{1,512}", value):
            return None
        response = await self._portal.request(
            "GET",
            "/internal/whoami",
            timeout_s=ASK_TIMEOUT_S,
            cookie=f"{self.cookie_name}={value}",
            host=handler.request.host,
        )
        name = response.body.get("name")
        if response.status == 200 and isinstance(name, str) and USERNAME.fullmatch(name):
            return name
        if response.status not in (200, 401, 403):
            raise PortalAway(f"whoami returned status {response.status}")
        return None

    async def _is_active(self, username: str) -> bool:
        path = f"/internal/users/{quote(username, safe='')}"
        response = await self._portal.request("GET", path, timeout_s=ASK_TIMEOUT_S)
        if response.status == 404:
            return False
        if response.status != 200:
            raise PortalAway(f"{path} returned status {response.status}")
        return response.body.get("active") is True

    def _is_from_browser(self, handler: BaseHandler) -> bool:
        return not getattr(handler, "_token_authenticated", False)


class PortalLoginHandler(BaseHandler):  # type: ignore[misc]
    """Login page of the hub, to which it sends unauthenticated users."""

    async def get(self) -> None:
        """Log in a user known to the portal; redirect others to the portal's login page.

        From there they return to the page they requested. Only its path is passed on, so that no
        link can redirect to another site.
        """
        try:
            user = await self._wait_for_user()
        except PortalAway as error:
            self.log.warning("No login: %s", error)
            self.set_status(503)
            self.set_header("Retry-After", "2")
            self.set_header("Refresh", "2")
            self.finish(PORTAL_UNREACHABLE)
            return
        if user is not None:
            self._jupyterhub_user = user
            self.redirect(self.get_next_url(user))
            return
        query = urlencode({"next": self._next_path()})
        begin = self.authenticator.begin_url or f"{self.authenticator.public_url}/login"
        self.redirect(f"{begin}?{query}")

    async def _wait_for_user(self) -> Any:
        """Return the user, retrying while the portal is away, as it may be restarting.

        Raises PortalAway.
        """
        pauses, deadline = _pauses(), time.monotonic() + HELD_S
        while True:
            pause = next(pauses)
            try:
                return await self.login_user()
            except PortalAway:
                if time.monotonic() + pause > deadline:
                    raise
            await asyncio.sleep(pause)

    def _next_path(self) -> str:
        url = urlsplit(str(self.get_next_url()))
        return url.path + (f"?{url.query}" if url.query else "")


class PortalLogoutHandler(LogoutHandler):  # type: ignore[misc]
    """Logout of the hub, to which the portal's logout leads; ends at the portal's login page."""

    async def render_logout_page(self) -> None:
        self.redirect(f"{self.authenticator.public_url}/login")


class ToPortal(BaseHandler):  # type: ignore[misc]
    """Redirect from a hub page to the portal, which replaces it."""

    def get(self) -> None:
        self.redirect(f"{self.authenticator.public_url}/")


class PortalProxy(Proxy):  # type: ignore[misc]
    """Placeholder proxy: nginx asks the portal's gate instead.

    Routes are only stored, to satisfy the hub's check of them.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.should_start = False
        self._routes: dict[str, dict[str, Any]] = {}

    async def add_route(self, routespec: str, target: str, data: Any) -> None:
        spec = self.validate_routespec(routespec)
        self._routes[spec] = {"routespec": spec, "target": target, "data": data}

    async def delete_route(self, routespec: str) -> None:
        self._routes.pop(self.validate_routespec(routespec), None)

    async def get_all_routes(self) -> dict[str, dict[str, Any]]:
        return dict(self._routes)
