"""Client of the hub for the portal's /internal routes, over loopback.

It runs inside the hub, as the other modules here, and depends on neither Slurm nor LDAP nor a
database.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any

import aiohttp

ASK_TIMEOUT_S = 3.0
CONNECT_TIMEOUT_S = 2.0
"""For one of several portals: one that hangs, with a full backlog, doesn't refuse connections."""
DETAIL_CHARS = 500
RETRYABLE_STATUSES = frozenset({429, 500, 502, 503, 504})
REQUEST_ID = re.compile(r"[0-9a-f]{16,32}")
REQUEST: ContextVar[str] = ContextVar("request", default="")
"""Id, assigned by nginx or the portal, of the request that this task serves."""


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
class InternalClient:
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
        if response.status in RETRYABLE_STATUSES:
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


def retry_pauses() -> Iterator[float]:
    """Yield the seconds between retries: a restarted portal is back within a few."""
    return chain((0.2, 0.3, 0.5), repeat(1.0))
