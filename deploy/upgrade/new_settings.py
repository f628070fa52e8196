"""Settings for the new version, in a file of their own until the switch.

A version refuses settings that it doesn't know. With a new required setting in the current file,
the old version could not start again.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from deploy.upgrade import UpgradeRefused

FORMER = "former-settings"


def locate_staged(config: Path) -> Path:
    """Return where the new settings are until the end of the upgrade."""
    return config.with_name(f".{config.name}.upgrade")


def stage(file: Path, config: Path, folder: Path) -> None:
    """Copy the new settings beside the current ones, for the same account."""
    (folder / FORMER).unlink(missing_ok=True)
    _copy(file, locate_staged(config), like=config)


def put(config: Path, folder: Path) -> None:
    """Replace the settings in one step, and keep the former ones in `folder`. May be repeated."""
    if not (folder / FORMER).exists():
        _copy(config, folder / FORMER, like=config)
    _copy(locate_staged(config), config, like=config)


def put_back(config: Path, folder: Path) -> None:
    """Restore the former settings. May be repeated."""
    if (folder / FORMER).exists():
        _copy(folder / FORMER, config, like=config)


def forget(config: Path, folder: Path) -> None:
    """Remove both copies at the end: until then, the new version needs settings that it reads."""
    (folder / FORMER).unlink(missing_ok=True)
    locate_staged(config).unlink(missing_ok=True)


def _copy(source: Path, target: Path, like: Path) -> None:
    """Write a copy in one step, with owner and mode of another file. Raises UpgradeRefused."""
    fresh = target.with_name(f"{target.name}.new")
    try:
        status = like.stat()
        fresh.unlink(missing_ok=True)
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as out, source.open("rb") as data:
            shutil.copyfileobj(data, out)
            os.fchown(handle, status.st_uid, status.st_gid)
            os.fchmod(handle, status.st_mode & 0o777)
        fresh.replace(target)
    except OSError as error:
        raise UpgradeRefused(f"{error.filename} can't be copied: {error.strerror}.") from error
