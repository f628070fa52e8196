"""The machine underneath: run a program, wait for a condition, ask what is allowed and taken.

An edge without decisions; what follows from the answers is decided by `render` and `addresses`.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from pathlib import Path

from cluster.addresses import Listener, Taken, loads, parse_proc_net_tcp
from cluster.errors import ClusterError, CommandError
from cluster.paths import Paths

POLL_S = 0.02
PATIENCE_S = 120.0  # a busy machine may be ten times slower
# Slurm's plugins need each of these as a folder of its own
CONTROLLERS = ("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "pids")
REQUIRED_CONTROLLERS = ("cpuset", "memory", "devices", "freezer", "cpuacct")
# where the clusters of every checkout on this machine say which addresses they chose
CHOICES = Path("/run/portal-clusters")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Hierarchy:
    """One cgroup v1 hierarchy: its controllers (`cpu,cpuacct` may share one) and mount point."""

    options: str
    mount: Path


def run(
    argv: Sequence[str],
    *,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    timeout_s: float = 60.0,
    check: bool = True,
) -> str:
    """The program's output; raises CommandError with its words when it fails or takes too long."""
    try:
        done = subprocess.run(
            argv,
            input=stdin,
            env={"PATH": PATH, "LC_ALL": "C.UTF-8", **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CommandError(f"{argv[0]} took longer than {timeout_s:g} s") from error
    if check and done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise CommandError(f"{' '.join(argv)}: exit {done.returncode}: {words}")
    return done.stdout


def succeeds(argv: Sequence[str], env: Mapping[str, str] | None = None) -> bool:
    try:
        run(argv, env=env, timeout_s=10)
    except CommandError:
        return False
    return True


def wait_for(
    condition: Callable[[], bool], what: str, timeout_s: float = PATIENCE_S, log: Path | None = None
) -> None:
    """Raises ClusterError, with the end of `log`, when the time is up."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise ClusterError(f"waited {timeout_s:g} s for {what}{_end_of(log)}")
        time.sleep(POLL_S)


def _end_of(log: Path | None) -> str:
    if log is None or not log.exists():
        return ""
    last = log.read_text(errors="replace").splitlines()[-8:]
    return "\n".join([f"; the end of {log}:", *last])


def answers(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=1).close()
    except OSError:
        return False
    return True


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Held until the block ends or the process dies."""
    with path.open("w") as file:
        flock(file, LOCK_EX)
        yield


def write(path: Path, text: str, *, mode: int = 0o644, owner: str | int = "root") -> bool:
    """Atomically; True when the file changed. It is never readable more widely than `mode`."""
    if path.is_file() and path.read_text() == text and path.stat().st_mode & 0o7777 == mode:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    shutil.chown(fresh, owner)
    fresh.chmod(mode)
    fresh.rename(path)
    return True


def folder(path: Path, owner: str | int = "root", mode: int = 0o755) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    shutil.chown(path, owner, owner)
    path.chmod(mode)
    return path


def taken(paths: Paths) -> Taken:
    """What this machine uses now, and what other clusters chose: those beside this one, and those
    of other checkouts as long as they are up or about to be."""
    networks: set[str] = set()
    for route in json.loads(run(["ip", "-j", "-4", "route", "show"]) or "[]"):
        if route["dst"] != "default":
            networks.add(route["dst"])
    listeners: set[Listener] = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if Path(table).exists():
            listeners |= parse_proc_net_tcp(Path(table).read_text())
    elsewhere = (link.resolve() for link in CHOICES.glob("*") if link.is_symlink())
    for file in {*paths.root.glob("*/addresses.json"), *elsewhere}:
        if file != paths.addresses and file.exists():
            other = loads(file.read_text())
            networks.add(other.subnet)
            listeners |= other.listeners()
    return Taken(frozenset(networks), frozenset(listeners))


@contextmanager
def choosing(paths: Paths) -> Iterator[None]:
    """One cluster of the machine at a time chooses its addresses; from then on the others know
    where they are written, also while nothing listens there yet."""
    CHOICES.mkdir(mode=0o700, exist_ok=True)
    with locked(CHOICES / "lock"):
        yield
        forget_choice(paths)
        (CHOICES / paths.token).symlink_to(paths.addresses)


def forget_choice(paths: Paths) -> None:
    (CHOICES / paths.token).unlink(missing_ok=True)


def hierarchies() -> dict[str, Hierarchy]:
    """Controller → its cgroup v1 hierarchy; empty on a machine without version 1."""
    found: dict[str, Hierarchy] = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ")[:3]
        if kind != "cgroup":
            continue
        known = [name for name in options.split(",") if name in CONTROLLERS]
        for name in known:
            found[name] = Hierarchy(",".join(known), Path(before.split(" ")[4]))
    return found
