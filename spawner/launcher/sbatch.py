"""Command line options for sbatch: every option that the portal controls. Pure."""

from __future__ import annotations

import math

from spawner.launcher.folders import JOBS_FOLDER
from spawner.names import JOB_COMMENT
from spawner.slurm.model import JobSpec


def sbatch_options(spec: JobSpec) -> list[str]:
    """Return every option that the portal controls, so that no directive in a script overrides one.

    `--export=ALL` passes on exactly the environment that the launcher built. `NONE` would set
    SLURM_EXPORT_ENV=NONE in the job, and every srun in it would then start without PATH; a script
    that needs the user's login environment begins with `#!/bin/bash -l`.
    """
    resources = spec.resources
    optional = {
        "partition": resources.partition,
        "account": resources.account,
        "qos": resources.qos,
        "gres": _format_gres(resources.gpus, resources.gpu_type),
        "mem": f"{math.ceil(resources.memory_gb * 1024)}M" if resources.memory_gb else None,
        "time": str(resources.time_limit_minutes) if resources.time_limit_minutes else None,
        "signal": spec.signal,
        "array": spec.array,
    }
    return [
        "--parsable",
        f"--job-name={_printable(spec.name)}",
        f"--comment={JOB_COMMENT}{spec.uuid}",
        f"--nodes={resources.nodes}",
        "--ntasks-per-node=1",
        f"--cpus-per-task={resources.cpus}",
        *(f"--{name}={value}" for name, value in optional.items() if value),
        f"--output={_log_path(spec.uuid, spec.stdout)}",
        f"--error={_log_path(spec.uuid, spec.stderr)}",
        "--open-mode=append",
        "--requeue" if spec.requeue else "--no-requeue",
        "--propagate=NONE",
        "--export=ALL",
    ]


def _format_gres(gpus: int, gpu_type: str | None) -> str | None:
    if gpus <= 0:
        return None
    return f"gpu:{gpu_type}:{gpus}" if gpu_type else f"gpu:{gpus}"


def _log_path(uuid: str, path: str) -> str:
    """Return a path for Slurm, which resolves relative paths from the working directory (home)."""
    return path if path.startswith("/") else f"{JOBS_FOLDER}/{uuid}/{path}"


def _printable(name: str) -> str:
    return "".join(c for c in name if c.isprintable())[:64] or "portal"
