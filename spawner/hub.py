"""What JupyterHub is given of ours: a spawner, an authenticator and a proxy, for jupyterhub_config.

The portal owns every session and is who knows the users; the hub only adopts. So all three are
thin: they ask the portal over loopback, and a portal that doesn't answer is never read as "gone" or
"logged out". This module runs inside the hub, imports nothing else of ours, and knows neither
Slurm nor LDAP nor any database.
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
"""The portal holds a start until the node's port connects, up to 60 s."""
ASK_TIMEOUT_S = 3.0
CONNECT_TIMEOUT_S = 2.0
"""For one portal of several: a host that is gone refuses nobody, it is silent."""
STARTING_S = 30.0
"""A portal that starts with the hub is there by then."""
STARTING_PAUSE_S = 0.3
DETAIL_CHARS = 500
NOT_NOW = frozenset({429, 500, 502, 503, 504})
REQUEST_ID = re.compile(r"[0-9a-f]{16,32}")
REQUEST: ContextVar[str] = ContextVar("request", default="")
"""The name, given by nginx or the portal, of the request that this task answers."""

AWAY = (
    "The portal is not answering just now. Reload the page in a moment."
    " 门户暂时没有响应。请稍后重新加载页面。"
)


class PortalAway(Exception):
    """The portal didn't answer, or answered that it can't now."""


def take_name(handler: Any) -> None:
    """From now on this task's lines, and what it asks the portal, bear the request's name."""
    name = handler.request.headers.get("X-Request-Id", "") if handler is not None else ""
    REQUEST.set(name if REQUEST_ID.fullmatch(name) else "")


@dataclass(frozen=True)
class Answer:
    """A status and the JSON object that came with it, if one did."""

    status: int
    body: Mapping[str, Any]

    @property
    def detail(self) -> str:
        """The portal's own words for a refusal."""
        text = self.body.get("detail") or self.body.get("title") or f"status {self.status}"
        return str(text)[:DETAIL_CHARS]


@dataclass(frozen=True)
class Portal:
    """The /internal routes of one portal, or of several of which any may be asked: the next one
    where connecting to one fails. All that is asked here may be repeated, as aiohttp does once
    where a connection breaks off."""

    urls: Sequence[str]
    secret: str = field(repr=False)

    async def ask(
        self,
        method: str,
        path: str,
        *,
        timeout_s: float,
        json: Any = None,
        cookie: str | None = None,
        host: str = "",
    ) -> Answer:
        """One request: with the user's cookie, shown at `host`, or with our secret. Raises
        PortalAway."""
        shown = {"Cookie": cookie or "", "X-Content-Host": host}
        headers = shown if cookie else {"Authorization": f"Bearer {self.secret}"}
        headers |= {"X-Request-Id": REQUEST.get()} if REQUEST.get() else {}
        connect_s = CONNECT_TIMEOUT_S if len(self.urls) > 1 else None
        limits = aiohttp.ClientTimeout(total=timeout_s, sock_connect=connect_s)
        failed: Exception | None = None
        for url in self.urls:
            try:
                return await _answer(method, url + path, limits, json=json, headers=headers)
            except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
                failed = error  # nothing was sent
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                failed = error
                break
        raise PortalAway(f"the portal did not answer: {failed!r}") from failed


async def _answer(method: str, url: str, limits: aiohttp.ClientTimeout, **options: Any) -> Answer:
    """With a client for each request: at most a few a second, and nothing to close."""
    client = aiohttp.ClientSession(timeout=limits, cookie_jar=aiohttp.DummyCookieJar())
    async with client, client.request(method, url, allow_redirects=False, **options) as response:
        if response.status in NOT_NOW:
            raise PortalAway(f"the portal answered {response.status}")
        return Answer(response.status, await _object(response))


async def _object(response: aiohttp.ClientResponse) -> Mapping[str, Any]:
    if "json" not in response.content_type:
        return {}
    try:
        body = await response.json(content_type=None)
    except ValueError as error:
        raise PortalAway(f"the portal's answer can't be read: {error}") from error
    return body if isinstance(body, dict) else {}


