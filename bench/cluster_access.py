"""Access to the cluster under test and its parts, limited to what an operator has.

Everything started here is ended here. Knows paths and accounts, but nothing about the benchmarks.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from cluster.config.paths import CHECKOUT, PYTHON, Paths
from cluster.host import namespaces
from cluster.host.machine import PATH

END_S = 10.0
_T = TypeVar("_T")


class Failed(Exception):
    """A measurement could not be made; the message gives the reason."""


@dataclass(frozen=True)
class BenchCluster:
    """The running cluster in `paths.state`, its address and its users' passwords."""

    paths: Paths
    base_url: str
    users: Mapping[str, str]

    @classmethod
    def load(cls, state: Path) -> BenchCluster:
        access = json.loads(_run([PYTHON, "-m", "cluster", "--state", str(state), "credentials"]))
        return cls(Paths(state.resolve()), access["base_url"], access["users"])

    def node_address(self, name: str) -> str:
        status = json.loads(self._command("status", "--json"))
        return next(str(node["address"]) for node in status["nodes"] if node["name"] == name)

    def service_pid(self, name: str) -> int:
        status = json.loads(self._command("status", "--json"))
        return next(int(part["pid"]) for part in status["services"] if part["name"] == name)

    def exec_as(self, user: str, argv: Sequence[str], *, stdin: str = "") -> str:
        """Run a program as this user on the head and return its stdout. Raises Failed."""
        return self._command("exec", "--user", user, "--", *argv, stdin=stdin)

    def _command(self, *arguments: str, stdin: str = "") -> str:
        argv = [PYTHON, "-m", "cluster", "--state", str(self.paths.state), *arguments]
        return _run(argv, stdin=stdin)

    @contextmanager
    def program(
        self, user: str, argv: Sequence[str], env: Mapping[str, str], log: Path
    ) -> Iterator[int]:
        """Run a program as a service account on the head until the block ends; yields its pid."""
        head = namespaces.find_head(self.paths)
        if head is None:
            raise Failed("the cluster isn't up")
        account = _run(namespaces.on_head(head, ["getent", "passwd", user]))
        command = namespaces.as_user(account, {"PATH": PATH, "LC_ALL": "C.UTF-8", **env}, argv)
        with log.open("ab") as output, started(namespaces.on_head(head, command), output) as outer:
            pid = wait_until(lambda: _find_child(outer.pid), f"{argv[0]} to start")
            try:
                yield pid
            finally:
                end(pid, outer)


@contextmanager
def started(
    argv: Sequence[str],
    output: Any,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that does not outlive the block."""
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=env, cwd=cwd
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()


def end(pid: int, parent: subprocess.Popen[bytes]) -> None:
    """Send SIGTERM to a child of `parent`, SIGKILL after a timeout, and wait for the parent."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    try:
        parent.wait(END_S)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        parent.wait(END_S)


def _find_child(pid: int) -> int | None:
    """Return the pid of the process that nsenter forked to enter the pid namespace."""
    with contextlib.suppress(OSError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(children[0]) if children else None
    return None


def wait_until(probe: Callable[[], _T | None], what: str, timeout_s: float = 30) -> _T:
    """Poll `probe` until it returns a truthy value, and return that. Raises Failed."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failed(f"waited {timeout_s:.0f} s for {what}")
        time.sleep(0.02)


def free_port(address: str = "127.0.0.1") -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def connects(port: int, address: str = "127.0.0.1") -> bool:
    with contextlib.suppress(OSError), socket.create_connection((address, port), timeout=2):
        return True
    return False


def query(database: Path, sql: str, *values: object) -> list[tuple[Any, ...]]:
    """Return rows of a database that a portal has open; the connection is read-only."""
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        return list(connection.execute(sql, values))


def pss_mb(pid: int) -> float:
    """Return a process's proportional set size (PSS): shared pages count proportionally."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kilobytes / 1024


def _run(argv: Sequence[str], *, stdin: str = "") -> str:
    done = subprocess.run(
        argv, cwd=CHECKOUT, input=stdin, capture_output=True, text=True, check=False, timeout=120
    )
    if done.returncode != 0:
        raise Failed(f"{' '.join(argv[:12])}: {done.stderr[-1500:]}")
    return done.stdout
