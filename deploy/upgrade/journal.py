"""The record of an upgrade in progress, from which the next run continues after a kill.

It is in a folder of root's: the former system files beside it are written back by root.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from deploy import system
from deploy.nginx_inputs import ListenOptions
from deploy.upgrade import UpgradeIncomplete, UpgradeRefused

FOLDER = Path("/var/lib/portal-upgrade")


class UpgradeStep(StrEnum):
    """The steps in their order, and the way back."""

    STOP = "stop"
    BACKUP = "backup"
    MIGRATE = "migrate"
    SWITCH = "switch"
    START = "start"
    HEALTH = "health"
    ROLLBACK = "rollback"


class LinkChange(BaseModel):
    """A link and its targets; `before` is None for a link that the upgrade creates."""

    model_config = ConfigDict(frozen=True)

    link: Path
    before: str | None
    after: str


class Journal(BaseModel):
    """An upgrade in progress.

    `old` and `new` are the virtualenvs of the two versions. `step` is the one that has begun,
    `served` whether the new version may have served requests. `backup` is the one made before the
    upgrade. `restoring`: a rollback has begun to restore it; `kept` is a second backup, of what the
    new version wrote. Other versions read these names in the file, so they must not change.
    """

    model_config = ConfigDict(frozen=True)

    format: Literal[1] = 1
    step: UpgradeStep = UpgradeStep.STOP
    served: bool = False
    old: Path
    old_version: str
    old_revision: str
    new: Path
    new_version: str
    new_revision: str
    config: Path
    accounts: system.ServiceAccounts
    listen: ListenOptions = ListenOptions()
    links: tuple[LinkChange, ...]
    created: tuple[Path, ...] = ()
    has_settings: bool = False
    backup: Path | None = None
    restoring: bool = False
    kept: Path | None = None


@dataclass(frozen=True)
class JournalStore:
    """The folder with the journal and the former files."""

    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / "journal.json"

    @property
    def former(self) -> Path:
        """Return the folder with the former system files, by their paths."""
        return self.folder / "former"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock of the one upgrade that may run. Raises UpgradeRefused."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            held = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UpgradeRefused(
                f"{error.filename} can't be written: {error.strerror}. Run this as root."
            ) from error
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError as error:
            raise UpgradeRefused("Another `portal upgrade` is running: wait for it.") from error
        finally:
            os.close(held)

    def read(self) -> Journal | None:
        """Return the journal of an upgrade that hasn't ended. Raises UpgradeIncomplete."""
        try:
            return Journal.model_validate_json(self.file.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise UpgradeIncomplete(
                f"{self.file} can't be read by this version: run the `portal upgrade` of the "
                "virtualenv that it names as `new`."
            ) from error

    def record(self, journal: Journal, **changes: Any) -> Journal:
        """Write the journal with these changes, so that it survives a loss of power.

        Everything done before is flushed first: the journal must not be ahead of the disk.
        """
        journal = journal.model_copy(update=changes)
        os.sync()
        fresh = self.file.with_suffix(".new")
        with fresh.open("w", encoding="utf-8") as out:
            out.write(journal.model_dump_json(indent=2))
            out.flush()
            os.fsync(out.fileno())
        fresh.replace(self.file)
        opened = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
        return journal

    def keep_former(self, files: Mapping[Path, system.File], root: Path) -> tuple[Path, ...]:
        """Copy the current version of these files; return the paths that don't exist yet."""
        shutil.rmtree(self.former, ignore_errors=True)
        current = {path: read_file(root / path.relative_to("/")) for path in files}
        system.write_files({path: file for path, file in current.items() if file}, self.former)
        return tuple(path for path, file in current.items() if file is None)

    def load_former(self) -> dict[Path, system.File]:
        paths = [path for path in self.former.rglob("*") if path.is_file()]
        found = {Path("/") / path.relative_to(self.former): read_file(path) for path in paths}
        return {path: file for path, file in found.items() if file}

    def remove(self) -> None:
        """End the upgrade: the journal first, because the rest has no meaning without it."""
        os.sync()
        self.file.unlink()
        shutil.rmtree(self.former, ignore_errors=True)


def read_file(path: Path) -> system.File | None:
    try:
        return system.File(path.read_bytes(), path.stat().st_mode & 0o7777)
    except FileNotFoundError:
        return None
