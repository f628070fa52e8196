"""Execution of the programs that build an image, each isolated, with a way to stop all at once.

Standard library only; independent of images.
"""

from __future__ import annotations

import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

STEP_TIMEOUT_S = 3600
# ends with this process, together with every process and mount below it
_NAMESPACES = ("--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc")
_ISOLATED = ("setpriv", "--pdeathsig", "KILL", "unshare", *_NAMESPACES)


class BuildError(Exception):
    """An image was not built; the message gives the reason."""


class Programs:
    """A runner of programs that can stop all running ones at once."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self.stopped = False

    def stop(self) -> None:
        """Kill all running programs; later runs fail at once."""
        with self._lock:
            self.stopped = True
            for process in self._running:
                process.kill()

    def output(self, argv: Sequence[str], log: Path, env: Mapping[str, str], cwd: Path) -> str:
        """Run one program and return its stdout. Raises BuildError unless it exits 0."""
        with tempfile.NamedTemporaryFile(prefix="listing-", dir=cwd) as file:
            printed = Path(file.name)
            self.run(["/bin/sh", "-c", 'exec "$@" > "$0"', str(printed), *argv], log, env, cwd)
            return printed.read_text(encoding="utf-8", errors="replace")

    def run(self, argv: Sequence[str], log: Path, env: Mapping[str, str], cwd: Path) -> None:
        """Run one program isolated, with its output in `log`. Raises BuildError unless it exits
        0."""
        with log.open("ab") as output:
            output.write(f"\n$ {argv[0]} …\n".encode())
            output.flush()
            with self._lock:
                if self.stopped:
                    raise BuildError("interrupted")
                process = subprocess.Popen(
                    [*_ISOLATED, *argv],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env=dict(env),
                    cwd=cwd,
                    start_new_session=True,
                )
                self._running.add(process)
            try:
                code = process.wait(STEP_TIMEOUT_S)
            except subprocess.TimeoutExpired as error:
                raise BuildError(f"{argv[0]} took longer than {STEP_TIMEOUT_S} s") from error
            finally:
                process.kill()
                process.wait()
                with self._lock:
                    self._running.discard(process)
        if self.stopped:
            raise BuildError("interrupted")
        if code != 0:
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-12:])
            raise BuildError(f"{argv[0]} failed ({code}); the end of {log}:\n{tail}")
