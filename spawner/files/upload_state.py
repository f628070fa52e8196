"""Records of unfinished uploads in ~/.local/share/portal/uploads."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from spawner.files.paths import RootedPath, problem, required_int, required_path_below_root, text_of
from spawner.launcher.folders import UPLOADS
from spawner.launcher.program import (
    UUID,
    Refused,
    Result,
    User,
    descend,
    opened,
    reporting_home_errors,
    required_field,
    write_file,
)

MAX_RECORD = 64 << 10
MAX_SIZE = 1 << 50
UPLOAD_GONE = "This upload no longer exists. Start it again."


class Upload(NamedTuple):
    """Unfinished upload: `path` is that of the finished file, `size` its size in bytes."""

    id: str
    path: RootedPath
    size: int
    overwrite: bool
    created_at: float

    @property
    def part_name(self) -> str:
        """Return the name of the hidden partial file; a long target name is shortened to fit."""
        ending = f".portal-upload-{self.id}"
        shortened = os.fsencode(self.path.name)[: 254 - len(ending)]
        return f".{os.fsdecode(shortened)}{ending}"

    def to_result(self, offset: int) -> Result:
        return {
            "id": self.id,
            "root": self.path.root,
            "path": "/".join(text_of(part) for part in self.path.parts),
            "size_bytes": self.size,
            "overwrite": self.overwrite,
            "created_at": self.created_at,
            "offset": offset,
        }


class Hashed:
    """Running SHA-256 of an upload's first `position` bytes."""

    def __init__(self) -> None:
        self.sha256, self.position = hashlib.sha256(), 0


HASHES: dict[str, Hashed] = {}
"""Checksums in progress, by upload."""


def open_records(user: User) -> int:
    with reporting_home_errors():
        return descend(user, UPLOADS, make=True)


def read_upload(user: User, upload_id: str) -> Upload:
    with opened(open_records(user)) as records:
        record = read_record(records, upload_id)
    if record is None:
        raise problem("not-there", UPLOAD_GONE)
    return record


def read_record(records: int, upload_id: str) -> Upload | None:
    """Return an upload's record, or None if there is none or it is invalid (such as a link or
    folder).

    Raises OSError if the file system cannot deliver it now: then the upload still exists and can be
    continued later.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with opened(os.open(f"{upload_id}.json", flags, dir_fd=records)) as fd:
            data = os.read(fd, MAX_RECORD)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.EISDIR):
            return None
        raise
    try:
        fields: Any = json.loads(data)
        return Upload(
            upload_id,
            required_path_below_root(fields),
            required_int(fields, "size", MAX_SIZE),
            required_field(fields, "overwrite", bool),
            required_field(fields, "created_at", float),
        )
    except (ValueError, AttributeError, Refused):
        forget_upload(records, upload_id)  # Malformed, and cannot be repaired.
        return None


def readable_record(records: int, upload_id: str) -> Upload | None:
    """Return a record, or None if it cannot be read, so that one bad record does not block a
    listing.
    """
    try:
        return read_record(records, upload_id)
    except OSError:
        return None


def write_record(records: int, upload: Upload) -> None:
    path = "/".join(text_of(part) for part in upload.path.parts)
    fields = {
        "root": upload.path.root,
        "path": path,
        "size": upload.size,
        "overwrite": upload.overwrite,
        "created_at": upload.created_at,
    }
    write_file(records, f"{upload.id}.json", json.dumps(fields).encode())


def forget_upload(records: int, upload_id: str) -> None:
    HASHES.pop(upload_id, None)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{upload_id}.json", dir_fd=records)


def records_in(records: int) -> Iterator[str]:
    with os.scandir(records) as entries:
        for entry in entries:
            upload_id, _, ending = entry.name.rpartition(".")
            if ending == "json" and UUID.fullmatch(upload_id) and is_file(entry):
                yield upload_id


def is_file(entry: os.DirEntry[str]) -> bool:
    """Return whether a directory entry may be a record; true if its type cannot be read now."""
    try:
        return entry.is_file(follow_symlinks=False)
    except OSError:
        return True
