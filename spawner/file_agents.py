"""A pool of launchers of its own for people's files, and one launcher more for each stream.

So whatever a file system does, submitting jobs and reading their logs don't wait behind it; and a
long download doesn't hold up the folder that somebody looks at meanwhile.
"""

from __future__ import annotations

import asyncio
import base64
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from spawner import filedata
from spawner.agent import GRACE_S, USERNAME, Agents
from spawner.channel import Channel, typed
from spawner.errors import FileProblem, LauncherUnavailable
from spawner.filedata import Deleted, Entry, Opened, Package, Page, Piece, Room, Upload

MAX_STREAMS = 6
PIECE_S = 60.0
LOOK_S = 20.0
LEAVE_S = 2.0
TOO_MANY = "You have too many downloads at once; wait until one is finished."

Place = Mapping[str, Any]
"""`root`, a whole path, and `path` below it, both with surrogates for what is no text."""


class FileAgents(Agents):
    """Each call may raise FileProblem besides what Agents' calls raise."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._streams: dict[str, set[Channel]] = {}
        self._coming: Counter[str] = Counter()  # those that are about to be among them

    async def list_folder(self, username: str, place: Place, **wish: Any) -> Page:
        """A page; `wish` is what spawner/filer/listing.py takes."""
        return filedata.page(await self.call(username, "list_folder", LOOK_S, **place, **wish))

    async def describe(self, username: str, place: Place) -> Entry:
        return filedata.entry((await self.call(username, "describe", **place)).get("entry"))

    async def peek(self, username: str, place: Place, offset: int, limit: int) -> Piece:
        """At most `limit` bytes of a file."""
        found = await self.call(username, "peek", **place, offset=offset, limit=limit)
        return filedata.piece(found, limit)

    async def room(self, username: str, root: str) -> Room:
        return filedata.room(await self.call(username, "space", root=root, path=""))

    async def change(self, username: str, op: str, place: Place, **fields: Any) -> Entry:
        """`make_folder`, `move`, `save` or `restore`; what came of it."""
        found = await self.call(username, op, **place, **fields)
        return filedata.entry(found.get("entry"))

    async def save(self, username: str, place: Place, data: bytes, version: str | None) -> Entry:
        text = base64.b64encode(data).decode()
        return await self.change(username, "save", place, data_b64=text, version=version)

    async def delete(
        self, username: str, place: Place, *, permanent: bool, trash_id: str, timeout_s: float
    ) -> bool:
        """Whether it is gone; if not, there is more to be deleted than there was time for."""
        found = await self.call(
            username, "delete", timeout_s, **place, permanent=permanent, number=trash_id
        )
        return typed(found, "done", bool)

    async def packages(self, username: str, place: Place, kind: str) -> tuple[list[Package], bool]:
        """What is installed in a folder, by name, and whether that is all of it."""
        return filedata.packages(await self.call(username, "packages", **place, kind=kind))

    async def list_trash(
        self, username: str, root: str, of: str | None = None
    ) -> tuple[list[Deleted], bool]:
        """What was deleted, or only what had the path `of`, and whether that is all of it."""
        found = await self.call(username, "list_trash", root=root, path="", of=of)
        return filedata.trash(found)

    async def empty_trash(
        self, username: str, root: str, ids: list[str] | None, older_s: int, timeout_s: float
    ) -> bool:
        """Whether all of it is gone; if not, ask again."""
        found = await self.call(
            username, "empty_trash", timeout_s, root=root, path="", ids=ids, older_s=older_s
        )
        return typed(found, "done", bool)

    async def begin_upload(
        self, username: str, place: Place, number: str, size: int, *, overwrite: bool
    ) -> Upload:
        found = await self.call(
            username, "begin_upload", **place, number=number, size=size, overwrite=overwrite
        )
        return filedata.upload(found)

    async def write_upload(self, username: str, number: str, offset: int, data: bytes) -> int:
        """Where the next piece begins."""
        text = base64.b64encode(data).decode()
        found = await self.call(
            username, "write_upload", LOOK_S, number=number, offset=offset, data_b64=text
        )
        return typed(found, "offset", int)

    async def upload(self, username: str, number: str) -> Upload:
        return filedata.upload(await self.call(username, "look_at_upload", number=number))

    async def uploads(self, username: str) -> list[Upload]:
        return filedata.uploads(await self.call(username, "list_uploads"))

    async def finish_upload(
        self, username: str, number: str, sha256: str | None, timeout_s: float
    ) -> tuple[str, Entry] | int:
        """Checksum and entry of the whole file; or how many bytes the checksum has got to."""
        found = await self.call(username, "finish_upload", timeout_s, number=number, sha256=sha256)
        if not typed(found, "done", bool):
            return typed(found, "hashed", int)
        return typed(found, "sha256", str)[:64], filedata.entry(found.get("entry"))

    async def drop_upload(self, username: str, number: str) -> None:
        await self.call(username, "drop_upload", number=number)

    async def clean_uploads(self, username: str, older_s: int) -> None:
        await self.call(username, "clean_uploads", older_s=older_s)

    @asynccontextmanager
    async def stream(self, username: str) -> AsyncIterator[Channel]:
        """A launcher for one stream; its reader may leave at any time. A user has so many, those
        that hang in a file system among them."""
        own = self._streams.setdefault(username, set())
        if not USERNAME.fullmatch(username):
            raise LauncherUnavailable("This user name can't be used on the cluster.")
        await _let_leave(own)
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
        return filedata.opened(await channel.request(frame, LOOK_S + GRACE_S))

    async def close(self) -> None:
        for channels in self._streams.values():
            for channel in channels:
                channel.close()
        await super().close()


async def _let_leave(channels: set[Channel]) -> None:
    """Take those out that have ended; if there are too many, give one that is about to a moment."""
    channels -= {channel for channel in channels if channel.gone}
    leaving = [asyncio.ensure_future(channel.wait()) for channel in channels if channel.ended]
    if len(channels) >= MAX_STREAMS and leaving:
        await asyncio.wait(leaving, timeout=LEAVE_S, return_when=asyncio.FIRST_COMPLETED)
        channels -= {channel for channel in channels if channel.gone}
    for wait in leaving:
        wait.cancel()


def file_pieces(channel: Channel, offset: int, length: int) -> AsyncGenerator[bytes]:
    """So many bytes of the file that was opened."""
    frame = {"op": "send_file", "offset": offset, "length": length}
    return channel.pieces(frame, LOOK_S, PIECE_S)


def archive_pieces(
    channel: Channel, place: Place, names: list[str], kind: str
) -> AsyncGenerator[bytes]:
    """Some names in a folder, as one archive. The first piece comes once they were found."""
    frame = {"op": "send_archive", **place, "names": names, "format": kind}
    return channel.pieces(frame, LOOK_S, PIECE_S)
