"""Folders with installed programs, one for each content, and a link to the current one.

A folder is complete before the link points to it. Programs that run keep the folder they started
from; pointing the link to the old folder is the rollback. Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


class InstallRefused(Exception):
    """The folder can't be installed; the message is one sentence with the reason."""


def install(link: Path, digest: str, fill: Callable[[Path], None]) -> Path:
    """Point `link` to LINK-DIGEST, which `fill` creates unless it exists; return that folder.

    Raises InstallRefused, and what `fill` raises.
    """
    if link.exists() and not link.is_symlink():
        raise InstallRefused(f"{link} exists and was not created by this command: move it away.")
    target = link.with_name(f"{link.name}-{digest}")
    if not (target / ".complete").is_file():
        fill(target)
        (target / ".complete").touch()
    fresh = link.with_name(f".{link.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target.name)
    fresh.replace(link)
    return target


def older(link: Path) -> list[Path]:
    """Return the folders other than the current one, newest first: programs may still run from
    them."""
    present = link.resolve()
    folders = [path for path in link.parent.glob(f"{link.name}-*") if path != present]
    return sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True)