class PortalSpawner(Spawner):  # type: ignore[misc]
    """A server that the portal starts, watches and stops.

    The hub hears of a session only once its node program has called home, so `start` waits for
    seconds at most. What is needed to adopt it again after a kill -9 is saved before any waiting.
    """

    portal_urls = List(Unicode(), config=True, help="The portals' addresses on loopback.")
    internal_secret = Unicode(config=True, help="What the portal's /internal routes ask for.")

    node_url = ""
    """Where the hub looks whether the server is there, once the portal has named it."""

    @property
    def _portal(self) -> Portal:
        return Portal(self.portal_urls, self.internal_secret)

    @property
    def _path(self) -> str:
        return f"/internal/servers/{quote(self.user.name, safe='')}/{quote(self.name, safe='')}"

    def get_state(self) -> dict[str, Any]:
        """Called by the hub after `start` and by us before it."""
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
        """Hand the server's environment to the portal; returns its URL. Raises SpawnException
        when the portal refuses. While the portal is away we ask again, until the hub's
        start_timeout cancels us."""
        take_name(self.handler)
        self._save()
        self.node_url = await self._hand_over()
        self._save()
        return self.node_url

    async def poll(self) -> int | None:
        """None: it runs, or nobody can tell. Never raises: the hub would read that as stopped.

        After a start the hub asks this first, about each server that it knew, and holds up
        whatever else is wanted of it until it has found out: by connecting for long to one that
        has ended meanwhile. So a portal that has started no sooner is waited for then."""
        try:
            answer = await self._ask_for(STARTING_S if self._is_first_check else 0.0)
        except PortalAway as error:
            self.log.warning("Can't tell whether %s runs: %s", self._log_name, error)
            return None
        if answer.status == 404 or (answer.status == 200 and answer.body.get("alive") is False):
            return 0
        return None

    @property
    def _is_first_check(self) -> bool:
        """Whether the hub has just started and looks at the servers that it knew (6.1 has no public
        word for it; where it isn't said, nothing waits)."""
        return bool(getattr(self, "_check_pending", False))

    async def _ask_for(self, patience_s: float) -> Answer:
        """The portal's word on this server; raises PortalAway when it has been away for so long."""
        deadline = time.monotonic() + patience_s
        while True:
            try:
                return await self._portal.ask("GET", self._path, timeout_s=ASK_TIMEOUT_S)
            except PortalAway:
                if time.monotonic() >= deadline:
                    raise
                await asyncio.sleep(STARTING_PAUSE_S)

    async def get_url(self) -> str:
        """Where it runs. Asked after a hub restart only; if the hub died before the portal had
        confirmed the start, the environment is handed over now, with the same token."""
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
        """Tell the portal that the hub has let go of the server. The portal owns the job and
        ends it even if this never reaches it, so a failure is only logged."""
        try:
            answer = await self._portal.ask("DELETE", self._path, timeout_s=ASK_TIMEOUT_S)
        except PortalAway as error:
            self.log.warning("The portal was not told that %s stops: %s", self._log_name, error)
            return
        if answer.status >= 400 and answer.status != 404:
            self.log.warning("The portal did not stop %s: %s", self._log_name, answer.detail)

    async def _hand_over(self) -> str:
        """PUT until the portal says where the server runs; repeating it is safe."""
        body = {
            "env": self.get_env(),
            "args": self.get_args(),
            "base_url": self.server.base_url,
        }
        pauses = _pauses()
        while True:
            try:
                answer = await self._portal.ask(
                    "PUT", self._path, json=body, timeout_s=START_TIMEOUT_S
                )
            except PortalAway as error:
                self.log.warning("Waiting for the portal to start %s: %s", self._log_name, error)
                await asyncio.sleep(next(pauses))
            else:
                url = _url(answer, str(self.hub.url))
                # it runs already, and with another token (this hub had given it up, or lost its
                # database): take that one over, and the hub registers it after `start`
                self.api_token = str(answer.body.get("api_token") or self.api_token)
                return url

    def _save(self) -> None:
        """What the hub itself would only store after `start` has returned."""
        self.orm_spawner.state = self.get_state()
        self.user.db.commit()


def _url(answer: Answer, hub_url: str) -> str:
    """Where the hub looks for it, SpawnException if the portal refused: where that says; or, as
    only the portal can tell whose certificate is the right one, at itself where it speaks TLS."""
    url = answer.body.get("url")
    if answer.status != 200 or not isinstance(url, str):
        raise SpawnException(answer.detail, reason="refused")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not parts.port:
        raise SpawnException("the portal named no usable address", reason="address")
    parts = urlsplit(hub_url) if parts.scheme == "https" else parts
    return f"{parts.scheme}://{parts.netloc}"


def _pauses() -> Iterator[float]:
    """Seconds between tries: a restarted portal is back within a few."""
    return chain((0.2, 0.3, 0.5), repeat(1.0))


