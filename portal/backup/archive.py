"""The backup's file format: a tar with a manifest as its first member, which lists the others with
their hashes.

Knows neither database nor settings.
"""

import gzip
import hashlib
import io
import os
import shutil
import tarfile
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

MANIFEST = "manifest.json"
DATABASE = "database"
SETTINGS = "settings/portal.toml"
SECRETS = "secrets/"
MAX_SMALL = 1024 * 1024
CHUNK = 1024 * 1024
TEMP_PREFIX = ".portal-backup-"
LEFT_AFTER_S = 24 * 3600
"""A temporary folder of this age is no longer in use."""


class BackupError(Exception):
    """A backup is impossible or cannot be used; the message is one sentence with the reason."""


class ArchiveMember(BaseModel):
    """A file in the backup. `mode`, `owner` and `group` are the original file's."""

    model_config = ConfigDict(frozen=True)

    name: str
    size: int
    sha256: str
    mode: int
    owner: str
    group: str


class Manifest(BaseModel):
    """The description of a backup.

    `revision` is the schema's, `portal` the version that made it.
    """

    format: Literal[1] = 1
    portal: str
    revision: str
    database: Literal["sqlite", "postgresql"]
    made_at: datetime
    members: list[ArchiveMember]
    left_out: list[str]

    def member(self, name: str) -> ArchiveMember | None:
        return next((member for member in self.members if member.name == name), None)


def digest_of(file: Path) -> tuple[int, str]:
    """Return size and SHA-256."""
    with file.open("rb") as data:
        digest = hashlib.file_digest(data, "sha256")
        return data.tell(), digest.hexdigest()


# --- writing --------------------------------------------------------------------------------------


@contextmanager
def private_temp_folder(folder: Path) -> Iterator[Path]:
    """Create a temporary folder that other accounts cannot read, on the file system of the
    result. Folders that killed processes left are removed.
    """
    try:
        _remove_leftovers(folder)
        with tempfile.TemporaryDirectory(dir=folder, prefix=TEMP_PREFIX) as path:
            yield Path(path)
    except OSError as error:
        where = error.filename or folder
        raise BackupError(f"{where} can't be written: {error.strerror}.") from error


def _remove_leftovers(folder: Path) -> None:
    for left in folder.glob(f"{TEMP_PREFIX}*"):
        if time.time() - left.stat().st_mtime > LEFT_AFTER_S:
            shutil.rmtree(left)


@contextmanager
def new_file(file: Path) -> Iterator[IO[bytes]]:
    """Create a file of mode 0600, and flush it to disk at the end."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as out:
        yield out
        out.flush()
        os.fsync(handle)


def write(file: Path, manifest: Manifest, sources: dict[str, Path | bytes], folder: Path) -> None:
    """Write a new file of mode 0600 atomically."""
    partial = folder / "backup"
    with new_file(partial) as out, tarfile.open(fileobj=out, mode="w:gz") as tar:
        _add_member(tar, MANIFEST, manifest.model_dump_json(indent=2).encode())
        for member in manifest.members:
            _add_member(tar, member.name, sources[member.name])
    try:
        file.hardlink_to(partial)
    except FileExistsError as error:
        raise BackupError(f"{file} already exists: choose a new file name.") from error


def _add_member(tar: tarfile.TarFile, name: str, source: Path | bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.mode = 0o600
    if isinstance(source, bytes):
        entry.size = len(source)
        tar.addfile(entry, io.BytesIO(source))
        return
    entry.size = source.stat().st_size
    with source.open("rb") as data:
        tar.addfile(entry, data)


# --- reading --------------------------------------------------------------------------------------


def read(file: Path) -> tuple[Manifest, dict[str, bytes]]:
    """Return the manifest and every small member, after reading and verifying the whole file.

    Raises BackupError.
    """
    with _open_backup(file) as tar:
        entries = iter(tar)
        manifest = _read_manifest(file, tar, next(entries, None))
        expected = {member.name: member for member in manifest.members}
        small: dict[str, bytes] = {}
        for entry in entries:
            member = expected.pop(entry.name, None)
            data = tar.extractfile(entry) if member else None
            if member is None or data is None:
                raise BackupError(
                    f"{file} contains {entry.name[:100]}, which is not in its manifest."
                )
            keep = io.BytesIO() if member.name != DATABASE else None
            _verify(file, member, data, keep)
            if keep is not None:
                small[member.name] = keep.getvalue()
    if expected:
        raise BackupError(f"{file} is damaged: {', '.join(sorted(expected))} is missing.")
    return manifest, small


def take_database(file: Path, manifest: Manifest, out: IO[bytes]) -> None:
    """Copy the database out of the backup, and verify it again."""
    member = manifest.member(DATABASE)
    if member is None:
        raise BackupError(f"{file} does not contain a database.")
    with _open_backup(file) as tar:
        for entry in tar:
            if entry.name == DATABASE and (data := tar.extractfile(entry)) is not None:
                _verify(file, member, data, out)
                return


@contextmanager
def _open_backup(file: Path) -> Iterator[tarfile.TarFile]:
    """Open a backup for sequential reading.

    Errors of tarfile, gzip and zlib become a BackupError.
    """
    try:
        data = file.open("rb")
    except FileNotFoundError as error:
        raise BackupError(f"The file {file} does not exist.") from error
    except OSError as error:
        raise BackupError(f"{file} can't be read: {error.strerror}.") from error
    try:
        with data, tarfile.open(fileobj=data, mode="r|gz") as tar:
            yield tar
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BackupError(
            f"{file} is not a backup of the portal, or is damaged: {error}."
        ) from error


def _read_manifest(file: Path, tar: tarfile.TarFile, entry: tarfile.TarInfo | None) -> Manifest:
    data = tar.extractfile(entry) if entry is not None and entry.name == MANIFEST else None
    if data is None:
        raise BackupError(f"{file} is not a backup of the portal: its manifest is missing.")
    try:
        return Manifest.model_validate_json(data.read(MAX_SMALL))
    except ValidationError as error:
        raise BackupError(f"{file} has a manifest that this portal can't read.") from error


def _verify(file: Path, member: ArchiveMember, data: IO[bytes], out: IO[bytes] | None) -> None:
    digest, size = hashlib.sha256(), 0
    while chunk := data.read(CHUNK):
        digest.update(chunk)
        size += len(chunk)
        if out is not None:
            if size > MAX_SMALL and isinstance(out, io.BytesIO):
                raise BackupError(f"{file} is damaged: {member.name} is too large.")
            out.write(chunk)
    if (size, digest.hexdigest()) != (member.size, member.sha256):
        raise BackupError(f"{file} is damaged: {member.name} does not match the manifest.")
