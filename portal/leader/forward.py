"""Forwarding of requests from a standby portal to the leader.

The leader answers as if it had received the request itself: the forwarding portal names the client,
and authenticates with a secret shared by both. A failed attempt is repeated only if the request
certainly did not reach the leader.
"""

import asyncio
import hashlib
import hmac
import time
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import suppress
from typing import Any

import aiohttp
import structlog
from starlette.types import ASGIApp, Receive, Scope, Send
from yarl import URL

from portal.config.settings import Settings
from portal.errors import NotFound, Unavailable, problem_response
from portal.leader.election import LeaderElection
from portal.streaming.proxy import Headers, open_client, run_until, send_request, send_stream
from spawner.tasks import end_all

log = structlog.get_logger(__name__)

LOCAL_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that each portal answers itself."""
PEER_TOKEN, CLIENT, HOPS = b"x-portal-peer", b"x-portal-client", b"x-portal-hops"
MAX_HOPS = 3
WAIT_S = 20.0
RETRY_S = 0.5
NOT_FORWARDED = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer",
        b"transfer-encoding", b"upgrade", b"expect", PEER_TOKEN, CLIENT, HOPS,
    }
)  # fmt: skip
"""Hop-by-hop headers, and the portals' own headers, which a client must not set."""
NOT_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
NO_LEADER = "The portal is switching to another server. Try again in a moment."


