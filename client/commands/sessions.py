"""`sessions list`, `start`, `open` and `stop`."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Annotated

import typer

from .. import operations
from ..connection import PortalConnection
from ..errors import NothingFound, RefusedByPortal
from ..models import ENDED, SessionSummary
from ..text import format_time
from .browser import open_page
from .jobs import SHORT_ID, state_of
from .options import (
    POLL_S,
    AccountOption,
    BrowserOption,
    CommandContext,
    CpusOption,
    EnvironmentOption,
    GpusOption,
    GpuTypeOption,
    JsonOption,
    MemoryOption,
    MinutesOption,
    NameOption,
    PartitionOption,
    PortalOption,
    QosOption,
    open_context,
    to_resources,
)

LIVE = "live"

SessionArgument = Annotated[str, typer.Argument(help="The name, or the start of the id.")]
app = typer.Typer(no_args_is_help=True, help="JupyterLab sessions.")


@app.command("list")
def list_sessions(portal: PortalOption = None, as_json: JsonOption = False) -> None:
    """List your sessions that have not ended."""
    context = open_context(portal, as_json=as_json)
    found = list(iterate_sessions(context.connection))
    rows = [
        [
            session.id[:SHORT_ID],
            session.name,
            session.environment,
            state_of(session.state, session.outcome),
            session.node or "",
            format_time(session.expires_at),
        ]
        for session in found
    ]
    context.output.table(found, ("ID", "NAME", "ENVIRONMENT", "STATE", "NODE", "ENDS"), rows)


@app.command()
def start(
    env: EnvironmentOption = None,
    name: NameOption = None,
    gpus: GpusOption = None,
    gpu_type: GpuTypeOption = None,
    cpus: CpusOption = None,
    memory_gb: MemoryOption = None,
    minutes: MinutesOption = None,
    partition: PartitionOption = None,
    account: AccountOption = None,
    qos: QosOption = None,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait until JupyterLab answers.")
    ] = True,
    portal: PortalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start a session, and show the address of its JupyterLab."""
    context = open_context(portal, as_json=as_json)
    body = {
        "environment": env or _first_environment(context),
        "name": name,
        "resources": to_resources(
            gpus=gpus, gpu_type=gpu_type, cpus=cpus, memory_gb=memory_gb,
            time_limit_minutes=minutes, partition=partition, account=account, qos=qos,
        ),
    }  # fmt: skip
    session = context.connection.call(operations.START_SESSION, body=body, key=str(uuid.uuid4()))
    context.output.note(f"The session {session.name} starts in {session.environment}.")
    if wait:
        session = _wait_until_ready(context, session)
    context.output.result(session, _address(context, session) if wait else session.name)


@app.command("open")
def open_session(
    session: SessionArgument,
    browser: BrowserOption = True,
    portal: PortalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Open a session's JupyterLab in the browser; wait until it is ready."""
    context = open_context(portal, as_json=as_json)
    found = _wait_until_ready(context, find_session(context.connection, session))
    address = _address(context, found)
    context.output.result(found, address)
    if browser:
        open_page(address)


@app.command()
def stop(
    session: SessionArgument, portal: PortalOption = None, as_json: JsonOption = False
) -> None:
    """Stop a session. Unsaved notebooks are lost."""
    context = open_context(portal, as_json=as_json)
    found = find_session(context.connection, session)
    context.connection.call(operations.STOP_SESSION, {"session_id": found.id})
    context.output.result(found, f"The session {found.name} is being stopped.")


def iterate_sessions(connection: PortalConnection) -> Iterator[SessionSummary]:
    """Yield the user's sessions that have not ended."""
    cursor: str | None = None
    while True:
        page = connection.call(operations.LIST_SESSIONS, query={"state": LIVE, "cursor": cursor})
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return


def find_session(connection: PortalConnection, text: str) -> SessionSummary:
    """Return the live session with this name, or whose id starts like this. Raises NothingFound."""
    live = list(iterate_sessions(connection))
    by_name = [session for session in live if session.name == text]
    by_id = [session for session in live if len(text) >= 4 and session.id.startswith(text)]
    for found in (by_name, by_id):
        if len(found) == 1:
            return found[0]
    raise NothingFound(f"You have no session {text}.", "Run: dsp sessions list")


def _wait_until_ready(context: CommandContext, session: SessionSummary) -> SessionSummary:
    """Return the session once JupyterLab answers. Raises RefusedByPortal if it ends before."""
    shown = ""
    while session.url is None or session.ready_at is None:
        if session.state == ENDED:
            raise RefusedByPortal(
                f"The session {session.name} has ended. {session.reason or ''}".rstrip(),
                session.suggestion or "",
                kind="session-ended",
            )
        if shown != session.state:
            shown = session.state
            context.output.note(f"{session.name}: {session.state}. {session.reason or ''}".rstrip())
        time.sleep(POLL_S)
        session = context.connection.call(operations.GET_SESSION, {"session_id": session.id})
    return session


def _address(context: CommandContext, session: SessionSummary) -> str:
    return context.to_address(session.url or f"/sessions/{session.id}")


def _first_environment(context: CommandContext) -> str:
    for environment in context.connection.call(operations.LIST_ENVIRONMENTS).items:
        if environment.available and environment.kernel:
            return environment.name
    raise NothingFound("No environment for sessions is available.")
