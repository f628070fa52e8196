"""Process that runs one app: `python -I -m spawner.node.apps.runner`, with a RunnerRequest on
stdin.

It starts the app, keeps the end of its output, and ends with it. An app that listens on a port gets
a network of its own, in which only this process and its children can connect; this process then
passes the connections on from a Unix socket. What the app costs, such as a flood of output, it
costs here and not in the session's server. Standard library only.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spawner.node.apps.output import OutputLog
from spawner.node.network import namespace, outward, relay
from spawner.tasks import end_all

PR_SET_CHILD_SUBREAPER = 36
CHUNK_BYTES = 64 * 1024
GRACE_S = 5.0
"""Time that an app has to end by itself after SIGTERM."""
LAST_READS = 64
"""Number of reads after the end, because children of the app may continue to write."""
NOT_PRIVATE = 78  # EX_CONFIG of sysexits.h
NOT_STARTED = 126
NOT_FOUND = 127

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class RunnerRequest:
    """What to run. `parent` is the process with which this one ends.

    With `port`, the app listens there in a network of its own, and this process on `socket`; else
    the app itself listens on `socket`.
    """

    parent: int
    argv: list[str]
    folder: str
    socket: str
    log: str
    port: int | None

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()


def main() -> int:
    """Run the app to its end; return its exit status as a shell does."""
    request = RunnerRequest(**json.load(sys.stdin))
    logging.disable(logging.WARNING)  # attempts to connect before the app listens
    namespace.die_with(request.parent)
    log = OutputLog(Path(request.log))
    with contextlib.closing(log):
        connection = outward.OutwardConnection()
        if request.port is not None:
            try:
                connection = outward.enter_connected_network()
            except OSError as error:
                log.write(f"portal: the app can't have a network of its own: {error}\n".encode())
                return NOT_PRIVATE
            namespace.die_with(request.parent)
        if connection.problem:
            log.write(f"portal: {connection.problem}\n".encode())
        elif connection.pid is not None:
            try:
                outward.use_forwarding_resolver(Path(request.log).parent)
            except OSError as error:
                log.write(f"portal: it may not find hosts by name: {error}\n".encode())
        _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            return asyncio.run(_run(request, log))
        finally:
            _kill_children(connection.pid)


async def _run(request: RunnerRequest, log: OutputLog) -> int:
    """Run the app, with the relay beside it, until it ends or this process is terminated."""
    ending = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ending.set)
    own = os.getpid()
    output, theirs = os.pipe()  # asyncio's own pipe would delay the end until all children close it
    try:
        app = await asyncio.create_subprocess_exec(
            *request.argv,
            cwd=request.folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: namespace.die_with(own),
        )
    except OSError as error:
        log.write(f"portal: {request.argv[0]} can't be run: {error.strerror}\n".encode())
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_STARTED
    finally:
        os.close(theirs)
    read_output = _keep_output(output, log)
    ended = asyncio.create_task(app.wait())
    terminated = asyncio.create_task(ending.wait())
    others: list[asyncio.Task[Any]] = [terminated]
    if request.port is not None:
        listener = _listen(request.socket)
        others.append(asyncio.create_task(relay.serve(listener, None, request.port)))
    await asyncio.wait({ended, terminated}, return_when=asyncio.FIRST_COMPLETED)
    if not ended.done():
        await _terminate(app, ended)
    for _ in range(LAST_READS):
        if not read_output():
            break
    await end_all(others)
    status = await ended
    return status if status >= 0 else 128 - status


def _keep_output(output: int, log: OutputLog) -> Callable[[], bool]:
    """Log what arrives; return a function that does so once more, if there is anything."""
    loop = asyncio.get_running_loop()
    os.set_blocking(output, False)

    def read() -> bool:
        try:
            chunk = os.read(output, CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not chunk:
            loop.remove_reader(output)
            return False
        with contextlib.suppress(OSError):  # a full disk must not make the app wait
            log.write(chunk)
        return True

    loop.add_reader(output, read)
    return read


async def _terminate(app: asyncio.subprocess.Process, ended: asyncio.Task[int]) -> None:
    """End the app's process group: politely first."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(app.pid, number)
        if (await asyncio.wait({ended}, timeout=GRACE_S))[0]:
            return


def _listen(path: str) -> socket.socket:
    """Return the socket for the session's server. Its folder is this user's alone."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.setblocking(False)
    return listener


def _kill_children(spared: int | None) -> None:
    """Kill what the app left behind; as a subreaper, this process gets its orphans.

    slirp4netns is spared: it ends with this process.
    """
    own = Path(f"/proc/self/task/{os.getpid()}/children")
    with contextlib.suppress(FileNotFoundError):  # a kernel without this file
        while left := [pid for pid in map(int, own.read_text().split()) if pid != spared]:
            for pid in left:
                with contextlib.suppress(ProcessLookupError, ChildProcessError):
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)


if __name__ == "__main__":
    sys.exit(main())
