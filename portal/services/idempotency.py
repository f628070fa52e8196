"""Idempotency: one row per Idempotency-Key, and submissions that outlive the request that began
them.

A request may arrive twice, because its answer was lost on the network or a button was clicked
twice. The second request waits for the submission of the first one, and gets the same result.
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

from portal.context import AppContext
from portal.errors import Conflict, LimitReached, PortalError
from portal.models import BatchJob, Session, User

Row = TypeVar("Row", BatchJob, Session)

# Attempts to insert a row; each but the last may meet a row of the same key that is then refused.
MOST_TRIES = 5
KEY_REUSED = "This Idempotency-Key was already used for a different request."


@dataclass(frozen=True)
class IdempotentRequest:
    """The digest of a request, equal for equal requests, and the idempotency key that it came
    with.
    """

    digest: str = ""
    key: str | None = None

    @classmethod
    def of(cls, request: Any, key: str | None) -> "IdempotentRequest":
        text = json.dumps(request, sort_keys=True, default=str)
        return cls(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), key)

    async def earlier(self, context: AppContext, kind: type[Row], user: User) -> Row | None:
        """Return the row that this key has created for this user, or None. Raises Conflict if it
        was created by a different request.
        """
        if self.key is None:
            return None
        mine = kind.owner_id == user.id, kind.idempotency_key == self.key
        async with context.db.session() as db:
            found = (await db.scalars(select(kind).where(*mine))).first()
        if found is not None and found.body_hash != self.digest:
            raise Conflict(KEY_REUSED)
        return found

    async def settled(
        self, context: AppContext, kind: type[Row], user: User, within_s: float | None = None
    ) -> Row | None:
        """Return the row that this key has created for this user after its submission is over, or
        None if there is none or it was refused. Raises the refusal, and Conflict like `earlier`.

        The row is read again after the wait: a row that was read just before a refusal deleted
        it must not be returned.
        """
        seen = None
        while (found := await self.earlier(context, kind, user)) is not None and found.id != seen:
            seen = found.id
            await wait(context, seen, within_s)
        return found

    async def insert(
        self,
        context: AppContext,
        kind: type[Row],
        user: User,
        insert: Callable[[], Awaitable[Row]],
        within_s: float | None = None,
    ) -> tuple[Row, bool]:
        """Return the row that `insert` writes, and True; or the row that the same request has
        created concurrently, and False. Raises like `insert` and `settled`.
        """
        tries = MOST_TRIES
        while True:
            try:
                return await insert(), True
            except (LimitReached, IntegrityError) as error:
                if (found := await self.settled(context, kind, user, within_s)) is not None:
                    return found, False
                tries -= 1
                if isinstance(error, LimitReached) or not tries:
                    raise  # else the row that had the key was refused, and has released the key


@contextmanager
def submission(
    context: AppContext,
    row_id: str,
    first_try: Callable[[Row], Coroutine[Any, Any, PortalError | None]],
) -> Iterator[asyncio.Future[Row | None]]:
    """Register a row's submission before the row exists, so that a request that finds the row by
    its key also finds the submission to wait for.

    The submission begins when the future is given the row that was written, in a task of its own
    that continues if the request is abandoned. If the future gets no row, nothing is submitted.

    `first_try` returns the refusal, if any, and removes the row from `context.submitting`.
    """
    written: asyncio.Future[Row | None] = asyncio.get_running_loop().create_future()

    async def begin() -> PortalError | None:
        # The future belongs to the request, and must survive the cancellation of this task.
        row = await asyncio.shield(written)
        return None if row is None else await first_try(row)

    context.submitting[row_id] = asyncio.create_task(begin(), name=f"submit {row_id}")
    try:
        yield written
    finally:
        if not written.done():
            context.submitting.pop(row_id, None)
            written.set_result(None)


async def wait(context: AppContext, row_id: str, within_s: float | None = None) -> None:
    """Wait until a submission is over, or until `within_s`, when the request must be answered.
    Raises the refusal.
    """
    task = context.submitting.get(row_id)
    if task is not None:
        done, _ = await asyncio.wait({task}, timeout=within_s)
        if done and not task.cancelled() and (refused := task.result()) is not None:
            raise refused


async def close(context: AppContext) -> None:
    """Cancel the submissions in progress, before the resources that they use are closed. After the
    next start the loop finds out which of them Slurm has.
    """
    tasks = [*context.submitting.values()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
