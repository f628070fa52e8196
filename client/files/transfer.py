"""Uploads and downloads of single files, which continue after a lost connection.

An upload continues in the same run and in a later one: the portal keeps the received part, and the
checksum at the end refuses a mixture of two versions. A download goes to a part file beside the
target, whose name contains the version of the remote file; it gets its name when it is complete.
Others may have put something else there, in a shared folder: a part file is a regular one of this
user, and no one else can read it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .. import operations
from ..connection import ConnectionLost, PortalConnection
from ..errors import ClientError, NothingFound, RefusedByPortal, UsageProblem
from ..models import PendingUpload, RemoteEntry, RemotePlace
from ..output import Advance

BLOCK = 256 * 1024
HASH_WAIT_S = 1.0
PART = ".dsp-part"
BUSY_KINDS = frozenset({"wrong-offset", "file-busy"})
BUSY_WAIT_S = 2.0
MAX_BUSY = 60


@dataclass(frozen=True)
class FileTransfer:
    """Transfers over one connection."""

    connection: PortalConnection

    # --- uploads --------------------------------------------------------------------------------

    def upload(
        self, source: Path, target: RemotePlace, *, overwrite: bool, advance: Advance
    ) -> None:
        """Upload a file, and continue an unfinished upload of it.

        Raises RefusedByPortal if the target exists and `overwrite` is false, or if the file changes
        while it is sent.
        """
        size = source.stat().st_size
        finishing = False

        def once() -> None:
            nonlocal finishing
            if finishing and self._has_size(target, size):
                return  # only the answer was lost: a file gets its name after its checksum agreed
            pending = self._find_upload(target, size, overwrite=overwrite)
            if pending is None:
                body = {**_place(target), "size_bytes": size, "overwrite": overwrite}
                pending = self.connection.call(operations.BEGIN_UPLOAD, body=body)
            digest = self._send(source, pending, advance)
            finishing = True
            self._finish(pending, digest)

        try:
            self.connection.repeat(once)
        except RefusedByPortal as error:
            if error.kind != "checksum-differs":
                raise
            # the received part is of an older version of the file: begin again, once
            self._drop_uploads(target, size)
            finishing = False
            self.connection.repeat(once)

    def _find_upload(
        self, target: RemotePlace, size: int, *, overwrite: bool
    ) -> PendingUpload | None:
        """Return an unfinished upload of a file of this size to this place."""
        for upload in self.connection.call(operations.LIST_UPLOADS).items:
            same = (upload.root, upload.path, upload.size_bytes) == (target.root, target.path, size)
            if same and upload.overwrite is overwrite and upload.offset is not None:
                return upload
        return None

    def _has_size(self, target: RemotePlace, size: int) -> bool:
        try:
            entry = self.connection.call(operations.GET_ENTRY, query=_place(target))
        except NothingFound:
            return False
        return entry.kind == "file" and entry.size_bytes == size

    def _drop_uploads(self, target: RemotePlace, size: int) -> None:
        for overwrite in (False, True):
            upload = self._find_upload(target, size, overwrite=overwrite)
            if upload is not None:
                with contextlib.suppress(NothingFound):
                    self.connection.call(operations.DROP_UPLOAD, {"upload_id": upload.id})

    def _send(self, source: Path, upload: PendingUpload, advance: Advance) -> str:
        """Send the rest of the file, and return its checksum."""
        digest, offset = hashlib.sha256(), upload.offset or 0
        busy = 0
        with source.open("rb") as file:
            _hash_up_to(file.fileno(), digest, offset)
            file.seek(offset)
            while offset < upload.size_bytes:
                advance(offset)
                chunk = file.read(min(upload.chunk_bytes, upload.size_bytes - offset))
                if not chunk:
                    raise RefusedByPortal(
                        f"{source.name} became shorter while it was sent.", "Copy it again."
                    )
                following = self._send_chunk(upload, offset, chunk)
                if following is None:
                    busy += 1
                    if busy > MAX_BUSY:
                        raise RefusedByPortal(
                            f"Another program uploads {source.name}.", "Try again later."
                        )
                    time.sleep(BUSY_WAIT_S)
                    following = self._offset_of(upload)
                if following > offset + len(chunk) or following < offset:
                    raise ConnectionLost("The upload has continued elsewhere.")
                digest.update(chunk[: following - offset])
                offset = following
                file.seek(offset)
        advance(upload.size_bytes)
        return digest.hexdigest()

    def _send_chunk(self, upload: PendingUpload, offset: int, chunk: bytes) -> int | None:
        """Return the offset after a chunk; None if the portal still writes an earlier one."""
        try:
            sent = self.connection.call(
                operations.SEND_CHUNK,
                {"upload_id": upload.id},
                query={"offset": offset},
                data=chunk,
            )
        except RefusedByPortal as error:
            if error.kind in BUSY_KINDS:
                return None
            raise
        return sent.offset

    def _offset_of(self, upload: PendingUpload) -> int:
        current = self.connection.call(operations.GET_UPLOAD, {"upload_id": upload.id})
        return current.offset or 0

    def _finish(self, upload: PendingUpload, sha256: str) -> None:
        path, body = {"upload_id": upload.id}, {"sha256": sha256}
        while not self.connection.call(operations.FINISH_UPLOAD, path, body=body).done:
            time.sleep(HASH_WAIT_S)

    # --- downloads ------------------------------------------------------------------------------

    def download(
        self, entry: RemoteEntry, source: RemotePlace, target: Path, *, overwrite: bool,
        advance: Advance,
    ) -> None:  # fmt: skip
        """Download a file, and continue an unfinished download of the same version of it.

        Raises UsageProblem if the target exists and `overwrite` is false, or can't be written.
        """
        if not overwrite and (target.exists() or target.is_symlink()):
            raise UsageProblem(f"{target} exists.", "Use --overwrite to replace it.")
        part = part_path(target, entry.version)
        try:
            self.connection.repeat(lambda: self._receive(entry, source, part, advance))
            _give_usual_mode(part)
            part.replace(target)
        except OSError as error:
            raise UsageProblem(f"{target} can't be written: {error.strerror}.") from error

    def _receive(
        self, entry: RemoteEntry, source: RemotePlace, part: Path, advance: Advance
    ) -> None:
        """Append what is missing to the part file."""
        have = find_part_size(part)
        if have and have == entry.size_bytes:
            return
        if entry.size_bytes is not None and have > entry.size_bytes:
            have = 0
        headers = {}
        if have:
            headers = {"Range": f"bytes={have}-", "If-Range": f'"{entry.version}"'}
        with self.connection.stream(
            operations.DOWNLOAD, query=_place(source), headers=headers
        ) as answer:
            done = have if answer.status == 206 else 0
            # without a range, or of another version, the whole file comes
            with open_part(part) as file:
                file.seek(done)
                file.truncate()
                for block in answer.stream(BLOCK):
                    file.write(block)
                    done += len(block)
                    advance(done)


def part_path(target: Path, version: str) -> Path:
    """Return the part file of a download, another one for each version of the remote file. Pure."""
    digest = hashlib.sha256(f"{target.name}\n{version}".encode(errors="surrogateescape"))
    return target.with_name(f".{digest.hexdigest()[:16]}{PART}")


def find_part_size(part: Path) -> int:
    """Return the size of a part file, 0 if there is none. Raises UsageProblem."""
    try:
        found = part.lstat()
    except FileNotFoundError:
        return 0
    _refuse_foreign(part, found)
    return found.st_size


def open_part(part: Path) -> BinaryIO:
    """Open a part file, or create it, readable for its owner only. Raises UsageProblem."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(part, flags, 0o600)
    try:
        _refuse_foreign(part, os.fstat(descriptor))
    except UsageProblem:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "r+b")


