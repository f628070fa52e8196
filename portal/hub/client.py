"""A client for the parts of JupyterHub's REST API that the portal needs.

It sends requests and reads responses, and decides nothing. It knows neither the database nor the
portal's sessions; it deals with users and their named servers.

    HubError                 a call failed; the message is for the log
    ├── HubNotReady          no answer, or a temporary refusal: try again later
    └── HubRefused           the hub responded with a status that a retry would not change
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
from spawner.timing import Measure, measured, unmeasured

TIMEOUT_S = 5.0
SERVER_TOKEN_PREFIX = "Server at "  # noqa: S105 - how the hub names a login to a user's server
MESSAGE_CHARS = 300


class HubError(Exception):
    """The base class of this module's errors."""


class HubNotReady(HubError):
    """The hub is down, starting, or busy with this very server."""


class HubRefused(HubError):
    """The hub refused the request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"the hub answered {status}: {message}")
        self.status = status


@dataclass(frozen=True)
class HubServerState:
    """The hub's state of a named server.

    `pending` is "spawn", "stop", "check" or None; `exists` is False for a server that the hub does
    not know, or has removed.
    """

    exists: bool
    ready: bool = False
    pending: str | None = None
    stopped: bool = True
    url: str | None = None


@dataclass
class Hub:
    """A client, open between `open` and `close` (or in `async with`).

    Every call takes at most `timeout_s` seconds and raises HubError; `measure` is called for each
    request.
    """

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
        """Return the hub's version; health checks use it to test that the hub responds."""
        body = await self._request("GET", "/")
        return str(body.get("version", ""))

    async def ensure_user(self, username: str) -> None:
        """Create the user in the hub if they do not exist.

        Checking first is cheaper for the hub than refusing, and logs nothing.
        """
        status, message = await self._send_request("GET", _user_path(username))
        if status == 404:
            await self._request("POST", _user_path(username), also={409})
        elif status != 200:
            raise _to_error(status, message)

    async def start_server(self, username: str, name: str) -> None:
        """Request the start of the server; one that is starting or running counts as success.

        The response does not mean that it runs: see `server_state`.
        """
        status, message = await self._send_request("POST", _server_path(username, name), {})
        if status < 300 or (status == 400 and "already running" in message):
            return
        if status == 400 and "pending" in message:
            raise HubNotReady(f"{username}/{name}: {message}")
        raise _to_error(status, message)

    async def server_state(self, username: str, name: str) -> HubServerState:
        """Return the hub's present state of the server."""
        status, message = await self._send_request("GET", _server_path(username, name))
        if status == 404:
            return HubServerState(exists=False)
        if status != 200:
            raise _to_error(status, message)
        return _to_state(_parse_object(message))

    async def stop_server(self, username: str, name: str, *, remove: bool = True) -> bool:
        """Stop the server and remove it. True once it is gone; False while it is stopping: try
        again.

        Raises HubNotReady while the hub is still checking the server after a restart.
        """
        status, message = await self._send_request(
            "DELETE", _server_path(username, name), {"remove": remove}
        )
        if status in (204, 404):
            return True
        if status == 202:
            return False
        raise _to_error(status, message)

    async def server_names(self, username: str) -> list[str]:
        """Return the names of the user's servers, including those that start or stop."""
        status, message = await self._send_request("GET", _user_path(username))
        if status == 404:
            return []
        if status != 200:
            raise _to_error(status, message)
        servers = _parse_object(message).get("servers")
        return [str(name) for name in servers] if isinstance(servers, dict) else []

    async def revoke_tokens(self, username: str) -> int:
        """Revoke the tokens by which the user's browsers are logged in to servers, and return their
        number.

        The servers' own tokens stay.
        """
        status, message = await self._send_request("GET", f"{_user_path(username)}/tokens")
        if status == 404:
            return 0
        if status != 200:
            raise _to_error(status, message)
        tokens = _parse_object(message).get("api_tokens", [])
        logins = [token["id"] for token in tokens if _is_login_token(token)]
        for token_id in logins:
            await self._request(
                "DELETE", f"{_user_path(username)}/tokens/{_quote(token_id)}", also={404}
            )
        return len(logins)

    async def delete_user(self, username: str) -> bool:
        """Delete the user from the hub. True once they are gone; False while a server of theirs
        still runs.

        In that case stop the server, then try again (the hub responds with 500).
        """
        status, message = await self._send_request("DELETE", _user_path(username))
        if status in (204, 404):
            return True
        if status in (400, 500):
            return False
        raise _to_error(status, message)

    async def _request(
        self, method: str, path: str, *, also: set[int] | frozenset[int] = frozenset()
    ) -> dict[str, Any]:
        status, message = await self._send_request(method, path)
        if status >= 300 and status not in also:
            raise _to_error(status, message)
        return _parse_object(message) if status < 300 and message.startswith("{") else {}

    async def _send_request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> tuple[int, str]:
        if self._client is None:
            raise HubNotReady("the client is not open")
        url = f"{self.url.rstrip('/')}/hub/api{path}"
        headers = {request_id.HEADER: name} if (name := request_id.current()) else {}
        try:
            with measured(self.measure, method, (aiohttp.ClientError, TimeoutError, OSError)):
                async with self._client.request(
                    method, url, json=body, headers=headers, allow_redirects=False
                ) as response:
                    return response.status, await response.text(errors="replace")
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise HubNotReady(f"{method} {path}: {error!r}") from error


def _quote(part: str) -> str:
    return quote(part, safe="")


def _user_path(username: str) -> str:
    return f"/users/{_quote(username)}"


def _server_path(username: str, name: str) -> str:
    return f"{_user_path(username)}/servers/{_quote(name)}"


def _is_login_token(token: Mapping[str, Any]) -> bool:
    return str(token.get("oauth_client") or "").startswith(SERVER_TOKEN_PREFIX)


def _to_state(model: Mapping[str, Any]) -> HubServerState:
    return HubServerState(
        exists=True,
        ready=model.get("ready") is True,
        pending=model.get("pending") or None,
        stopped=model.get("stopped") is True,
        url=model.get("url"),
    )


def _parse_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise HubNotReady(f"the hub's answer can't be read: {error}") from error
    if not isinstance(value, dict):
        raise HubNotReady("the hub's answer is not an object")
    return value


def _to_error(status: int, message: str) -> HubError:
    text = message[:MESSAGE_CHARS]
    if status == 429 or status >= 500:
        return HubNotReady(f"the hub answered {status}: {text}")
    return HubRefused(status, text)
