"""Taking the cluster down: jobs, services, then everything outside the state folder.

Each part is bounded in time, and the last one does not depend on the others' success.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable

from cluster.config.paths import Paths
from cluster.errors import ClusterError
from cluster.handle import TerminalProgress
from cluster.host import namespaces, resources
from cluster.host.control import send_command
from cluster.host.machine import locked, run, wait_for

ANSWER_S = 3.0
JOBS_END_S = 4.0
# services that write stop before the services they write to
ORDER = (
    ("nginx", "hub", "portal"),
    ("slurmctld",),
    ("slurmdbd",),
    ("mariadbd", "nslcd", "slapd", "munged"),
)


def down(paths: Paths) -> None:
    progress = TerminalProgress()
    with locked(paths.state / "lock"):
        was_ready = paths.ready.exists()
        paths.ready.unlink(missing_ok=True)
        if namespaces.find_head(paths) is not None:
            if was_ready:
                _attempt(progress, "jobs ended", lambda: _end_jobs(paths))
            _attempt(progress, "services stopped", lambda: _stop_services(paths))
        resources.clear(paths)
        progress.write_line("down")


def purge(paths: Paths) -> None:
    """Delete the state folder: accounts, passwords and home directories."""
    shutil.rmtree(paths.state)


def _attempt(progress: TerminalProgress, title: str, part: Callable[[], None]) -> None:
    try:
        part()
    except ClusterError as error:
        progress.write_line(f"not in order: {error}")
    else:
        progress.write_line(title)


def _end_jobs(paths: Paths) -> None:
    """End all jobs: after a mere kill, Slurm would consider them running at the next start."""
    jobs = _run_slurm(paths, "squeue", "-h", "-o", "%A").split()
    if jobs:
        _run_slurm(paths, "scancel", "--quiet", *sorted(set(jobs)))
        none_left = lambda: not _run_slurm(paths, "squeue", "-h", "-o", "%A").split()  # noqa: E731
        wait_for(none_left, "the jobs to end", JOBS_END_S)


def _run_slurm(paths: Paths, *argv: str) -> str:
    head = namespaces.find_head(paths)
    if head is None:
        raise ClusterError("the head has gone")
    env = {"SLURM_CONF": str(paths.slurm_conf)}
    return run(namespaces.on_head(head, argv), env=env, timeout_s=ANSWER_S)


def _stop_services(paths: Paths) -> None:
    services = send_command(paths.control(), "status")["services"]
    for names in ORDER:
        send_command(
            paths.control(), "stop", [name for name in names if name in services], timeout_s=15
        )
