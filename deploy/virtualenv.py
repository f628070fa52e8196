"""Creation of a virtualenv with pinned packages, for the portal and for the nodes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from deploy.version_folder import InstallRefused

LOCKED = ("--require-hashes", "--no-deps", "--requirement")
WITHOUT_DEPENDENCIES = ("--no-deps",)


def create(target: Path, python: str, installs: Sequence[Sequence[str]]) -> None:
    """Create a virtualenv, and run `pip install` once for each of `installs`.

    A folder that can't be completed is removed again. Raises InstallRefused.
    """
    pip = [str(target / "bin/python"), "-m", "pip", "--disable-pip-version-check", "install"]
    commands = (
        [python, "-m", "venv", "--clear", str(target)],
        *([*pip, "--quiet", *words] for words in installs),
    )
    for command in commands:
        # readable for users, independent of the caller's umask
        done = subprocess.run(command, check=False, umask=0o022)
        if done.returncode != 0:
            shutil.rmtree(target, ignore_errors=True)
            raise InstallRefused(
                f"`{' '.join(command)}` failed: see the output above, then run this again."
            )
