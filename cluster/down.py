"""Bring the cluster down: jobs, services, then everything outside the state folder.

Each part is bounded in time, and the last one needs none of the others to have worked.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable

from cluster import footprint, namespaces
from cluster.control import ask
from cluster.errors import ClusterError
from cluster.ground import Progress
from cluster.machine import locked, run, wait_for
from cluster.paths import Paths

ANSWER_S = 3.0
JOBS_END_S = 4.0
# what writes goes before what it writes to
ORDER = (
    ("nginx", "hub", "portal"),
    ("slurmctld",),
    ("slurmdbd",),
    ("mariadbd", "nslcd", "slapd", "munged"),
)


def down(paths: Paths) -> None:
    progress = Progress()
    with locked(paths.state / "lock"):
        was_ready = paths.ready.exists()
        paths.ready.unlink(missing_ok=True)
        if namespaces.find_head(paths) is not None:
            if was_ready:
                _attempt(progress, "jobs ended", lambda: _end_jobs(paths))
            _attempt(progress, "services stopped", lambda: _stop_services(paths))
        footprint.clear(paths)
        progress.say("down")


def purge(paths: Paths) -> None:
    """Forget everything: accounts, passwords, homes."""
    shutil.rmtree(paths.state)


def _attempt(progress: Progress, title: str, part: Callable[[], None]) -> None:
    try:
        part()
    except ClusterError as error:
        progress.say(f"not in order: {error}")
    else:
        progress.say(title)


def _end_jobs(paths: Paths) -> None:
    """A job that were only killed would still be running in Slurm's eyes at the next start."""
    jobs = _slurm(paths, "squeue", "-h", "-o", "%A").split()
    if jobs:
        _slurm(paths, "scancel", "--quiet", *sorted(set(jobs)))
        none_left = lambda: not _slurm(paths, "squeue", "-h", "-o", "%A").split()  # noqa: E731
        wait_for(none_left, "the jobs to end", JOBS_END_S)


def _slurm(paths: Paths, *argv: str) -> str:
    head = namespaces.find_head(paths)
    if head is None:
        raise ClusterError("the head has gone")
    env = {"SLURM_CONF": str(paths.slurm_conf)}
    return run(namespaces.on_head(head, argv), env=env, timeout_s=ANSWER_S)


def _stop_services(paths: Paths) -> None:
    known = ask(paths.control(), "status")["services"]
    for names in ORDER:
        ask(paths.control(), "stop", [name for name in names if name in known], timeout_s=15)
