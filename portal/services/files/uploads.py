"""Uploads in chunks: begun, gone on with after whatever came between, finished with a checksum.

Nothing of them is in the database or in memory: what an upload is lies beside its bytes, with its
owner. So a portal that was restarted, or another one, goes on with it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID, uuid4

from portal.errors import NotFound
from portal.errors import files as file_errors
from portal.services.files.roots import Files, Place, explaining
from spawner.filedata import Entry, Upload

CHUNK_BYTES = 8 << 20
PIECE_BYTES = 512 << 10
HASH_S = 2.0
FINISH_WITHIN_S = 20.0
BUSY = "Another part of this file is being received at this moment. Ask where to go on."


@dataclass(frozen=True)
class Finished:
    """A whole file with its SHA-256; or, without an entry, how far its checksum has got."""

    hashed_bytes: int
    sha256: str | None = None
    entry: Entry | None = None


def checked_id(upload_id: str) -> str:
    """An id as the launcher takes it. Raises NotFound."""
    try:
        return str(UUID(upload_id))
    except ValueError as error:
        raise NotFound("There is no such upload.") from error


async def begin(files: Files, username: str, place: Place, size: int, *, overwrite: bool) -> Upload:
    """Raises FileExists, NoSpace and what else is known before a byte is sent."""
    with explaining():
        return await files.agents.begin_upload(
            username, place.asked, str(uuid4()), size, overwrite=overwrite
        )


async def look(files: Files, username: str, upload_id: str) -> Upload:
    with explaining():
        return await files.agents.upload(username, checked_id(upload_id))


async def every(files: Files, username: str) -> list[Upload]:
    """Those that aren't finished, the newest first."""
    with explaining():
        found = await files.agents.uploads(username)
    return sorted(found, key=lambda upload: upload.created_at, reverse=True)


async def receive(
    files: Files, username: str, upload_id: str, offset: int, body: AsyncIterator[bytes]
) -> int:
    """Take a chunk in as it comes, a piece in memory at a time; where the next one begins. What has
    come counts, also if the rest of the chunk doesn't. Raises WrongOffset, FileBusy, NoSpace."""
    number = checked_id(upload_id)
    with _alone(files, username, number):
        held = bytearray()
        try:
            async for data in body:
                held += data
                while len(held) >= PIECE_BYTES:
                    piece, held = bytes(held[:PIECE_BYTES]), held[PIECE_BYTES:]
                    offset = await _write(files, username, number, offset, piece)
        finally:
            if held:
                offset = await _write(files, username, number, offset, bytes(held))
    return offset


async def _write(files: Files, username: str, number: str, offset: int, piece: bytes) -> int:
    with explaining():
        return await files.agents.write_upload(username, number, offset, piece)


async def finish(files: Files, username: str, upload_id: str, sha256: str | None) -> Finished:
    """Give the file its name. Of one so large that its checksum takes long, how far that is: ask
    again. Raises ChecksumDiffers, FileExists, WrongOffset if something is missing."""
    number = checked_id(upload_id)
    deadline = time.monotonic() + FINISH_WITHIN_S
    with _alone(files, username, number):
        while True:
            with explaining():
                found = await files.agents.finish_upload(username, number, sha256, HASH_S)
            if not isinstance(found, int):
                checksum, entry = found
                return Finished(entry.size_bytes or 0, checksum, entry)
            if time.monotonic() > deadline:
                return Finished(found)


async def drop(files: Files, username: str, upload_id: str) -> None:
    number = checked_id(upload_id)
    with _alone(files, username, number), explaining():
        await files.agents.drop_upload(username, number)


@contextmanager
def _alone(files: Files, username: str, number: str) -> Iterator[None]:
    key = (username, number)
    if key in files.writing:
        raise file_errors.FileBusy(BUSY)
    files.writing.add(key)
    try:
        yield
    finally:
        files.writing.discard(key)
