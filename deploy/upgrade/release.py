"""The release to install: a wheel, with its lock beside it."""

from __future__ import annotations

import hashlib
import re
import zipfile
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path

from deploy import version_folder, virtualenv
from deploy.upgrade import UpgradeRefused
from deploy.wheel import LOCK

NAME = "data-scientist-portal"
COMMAND = "deploy/upgrade/command.py"
METADATA = re.compile(r"[^/]+\.dist-info/METADATA")


@dataclass(frozen=True)
class WheelRelease:
    """`digest` depends on the content of the wheel and of its lock."""

    wheel: Path
    lock: Path
    version: str
    digest: str

    @property
    def folder_name(self) -> str:
        """Return the part of the virtualenv's name that identifies this release."""
        return f"{re.sub(r'[^0-9A-Za-z.]', '-', self.version)}-{self.digest[:8]}"


def read_release(wheel: Path) -> WheelRelease:
    """Read name and version of a wheel. Raises UpgradeRefused."""
    lock = wheel.with_name(LOCK)
    try:
        with zipfile.ZipFile(wheel) as packed:
            names = packed.namelist()
            metadata = next(filter(METADATA.fullmatch, names), None)
            text = packed.read(metadata).decode() if metadata else ""
    except (OSError, zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise UpgradeRefused(
            f"{wheel} can't be read as a wheel: {error}. Copy it again."
        ) from error
    fields = Parser().parsestr(text, headersonly=True)
    if _normalize(fields.get("Name", "")) != NAME:
        raise UpgradeRefused(
            f"{wheel} isn't the portal's wheel: name {NAME.replace('-', '_')}-….whl."
        )
    if COMMAND not in names:
        raise UpgradeRefused(
            f"{wheel} is a version without `portal upgrade`, which is older than this one: to go "
            "back, follow docs/install.md."
        )
    try:
        content = wheel.read_bytes() + lock.read_bytes()
    except OSError as error:
        raise UpgradeRefused(
            f"{error.filename} can't be read: {error.strerror}. Copy the release's whole folder."
        ) from error
    return WheelRelease(wheel, lock, fields["Version"], hashlib.sha256(content).hexdigest())


def _normalize(name: str) -> str:
    """Normalize a name as in the packaging specifications."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locate(link: Path, release: WheelRelease) -> Path:
    """Return the virtualenv of this release, which may not exist. Raises InstallRefused."""
    return version_folder.locate(link, release.folder_name)


def install(link: Path, release: WheelRelease, python: str) -> Path:
    """Create the virtualenv of this release unless it exists. Raises InstallRefused.

    pip refuses a wheel that needs another Python, and a requirement that isn't in the lock's
    version at the package index.
    """

    def fill(target: Path) -> None:
        wheel = [*virtualenv.WITHOUT_DEPENDENCIES, str(release.wheel)]
        locked = [*virtualenv.LOCKED, str(release.lock)]
        virtualenv.create(target, python, [wheel, locked])

    return version_folder.prepare(link, release.folder_name, fill)
