"""How uvicorn runs the application: one worker, loopback, no say for proxies but ours."""

from types import FrameType

import uvicorn
from fastapi import FastAPI

from portal.settings import Settings

GRACE_S = 3
# Longer than nginx keeps an idle connection to the portal (deploy/templates/nginx.conf): whoever
# closes first may do so under a request that is on its way, and nginx knows its own requests.
KEEP_ALIVE_S = 75


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
