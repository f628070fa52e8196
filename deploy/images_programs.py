"""The programs that build an image: each in its cage, all ended at once when that is wanted.

Standard library only; it knows nothing of images.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

STEP_TIMEOUT_S = 3600
# Ends with this process, and takes every process and mount below it along.
_NAMESPACES = ("--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc")
_CAGE = ("setpriv", "--pdeathsig", "KILL", "unshare", *_NAMESPACES)


class BuildError(Exception):
    """An image was not built; the message says at which step, and where its log is."""


class Programs:
    """Runs programs, and can end all that run at once."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self.stopped = False

    def stop(self) -> None:
        """End what runs; later runs fail at once."""
        with self._lock:
            self.stopped = True
            for process in self._running:
                process.kill()

    def run(self, words: Sequence[str], log: Path, env: Mapping[str, str], cwd: Path) -> None:
        """Run one program in its cage, its output in `log`. Raises BuildError unless it exits 0."""
        with log.open("ab") as output:
            output.write(f"\n$ {words[0]} …\n".encode())
            output.flush()
            with self._lock:
                if self.stopped:
                    raise BuildError("interrupted")
                process = subprocess.Popen(
                    [*_CAGE, *words],
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
                raise BuildError(f"{words[0]} took longer than {STEP_TIMEOUT_S} s") from error
            finally:
                process.kill()
                process.wait()
                with self._lock:
                    self._running.discard(process)
        if self.stopped:
            raise BuildError("interrupted")
        if code != 0:
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-12:])
            raise BuildError(f"{words[0]} failed ({code}); the end of {log}:\n{tail}")
