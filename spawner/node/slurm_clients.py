"""Slurm's client programs inside a container: small commands that run the programs outside.

An image contains none of Slurm's programs, and cannot use the node's: these need the node's C
library, Slurm's plugins, its configuration and munge. So `start` creates a folder with a command
for each program that the node has, visible at the same path in the container, and a relay beside
it: a child of the process that becomes the container, which ends with it. A command (`COMMAND`, for
any POSIX shell) stores its arguments, working directory and environment variables in its own
folder, and copies its input and output through FIFOs; the relay runs the program on the node as the
same user.

The folder is accessible to the user only (0700), so no other user can make requests; and the user
may run the programs anyway. docs/decisions/0020 has the reasons. Standard library only; it runs as
the user.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

PROGRAMS = (
    "sacct",
    "sbatch",
    "scancel",
    "scontrol",
    "sinfo",
    "sprio",
    "squeue",
    "srun",
    "sshare",
    "sstat",
)
VARIABLE = "PORTAL_SLURM"
"""Variable with the path of the relay's folder, inside the container."""

WATCH_S = 2.0
CLEAR_S = 10.0
"""Time to remove the folder while programs end, with a pause between tries."""

CLEAR_PAUSE_S = 0.05
NO_PROGRAM = 127
COMMAND = r"""#!/bin/sh
# One of Slurm's programs. It runs on the node, outside this container.
if [ "${0##*/}" = srun ] && [ -t 0 ]; then
  for word; do
    if [ "$word" = --pty ]; then
      echo "srun: --pty does not work inside an environment. Use a terminal on the node." >&2
      exit 1
    fi
  done
fi
call=$(mktemp -d "$PORTAL_SLURM/call.XXXXXX") || exit 127
mkfifo "$call/out" "$call/err" || exit 127
printf '%s\0' "${0##*/}" "$@" > "$call/words"
pwd > "$call/folder"
cat /proc/self/environ > "$call/environ"
ask() { echo "$1 ${call##*/}" > "$PORTAL_SLURM/calls"; }
# Only these two read what is typed or piped in; sbatch only where it is given no script.
case ${0##*/} in
  srun) reads=yes ;;
  sbatch) reads=yes
    for word; do
      case $word in --wrap|--wrap=*) reads= ;; esac
      if [ -f "$word" ] && [ "$(head -c 2 -- "$word")" = '#!' ]; then reads=; fi
    done ;;
  *) reads= ;;
esac
[ -t 0 ] && reads=
trap 'ask INT' INT
trap 'ask TERM' TERM HUP
(trap '' INT; exec cat "$call/out") & out=$!
(trap '' INT; exec cat "$call/err" >&2) & err=$!
input=
if [ "$reads" ]; then
  mkfifo "$call/in" || exit 127
  exec 3<&0
  (trap '' INT; exec cat <&3 > "$call/in" 2>/dev/null) & input=$!
fi
ask run
# A signal ends `wait` early.
for copier in "$out" "$err"; do
  while kill -0 "$copier" 2>/dev/null; do wait "$copier"; done
done
[ "$input" ] && kill "$input" 2>/dev/null
read -r status < "$call/status" || status=127
rm -rf -- "$call"
exit "$status"
"""
_CALL = re.compile(r"(run|INT|TERM) (call\.\w{6})")
# Variables of the container that would be wrong for a program outside.
_INSIDE = re.compile(
    r"PATH|PWD|OLDPWD|SHLVL|_|PS1|PROMPT_COMMAND|debian_chroot|MPLBACKEND"
    r"|(LD_|PYTHON|PIP_|R_|LUA_|JPY_|JUPYTER_|APPTAINER|SINGULARITY|PORTAL_).*"
)


def start(base: Path, environ: Mapping[str, str], hidden: Collection[str] = ()) -> Path | None:
    """Create the folder below `base`, and start the relay; None if the node has no Slurm.

    Programs run with the environment variables `environ` and those of the command in the container,
    except `hidden`, which are set for the container only, and those that would be wrong outside it.
    Raises OSError.
    """
    programs = {name: shutil.which(name, path=environ.get("PATH")) for name in PROGRAMS}
    available = {name: path for name, path in programs.items() if path is not None}
    if not available:
        return None
    folder = base / f"portal-slurm-{os.urandom(6).hex()}"
    folder.mkdir(mode=0o700)
    _write_commands(folder / "bin", available)
    os.mkfifo(folder / "calls", 0o600)
    container = os.getpid()
    if os.fork() == 0:
        _become_relay(CommandRelay(folder, available, environ, hidden), container)
    return folder


def _write_commands(folder: Path, programs: Collection[str]) -> None:
    folder.mkdir()
    command = folder / ".command"
    command.write_text(COMMAND, encoding="utf-8")
    command.chmod(0o700)
    for name in programs:
        (folder / name).symlink_to(command.name)


