"""Who must be told that something changed: wakes those who wait, carries no data.

A waiter reads the database again, so a signal that is missed or doubled does no harm.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

EVERYONE = "*"  # the cluster's own figures
RECONCILE = "reconcile"  # the loop that makes what is what should be
LIMITS = "limits"  # the loop that writes limits to Slurm
USE = "use"  # the loop that counts what was used
IMPORTS = "imports"  # the loop that fetches images
CLOSING = "closing"  # the loop that closes what the disabled have open
HOMES = "homes"  # the loop that has home directories made


class Changes:
    """Signals by topic: a user's id, the id of a job or tensorboard, or a word from above."""

    def __init__(self) -> None:
        self.closed = False
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)

    def close(self) -> None:
        """The portal is ending: nobody waits any more, and streams end."""
        self.closed = True
        self.notify(*self._waiting)

    def notify(self, *topics: str) -> None:
        """Wake everyone who listens to one of these topics."""
        for topic in topics:
            for event in self._waiting.get(topic, ()):
                event.set()

    @asynccontextmanager
    async def listen(self, *topics: str) -> AsyncIterator["Listener"]:
        """Listen from here on; a signal between two waits is kept."""
        event = asyncio.Event()
        for topic in topics:
            self._waiting[topic].add(event)
        try:
            yield Listener(self, event)
        finally:
            for topic in topics:
                self._waiting[topic].discard(event)
                if not self._waiting[topic]:
                    del self._waiting[topic]


class Listener:
    """One waiter's view of its topics."""

    def __init__(self, changes: Changes, event: asyncio.Event) -> None:
        self._changes = changes
        self._event = event

    async def wait(self, timeout_s: float) -> bool:
        """Wait for a signal; False when none came in time, or when the portal is ending."""
        with suppress(TimeoutError):
            if not self._changes.closed:
                await asyncio.wait_for(self._event.wait(), timeout_s)
        signalled = self._event.is_set() and not self._changes.closed
        self._event.clear()
        return signalled
