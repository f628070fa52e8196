"""Pool of launchers that have become the files program, with an additional one for each stream.

So a slow file system delays neither job submission nor log reading, and a long download does not
delay the listing of folders.
"""

from __future__ import annotations

import asyncio
import base64
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from spawner.errors import BadRequest, FileProblem, LauncherUnavailable, NoFilesProgram
from spawner.launcher import file_answers
from spawner.launcher.connection import START_S, Channel, typed
from spawner.launcher.file_answers import (
    Deleted,
    Entry,
    FolderListing,
    Opened,
    Package,
    Piece,
    Room,
    UploadInfo,
)
from spawner.launcher.installed import files_edition
from spawner.launcher.pool import GRACE_S, LauncherPool
from spawner.names import USERNAME

MAX_STREAMS = 6
PIECE_S = 60.0
LOOK_S = 20.0
LEAVE_S = 2.0
OTHER_VERSION = (
    "Files are unavailable: the portal's program for files is from another version of the portal. "
    "Contact your administrators."
)
TOO_MANY = "You have too many downloads at once. Wait until one has finished."

Place = Mapping[str, Any]
"""`root`, an absolute path, and `path` below it, both with surrogates for invalid bytes."""


@dataclass
class Streams:
    """Launchers that stream, by user, and the number about to be started per user (`coming`)."""

    of_user: dict[str, set[Channel]] = field(default_factory=dict)
    coming: Counter[str] = field(default_factory=Counter)


