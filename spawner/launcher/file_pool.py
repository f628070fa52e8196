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
    DeletedItem,
    DiskSpace,
    Entry,
    FileMatches,
    FolderCurves,
    FolderListing,
    OpenedFile,
    Package,
    Piece,
    UploadInfo,
)
from spawner.launcher.installed import files_edition
from spawner.launcher.pool import GRACE_S, LauncherPool
from spawner.names import USERNAME
from spawner.usage_file import NodeSeries

MAX_STREAMS = 6
PIECE_S = 60.0
OPERATION_S = 20.0
LEAVE_S = 2.0  # for an abandoned stream's launcher to end
OTHER_VERSION = (
    "Files are unavailable: the portal's program for files is from another version of the portal. "
    "Contact your administrators."
)
TOO_MANY = "You have too many downloads at once. Wait until one has finished."

FileLocation = Mapping[str, Any]
"""`root`, an absolute path, and `path` below it, both with surrogates for invalid bytes."""


@dataclass
class Streams:
    """Launchers that stream, by user, and how many are being started per user (`starting`)."""

    of_user: dict[str, set[Channel]] = field(default_factory=dict)
    starting: Counter[str] = field(default_factory=Counter)


class FileProcessPool(LauncherPool):
    """Pool for file operations; each method may also raise FileProblem."""

    def __init__(self, *arguments: Any, streams: Streams | None = None, **options: Any) -> None:
        """Create a pool; MAX_STREAMS per user is the limit for all pools that share `streams`."""
        super().__init__(*arguments, **options)
        streams = streams or Streams()
        self._streams, self._starting_streams = streams.of_user, streams.starting
        self._edition = files_edition()

    async def _prepare(self, channel: Channel) -> None:
        """Have the launcher become the files program, which must be of the portal's version."""
        await super()._prepare(channel)
        try:
            response = await channel.request({"op": "files"}, START_S)
        except BadRequest as error:  # an older launcher, which does not know the operation
            raise NoFilesProgram(OTHER_VERSION) from error
        if response.get("edition") != self._edition:
            raise NoFilesProgram(OTHER_VERSION)

    async def list_folder(
        self, username: str, location: FileLocation, **query: Any
    ) -> FolderListing:
        """Return a page; `query` holds the parameters of spawner/files/listing.py."""
        return file_answers.page(
            await self.call(username, "list_folder", OPERATION_S, **location, **query)
        )

    async def search(
        self, username: str, location: FileLocation, text: str, timeout_s: float
    ) -> FileMatches:
        """Return entries below a folder whose names contain all words of `text`."""
        answer = await self.call(username, "search", timeout_s, **location, text=text)
        return file_answers.matches(answer)

    async def describe(self, username: str, location: FileLocation) -> Entry:
        return file_answers.entry((await self.call(username, "describe", **location)).get("entry"))

    async def peek(self, username: str, location: FileLocation, offset: int, limit: int) -> Piece:
        """Return at most `limit` bytes of a file."""
        answer = await self.call(username, "peek", **location, offset=offset, limit=limit)
        return file_answers.piece(answer, limit)

    async def find_disk_space(self, username: str, root: str) -> DiskSpace:
        return file_answers.disk_space(await self.call(username, "space", root=root, path=""))

    async def change(self, username: str, op: str, location: FileLocation, **fields: Any) -> Entry:
        """Run `make_folder`, `move`, `save` or `restore`, and return the resulting entry."""
        answer = await self.call(username, op, **location, **fields)
        return file_answers.entry(answer.get("entry"))

    async def save(
        self, username: str, location: FileLocation, data: bytes, version: str | None
    ) -> Entry:
        text = base64.b64encode(data).decode()
        return await self.change(username, "save", location, data_b64=text, version=version)

    async def delete(
        self,
        username: str,
        location: FileLocation,
        *,
        permanent: bool,
        trash_id: str,
        timeout_s: float,
    ) -> bool:
        """Return whether it is gone; if not, the time ran out and the call must be repeated."""
        answer = await self.call(
            username, "delete", timeout_s, **location, permanent=permanent, trash_id=trash_id
        )
        return typed(answer, "done", bool)

    async def packages(
        self, username: str, location: FileLocation, kind: str
    ) -> tuple[list[Package], bool]:
        """Return the packages in a folder by name, and whether the list is complete."""
        return file_answers.packages(await self.call(username, "packages", **location, kind=kind))

    async def remove_package(
        self, username: str, location: FileLocation, name: str, above: int, timeout_s: float
    ) -> bool:
        """Return whether a Python package is gone; if not, the call must be repeated.

        `above` is the number of levels from this folder up to the environment's top folder, in
        which scripts are deleted too.
        """
        answer = await self.call(
            username, "remove_package", timeout_s, **location, name=name, above=above
        )
        return typed(answer, "done", bool)

    async def scalars(
        self, username: str, folders: list[str], timeout_s: float | None = None
    ) -> list[dict[str, float | None]]:
        """Return for each folder the last value of each scalar in its event files.

        The time limit is for all folders together; a value is None if it is not finite.
        """
        answer = await self.call(username, "scalars", timeout_s, folders=folders)
        values = typed(answer, "scalars", list)[: len(folders)]
        return [file_answers.scalars(item) for item in values]

    async def curves(
        self, username: str, folder: str, points: int, timeout_s: float
    ) -> FolderCurves:
        """Return the curves in a folder's event files, with at most `points` points each."""
        answer = await self.call(username, "curves", timeout_s, folder=folder, points=points)
        return file_answers.curves(answer)

    async def usage(
        self, username: str, uuid: str, task: int, timeout_s: float, since: float | None = None
    ) -> tuple[list[NodeSeries], int]:
        """Return by node what a job's samplers measured, and the number of nodes left out.

        `since` is the earliest time of a point, in seconds since 1970.
        """
        answer = await self.call(username, "usage", timeout_s, uuid=uuid, task=task, since=since)
        return file_answers.usage(answer)

    async def list_trash(
        self, username: str, root: str, original_path: str | None = None
    ) -> tuple[list[DeletedItem], bool]:
        """Return deleted items (all, or those of one path), and whether the list is complete."""
        answer = await self.call(username, "list_trash", root=root, path="", of=original_path)
        return file_answers.trash(answer)

    async def empty_trash(
        self, username: str, root: str, ids: list[str] | None, older_s: int, timeout_s: float
    ) -> bool:
        """Return whether all of it is gone; if not, the call must be repeated."""
        answer = await self.call(
            username, "empty_trash", timeout_s, root=root, path="", ids=ids, older_s=older_s
        )
        return typed(answer, "done", bool)

    async def begin_upload(
        self, username: str, location: FileLocation, upload_id: str, size: int, *, overwrite: bool
    ) -> UploadInfo:
        answer = await self.call(
            username,
            "begin_upload",
            **location,
            upload_id=upload_id,
            size=size,
            overwrite=overwrite,
        )
        return file_answers.upload(answer)

    async def write_upload(self, username: str, upload_id: str, offset: int, data: bytes) -> int:
        """Return the offset of the next piece."""
        text = base64.b64encode(data).decode()
        answer = await self.call(
            username, "write_upload", OPERATION_S, upload_id=upload_id, offset=offset, data_b64=text
        )
        return typed(answer, "offset", int)

    async def find_upload(self, username: str, upload_id: str) -> UploadInfo:
        return file_answers.upload(await self.call(username, "look_at_upload", upload_id=upload_id))

    async def list_uploads(self, username: str) -> list[UploadInfo]:
        return file_answers.uploads(await self.call(username, "list_uploads"))

    async def finish_upload(
        self, username: str, upload_id: str, sha256: str | None, timeout_s: float
    ) -> tuple[str, Entry] | int:
        """Return checksum and entry of the file, or how many bytes the checksum has covered."""
        answer = await self.call(
            username, "finish_upload", timeout_s, upload_id=upload_id, sha256=sha256
        )
        if not typed(answer, "done", bool):
            return typed(answer, "hashed", int)
        return typed(answer, "sha256", str)[:64], file_answers.entry(answer.get("entry"))

    async def drop_upload(self, username: str, upload_id: str) -> None:
        await self.call(username, "drop_upload", upload_id=upload_id)

    async def clean_uploads(self, username: str, older_s: int) -> None:
        await self.call(username, "clean_uploads", older_s=older_s)

    @asynccontextmanager
    async def stream(self, username: str) -> AsyncIterator[Channel]:
        """Yield a launcher for one stream; the reader may leave at any time.

        The number per user is limited, including launchers that hang in a file system.
        """
        channels = self._streams.setdefault(username, set())
        if not USERNAME.fullmatch(username):
            raise LauncherUnavailable("This username can't be used on the cluster.")
        await _remove_ended(channels)
        if len(channels) + self._starting_streams[username] >= MAX_STREAMS:
            raise FileProblem("too-many", TOO_MANY)
        self._starting_streams[username] += 1
        try:
            channel = await self._start(username)
            channels.add(channel)
        finally:
            self._starting_streams[username] -= 1
        try:
            yield channel
        finally:
            channel.close()

    async def open(self, channel: Channel, location: FileLocation) -> OpenedFile:
        """Open a file in a stream's launcher."""
        frame = {"op": "open_file_to_send", **location}
        return file_answers.opened(await channel.request(frame, OPERATION_S + GRACE_S))

    async def close(self) -> None:
        """Close the launchers of streams too, and wait for them: their pipes belong to the loop."""
        for channels in self._streams.values():
            for channel in channels:
                channel.close()
            self._abandoned |= channels
        await super().close()


async def _remove_ended(channels: set[Channel]) -> None:
    """Remove launchers that have ended; if there are too many, wait briefly for one to end."""
    channels -= {channel for channel in channels if channel.gone}
    leaving = [asyncio.ensure_future(channel.wait()) for channel in channels if channel.closed]
    if len(channels) >= MAX_STREAMS and leaving:
        await asyncio.wait(leaving, timeout=LEAVE_S, return_when=asyncio.FIRST_COMPLETED)
        channels -= {channel for channel in channels if channel.gone}
    for wait in leaving:
        wait.cancel()


def file_pieces(channel: Channel, offset: int, length: int) -> AsyncGenerator[bytes]:
    """Yield `length` bytes of the opened file."""
    frame = {"op": "send_file", "offset": offset, "length": length}
    return channel.pieces(frame, OPERATION_S, PIECE_S)


def archive_pieces(
    channel: Channel, location: FileLocation, names: list[str], kind: str
) -> AsyncGenerator[bytes]:
    """Yield several names of a folder as one archive; the first piece comes once all were found."""
    frame = {"op": "send_archive", **location, "names": names, "format": kind}
    return channel.pieces(frame, OPERATION_S, PIECE_S)
