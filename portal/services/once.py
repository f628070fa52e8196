"""One wish, one row: what an Idempotency-Key stands for, and submissions that outlive the request
that began them.

A request may come twice, because its answer was lost on the network or a button was clicked twice.
Whoever comes second waits for the first one's submission, and gets what it got.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import select

from portal.errors import Conflict, PortalError
from portal.models import BatchJob, Session, User
from portal.parts import Parts

Row = TypeVar("Row", BatchJob, Session)

OTHER_WISH = "This Idempotency-Key has been used for something else."


@dataclass(frozen=True)
class Once:
    """A wish's digest, the same for the same wish, and the key that it came with."""

    digest: str = ""
    key: str | None = None

    @classmethod
    def of(cls, wish: Any, key: str | None) -> "Once":
        text = json.dumps(wish, sort_keys=True, default=str)
        return cls(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), key)

    async def earlier(self, parts: Parts, kind: type[Row], user: User) -> Row | None:
        """What this key has made for this user. Raises Conflict if that was another wish's."""
        if self.key is None:
            return None
        mine = kind.owner_id == user.id, kind.idempotency_key == self.key
        async with parts.db.session() as db:
            found = (await db.scalars(select(kind).where(*mine))).first()
        if found is not None and found.body_hash != self.digest:
            raise Conflict(OTHER_WISH)
        return found


@contextmanager
def submission(
    parts: Parts, row_id: str, first_try: Callable[[Row], Coroutine[Any, Any, PortalError | None]]
) -> Iterator[asyncio.Future[Row | None]]:
    """A row's submission, to be there before the row is: whoever finds the row by its key finds
    what to wait for, too. It begins when the future is given the row that was written, in a task of
    its own that goes on if the request is given up; without one there is none.

    `first_try` returns what was refused, and takes the row out of `parts.submitting`."""
    written: asyncio.Future[Row | None] = asyncio.get_running_loop().create_future()

    async def begin() -> PortalError | None:
        row = await asyncio.shield(written)  # the request's own, also if this task is ended
        return None if row is None else await first_try(row)

    parts.submitting[row_id] = asyncio.create_task(begin(), name=f"submit {row_id}")
    try:
        yield written
    finally:
        if not written.done():
            parts.submitting.pop(row_id, None)
            written.set_result(None)


async def wait(parts: Parts, row_id: str, within_s: float | None = None) -> None:
    """Until a submission is over, or the request must be answered. Raises what was refused."""
    task = parts.submitting.get(row_id)
    if task is not None:
        done, _ = await asyncio.wait({task}, timeout=within_s)
        if done and not task.cancelled() and (refused := task.result()) is not None:
            raise refused


async def close(parts: Parts) -> None:
    """End the submissions under way, before what they use is closed. What Slurm has of them, the
    loop finds out after the next start."""
    tasks = [*parts.submitting.values()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
