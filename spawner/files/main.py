"""Start of the files program, and its streams.

The launcher replaces itself by this program and passes the number of the portal's request, which is
answered first, and the site's umask. Identity and environment are those that the launcher set.
Further requests have the launcher's format, except that content may follow a response.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial

from spawner.files import (
    disk,
    download,
    listing,
    notebooks,
    operations,
    package_removal,
    packages,
    search,
    trash,
    uploads,
)
from spawner.files.context import FilesContext
from spawner.files.jobs import scalars, usage
from spawner.files.paths import translating_errors
from spawner.launcher.program import (
    Operation,
    Refused,
    Request,
    Result,
    User,
    details_of,
    die,
    harden,
    send,
    serve,
)

MAX_CPU_S = 4 * 3600
STREAM_IDLE_S = 600.0  # maximum wait for the reader of a stream to take the next piece

FileOperation = Callable[[FilesContext, Request], Result]
OPERATIONS: dict[str, FileOperation] = {
    function.__name__: function
    for function in (
        disk.space,
        download.open_file_to_send,
        download.send_archive,
        download.send_file,
        listing.describe,
        listing.list_folder,
        listing.peek,
        notebooks.notebooks,
        operations.make_folder,
        operations.move,
        operations.save,
        package_removal.remove_package,
        packages.packages,
        scalars.curves,
        scalars.scalars,
        search.search,
        trash.delete,
        trash.empty_trash,
        trash.list_trash,
        trash.restore,
        uploads.begin_upload,
        uploads.clean_uploads,
        uploads.drop_upload,
        uploads.finish_upload,
        uploads.list_uploads,
        uploads.look_at_upload,
        uploads.write_upload,
        usage.usage,
    )
}


def main(edition: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    number, umask = int(sys.argv[1]), int(sys.argv[2], 8)
    context = FilesContext(read_user(), umask)
    harden()
    limit_resources()
    with contextlib.suppress(BrokenPipeError):
        send(1, {"id": number, "ok": True, "result": {"edition": edition}})
        for _ in serve(partial(find_operation, context)):
            if context.stream is not None:
                send_stream(context.stream)
                return


def read_user() -> User:
    """Return the user of this process; the launcher has set the environment from the user
    database.
    """
    uid = os.getuid()
    if uid == 0:
        die(f"refused for uid {uid}")
    return User(os.environ["USER"], uid, os.getgid(), os.environ["HOME"], os.environ["SHELL"])


def limit_resources() -> None:
    """Lower the priority and limit the CPU time.

    The launcher must not do this for itself: its srun processes would inherit both, and Slurm may
    give jobs the priority of sbatch (PropagatePrioProcess).
    """
    os.nice(10)
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_S, MAX_CPU_S))


def find_operation(context: FilesContext, name: str) -> Operation | None:
    function = OPERATIONS.get(name)
    return None if function is None else partial(run_operation, context, function)


def run_operation(context: FilesContext, function: FileOperation, request: Request) -> Result:
    """Run an operation; an OSError that it does not handle becomes a user message."""
    path = request.get("path")
    with translating_errors(path.rpartition("/")[2] if type(path) is str else "this"):
        return function(context, request)


# --- streams --------------------------------------------------------------------------------------


def send_stream(pieces: Iterator[bytes]) -> None:
    """Send each piece after its length (4 bytes, big-endian), then a length of zero.

    A last line, in the format of a response, reports whether the stream is complete.
    """
    os.set_blocking(1, False)
    last: Result = {"ok": True, "result": {}}
    try:
        for piece in filter(None, pieces):
            write_piece(len(piece).to_bytes(4, "big") + piece)
    except Refused as refused:
        last = {"ok": False, "error": details_of(refused)}
    write_piece(bytes(4) + json.dumps(last).encode() + b"\n")


def write_piece(data: bytes) -> None:
    """Write data as fast as the reader takes it; exit if the input ends, as the reader has left."""
    view = memoryview(data)
    while view:
        readable, writable, _ = select.select([0], [1], [], STREAM_IDLE_S)
        if readable or not writable:
            sys.exit(0)
        view = view[os.write(1, view) :]
