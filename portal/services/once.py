"""One wish, one row: what an Idempotency-Key stands for, and submissions that outlive the request
that began them.

A request may come twice, because its answer was lost on the network or a button was clicked twice.
Whoever comes second waits for the first one's submission, and gets what it got.
"""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from portal.errors import Conflict, LimitReached, PortalError
from portal.models import BatchJob, Session, User
from portal.parts import Parts

Row = TypeVar("Row", BatchJob, Session)

MOST_TRIES = 5  # of writing a row: each but the last met one of the same key that was then refused
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

    async def settled(
        self, parts: Parts, kind: type[Row], user: User, within_s: float | None = None
    ) -> Row | None:
        """What this key has made for this user, its submission waited for, and None if that came to
        nothing. Raises what it was refused with, and Conflict as `earlier` does.

        A row is looked at until it is there before and after the wait: one that was read just
        before its refusal took it away is nobody's answer."""
        seen = None
        while (found := await self.earlier(parts, kind, user)) is not None and found.id != seen:
            seen = found.id
            await wait(parts, seen, within_s)
        return found

    async def insert(
        self,
        parts: Parts,
        kind: type[Row],
        user: User,
        insert: Callable[[], Awaitable[Row]],
        within_s: float | None = None,
    ) -> tuple[Row, bool]:
        """The row that `insert` writes, and True; or the one that the same wish has made meanwhile.
        Raises what `insert` and `settled` do."""
        tries = MOST_TRIES
        while True:
            try:
                return await insert(), True
            except (LimitReached, IntegrityError) as error:
                if (found := await self.settled(parts, kind, user, within_s)) is not None:
                    return found, False
                tries -= 1
                if isinstance(error, LimitReached) or not tries:
                    raise  # else the one that had the key came to nothing, and gave it back


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
