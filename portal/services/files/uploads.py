"""Uploads in chunks: started, resumed after interruptions, and finished with a checksum.

Their state is neither in the database nor in memory, but beside their bytes, in their owner's
storage. So a restarted portal, or another one, can resume them.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID, uuid4

from portal.errors import NotFound
from portal.errors import files as file_errors
from portal.services.files.roots import FileAccess, FileLocation, converting_errors
from spawner.launcher.file_answers import Entry, UploadInfo

CHUNK_BYTES = 8 << 20
PIECE_BYTES = 512 << 10
HASH_S = 2.0
FINISH_WITHIN_S = 20.0
BUSY = "Another part of this file is being received. Query the current offset before you continue."


@dataclass(frozen=True)
class Finished:
    """A complete file with its SHA-256; or, without an entry, the progress of its checksum."""

    hashed_bytes: int
    sha256: str | None = None
    entry: Entry | None = None


def checked_id(upload_id: str) -> str:
    """Return an ID in the launcher's format. Raises NotFound."""
    try:
        return str(UUID(upload_id))
    except ValueError as error:
        raise NotFound("There is no such upload.") from error


async def start_upload(
    files: FileAccess, username: str, location: FileLocation, size: int, *, overwrite: bool
) -> UploadInfo:
    """Start an upload. Raises FileExists, NoSpace and other errors that are known before data is
    sent.
    """
    with converting_errors():
        return await files.first_pool.begin_upload(
            username, location.parameters, str(uuid4()), size, overwrite=overwrite
        )


async def load_upload(files: FileAccess, username: str, upload_id: str) -> UploadInfo:
    with converting_errors():
        return await files.first_pool.find_upload(username, checked_id(upload_id))


async def list_uploads(files: FileAccess, username: str) -> list[UploadInfo]:
    """Return the unfinished uploads, newest first."""
    with converting_errors():
        states = await files.first_pool.list_uploads(username)
    return sorted(states, key=lambda upload: upload.created_at, reverse=True)


async def receive(
    files: FileAccess, username: str, upload_id: str, offset: int, body: AsyncIterator[bytes]
) -> int:
    """Receive a chunk, one piece in memory at a time; return the offset of the next one. Received
    data is kept even if the rest of the chunk is lost. Raises WrongOffset, FileBusy, NoSpace.
    """
    upload_id = checked_id(upload_id)
    with _lock_upload(files, username, upload_id):
        buffer, received = bytearray(), False
        try:
            async for data in body:
                buffer += data
                received = received or bool(data)
                while len(buffer) >= PIECE_BYTES:
                    piece, buffer = bytes(buffer[:PIECE_BYTES]), buffer[PIECE_BYTES:]
                    offset = await _write_piece(files, username, upload_id, offset, piece)
        finally:
            if buffer or not received:
                offset = await _write_piece(files, username, upload_id, offset, bytes(buffer))
    return offset


async def _write_piece(
    files: FileAccess, username: str, upload_id: str, offset: int, piece: bytes
) -> int:
    with converting_errors():
        return await files.first_pool.write_upload(username, upload_id, offset, piece)


async def finish(files: FileAccess, username: str, upload_id: str, sha256: str | None) -> Finished:
    """Give the file its name. For a file so large that its checksum takes long, return the
    progress: call again. Raises ChecksumDiffers, FileExists, WrongOffset if data is missing.
    """
    upload_id = checked_id(upload_id)
    deadline = time.monotonic() + FINISH_WITHIN_S
    with _lock_upload(files, username, upload_id):
        while True:
            with converting_errors():
                result = await files.first_pool.finish_upload(username, upload_id, sha256, HASH_S)
            if not isinstance(result, int):
                checksum, entry = result
                return Finished(entry.size_bytes or 0, checksum, entry)
            if time.monotonic() > deadline:
                return Finished(result)


async def drop(files: FileAccess, username: str, upload_id: str) -> None:
    upload_id = checked_id(upload_id)
    with _lock_upload(files, username, upload_id), converting_errors():
        await files.first_pool.drop_upload(username, upload_id)


@contextmanager
def _lock_upload(files: FileAccess, username: str, upload_id: str) -> Iterator[None]:
    key = (username, upload_id)
    if key in files.writing:
        raise file_errors.FileBusy(BUSY)
    files.writing.add(key)
    try:
        yield
    finally:
        files.writing.discard(key)