class FileAgents(LauncherPool):
    """Pool for file operations; each method may also raise FileProblem."""

    def __init__(self, *arguments: Any, streams: Streams | None = None, **options: Any) -> None:
        """Create a pool; MAX_STREAMS per user is the limit for all pools that share `streams`."""
        super().__init__(*arguments, **options)
        streams = streams or Streams()
        self._streams, self._coming = streams.of_user, streams.coming
        self._edition = files_edition()

    async def _prepare(self, channel: Channel) -> None:
        """Have the launcher become the files program, which must be of the portal's version."""
        await super()._prepare(channel)
        try:
            answer = await channel.request({"op": "files"}, START_S)
        except BadRequest as error:  # an older launcher, which does not know the operation
            raise NoFilesProgram(OTHER_VERSION) from error
        if answer.get("edition") != self._edition:
            raise NoFilesProgram(OTHER_VERSION)

    async def list_folder(self, username: str, place: Place, **query: Any) -> FolderListing:
        """Return a page; `query` holds the parameters of spawner/files/listing.py."""
        return file_answers.page(await self.call(username, "list_folder", LOOK_S, **place, **query))

    async def describe(self, username: str, place: Place) -> Entry:
        return file_answers.entry((await self.call(username, "describe", **place)).get("entry"))

    async def peek(self, username: str, place: Place, offset: int, limit: int) -> Piece:
        """Return at most `limit` bytes of a file."""
        found = await self.call(username, "peek", **place, offset=offset, limit=limit)
        return file_answers.piece(found, limit)

    async def room(self, username: str, root: str) -> Room:
        return file_answers.room(await self.call(username, "space", root=root, path=""))

    async def change(self, username: str, op: str, place: Place, **fields: Any) -> Entry:
        """Run `make_folder`, `move`, `save` or `restore`, and return the resulting entry."""
        found = await self.call(username, op, **place, **fields)
        return file_answers.entry(found.get("entry"))

    async def save(self, username: str, place: Place, data: bytes, version: str | None) -> Entry:
        text = base64.b64encode(data).decode()
        return await self.change(username, "save", place, data_b64=text, version=version)

    async def delete(
        self, username: str, place: Place, *, permanent: bool, trash_id: str, timeout_s: float
    ) -> bool:
        """Return whether it is gone; if not, the time ran out and the call must be repeated."""
        found = await self.call(
            username, "delete", timeout_s, **place, permanent=permanent, number=trash_id
        )
        return typed(found, "done", bool)

    async def packages(self, username: str, place: Place, kind: str) -> tuple[list[Package], bool]:
        """Return the packages in a folder by name, and whether the list is complete."""
        return file_answers.packages(await self.call(username, "packages", **place, kind=kind))

    async def remove_package(
        self, username: str, place: Place, name: str, above: int, timeout_s: float
    ) -> bool:
        """Return whether a Python package is gone; if not, the call must be repeated."""
        found = await self.call(
            username, "remove_package", timeout_s, **place, name=name, above=above
        )
        return typed(found, "done", bool)

    async def scalars(
        self, username: str, folders: list[str], timeout_s: float | None = None
    ) -> list[dict[str, float | None]]:
        """Return for each folder the last value of each scalar in its event files.

        The time limit is for all folders together; a value is None if it is not finite.
        """
        answer = await self.call(username, "scalars", timeout_s, folders=folders)
        found = typed(answer, "scalars", list)[: len(folders)]
        return [file_answers.scalars(item) for item in found]

    async def list_trash(
        self, username: str, root: str, of: str | None = None
    ) -> tuple[list[Deleted], bool]:
        """Return deleted items, all or only the path `of`, and whether the list is complete."""
        found = await self.call(username, "list_trash", root=root, path="", of=of)
        return file_answers.trash(found)

    async def empty_trash(
        self, username: str, root: str, ids: list[str] | None, older_s: int, timeout_s: float
    ) -> bool:
        """Return whether all of it is gone; if not, the call must be repeated."""
        found = await self.call(
            username, "empty_trash", timeout_s, root=root, path="", ids=ids, older_s=older_s
        )
        return typed(found, "done", bool)

    async def begin_upload(
        self, username: str, place: Place, number: str, size: int, *, overwrite: bool
    ) -> UploadInfo:
        found = await self.call(
            username, "begin_upload", **place, number=number, size=size, overwrite=overwrite
        )
        return file_answers.upload(found)

    async def write_upload(self, username: str, number: str, offset: int, data: bytes) -> int:
        """Return the offset of the next piece."""
        text = base64.b64encode(data).decode()
        found = await self.call(
            username, "write_upload", LOOK_S, number=number, offset=offset, data_b64=text
        )
        return typed(found, "offset", int)

    async def upload(self, username: str, number: str) -> UploadInfo:
        return file_answers.upload(await self.call(username, "look_at_upload", number=number))

    async def uploads(self, username: str) -> list[UploadInfo]:
        return file_answers.uploads(await self.call(username, "list_uploads"))

    async def finish_upload(
        self, username: str, number: str, sha256: str | None, timeout_s: float
    ) -> tuple[str, Entry] | int:
        """Return checksum and entry of the file, or how many bytes the checksum has covered."""
        found = await self.call(username, "finish_upload", timeout_s, number=number, sha256=sha256)
        if not typed(found, "done", bool):
            return typed(found, "hashed", int)
        return typed(found, "sha256", str)[:64], file_answers.entry(found.get("entry"))

    async def drop_upload(self, username: str, number: str) -> None:
        await self.call(username, "drop_upload", number=number)

    async def clean_uploads(self, username: str, older_s: int) -> None:
        await self.call(username, "clean_uploads", older_s=older_s)

    @asynccontextmanager
    async def stream(self, username: str) -> AsyncIterator[Channel]:
        """Yield a launcher for one stream; the reader may leave at any time.

        The number per user is limited, including launchers that hang in a file system.
        """
        own = self._streams.setdefault(username, set())
        if not USERNAME.fullmatch(username):
            raise LauncherUnavailable("This username can't be used on the cluster.")
        await _remove_ended(own)
        if len(own) + self._coming[username] >= MAX_STREAMS:
            raise FileProblem("too-many", TOO_MANY)
        self._coming[username] += 1
        try:
            channel = await self._start(username)
            own.add(channel)
        finally:
            self._coming[username] -= 1
        try:
            yield channel
        finally:
            channel.close()

    async def open(self, channel: Channel, place: Place) -> Opened:
        """Open a file in a stream's launcher."""
        frame = {"op": "open_file_to_send", **place}
        return file_answers.opened(await channel.request(frame, LOOK_S + GRACE_S))

    async def close(self) -> None:
        """Close the launchers of streams too, and wait for them: their pipes belong to the loop."""
        for channels in self._streams.values():
            for channel in channels:
                channel.close()
            self._left |= channels
        await super().close()


async def _remove_ended(channels: set[Channel]) -> None:
    """Remove launchers that have ended; if there are too many, wait briefly for one to end."""
    channels -= {channel for channel in channels if channel.gone}
    leaving = [asyncio.ensure_future(channel.wait()) for channel in channels if channel.ended]
    if len(channels) >= MAX_STREAMS and leaving:
        await asyncio.wait(leaving, timeout=LEAVE_S, return_when=asyncio.FIRST_COMPLETED)
        channels -= {channel for channel in channels if channel.gone}
    for wait in leaving:
        wait.cancel()


def file_pieces(channel: Channel, offset: int, length: int) -> AsyncGenerator[bytes]:
    """Yield `length` bytes of the opened file."""
    frame = {"op": "send_file", "offset": offset, "length": length}
    return channel.pieces(frame, LOOK_S, PIECE_S)


def archive_pieces(
    channel: Channel, place: Place, names: list[str], kind: str
) -> AsyncGenerator[bytes]:
    """Yield several names of a folder as one archive; the first piece comes once all were found."""
    frame = {"op": "send_archive", **place, "names": names, "format": kind}
    return channel.pieces(frame, LOOK_S, PIECE_S)