class PortalAuthenticator(Authenticator):  # type: ignore[misc]
    """Forward auth: the portal's cookie says who it is, and the portal says whose cookie it is."""

    portal_urls = List(Unicode(), config=True, help="The portals' addresses on loopback.")
    internal_secret = Unicode(config=True, help="What the portal's /internal routes ask for.")
    public_url = Unicode(config=True, help="The address in the browser, without a final slash.")
    cookie_name = Unicode("portal_session", config=True, help="The portal's cookie, as seen here.")
    begin_url = Unicode(config=True, help="Where to log in, if not at the portal's login page.")

    @property
    def _portal(self) -> Portal:
        return Portal(self.portal_urls, self.internal_secret)

    def login_url(self, base_url: str) -> str:
        """Must differ from /hub/login, which redirects here."""
        return f"{base_url.rstrip('/')}/portal-login"

    def get_handlers(self, app: Any) -> list[tuple[str, type[BaseHandler]]]:
        """Ours come before the hub's own: its pages for starting servers and making tokens are
        the portal's business, and lead there."""
        return [
            ("/portal-login", PortalLoginHandler),
            ("/logout", PortalLogoutHandler),
            (r"/(?:home|spawn(?:-pending)?(?:/.*)?|token|admin(?:/.*)?|shares?/.*)?", ToPortal),
        ]

    async def authenticate(self, handler: BaseHandler, data: Any) -> dict[str, Any] | None:
        """The user whose portal cookie this request bears, or None. Raises PortalAway.
        Nobody is an admin of the hub: the portal's admins act through the portal."""
        take_name(handler)
        name = await self.whose(handler)
        return {"name": name, "admin": False} if name else None

    async def refresh_user(self, user: Any, handler: BaseHandler | None = None) -> bool:
        """Called at most once a second for each user: is this still a user, and (in a browser)
        still the same one? A portal that is away is not a logout."""
        take_name(handler)
        try:
            if handler is not None and self._from_browser(handler):
                return bool(await self.whose(handler) == user.name)
            return await self._is_active(user.name)
        except PortalAway as error:
            self.log.warning("%s stays logged in unchecked: %s", user.name, error)
            return True

    async def whose(self, handler: BaseHandler) -> str | None:
        """Only the portal's own cookie is passed on, under its own name. Raises PortalAway."""
        value = handler.get_cookie(self.cookie_name)
        if not value or not re.fullmatch(r"[A-Za-z0-9_.~=+/-]{1,512}", value):
            return None
        answer = await self._portal.ask(
            "GET",
            "/internal/whoami",
            timeout_s=ASK_TIMEOUT_S,
            cookie=f"{self.cookie_name}={value}",
            host=handler.request.host,
        )
        name = answer.body.get("name")
        if answer.status == 200 and isinstance(name, str) and USERNAME.fullmatch(name):
            return name
        if answer.status not in (200, 401, 403):
            raise PortalAway(f"whoami answered {answer.status}")
        return None

    async def _is_active(self, username: str) -> bool:
        path = f"/internal/users/{quote(username, safe='')}"
        answer = await self._portal.ask("GET", path, timeout_s=ASK_TIMEOUT_S)
        if answer.status == 404:
            return False
        if answer.status != 200:
            raise PortalAway(f"{path} answered {answer.status}")
        return answer.body.get("active") is True

    def _from_browser(self, handler: BaseHandler) -> bool:
        return not getattr(handler, "_token_authenticated", False)


class PortalLoginHandler(BaseHandler):  # type: ignore[misc]
    """Where the hub sends whoever it doesn't know."""

    async def get(self) -> None:
        """Known to the portal: logged in here too. Unknown: to the portal's login page, and on to
        where they wanted to go, of which only the path travels, so nobody is sent elsewhere."""
        try:
            user = await self.login_user()
        except PortalAway as error:
            self.log.warning("No login: %s", error)
            self.set_status(503)
            self.set_header("Retry-After", "2")
            self.finish(AWAY)
            return
        if user is not None:
            self._jupyterhub_user = user
            self.redirect(self.get_next_url(user))
            return
        query = urlencode({"next": self._next_path()})
        begin = self.authenticator.begin_url or f"{self.authenticator.public_url}/login"
        self.redirect(f"{begin}?{query}")

    def _next_path(self) -> str:
        url = urlsplit(str(self.get_next_url()))
        return url.path + (f"?{url.query}" if url.query else "")


class PortalLogoutHandler(LogoutHandler):  # type: ignore[misc]
    """Ends the hub's own login; the portal's logout leads here, and the page after is the
    portal's."""

    async def render_logout_page(self) -> None:
        self.redirect(f"{self.authenticator.public_url}/login")


class ToPortal(BaseHandler):  # type: ignore[misc]
    """A page of the hub's whose place is taken by the portal's."""

    def get(self) -> None:
        self.redirect(f"{self.authenticator.public_url}/")


class PortalProxy(Proxy):  # type: ignore[misc]
    """No proxy: nginx asks the portal's gate. The routes are only kept, so that the hub's check of
    them is content."""

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
