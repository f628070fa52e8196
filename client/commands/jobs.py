"""`jobs`, `logs` and `cancel`, and the choice of a job by its number or the start of its id."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer

from .. import operations
from ..connection import ConnectionLost, PortalConnection
from ..errors import NothingFound, UsageProblem
from ..models import ENDED, JobListing, JobSummary, LogText, decode
from ..output import Output
from ..text import format_time
from .options import JsonOption, PortalOption, open_context

PAGE = 200
SEARCHED = 2000
LAST = "last"
SHORT_ID = 8
LOG_TAIL = -16384
LOG_PIECE = 128 * 1024
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ID_START = re.compile(r"[0-9a-f]{4,8}(-[0-9a-f-]*)?")

JobArgument = Annotated[
    str, typer.Argument(help="Slurm's job number, the start of the id, or `last`.")
]
StreamOption = Annotated[
    Literal["stdout", "stderr"], typer.Option("--stream", help="The stream of the log.")
]
TaskOption = Annotated[int | None, typer.Option("--task", min=0, help="The task of an array.")]


def jobs(
    state: Annotated[
        Literal["live", "waiting", "running", "ended", "all"],
        typer.Option("--state", help="Only jobs in this state."),
    ] = "all",
    limit: Annotated[int, typer.Option("--limit", min=1, help="The number of jobs.")] = 20,
    portal: PortalOption = None,
    as_json: JsonOption = False,
) -> None:
    """List your jobs, the newest first."""
    context = open_context(portal, as_json=as_json)
    found = []
    for job in iterate_jobs(context.connection, state, min(limit, PAGE)):
        found.append(job)
        if len(found) == limit:
            break
    columns = ("ID", "JOB", "NAME", "STATE", "SUBMITTED", "NODE", "GPUS")
    context.output.table(found, columns, [_to_row(job) for job in found])


def logs(
    job: JobArgument,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for more.")] = False,
    stream: StreamOption = "stdout",
    task: TaskOption = None,
    portal: PortalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a job's output: all of it, or with -f its end and what follows."""
    context = open_context(portal, as_json=as_json)
    connection = context.connection
    found = find_job(connection, job)
    query = {"stream": stream, "task": task}
    pieces = (
        follow_log(connection, found.id, query) if follow else read_log(connection, found.id, query)
    )
    for piece in pieces:
        _print_piece(context.output, piece)


def cancel(
    job_list: Annotated[list[str], typer.Argument(metavar="JOB…", help="As for logs.")],
    portal: PortalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Cancel jobs."""
    context = open_context(portal, as_json=as_json)
    connection = context.connection
    found = [find_job(connection, text) for text in job_list]
    cancelled = [connection.call(operations.CANCEL_JOB, {"batch_job_id": job.id}) for job in found]
    for job in cancelled:
        context.output.note(f"{describe(job)} is being cancelled.")
    context.output.result(cancelled)


def iterate_jobs(connection: PortalConnection, state: str, limit: int) -> Iterator[JobSummary]:
    """Yield the jobs in this state, the newest first, in pages of `limit`."""
    cursor: str | None = None
    while True:
        query = {"state": state, "limit": limit, "cursor": cursor}
        page: JobListing = connection.call(operations.LIST_JOBS, query=query)
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return


def find_job(connection: PortalConnection, text: str) -> JobSummary:
    """Return the job with this number, this id or start of an id, or the last one.

    Raises NothingFound, and UsageProblem if several ids start like this.
    """
    if _UUID.fullmatch(text):
        return connection.call(operations.GET_JOB, {"batch_job_id": text})
    if not (text == LAST or text.isdecimal() or _ID_START.fullmatch(text)):
        raise UsageProblem(
            f"{text!r} is not a job.", "Give Slurm's number, the start of the id, or `last`."
        )
    matching = []
    for seen, job in enumerate(iterate_jobs(connection, "all", PAGE)):
        if seen >= SEARCHED:
            break
        if text == LAST or str(job.job_id) == text:
            return job
        if job.id.startswith(text):
            matching.append(job)
    if len(matching) > 1:
        raise UsageProblem(
            f"{len(matching)} jobs have ids that start with {text}.", "Give more of it."
        )
    if not matching:
        raise NothingFound(f"You have no job {text}, or it is older than your last {SEARCHED}.")
    return matching[0]


def read_log(
    connection: PortalConnection, batch_job_id: str, query: dict[str, Any]
) -> Iterator[LogText]:
    """Yield the pieces of a log up to its present end."""
    offset = 0
    while True:
        piece = connection.call(
            operations.READ_LOG,
            {"batch_job_id": batch_job_id},
            query={**query, "offset": offset, "limit": LOG_PIECE},
        )
        if piece.text:
            yield piece
        if piece.end or piece.next_offset <= offset or piece.next_offset >= piece.size:
            return
        offset = piece.next_offset


def follow_log(
    connection: PortalConnection,
    batch_job_id: str,
    query: dict[str, Any],
    offset: int = LOG_TAIL,
) -> Iterator[LogText]:
    """Yield a log from this offset, by default near its end, until the job has ended.

    A lost connection is opened again where it was lost. Raises PortalUnreachable if that fails
    several times in a row.
    """
    attempts = iter(connection.waits_s)
    path = {"batch_job_id": batch_job_id}
    while True:
        lost = ConnectionLost("The portal ended the stream.")  # as one that restarts does
        try:
            with connection.stream(
                operations.FOLLOW_LOG, path, query={**query, "offset": offset}
            ) as answer:
                for piece in parse_events(answer.stream(None)):
                    attempts = iter(connection.waits_s)
                    offset = piece.next_offset
                    yield piece
                    if piece.end:
                        return
        except ConnectionLost as error:
            lost = error
        pause = next(attempts, None)
        if pause is None:
            raise lost
        connection.pause_after(lost, pause)


def parse_events(blocks: Iterator[bytes]) -> Iterator[LogText]:
    """Yield the pieces in a stream of server-sent events. Pure."""
    pending = b""
    for block in blocks:
        *lines, pending = (pending + block).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                data = json.loads(line[5:])
                if isinstance(data, dict) and "next_offset" in data:
                    yield decode(LogText, data)


def describe(job: JobSummary) -> str:
    """Return a job's name and number for a sentence. Pure."""
    return (
        f"Job {job.job_id} ({job.name})" if job.job_id else f"Job {job.id[:SHORT_ID]} ({job.name})"
    )


def state_of(state: str, outcome: str | None) -> str:
    """Return the state, or the outcome of what has ended. Pure."""
    return (outcome or state) if state == ENDED else state


def _to_row(job: JobSummary) -> list[str]:
    return [
        job.id[:SHORT_ID],
        str(job.job_id or ""),
        job.name,
        state_of(job.state, job.outcome),
        format_time(job.submitted_at),
        job.node or "",
        str(job.resources.gpus * job.resources.nodes),
    ]


def _print_piece(output: Output, piece: LogText) -> None:
    if output.as_json:
        output.event(piece)
    else:
        output.log(piece.text)
