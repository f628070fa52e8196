"""Access to the machine: run a program, wait for a condition, find addresses in use.

No decisions here: `render` and `addresses` decide from the results.
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
from fcntl import LOCK_EX, flock
from pathlib import Path

from cluster.config.addresses import Listener, UsedAddresses, loads, parse_proc_net_tcp
from cluster.config.paths import Paths
from cluster.errors import ClusterError, CommandError

POLL_S = 0.02
PATIENCE_S = 300.0  # a busy or emulated machine may be ten times slower
# where the clusters of all checkouts on this machine record the addresses they chose
CHOICES = Path("/run/portal-clusters")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def run(
    argv: Sequence[str],
    *,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    timeout_s: float = PATIENCE_S,
    check: bool = True,
) -> str:
    """Return the program's stdout. Raises CommandError with its output on failure or timeout."""
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
        output = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise CommandError(f"{' '.join(argv)}: exit {done.returncode}: {output}")
    return done.stdout


def succeeds(argv: Sequence[str], env: Mapping[str, str] | None = None) -> bool:
    try:
        run(argv, env=env, timeout_s=10)
    except CommandError:
        return False
    return True


def wait_for(
    condition: Callable[[], bool],
    description: str,
    timeout_s: float = PATIENCE_S,
    log: Path | None = None,
) -> None:
    """Poll until the condition holds. Raises ClusterError, with the end of `log`, on timeout."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise ClusterError(f"waited {timeout_s:g} s for {description}{_format_log_tail(log)}")
        time.sleep(POLL_S)


def _format_log_tail(log: Path | None) -> str:
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
    """Hold an exclusive file lock until the block ends or the process dies."""
    with path.open("w") as file:
        flock(file, LOCK_EX)
        yield


def write(
    path: Path, content: str | bytes, *, mode: int = 0o644, owner: str | int = "root"
) -> bool:
    """Write a file atomically; return whether it changed.

    It is never readable more widely than `mode`.
    """
    data = content.encode() if isinstance(content, str) else content
    if path.is_file() and path.read_bytes() == data and path.stat().st_mode & 0o7777 == mode:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    shutil.chown(fresh, owner)
    fresh.chmod(mode)
    fresh.rename(path)
    return True


def folder(path: Path, owner: str | int = "root", mode: int = 0o755) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    shutil.chown(path, owner, owner)
    path.chmod(mode)
    return path


def list_used_addresses(paths: Paths) -> UsedAddresses:
    """Return the addresses that this machine uses, and those chosen by other clusters.

    The clusters beside this one always count, clusters of other checkouts while they are up or
    starting.
    """
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
    return UsedAddresses(frozenset(networks), frozenset(listeners))


@contextmanager
def choosing(paths: Paths) -> Iterator[None]:
    """Let one cluster of the machine at a time choose its addresses, and record the choice.

    Others then respect the choice, even while nothing listens there yet.
    """
    CHOICES.mkdir(mode=0o700, exist_ok=True)
    with locked(CHOICES / "lock"):
        yield
        forget_choice(paths)
        (CHOICES / paths.token).symlink_to(paths.addresses)


def forget_choice(paths: Paths) -> None:
    (CHOICES / paths.token).unlink(missing_ok=True)
