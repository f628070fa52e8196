"""Limits on what one user holds open concurrently: streams and long requests."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from portal.errors import TooManyRequests


class ConcurrencyLimit:
    """Counts open resources per user, and per key within a user, and refuses those above the
    limits.
    """

    def __init__(self, per_key: int, per_user: int, detail: str) -> None:
        """Create a limit.

        `detail` is the error message: what there is too much of, and what to do.
        """
        self.per_key = per_key
        self.per_user = per_user
        self.detail = detail
        self._open: Counter[tuple[str, str]] = Counter()
        self._of_user: Counter[str] = Counter()

    @contextmanager
    def hold(self, user_id: str, key: str) -> Iterator[None]:
        """Count one more for as long as the block runs. Raises TooManyRequests."""
        both = (user_id, key)
        if self._open[both] >= self.per_key or self._of_user[user_id] >= self.per_user:
            raise TooManyRequests(self.detail, headers={"Retry-After": "5"})
        self._open[both] += 1
        self._of_user[user_id] += 1
        try:
            yield
        finally:
            _release(self._open, both)
            _release(self._of_user, user_id)


def _release(counter: Counter[Any], key: Any) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]


STREAMS_PER_LOGIN = 10
STREAMS_PER_USER = 40


def event_stream_limit() -> ConcurrencyLimit:
    """Return the limit for /events. Browsers share one stream among their tabs."""
    detail = "You have too many event streams open. Close tabs or programs that use the portal."
    return ConcurrencyLimit(STREAMS_PER_LOGIN, STREAMS_PER_USER, detail)


def log_follower_limit() -> ConcurrencyLimit:
    """Return the limit for followed logs, each of which is read every second."""
    detail = "You are following too many logs at once. Close some of them."
    return ConcurrencyLimit(STREAMS_PER_LOGIN, STREAMS_PER_USER, detail)


class RequestQueue:
    """A queue that runs a few requests per user and thing at a time; others wait, up to a limit."""

    def __init__(self, running: int, limit: ConcurrencyLimit) -> None:
        self._running = running
        self._limit = limit
        self._semaphores: dict[tuple[str, str], asyncio.Semaphore] = {}
        self._users: Counter[tuple[str, str]] = Counter()

    @asynccontextmanager
    async def wait_turn(self, user_id: str, thing_id: str) -> AsyncIterator[None]:
        """Wait until this request may run. Raises TooManyRequests."""
        key = (user_id, thing_id)
        with self._limit.hold(*key), self._semaphore(key) as semaphore:
            async with semaphore:
                yield

    @contextmanager
    def _semaphore(self, key: tuple[str, str]) -> Iterator[asyncio.Semaphore]:
        """Yield the key's semaphore. Drop it with the last request that uses it."""
        self._users[key] += 1
        try:
            yield self._semaphores.setdefault(key, asyncio.Semaphore(self._running))
        finally:
            _release(self._users, key)
            if key not in self._users:
                del self._semaphores[key]


SEARCHES_AT_ONCE = 4


def file_search_queue() -> RequestQueue:
    """Return the queue of file searches: one at a time per user and root, as other operations on
    files wait for it.
    """
    detail = "You have too many searches at once. Wait until they have finished."
    return RequestQueue(1, ConcurrencyLimit(SEARCHES_AT_ONCE, 2 * SEARCHES_AT_ONCE, detail))


class TensorboardQueue(RequestQueue):
    """Queue of requests to TensorBoards.

    A TensorBoard belongs to its owner, whose program may hang. Then the requests of its viewers to
    it wait, and requests to other TensorBoards do not.
    """

    RUNNING = 16
    PER_TENSORBOARD = 128  # a page full of images: what a browser sends at once over HTTP/2
    PER_USER = 256
    DETAIL = (
        "You have too many open requests to this TensorBoard. It may be busy or hang: "
        "wait until they are answered, or close tabs that show it."
    )

    def __init__(self) -> None:
        limit = ConcurrencyLimit(self.PER_TENSORBOARD, self.PER_USER, self.DETAIL)
        super().__init__(self.RUNNING, limit)