class LeaderForwardMiddleware:
    """The outermost middleware of portals on PostgreSQL: answers a request if this portal leads,
    else forwards it to the leader.
    """

    def __init__(self, app: ASGIApp, election: LeaderElection, settings: Settings) -> None:
        self.app = app
        self.election = election
        secret = settings.internal_secret.encode()
        self._token = hmac.digest(secret, b"passed on by another portal", hashlib.sha256).hex()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if not scope["raw_path"].startswith(b"/"):
            # `*@elsewhere`, appended to the leader's address, would name another host.
            await problem_response(NotFound())(scope, receive, send)
            return
        scope, hops = self._restore_request(scope)
        if scope["path"] in LOCAL_PATHS:
            await self.app(scope, receive, send)
            return
        body = _Body(receive, scope["headers"])
        until = time.monotonic() + WAIT_S
        while not self.election.leads.is_set():
            leader = await self.election.find_leader() if hops < MAX_HOPS else None
            if leader is not None and await self._forward(leader, hops, scope, body, send):
                return
            left = until - time.monotonic()
            if left <= 0:
                await _refuse(scope, receive, send)
                return
            await _wait_within(min(RETRY_S, left), self.election.leads.wait())
        await self._answer_here(scope, body.receive_again, send)

    def _restore_request(self, scope: Scope) -> tuple[Scope, int]:
        """Return the request as the forwarding portal received it, and the number of portals it has
        passed.
        """
        restored: dict[bytes, bytes] = {}
        headers: Headers = []
        for name, value in scope["headers"]:
            if name in {PEER_TOKEN, CLIENT, HOPS}:
                restored[name] = value
            else:
                headers.append((name, value))
        if not hmac.compare_digest(restored.get(PEER_TOKEN, b""), self._token.encode()):
            return {**scope, "headers": headers}, 0
        client = (restored.get(CLIENT, b"").decode("latin-1"), 0)
        hops = int(restored[HOPS]) if restored.get(HOPS, b"").isdigit() else MAX_HOPS
        return {**scope, "headers": headers, "client": client}, hops

    async def _answer_here(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request here; if this portal stops leading during it, return an error or cut
        off the response.
        """
        task = asyncio.current_task()
        begun = False

        async def note_and_send(message: Any) -> None:
            nonlocal begun
            begun = True
            await send(message)

        if task is None:
            raise RuntimeError("a request is always a task's")
        self.election.requests.add(task)
        try:
            await self.app(scope, receive, note_and_send)
        except asyncio.CancelledError:
            if self.election.leads.is_set() or begun:
                raise
            task.uncancel()
            await _refuse(scope, receive, send)
        finally:
            self.election.requests.discard(task)

    # --- to the leader --------------------------------------------------------------------------

    async def _forward(
        self, leader: str, hops: int, scope: Scope, body: "_Body", send: Send
    ) -> bool:
        """Forward to the leader.

        Return whether the request was sent, and therefore answered, successfully or not.
        """
        sending = self._send_to_leader(leader, hops, scope, body, send)
        sent = await run_until(sending, body.wait_for_disconnect())
        return sent is not False  # None: the client has disconnected

    async def _send_to_leader(
        self, leader: str, hops: int, scope: Scope, body: "_Body", send: Send
    ) -> bool:
        begun = False
        try:
            # A client of its own: on a reused connection it is uncertain whether a request
            # without an answer was read.
            async with (
                open_client() as client,
                await self._request(client, leader, hops, scope, body) as answer,
            ):
                begun = True
                await self._copy_response(answer, send)
        except NOT_SENT as error:
            log.info("the leader doesn't answer", leader=leader, cause=str(error)[:300])
            return False
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            log.warning("the leader's answer broke off", leader=leader, cause=str(error)[:300])
            if not begun:  # a response that has begun is cut off instead
                await _refuse(scope, body.receive, send)
        return True

    async def _request(
        self, client: aiohttp.ClientSession, leader: str, hops: int, scope: Scope, body: "_Body"
    ) -> aiohttp.ClientResponse:
        path = scope["raw_path"].decode("latin-1")
        query = scope["query_string"].decode("latin-1")
        url = URL(f"http://{leader}{path}{'?' if query else ''}{query}", encoded=True)
        client_address = scope["client"][0] if scope["client"] else ""
        own = {PEER_TOKEN: self._token, CLIENT: client_address, HOPS: str(hops + 1)}
        headers = [
            *(_to_text(pair) for pair in scope["headers"] if pair[0] not in NOT_FORWARDED),
            *((name.decode(), value) for name, value in own.items()),
        ]
        return await send_request(
            client, scope["method"], url, headers, body.iterate() if body.has_content else None
        )

    async def _copy_response(self, answer: aiohttp.ClientResponse, send: Send) -> None:
        headers = [
            (name.lower(), value)
            for name, value in answer.raw_headers
            if name.lower() not in NOT_FORWARDED | {b"date"}
        ]
        stream = answer.content_type == "text/event-stream"
        pieces = self._iterate_until_shutdown(answer, stream=stream)
        await send_stream(send, answer.status, headers, pieces)

    async def _iterate_until_shutdown(
        self, answer: aiohttp.ClientResponse, *, stream: bool
    ) -> AsyncGenerator[bytes]:
        """Yield the response as it arrives.

        An endless stream ends when this portal shuts down, and the client reconnects.
        """
        if not stream:
            async for piece in answer.content.iter_any():
                yield piece
            return
        ending = asyncio.create_task(self.election.ending.wait())
        under_way: set[asyncio.Task[Any]] = {ending}
        try:
            while not ending.done():
                reading = asyncio.create_task(answer.content.readany())
                under_way = {ending, reading}
                await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                if not reading.done() or not (piece := reading.result()):
                    return
                yield piece
        finally:  # also when the client disconnects while nothing arrives
            await end_all(under_way)


class _Body:
    """The client's messages: first the body, if there is one, then the disconnect."""

    def __init__(self, receive: Receive, headers: Headers) -> None:
        self.receive = receive
        self.has_content = any(
            name in {b"content-length", b"transfer-encoding"} for name, _ in headers
        )
        self._read, self._disconnected = asyncio.Event(), asyncio.Event()
        self._empty: Any = None
        if not self.has_content:
            self._read.set()

    async def iterate(self) -> AsyncIterator[bytes]:
        has_more = True
        while has_more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                self._disconnected.set()
                break
            yield message.get("body", b"")
            has_more = message.get("more_body", False)
        self._read.set()

    async def wait_for_disconnect(self) -> None:
        """Return when the client has disconnected."""
        await self._read.wait()
        while not self._disconnected.is_set():
            message = await self.receive()
            if message["type"] == "http.disconnect":
                self._disconnected.set()
            else:
                self._empty = message

    async def receive_again(self) -> Any:
        """Return the next message for a local answer.

        An empty body that `wait_for_disconnect` has consumed is returned again.
        """
        message, self._empty = self._empty, None
        return await self.receive() if message is None else message


def _to_text(pair: tuple[bytes, bytes]) -> tuple[str, str]:
    return pair[0].decode("latin-1"), pair[1].decode("latin-1")


async def _wait_within(seconds: float, waited: Coroutine[Any, Any, Any]) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(waited, seconds)


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    answer = problem_response(Unavailable(NO_LEADER, headers={"Retry-After": "3"}))
    await answer(scope, receive, send)
