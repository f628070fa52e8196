"""JupyterHub's REST API, as far as the portal needs it.

An edge: it sends requests and reads answers, and decides nothing. It knows neither the database nor
what a session is; to it there are users and their named servers.

    HubError                 a call came to nothing; the message is for the log
    ├── HubUnavailable       no answer, or "not now": ask again later
    └── HubRefused           the hub answered with a status that asking again won't change
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import aiohttp

from spawner import request_id
from spawner.measured import Measure, measured, unmeasured

TIMEOUT_S = 5.0
SERVER_TOKEN_PREFIX = "Server at "  # noqa: S105 - how the hub names a login to a user's server
MESSAGE_CHARS = 300


class HubError(Exception):
    """The root of what this module raises."""


class HubUnavailable(HubError):
    """The hub is away, starting, or busy with this very server."""


class HubRefused(HubError):
    """The hub said no."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"the hub answered {status}: {message}")
        self.status = status


@dataclass(frozen=True)
class ServerState:
    """A named server in the hub's eyes. `pending` is "spawn", "stop", "check" or None; a server
    that the hub has never heard of, or has removed, does not exist."""

    exists: bool
    ready: bool = False
    pending: str | None = None
    stopped: bool = True
    url: str | None = None


@dataclass
class Hub:
    """A client, open between `open` and `close` (or `async with`). Every call takes `timeout_s`
    seconds at most and raises HubError; `measure` hears of each request."""

    url: str
    token: str = field(repr=False)
    timeout_s: float = TIMEOUT_S
    measure: Measure = field(default=unmeasured, repr=False)
    _client: aiohttp.ClientSession | None = field(default=None, repr=False)

    async def open(self) -> None:
        self._client = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=self.timeout_s),
            headers={"Authorization": f"token {self.token}"},
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def version(self) -> str:
        """The hub's version: that it answers at all is what health checks ask."""
        body = await self._ok("GET", "/")
        return str(body.get("version", ""))

    async def ensure_user(self, username: str) -> None:
        """Make the user in the hub, unless they are there: asking first is quicker for the hub
        than refusing, and fills no log."""
        status, message = await self._send("GET", _user(username))
        if status == 404:
            await self._ok("POST", _user(username), also={409})
        elif status != 200:
            raise _error(status, message)

    async def start_server(self, username: str, name: str) -> None:
        """Ask for the server; one that is starting or running already is as good. That it *will*
        run is not said by the answer: ask `server_state`."""
        status, message = await self._send("POST", _server(username, name), {})
        if status < 300 or (status == 400 and "already running" in message):
            return
        if status == 400 and "pending" in message:
            raise HubUnavailable(f"{username}/{name}: {message}")
        raise _error(status, message)

    async def server_state(self, username: str, name: str) -> ServerState:
        """What the hub says of the server now."""
        status, message = await self._send("GET", _server(username, name))
        if status == 404:
            return ServerState(exists=False)
        if status != 200:
            raise _error(status, message)
        return _state(_object(message))

    async def stop_server(self, username: str, name: str, *, remove: bool = True) -> bool:
        """Stop the server and forget it. True once it is gone; False while it is stopping: ask
        again. While the hub is still checking it after a restart, HubUnavailable is raised."""
        status, message = await self._send("DELETE", _server(username, name), {"remove": remove})
        if status in (204, 404):
            return True
        if status == 202:
            return False
        raise _error(status, message)

    async def server_names(self, username: str) -> list[str]:
        """The names of the user's servers, those that start or stop among them."""
        status, message = await self._send("GET", _user(username))
        if status == 404:
            return []
        if status != 200:
            raise _error(status, message)
        servers = _object(message).get("servers")
        return [str(name) for name in servers] if isinstance(servers, dict) else []

    async def revoke_tokens(self, username: str) -> int:
        """Drop the tokens by which the user's browsers are logged in to servers; the servers' own
        stay. Returns how many were dropped."""
        status, message = await self._send("GET", f"{_user(username)}/tokens")
        if status == 404:
            return 0
        if status != 200:
            raise _error(status, message)
        tokens = _object(message).get("api_tokens", [])
        logins = [token["id"] for token in tokens if _is_login(token)]
        for token_id in logins:
            await self._ok("DELETE", f"{_user(username)}/tokens/{_quote(token_id)}", also={404})
        return len(logins)

    async def delete_user(self, username: str) -> bool:
        """Forget the user. True once they are gone; False while a server of theirs still runs:
        stop it, then ask again (the hub answers 500 to that)."""
        status, message = await self._send("DELETE", _user(username))
        if status in (204, 404):
            return True
        if status in (400, 500):
            return False
        raise _error(status, message)

    async def _ok(
        self, method: str, path: str, *, also: set[int] | frozenset[int] = frozenset()
    ) -> dict[str, Any]:
        status, message = await self._send(method, path)
        if status >= 300 and status not in also:
            raise _error(status, message)
        return _object(message) if status < 300 and message.startswith("{") else {}

    async def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> tuple[int, str]:
        if self._client is None:
            raise HubUnavailable("the client is not open")
        url = f"{self.url.rstrip('/')}/hub/api{path}"
        headers = {request_id.HEADER: name} if (name := request_id.current()) else {}
        try:
            with measured(self.measure, method, (aiohttp.ClientError, TimeoutError, OSError)):
                async with self._client.request(
                    method, url, json=body, headers=headers, allow_redirects=False
                ) as response:
                    return response.status, await response.text(errors="replace")
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise HubUnavailable(f"{method} {path}: {error!r}") from error


def _quote(part: str) -> str:
    return quote(part, safe="")


def _user(username: str) -> str:
    return f"/users/{_quote(username)}"


def _server(username: str, name: str) -> str:
    return f"{_user(username)}/servers/{_quote(name)}"


def _is_login(token: Mapping[str, Any]) -> bool:
    return str(token.get("oauth_client") or "").startswith(SERVER_TOKEN_PREFIX)


def _state(model: Mapping[str, Any]) -> ServerState:
    return ServerState(
        exists=True,
        ready=model.get("ready") is True,
        pending=model.get("pending") or None,
        stopped=model.get("stopped") is True,
        url=model.get("url"),
    )


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise HubUnavailable(f"the hub's answer can't be read: {error}") from error
    if not isinstance(value, dict):
        raise HubUnavailable("the hub's answer is not an object")
    return value


def _error(status: int, message: str) -> HubError:
    text = message[:MESSAGE_CHARS]
    if status == 429 or status >= 500:
        return HubUnavailable(f"the hub answered {status}: {text}")
    return HubRefused(status, text)
