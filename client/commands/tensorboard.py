"""`tensorboard`: start the TensorBoard of a job or session, and open it in the browser."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from .. import operations
from ..errors import RefusedByPortal
from ..models import RUNNING, TensorboardSummary
from .browser import open_page
from .jobs import find_job
from .options import POLL_S, BrowserOption, JsonOption, PortalOption, open_context
from .sessions import find_session

FAILED = ("failed", "stopped")


def tensorboard(
    of: Annotated[str, typer.Argument(metavar="JOB", help="A job, as for logs.")],
    session: Annotated[
        bool, typer.Option("--session", help="The argument is a session instead.")
    ] = False,
    browser: BrowserOption = True,
    portal: PortalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start a job's TensorBoard, and open it in the browser."""
    context = open_context(portal, as_json=as_json)
    connection = context.connection
    if session:
        path = {"session_id": find_session(connection, of).id}
        start, get = operations.START_SESSION_TENSORBOARD, operations.GET_SESSION_TENSORBOARD
    else:
        path = {"batch_job_id": find_job(connection, of).id}
        start, get = operations.START_JOB_TENSORBOARD, operations.GET_JOB_TENSORBOARD
    board = connection.call(start, path)
    while board.state != RUNNING or board.url is None:
        _check(board)
        time.sleep(POLL_S)
        board = connection.call(get, path)
    address = context.to_address(board.url)
    context.output.result(board, address)
    if browser:
        open_page(address)


def _check(board: TensorboardSummary) -> None:
    if board.state in FAILED:
        raise RefusedByPortal(
            f"The TensorBoard does not run. {board.reason or ''}".rstrip(), kind="not-running"
        )
