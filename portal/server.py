"""uvicorn's configuration for the application: one worker, loopback, and no proxy headers."""

import asyncio
import gc
import logging
import socket
from types import FrameType

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from portal import systemd
from portal.config.settings import Settings
from portal.errors import Unreadable, problem_response

log = logging.getLogger(__name__)

# For requests in progress at shutdown. Together with the next portal's start it is shorter than
# nginx's timeout for the gate: a new request waits for both.
GRACE_S = 10
# Clients have to close idle connections before this server does: a request may be on its way over a
# connection that the server closes, and is then lost. So this is longer than the portal's other
# programs keep a connection; nginx keeps none (deploy/templates/nginx.conf).
KEEP_ALIVE_S = 75
TURNS = 20  # of the event loop, until an accepted connection has its protocol
PAUSE_S = 0.01
# How many new objects start a search for garbage, how many such searches one of the older objects,
# and so on. Each stops all requests. With Python's own 700, one answer about 5,000 nodes starts
# several, and almost no garbage is found: objects without cycles never need them.
GARBAGE_THRESHOLDS = (10_000, 20, 10)
UNREADABLE = "The request can't be read: it isn't valid HTTP, or its method doesn't exist."


class HttpProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol, with a problem document for its own refusals too."""

    def send_400_response(self, msg: str) -> None:
        log.info("a request could not be read: %s", msg)
        answer = problem_response(Unreadable(UNREADABLE))
        headers = {
            **answer.headers,
            "Connection": "close",
            "X-Content-Type-Options": "nosniff",
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.transport.write(f"HTTP/1.1 400 Bad Request\r\n{lines}\r\n".encode() + answer.body)
        self.transport.close()


class PortalServer(uvicorn.Server):
    """A server that notifies systemd of its readiness, and the application of the shutdown: long
    responses then end, instead of being cut off after GRACE_S.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, then answer requests."""
        await super().startup(sockets)
        if self.started:
            _exempt_from_garbage_collection()
            systemd.notify("READY=1")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        state = self.config.app.state  # type: ignore[union-attr]
        state.leader.ending.set()
        context = getattr(state, "context", None)
        if context is not None:
            context.notifier.close()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections, then wait until a request has arrived on each accepted one,
        for GRACE_S at most.

        A client that has just connected is about to send its request; uvicorn itself would close
        the connection without reading it.
        """
        log.info("the portal takes no more connections")
        systemd.notify("STOPPING=1")
        for server in self.servers:
            server.close()
        for _ in range(TURNS):
            await asyncio.sleep(0)
        loop = asyncio.get_running_loop()
        until = loop.time() + GRACE_S
        while loop.time() < until and any(  # noqa: ASYNC110 - uvicorn has no event for a request
            getattr(connection, "cycle", None) is None
            for connection in self.server_state.connections
        ):
            await asyncio.sleep(PAUSE_S)
        await super().shutdown(sockets)


def _exempt_from_garbage_collection() -> None:
    """Exempt what exists now from searches for garbage, and make them rare.

    The modules, routes and schemas are 300,000 objects that stay. A search among them takes 0.2 s.
    """
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    gc.enable()  # `portal serve` disables it until now


def server_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """Return the configuration for `portal serve` and for tests.

    Client addresses are read in web/dependencies.py, not here.
    """
    return uvicorn.Config(
        app,
        host=settings.listen_host,
        port=settings.listen_port,
        workers=1,
        loop="asyncio",  # uvloop's fork blocks it for 11 ms per command (docs/decisions/0005)
        http=HttpProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
        h11_max_incomplete_event_size=64 * 1024,
    )
