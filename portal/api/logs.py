"""Routes of the logs of sessions and jobs: a piece, a stream of pieces, and the whole log as a
file.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from portal.api.file_answer import BINARY_RESPONSES, Streamed, attachment
from portal.context import AppContext
from portal.models import BatchJob, Session, User
from portal.services.jobs import jobs
from portal.services.sessions import sessions
from portal.services.slurm import job_logs
from portal.services.slurm.logs import CHUNK, LogPlace, stream_log
from portal.streaming.sse import PING, sse, sse_response
from portal.web.dependencies import (
    ContextDep,
    CurrentIdentity,
    CurrentUser,
    Identity,
    still_open,
)

Stream = Literal["stdout", "stderr"]
PieceBytes = Annotated[int, Query(ge=1, le=CHUNK)]
POLL_S = 1.0
RECHECK_S = 2.0  # plus the time of a poll, a disabled user reads on for at most three seconds
PING_EVERY = 15  # polls without new output
MAX_LAG = 8 * CHUNK  # a reader who is farther behind skips to the end


class LogPiece(BaseModel):
    """A piece of a log, from `offset` up to `next_offset`, in bytes.

    `end`: nothing will follow. Invalid UTF-8 is shown as U+FFFD.
    """

    text: str
    offset: int
    next_offset: int
    size: int
    end: bool


async def no_task() -> None:
    """Sessions have no tasks."""


async def task_in_query(
    task: Annotated[
        int | None, Query(ge=0, lt=1_000_000, description="The task, for an array.")
    ] = None,
) -> int | None:
    """Return the task that the request selects."""
    return task


@dataclass(frozen=True)
class LogRequest:
    """One stream of the log of the caller's own session or job, or of one of its tasks."""

    context: AppContext
    user: User
    get: Callable[[AppContext, User, str], Awaitable[Session | BatchJob]]
    row_id: str
    task: int | None
    stream: Stream

    async def row(self) -> Session | BatchJob:
        """Return the session or job. Raises NotFound."""
        return await self.get(self.context, self.user, self.row_id)

    async def read(self, offset: int, limit: int = CHUNK) -> dict[str, Any]:
        """Return the fields of a LogPiece. Raises NotFound, InvalidInput."""
        job = await self.row()
        return await job_logs.read(self.context, job, self.stream, offset, self.task, limit)


def _create_router(
    kind: Literal["session", "job"],
    get: Callable[[AppContext, User, str], Awaitable[Session | BatchJob]],
    task_of: Callable[..., Awaitable[int | None]],
    default_stream: Stream,
    default_offset: int,
) -> APIRouter:
    """Return the routes of the logs of sessions or of jobs; `get` returns the caller's own."""
    id_name = "session_id" if kind == "session" else "batch_job_id"
    router = APIRouter(prefix=f"/{kind}s/{{{id_name}}}/log", tags=[f"{kind}s"])

    async def to_request(
        row_id: Annotated[str, Path(alias=id_name)],
        user: CurrentUser,
        context: ContextDep,
        task: Annotated[int | None, Depends(task_of)],
        stream: Stream = default_stream,
    ) -> LogRequest:
        return LogRequest(context, user, get, row_id, task, stream)

    Requested = Annotated[LogRequest, Depends(to_request)]  # noqa: N806 - a type

    @router.get("", name=f"{kind}_log")
    async def read_log(
        log: Requested, offset: int = default_offset, limit: PieceBytes = CHUNK
    ) -> LogPiece:
        """Return a piece of the job's output, at most `limit` bytes; a negative offset counts from
        the end.
        """
        return LogPiece(**await log.read(offset, limit))

    @router.get("/download", name=f"download_{kind}_log", responses=BINARY_RESPONSES)
    async def download_log(log: Requested, who: CurrentIdentity) -> Streamed:
        """Download the job's whole output so far."""
        job = await log.row()
        location = await job_logs.find_log(log.context, job, log.stream, log.task)
        part = f"-{log.task}" if log.task is not None else ""
        name = f"{job.name}-{job.job_id or job.id}{part}.{log.stream}.log"
        return await as_file(log.context, who, log.user.username, location, name)

    @router.get("/follow", name=f"follow_{kind}_log", response_class=StreamingResponse)
    async def follow_log(
        log: Requested,
        who: CurrentIdentity,
        offset: Annotated[int, Query(ge=-(1 << 20))] = -16384,
    ) -> StreamingResponse:
        """Stream server-sent events `log`, each a LogPiece, until the log's end.

        A reader who falls far behind skips to the end: `offset` shows the gap.
        """
        job_logs.check_task(await log.row(), log.task)
        events = follow(log.context, who, log.row_id, log.read, offset)
        return sse_response(events, log.context.log_followers.hold(log.user.id, who.login_id))

    return router


async def follow(
    context: AppContext,
    who: Identity,
    topic: str,
    read: Callable[[int], Awaitable[dict[str, Any]]],
    offset: int,
) -> AsyncIterator[bytes]:
    """Yield events `log` until the log's end, or until `who` may no longer read it; one piece is in
    memory at a time.
    """
    quiet, checked_s = 0, time.monotonic()
    async with context.notifier.listen(topic) as listener:
        while not context.notifier.closed:
            piece = await read(offset)
            if time.monotonic() - checked_s >= RECHECK_S:
                if not await still_open(context, who):
                    return
                checked_s = time.monotonic()
            offset = piece["next_offset"]
            if piece["text"] or piece["end"]:
                quiet = 0
                yield sse("log", LogPiece(**piece).model_dump_json())
            if piece["end"]:
                return
            if piece["size"] - offset > MAX_LAG:
                offset = -CHUNK
            elif offset >= piece["size"] or not piece["text"]:
                quiet += 1
                if quiet % PING_EVERY == 0:
                    yield PING  # detects a closed connection
                await listener.wait(POLL_S)


async def as_file(
    context: AppContext, who: Identity, username: str, log: LogPlace, name: str
) -> Streamed:
    """Return a log as a download with this name, byte for byte, as far as it is written now."""
    pieces = stream_log(context, username, log)
    first = await anext(pieces, b"")
    goes_on = partial(still_open, context, who)
    return attachment(first, pieces, AsyncExitStack(), goes_on, name)


router = APIRouter()
router.include_router(_create_router("session", sessions.get, no_task, "stderr", 0))
router.include_router(_create_router("job", jobs.get, task_in_query, "stdout", -65536))