def _refuse_foreign(part: Path, found: os.stat_result) -> None:
    """Raise UsageProblem unless this is a regular file of this user, without another name."""
    is_own = os.name != "posix" or found.st_uid == os.geteuid()
    if not (stat.S_ISREG(found.st_mode) and is_own and found.st_nlink == 1):
        raise UsageProblem(f"{part} is not a part of this download.", "Delete it, and try again.")


def _give_usual_mode(part: Path) -> None:
    """Give a part file the mode of a new file. The umask can't be read without setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    if os.name == "posix":
        with open_part(part) as file:
            os.fchmod(file.fileno(), 0o666 & ~mask)


def describe_failure(error: ClientError, name: str) -> ClientError:
    """Return the error of one of many files, with its name."""
    error.detail = f"{name}: {error.detail}"
    return error


def _place(place: RemotePlace) -> dict[str, str]:
    return {"root": place.root, "path": place.path}


def _hash_up_to(descriptor: int, digest: hashlib._Hash, size: int) -> None:
    """Add the beginning of a file, which the portal has already, to its checksum."""
    at = 0
    os.lseek(descriptor, 0, os.SEEK_SET)
    while at < size:
        block = os.read(descriptor, min(BLOCK, size - at))
        if not block:
            return
        digest.update(block)
        at += len(block)