def _become_relay(relay: CommandRelay, container: int) -> NoReturn:
    """Serve in this process until the container has ended.

    All inherited descriptors are closed, so that readers of the container's output see its end.
    """
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        for number in (signal.SIGINT, signal.SIGHUP):
            # A handler, because programs would inherit an ignored signal.
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        relay.serve(container)
    finally:
        relay.close()
        os._exit(0)


class CommandRelay:
    """Runs the programs that the commands of one container request."""

    def __init__(
        self,
        folder: Path,
        programs: Mapping[str, str],
        environ: Mapping[str, str],
        hidden: Collection[str],
    ) -> None:
        self._folder = folder
        self._programs = programs
        self._environ = environ
        self._hidden = hidden
        self._lock = threading.Condition()
        self._closed = False
        self._starting = 0
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._early: dict[str, list[str]] = {}
        """Signals for calls whose program has not started yet, by call."""

    def serve(self, container: int) -> None:
        """Serve requests until the container's process has ended."""
        # The own writing end prevents an end of file when all commands have ended.
        calls = os.open(self._folder / "calls", os.O_RDWR)
        watched = [calls, *_open_pidfd(container)]
        while os.getppid() == container:
            ready, _, _ = select.select(watched, [], [], WATCH_S if len(watched) == 1 else None)
            if calls in ready:
                # each line is written and read atomically
                for line in os.read(calls, 65536).decode(errors="replace").splitlines():
                    self._handle_line(line)

    def close(self) -> None:
        """End the programs that still run, and remove the folder.

        A program may already run although its start has not returned: it is waited for.
        """
        with self._lock:
            self._closed = True
            self._lock.wait_for(lambda: self._starting == 0)
            for process in self._running.values():
                self._signal(process, "TERM")
        end = time.monotonic() + CLEAR_S
        shutil.rmtree(self._folder, ignore_errors=True)
        while self._folder.exists() and time.monotonic() < end:
            time.sleep(CLEAR_PAUSE_S)  # a program that ends still writes its status
            shutil.rmtree(self._folder, ignore_errors=True)

    def _handle_line(self, line: str) -> None:
        if (match := _CALL.fullmatch(line)) is None:
            return
        action, name = match.groups()
        if action == "run":
            self._early[name] = []
            threading.Thread(target=self._run, args=(name,), daemon=True).start()
            return
        with self._lock:
            if name in self._running:
                self._signal(self._running[name], action)
            elif name in self._early:
                self._early[name].append(action)

    @staticmethod
    def _signal(process: subprocess.Popen[bytes], action: str) -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.Signals[f"SIG{action}"])

    def _run(self, name: str) -> None:
        """Run one program; its status is stored before the command sees the end of the output."""
        call = self._folder / name
        with (call / "out").open("wb", 0) as out, (call / "err").open("wb", 0) as err:
            try:
                code = self._run_program(name, out.fileno(), err.fileno())
            except (OSError, ValueError) as error:
                err.write(f"portal: {error}\n".encode())
                code = NO_PROGRAM
            finally:
                self._early.pop(name, None)
            with suppress(FileNotFoundError):  # the folder is removed with the container
                (call / "status").write_text(f"{code}\n", encoding="utf-8")

    def _run_program(self, name: str, out: int, err: int) -> int:
        call = self._folder / name
        words = [os.fsdecode(word) for word in (call / "words").read_bytes().split(b"\0")[:-1]]
        folder = (call / "folder").read_text(errors="surrogateescape").rstrip("\n")
        reads = (call / "in").is_fifo()
        source = os.open(call / "in" if reads else os.devnull, os.O_RDONLY)
        with self._lock:
            if self._closed:
                os.close(source)
                return NO_PROGRAM
            self._starting += 1
        process = None
        try:
            process = subprocess.Popen(
                words,
                executable=self._programs[words[0]],
                stdin=source,
                stdout=out,
                stderr=err,
                cwd=folder if Path(folder).is_dir() else None,
                env=self._merge_variables(call),
                start_new_session=True,
            )
        finally:
            os.close(source)
            with self._lock:
                self._starting -= 1
                if process is not None:
                    self._running[name] = process
                    for action in self._early.pop(name):
                        self._signal(process, action)
                self._lock.notify_all()
        try:
            code = process.wait()
        finally:
            with self._lock:
                del self._running[name]
        return code if code >= 0 else 128 - code

    def _merge_variables(self, call: Path) -> dict[str, str]:
        inside = {}
        for entry in (call / "environ").read_bytes().split(b"\0"):
            name, equals, value = os.fsdecode(entry).partition("=")
            if equals and not _INSIDE.fullmatch(name) and name not in self._hidden:
                inside[name] = value
        return {**self._environ, **inside}


def _open_pidfd(process: int) -> list[int]:
    """Return a descriptor that is readable once the process has ended, if the kernel supports it.

    A parent death signal is unsuitable, because it follows a thread and Apptainer changes threads.
    """
    try:
        return [os.pidfd_open(process)]
    except (AttributeError, OSError):
        return []
