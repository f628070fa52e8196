"""Runner for a command that must not outlive its parent.

Usage: `python -I -m spawner.supervised_process [--keep FD] COMMAND…`.

The command leads its own process group. When standard input ends, because its writer closed it or
died in any way, the whole group is killed; likewise when the command has ended and left processes
behind. A file descriptor given with `--keep FD` is inherited, so that a lock on it lasts until the
last process of the group is gone. Exit status: the command's; 128 + N if signal N ended it.
Standard library only.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from typing import NoReturn


def main(arguments: list[str]) -> int:
    """Run the command and return its exit status."""
    descriptors: tuple[int, ...] = ()
    if arguments[:1] == ["--keep"]:
        descriptors, arguments = (int(arguments[1]),), arguments[2:]
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # ignored here: standard input decides
    command = subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        process_group=0,
        pass_fds=descriptors,
        restore_signals=True,
        preexec_fn=_reset_signals,  # noqa: PLW1509 - there are no threads here
    )
    try:
        _wait(command)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(command.pid, signal.SIGKILL)
    code = command.wait()
    return 128 - code if code < 0 else code


def _reset_signals() -> None:
    """Reset signal handlers: a command that ignores SIGTERM could not be ended by hand."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _wait(command: subprocess.Popen[bytes]) -> None:
    """Wait until the command has ended (without reaping it) or standard input has."""
    ended = os.pidfd_open(command.pid)
    try:
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        poll.register(sys.stdin.fileno(), select.POLLIN | select.POLLHUP)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if ended in ready or not os.read(sys.stdin.fileno(), 4096):
                return
    finally:
        os.close(ended)


def run() -> NoReturn:
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()
