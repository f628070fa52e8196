"""The programs of Slurm that a cluster takes from another Debian release.

Each is mounted over the machine's own in the head's mount namespace, which the nodes inherit, so
that every path stays as it is. The programs must find their own release's C library
(tests/recording/programs.py prepares them).
"""

from __future__ import annotations

from pathlib import Path

COMMANDS = (
    *("sacct", "sacctmgr", "salloc", "sattach", "sbatch", "sbcast", "scancel", "scontrol"),
    *("sdiag", "sinfo", "sprio", "squeue", "sreport", "srun", "sshare", "sstat", "strigger"),
)
DAEMONS = ("slurmctld-wlm", "slurmd-wlm", "slurmstepd-wlm", "slurmdbd")
PROGRAMS = (
    *(Path("/usr/bin", name) for name in COMMANDS),
    *(Path("/usr/sbin", name) for name in DAEMONS),
)
PLUGINS = Path("/usr/lib/x86_64-linux-gnu/slurm-wlm")


def binds(root: Path) -> list[tuple[str, str]]:
    """Return (source, target) of each mount; `root` has the other release's files."""
    return [(str(root / path.relative_to("/")), str(path)) for path in (*PROGRAMS, PLUGINS)]
