"""The machine, the versions and the commit that results belong to."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cluster.config.paths import CHECKOUT

PACKAGES = ("fastapi", "uvicorn", "SQLAlchemy", "ldap3")


def describe_machine() -> dict[str, Any]:
    """Return the machine with its present load averages, the versions and the commit."""
    return {
        "commit": _git("describe", "--always", "--dirty", "--exclude=*"),
        "machine": {
            "processor": _read_value("/proc/cpuinfo", "model name"),
            "cpus": os.cpu_count(),
            "memory": _read_value("/proc/meminfo", "MemTotal"),
            "load": os.getloadavg(),
        },
        "versions": {
            "kernel": platform.release(),
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
    }


def _git(*arguments: str) -> str | None:
    """Return git's answer; None in a folder that isn't a checkout."""
    done = subprocess.run(
        ["git", *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or None


def _read_value(file: str, key: str) -> str | None:
    """Return the first value of this key in a file of `key : value` lines."""
    for line in Path(file).read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return None
