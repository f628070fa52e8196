"""Change notifications: wake waiting tasks by topic, without data.

A waiter reads the database again, so a missed or duplicate signal does no harm.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

EVERYONE = "*"  # cluster-wide figures and announcements, for every user
ALL_ROWS = "rows"  # sessions and jobs of every user
RECONCILE = "reconcile"  # the loop that applies the desired state
LIMITS = "limits"  # the loop that writes limits to Slurm
GPU_HOURS = "use"  # the loop that reads GPU-hours from accounting
IMPORTS = "imports"  # the loop that imports images
DEPROVISION = "deprovision"  # the loop that deprovisions disabled users
HOMES = "homes"  # the loop that has home directories created


class Notifier:
    """Signals by topic: the id of a user, job or TensorBoard, or a constant of this module."""

    def __init__(self) -> None:
        self.closed = False
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)

    def close(self) -> None:
        """Shut down: wake all listeners and let streams end."""
        self.closed = True
        self.notify(*self._waiting)

    def notify(self, *topics: str) -> None:
        """Wake everyone who listens to one of these topics."""
        for topic in topics:
            for event in self._waiting.get(topic, ()):
                event.set()

    @asynccontextmanager
    async def listen(self, *topics: str) -> AsyncIterator["Subscription"]:
        """Subscribe to these topics. A signal that arrives between two waits is kept."""
        event = asyncio.Event()
        for topic in topics:
            self._waiting[topic].add(event)
        try:
            yield Subscription(self, event)
        finally:
            for topic in topics:
                self._waiting[topic].discard(event)
                if not self._waiting[topic]:
                    del self._waiting[topic]


class Subscription:
    """One subscriber's view of its topics."""

    def __init__(self, notifier: Notifier, event: asyncio.Event) -> None:
        self._notifier = notifier
        self._event = event

    async def wait(self, timeout_s: float) -> bool:
        """Wait for a signal. Return False on timeout, or when the portal shuts down."""
        signalled = not self._notifier.closed and await self.sleep(timeout_s)
        return signalled and not self._notifier.closed

    def take(self) -> bool:
        """Return whether there was a signal since the last call or wait, without waiting."""
        signalled = self._event.is_set()
        self._event.clear()
        return signalled

    async def sleep(self, timeout_s: float) -> bool:
        """Wait for a signal, also while the portal shuts down. Return False on timeout."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._event.wait()
        return self.take()
