"""Folders, entries and what a file holds, for pages that show them."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import dataclass
from typing import Any, Literal

from portal import errors
from portal.errors import FieldError, invalid_input
from portal.errors import files as file_errors
from portal.services.files import notebook, previews
from portal.services.files.roots import Files, Place, checked, explaining
from spawner.file_agents import file_pieces
from spawner.filedata import Entry, Page, Piece
from spawner.filenames import meant

Sort = Literal["name", "size", "modified"]
MAX_LIMIT = 500
PREVIEW_BYTES = 256 << 10
MAX_TEXT_BYTES = 512 << 10
MAX_NOTEBOOK_BYTES = 8 << 20
MAX_IMAGE_BYTES = 16 << 20
MAGIC_BYTES = 16
BAD_CURSOR = "This is not the cursor of a page."


@dataclass(frozen=True)
class Wish:
    """Which entries of a folder, in which order, and which page of them."""

    sort: Sort = "name"
    descending: bool = False
    folders_first: bool = True
    hidden: bool = False
    text: str = ""
    prefix: bool = False
    limit: int = 200
    cursor: str | None = None

    @property
    def order(self) -> list[Any]:
        """What a cursor of this list is good for."""
        return [self.sort, self.descending, self.folders_first]


@dataclass(frozen=True)
class Listing:
    """A page of a folder; `real` is where it lies if a link leads there, below a root."""

    place: Place
    page: Page
    cursor: str | None
    real: Place | None


async def listing(files: Files, username: str, place: Place, wish: Wish) -> Listing:
    """Raises FileNotThere, FileDenied, NotAFolder and InvalidInput."""
    after = read_cursor(wish) if wish.cursor else None
    with explaining():
        page = await files.pool(place.root).list_folder(
            username, place.asked, sort=wish.sort, descending=wish.descending,
            folders_first=wish.folders_first, hidden=wish.hidden,
            filter=meant(checked(wish.text, "filter")), prefix=wish.prefix, limit=wish.limit,
            after=after,
        )  # fmt: skip
    real = await files.below(username, page.real_path)
    here = real and (real.root, real.path) == (place.root, place.path)
    return Listing(place, page, cursor_of(wish, page), None if here else real)


def cursor_of(wish: Wish, page: Page) -> str | None:
    if page.after is None:
        return None
    text = json.dumps([wish.order, page.after])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(wish: Wish) -> list[Any]:
    """The key after which a page begins. Raises InvalidInput."""
    text = wish.cursor or ""
    try:
        found = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        order, (group, value, name) = found
    except (ValueError, TypeError, RecursionError) as error:
        raise invalid_input([FieldError("cursor", BAD_CURSOR)]) from error
    kinds = (type(group), type(value), type(name))
    if order != wish.order or kinds != (int, str if wish.sort == "name" else int, str):
        raise invalid_input([FieldError("cursor", BAD_CURSOR)])
    return [group, value, name]


async def names(files: Files, username: str, place: Place) -> list[str]:
    """All names in a folder that is small enough to be packed whole. Raises TooLarge."""
    found = await listing(files, username, place, Wish(hidden=True, limit=MAX_LIMIT))
    if found.cursor is not None or not found.page.complete:
        raise errors.TooLarge("There is too much in this folder to be packed at once.")
    if not found.page.entries:
        raise file_errors.FileNotThere("There is nothing in this folder.")
    return [one.name for one in found.page.entries]


async def entry(files: Files, username: str, place: Place) -> Entry:
    with explaining():
        return await files.pool(place.root).describe(username, place.asked)


async def beginning(files: Files, username: str, place: Place, limit: int) -> Piece:
    with explaining():
        return await files.pool(place.root).peek(username, place.asked, 0, limit)


async def preview(files: Files, username: str, place: Place) -> tuple[Piece, dict[str, Any]]:
    """How a file begins, and what of it can be shown, as `previews` says."""
    piece = await beginning(files, username, place, PREVIEW_BYTES)
    if place.name.lower().endswith(".ipynb") and piece.size_bytes <= MAX_NOTEBOOK_BYTES:
        data = await whole(files, username, place, MAX_NOTEBOOK_BYTES)
        cells = await asyncio.to_thread(notebook.cells, data)
        if cells is not None:
            return piece, {"kind": "notebook", "notebook": cells}
    return piece, previews.of(place.name, piece.data, piece.size_bytes)


async def text(files: Files, username: str, place: Place) -> tuple[Piece, previews.Text]:
    """All of a text file that is small enough to be edited. Raises TooLarge and NotAFile."""
    piece = await beginning(files, username, place, PREVIEW_BYTES)
    if piece.size_bytes > MAX_TEXT_BYTES:
        raise errors.TooLarge(f"Only files up to {MAX_TEXT_BYTES >> 10} KiB can be edited here.")
    data = piece.data
    while len(data) < piece.size_bytes:
        with explaining():
            more = await files.pool(place.root).peek(
                username, place.asked, len(data), PREVIEW_BYTES
            )
        if more.version != piece.version or not more.data:
            raise file_errors.FileChanged("The file was changed while it was read. Try again.")
        data += more.data
    found = previews.as_text(data, cut=False)
    if found is None:
        raise file_errors.NotAFile("This file holds no text.")
    return piece, found


async def save_text(
    files: Files, username: str, place: Place, content: str, encoding: str, version: str | None
) -> Entry:
    """Raises FileChanged, FileExists, InvalidInput and what the disk says."""
    try:
        data = previews.encoded(content, encoding)
    except UnicodeEncodeError as error:
        message = "This has characters that the file's encoding doesn't know. Save it as UTF-8."
        raise invalid_input([FieldError("text", message)]) from error
    if len(data) > MAX_TEXT_BYTES:
        raise errors.TooLarge(f"Only files up to {MAX_TEXT_BYTES >> 10} KiB can be edited here.")
    with explaining():
        return await files.pool(place.root).save(username, place.asked, data, version)


async def image_type(files: Files, username: str, place: Place) -> str:
    """The type of an image that may be shown. Raises NotAFile and TooLarge."""
    piece = await beginning(files, username, place, MAGIC_BYTES)
    found = previews.image_type(piece.data)
    if found is None:
        raise file_errors.NotAFile("This file is no PNG, JPEG, GIF or WebP image.")
    if piece.size_bytes > MAX_IMAGE_BYTES:
        most = MAX_IMAGE_BYTES >> 20
        raise errors.TooLarge(f"Only images up to {most} MiB are shown; download it instead.")
    return found


async def whole(files: Files, username: str, place: Place, most: int) -> bytes:
    """All of a file that is small enough."""
    async with files.stream(username, place.root) as channel:
        opened = await files.pool(place.root).open(channel, place.asked)
        if opened.size_bytes > most:
            raise errors.TooLarge("This file is too large to be shown; download it instead.")
        parts = [piece async for piece in file_pieces(channel, 0, opened.size_bytes)]
    return b"".join(parts)
