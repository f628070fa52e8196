"""Slurm's commands and sudo as the portal's account has them on the head, for use outside it."""

from __future__ import annotations

import contextlib
import functools
import shlex
from collections.abc import Iterator
from pathlib import Path

from cluster.config.paths import Paths
from cluster.host.namespaces import find_head
from tests import polling
from tests.live import CHECKOUT, PYTHON, Live

PORTAL_UID = 19001


def make_bin(folder: Path, live: Live) -> Path:
    """Create a folder with the commands; each enters the head and switches to the portal's account.

    Slurm's commands join no pid namespace, so that each remains one process, which can be killed
    like the real one. sudo does; it keeps no more of the environment than the real one.
    """
    head = find_head(Paths(live.state))
    assert head, "the cluster is not up"
    become = f"setpriv --reuid={PORTAL_UID} --regid={PORTAL_UID} --clear-groups --"
    enter = f"nsenter --target {head} --mount --uts --wd=/ -- {become}"
    for name in ("squeue", "sacct", "sdiag", "scontrol", "scancel"):
        write(folder / name, f'exec {enter} /usr/bin/{name} "$@"')
    exec_ = f"{PYTHON} -m cluster --state {shlex.quote(str(live.state))} exec --user portal --"
    write(folder / "sudo", f'cd {shlex.quote(str(CHECKOUT))}; exec {exec_} /usr/bin/sudo "$@"')
    return folder


def write(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def slurm_conf(live: Live) -> Path:
    return Paths(live.state).slurm_conf


def launcher_path(live: Live) -> Path:
    return Paths(live.state).launcher


def home_of(live: Live, user: str) -> Path:
    return Paths(live.state).home / user


def quickly(script: str) -> list[str]:
    """Return sbatch's argv, for `Live.exec_as`, of a small job that may run on any node."""
    return ["sbatch", "--parsable", "--mem=64M", "--time=5", "--output=/dev/null", "--wrap", script]


until = functools.partial(polling.until, pause_s=0.2)
"""Poll what depends on Slurm, at moderate intervals."""


@contextlib.contextmanager
def stopped(live: Live, service: str) -> Iterator[None]:
    live.stop(service)
    try:
        yield
    finally:
        live.start(service)
