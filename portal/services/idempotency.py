"""Idempotency: one row per Idempotency-Key, and submissions that outlive the request that began
them.

A request may arrive twice, because its answer was lost on the network or a button was clicked
twice. The second request waits for the submission of the first one, and gets the same result.
"""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from portal.background.notifier import RECONCILE
from portal.context import AppContext
from portal.errors import Conflict, LimitReached, PortalError, Unavailable
from portal.models import BatchJob, Session, User

Row = TypeVar("Row", BatchJob, Session)

# Attempts to write a row; each but the last may meet a row of the same key that is then refused.
MAX_TRIES = 5
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

    async def find_earlier(self, context: AppContext, kind: type[Row], user: User) -> Row | None:
        """Return the row that this key has created for this user, or None. Raises Conflict if it
        was created by a different request.
        """
        if self.key is None:
            return None
        same = kind.owner_id == user.id, kind.idempotency_key == self.key
        async with context.db.session() as db:
            row = (await db.scalars(select(kind).where(*same))).first()
        if row is not None and row.body_hash != self.digest:
            raise Conflict(KEY_REUSED)
        return row

    async def find_settled(
        self, context: AppContext, kind: type[Row], user: User, within_s: float | None = None
    ) -> Row | None:
        """Return the row that this key has created for this user after its submission is over, or
        None if there is none or it was refused. Raises the refusal, and Conflict as
        `find_earlier`.

        The row is read again after the wait: a row that was read just before a refusal deleted
        it must not be returned.
        """
        seen = None
        while (
            earlier := await self.find_earlier(context, kind, user)
        ) is not None and earlier.id != seen:
            seen = earlier.id
            if (submission := context.submitting.get(seen)) is not None:
                await _wait(submission, within_s)
        return earlier

    async def run_once(
        self,
        context: AppContext,
        kind: type[Row],
        user: User,
        create: Callable[[], Awaitable[Row]],
        within_s: float | None = None,
    ) -> Row:
        """Return the row that this key has created for this user, else the one that `create` writes
        and submits. Raises like `create` and `find_settled`.

        `create` raises LimitReached or IntegrityError if the same request was faster: its row is
        returned. If that was refused, it has released the key, and `create` is called again.
        """
        if (earlier := await self.find_settled(context, kind, user, within_s)) is not None:
            return earlier
        tries = MAX_TRIES
        while True:
            try:
                return await create()
            except (LimitReached, IntegrityError) as error:
                if (earlier := await self.find_settled(context, kind, user, within_s)) is not None:
                    return earlier
                tries -= 1
                if isinstance(error, LimitReached) or not tries:
                    raise


Submission = Coroutine[Any, Any, PortalError | None]
"""Writes a row and submits it; returns the refusal, if any."""


async def submit(
    context: AppContext,
    kind: type[Row],
    row_id: str,
    user: User,
    submission: Submission,
    within_s: float | None = None,
) -> Row:
    """Run a submission in a task that continues if the request is abandoned. Return its row when it
    is over, or `within_s` after the row was written at the latest. Raises the refusal, and the
    error that prevented the row.

    It is registered before the row exists, so that the reconcile loop leaves the row alone, and a
    request that finds the row by its key waits for the same result.
    """

    async def run() -> PortalError | None:
        try:
            return await submission
        except PortalError as error:
            return error  # if the request was abandoned, a raised one would be logged as a bug
        finally:
            context.submitting.pop(row_id, None)
            context.notifier.notify(user.id, row_id, RECONCILE)

    task = context.submitting[row_id] = asyncio.create_task(run(), name=f"submit {row_id}")
    while True:
        over = await _wait(task, within_s)
        async with context.db.session() as db:
            row = await db.get(kind, row_id)
        if row is not None:
            return row
        if over:
            raise Unavailable  # the portal is closing


async def _wait(submission: asyncio.Task[PortalError | None], within_s: float | None) -> bool:
    """Wait until a submission is over, or until `within_s`. Return whether it is over. Raises the
    refusal.
    """
    done, _ = await asyncio.wait({submission}, timeout=within_s)
    if done and not submission.cancelled() and (refused := submission.result()) is not None:
        raise refused
    return bool(done)


async def close(context: AppContext) -> None:
    """Cancel the submissions in progress, before the resources that they use are closed. After the
    next start the loop finds out which of them Slurm has.
    """
    tasks = [*context.submitting.values()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
