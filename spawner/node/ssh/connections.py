"""The SSH connections of a session or job: how many there may be, and until when.

The portal is not in a connection's path. For each access token with open connections, a thread
waits for the portal's answer that the token no longer admits them: revoked, expired, its owner
disabled, or the session to be stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from spawner.node.portal_client import PortalClient
from spawner.node.ssh.sshd import Sshd
from spawner.signing import LIFETIME_S
from spawner.ssh.grant import SshGrant, parse_grant

log = logging.getLogger("portal")

MAX_CONNECTIONS = 20
FULL = (
    f"There are {MAX_CONNECTIONS} SSH connections already. Close one, or share one (ControlMaster)."
)
NO_SSHD = (
    "SSH is not available: the node has no /usr/sbin/sshd. Ask your administrators to "
    "install openssh-server there."
)

Close = Callable[[], None]


class SshRefusal(Exception):
    """A connection is not accepted now; the message is for the user."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


@dataclass
class SshConnections:
    """The open connections, as functions that close them, by the id of their token."""

    portal: PortalClient
    sshd: Sshd
    opened_count: int = 0
    """The number of all connections so far."""
    _admitted: set[str] = field(default_factory=set)
    """The grants of connections that are admitted, but not open yet."""
    _open: defaultdict[str, set[Close]] = field(default_factory=lambda: defaultdict(set))
    _watched: set[str] = field(default_factory=set)
    _used: dict[str, float] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Return the number of connections that are open, or admitted and about to be."""
        return len(self._admitted) + sum(map(len, self._open.values()))

    def admit(self, path: str, text: str) -> SshGrant:
        """Return the grant of a request, which is valid once and counts until `release` or `keep`.

        Raises BadGrant, BadKey, and SshRefusal if there is no sshd or no room.
        """
        now = time.time()
        grant = parse_grant(self.portal.secret, path, text, now)
        self._used = {old: at for old, at in self._used.items() if now - at <= 2 * LIFETIME_S}
        if text in self._used:
            raise SshRefusal(403, "This connection was opened before.")
        self._used[text] = now
        if not self.sshd.is_installed:
            raise SshRefusal(501, NO_SSHD)
        if self.count >= MAX_CONNECTIONS:
            raise SshRefusal(429, FULL)
        self._admitted.add(text)
        return grant

    def release(self, text: str) -> None:
        """Count the request with this grant no longer, if its connection has not been opened."""
        self._admitted.discard(text)

    @contextlib.contextmanager
    def keep(self, token_id: str, text: str, close: Close) -> Iterator[None]:
        """Count the connection of a grant within the block; `close` is called when it must end."""
        self.release(text)
        self._open[token_id].add(close)
        self.opened_count += 1
        try:
            self._watch(token_id)
            yield
        finally:
            self._open[token_id].discard(close)
            if not self._open[token_id]:
                del self._open[token_id]

    def _watch(self, token_id: str) -> None:
        """Start the token's thread, unless it runs."""
        if token_id in self._watched:
            return
        loop = asyncio.get_running_loop()
        unused = threading.Event()

        def is_unused() -> bool:
            if token_id not in self._open:
                unused.set()
            return unused.is_set()

        def wait() -> None:
            self.portal.wait_until_unwanted(f"ssh/{token_id}", is_unused)
            with contextlib.suppress(RuntimeError):  # the server has ended, and its loop with it
                loop.call_soon_threadsafe(self._end_watch, token_id, unused.is_set())

        self._watched.add(token_id)
        threading.Thread(target=wait, name="ssh", daemon=True).start()

    def _end_watch(self, token_id: str, unused: bool) -> None:
        """Close all connections of a token that the portal no longer admits."""
        self._watched.discard(token_id)
        connections = list(self._open.get(token_id, ()))
        if unused:
            if connections:  # opened since
                self._watch(token_id)
            return
        log.info("an access token no longer admits SSH: %d connections end", len(connections))
        for close in connections:
            close()
