"""Folders with installed programs, one for each content, and a link to the current one.

A folder is complete before the link points to it. Programs that run keep the folder they started
from; pointing the link to the old folder is the rollback. Standard library only.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

COMPLETE = ".complete"


class InstallRefused(Exception):
    """The folder can't be installed; the message is one sentence with the reason."""


def install(link: Path, digest: str, fill: Callable[[Path], None]) -> Path:
    """Point `link` to LINK-DIGEST, which `fill` creates unless it exists; return that folder.

    Raises InstallRefused, and what `fill` raises.
    """
    target = prepare(link, digest, fill)
    point(link, target.name)
    return target


def prepare(link: Path, digest: str, fill: Callable[[Path], None]) -> Path:
    """Return LINK-DIGEST, which `fill` creates unless it exists; the link isn't changed.

    Raises InstallRefused, and what `fill` raises.
    """
    target = locate(link, digest)
    if not is_complete(target):
        fill(target)
        os.sync()  # a loss of power must not leave the mark with half-written files
        (target / COMPLETE).touch()
    return target


def locate(link: Path, digest: str) -> Path:
    """Return the folder LINK-DIGEST, which may not exist. Raises InstallRefused."""
    if link.exists() and not link.is_symlink():
        raise InstallRefused(f"{link} exists and was not created by this command: move it away.")
    return link.with_name(f"{link.name}-{digest}")


def is_complete(target: Path) -> bool:
    return (target / COMPLETE).is_file()


def point(link: Path, to: str) -> None:
    """Point a link somewhere else, in one step."""
    fresh = link.with_name(f".{link.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(to)
    fresh.replace(link)


def older(link: Path) -> list[Path]:
    """Return the folders other than the current one, newest first: programs may still run from
    them."""
    current = link.resolve()
    folders = [path for path in link.parent.glob(f"{link.name}-*") if path != current]
    return sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True)
