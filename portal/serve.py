"""How uvicorn runs the application: one worker, loopback, no say for proxies but ours."""

import asyncio
import logging
import socket
from types import FrameType

import uvicorn
from fastapi import FastAPI

from portal.settings import Settings

log = logging.getLogger(__name__)

# For what is being answered when the portal is told to end. It is short of what nginx waits for the
# gate, with the next portal's start: whoever comes meanwhile waits for both.
GRACE_S = 10
# Longer than anybody of ours keeps an idle connection to the portal: whoever closes first may do so
# under a request that is on its way. nginx keeps none (deploy/templates/nginx.conf).
KEEP_ALIVE_S = 75
TURNS = 20  # of the event loop, until an accepted connection has its protocol
PAUSE_S = 0.01


class Server(uvicorn.Server):
    """A server that tells the application when it is to end: its long answers end then too,
    instead of being cut after GRACE_S."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        state = self.config.app.state  # type: ignore[union-attr]
        state.turns.ending.set()
        parts = getattr(state, "parts", None)
        if parts is not None:
            parts.changes.close()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, and answer on those that were taken: a request follows each.
        uvicorn itself would close them unread."""
        log.info("the portal takes no more connections")
        for server in self.servers:
            server.close()
        for _ in range(TURNS):
            await asyncio.sleep(0)
        loop = asyncio.get_running_loop()
        until = loop.time() + GRACE_S
        while loop.time() < until and any(  # noqa: ASYNC110 - uvicorn tells nobody of a request
            getattr(connection, "cycle", None) is None
            for connection in self.server_state.connections
        ):
            await asyncio.sleep(PAUSE_S)
        await super().shutdown(sockets)


def server_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """For `portal serve` and for tests. Client addresses are read in api/deps.py, not here."""
    return uvicorn.Config(
        app,
        host=settings.listen_host,
        port=settings.listen_port,
        workers=1,
        http="httptools",
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
