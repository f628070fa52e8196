"""Websocket that carries one SSH connection: `…/ssh`.

A request is admitted by the grant that the portal's gate, which nginx asks about each request
(auth_request), signs (see spawner/ssh/grant.py), not by Jupyter's login: a browser has no grant,
and its cookie opens nothing here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

from tornado.web import HTTPError
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from spawner.node.ssh.connections import SshConnections, SshRefusal
from spawner.node.ssh.sshd import SshProcess
from spawner.ssh.grant import GRANT_HEADER, BadGrant, BadKey, SshGrant

log = logging.getLogger("portal")

SSH_SETTING = "portal_ssh"
"""Name of the application's setting with its SshConnections."""
CHUNK_BYTES = 64 * 1024
CUT = (1008, "The access token is no longer valid, or the session or job ends.")
"""Code (RFC 6455, 7.4.1: policy violation) and reason of the end of a connection."""


class SshLink(WebSocketHandler):
    """GET with a grant: one SSH connection, its bytes in binary messages."""

    _grant: SshGrant
    _text: str
    _ssh: SshProcess | None = None

    @property
    def connections(self) -> SshConnections:
        """Return the program's connections, from the application's settings."""
        connections: SshConnections = self.settings[SSH_SETTING]
        return connections

    async def get(self, *args: Any, **kwargs: Any) -> None:
        """Accept the connection, or send a JSON object with the reason."""
        try:
            self._text = self.request.headers.get(GRANT_HEADER, "")
            self._grant = self.connections.admit(self.request.path, self._text)
        except (BadGrant, BadKey) as error:
            log.warning("an SSH connection was refused: %s", error)
            raise HTTPError(403) from error
        except SshRefusal as refusal:
            self.set_status(refusal.status)
            self.finish({"detail": str(refusal)})
            return
        try:
            await super().get(*args, **kwargs)  # to the end of the connection
        finally:
            self.connections.release(self._text)

    async def open(self, *_args: str, **_kwargs: str) -> None:
        """Start sshd; messages wait for the end of this method."""
        self.set_nodelay(True)
        try:
            self._ssh = await self.connections.sshd.start(self._grant.public_key)
        except OSError as error:
            log.warning("sshd could not be started: %s", error)
            self.close(1011, "sshd could not be started. See the log.")
            return
        self._relaying = asyncio.create_task(self._relay(self._ssh))

    async def on_message(self, message: str | bytes) -> None:
        """Pass bytes to sshd; the next message waits until it has room for them."""
        if isinstance(message, str):
            self.close(1003, "Only binary messages are accepted.")
        elif self._ssh is not None:
            with contextlib.suppress(OSError):  # sshd has ended: _relay closes the connection
                self._ssh.writer.write(message)
                await self._ssh.writer.drain()

    def on_close(self) -> None:
        """End sshd's connection, which ends `_relay`."""
        if self._ssh is not None:
            self._ssh.writer.close()

    async def _relay(self, ssh: SshProcess) -> None:
        """Pass sshd's bytes to the client until one of them ends the connection."""

        def cut() -> None:
            self.close(*CUT)
            ssh.writer.close()  # at once: a client may ignore that the websocket is closed

        try:
            with (
                self.connections.keep(self._grant.token_id, self._text, cut),
                contextlib.suppress(OSError, WebSocketClosedError),
            ):
                while chunk := await ssh.reader.read(CHUNK_BYTES):
                    await self.write_message(chunk, binary=True)
        finally:
            self.close()
            await ssh.end()
