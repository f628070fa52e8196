"""Read access to folders, entries and contents of files, for the UI."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from portal import errors
from portal.errors import FieldError, invalid_input
from portal.errors import files as file_errors
from portal.services.files import previews
from portal.services.files.roots import FileAccess, FileLocation, check_path, converting_errors
from spawner.launcher.file_answers import Entry, FolderListing, Piece
from spawner.launcher.file_names import from_text
from spawner.launcher.file_pool import file_pieces

Sort = Literal["name", "size", "modified"]
MAX_LIMIT = 500
PREVIEW_BYTES = 256 << 10
MAX_TEXT_BYTES = 512 << 10
MAX_NOTEBOOK_BYTES = 8 << 20
MAX_IMAGE_BYTES = 16 << 20
MAGIC_BYTES = 16
BAD_CURSOR = "This page cursor is invalid."


@dataclass(frozen=True)
class ListingRequest:
    """Parameters of a folder listing: filter, order and page."""

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
        """Return the order that a cursor of this list is valid for."""
        return [self.sort, self.descending, self.folders_first]


@dataclass(frozen=True)
class Listing:
    """A page of a folder; `real` is the folder's actual place if it was reached through a link and
    is below a root.
    """

    location: FileLocation
    page: FolderListing
    cursor: str | None
    real: FileLocation | None


async def listing(
    files: FileAccess, username: str, location: FileLocation, request: ListingRequest
) -> Listing:
    """List a page of a folder. Raises FileNotThere, FileDenied, NotAFolder and InvalidInput."""
    after = read_cursor(request) if request.cursor else None
    with converting_errors():
        page = await files.pool(location.root).list_folder(
            username, location.parameters, sort=request.sort, descending=request.descending,
            folders_first=request.folders_first, hidden=request.hidden,
            filter=from_text(check_path(request.text, "filter")), prefix=request.prefix,
            limit=request.limit, after=after,
        )  # fmt: skip
    real = await files.find_location(username, page.real_path)
    here = real and (real.root, real.path) == (location.root, location.path)
    return Listing(location, page, cursor_of(request, page), None if here else real)


def cursor_of(request: ListingRequest, page: FolderListing) -> str | None:
    if page.after is None:
        return None
    text = json.dumps([request.order, page.after])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(request: ListingRequest) -> list[Any]:
    """Parse the key after which a page begins. Raises InvalidInput."""
    text = request.cursor or ""
    try:
        values = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        order, (group, value, name) = values
    except (ValueError, TypeError, RecursionError) as error:
        raise invalid_input([FieldError("cursor", BAD_CURSOR)]) from error
    kinds = (type(group), type(value), type(name))
    if order != request.order or kinds != (int, str if request.sort == "name" else int, str):
        raise invalid_input([FieldError("cursor", BAD_CURSOR)])
    return [group, value, name]


async def names(files: FileAccess, username: str, location: FileLocation) -> list[str]:
    """Return all names in a folder that is small enough to be packed as a whole. Raises
    TooLarge.
    """
    result = await listing(files, username, location, ListingRequest(hidden=True, limit=MAX_LIMIT))
    if result.cursor is not None or not result.page.complete:
        raise errors.TooLarge("This folder is too large to download at once.")
    if not result.page.entries:
        raise file_errors.FileNotThere("This folder is empty.")
    return [item.name for item in result.page.entries]


async def entry(files: FileAccess, username: str, location: FileLocation) -> Entry:
    with converting_errors():
        return await files.pool(location.root).describe(username, location.parameters)


async def beginning(files: FileAccess, username: str, location: FileLocation, limit: int) -> Piece:
    with converting_errors():
        return await files.pool(location.root).peek(username, location.parameters, 0, limit)


async def preview(
    files: FileAccess, username: str, location: FileLocation
) -> tuple[Piece, dict[str, Any]]:
    """Return the beginning of a file, and the part of it that can be shown, in the format of
    `previews`.
    """
    piece = await beginning(files, username, location, PREVIEW_BYTES)
    if location.name.lower().endswith(".ipynb") and piece.size_bytes <= MAX_NOTEBOOK_BYTES:
        read = partial(read_all, files, username, location, MAX_NOTEBOOK_BYTES)
        cells = await files.notebooks.cells(username, read)
        if cells is not None:
            return piece, {"kind": "notebook", "notebook": cells}
    return piece, previews.render_preview(location.name, piece.data, piece.size_bytes)


async def text(
    files: FileAccess, username: str, location: FileLocation
) -> tuple[Piece, previews.Text]:
    """Return the contents of a text file that is small enough to be edited. Raises TooLarge,
    NotAFile.
    """
    piece = await beginning(files, username, location, PREVIEW_BYTES)
    if piece.size_bytes > MAX_TEXT_BYTES:
        raise errors.TooLarge(f"Only files up to {MAX_TEXT_BYTES >> 10} KiB can be edited here.")
    data = piece.data
    while len(data) < piece.size_bytes:
        with converting_errors():
            rest = await files.pool(location.root).peek(
                username, location.parameters, len(data), PREVIEW_BYTES
            )
        if rest.version != piece.version or not rest.data:
            raise file_errors.FileChanged("The file was changed while it was read. Try again.")
        data += rest.data
    decoded = previews.decode_text(data, cut=False)
    if decoded is None:
        raise file_errors.NotAFile("This isn't a text file.")
    return piece, decoded


async def save_text(
    files: FileAccess,
    username: str,
    location: FileLocation,
    content: str,
    encoding: str,
    version: str | None,
) -> Entry:
    """Save a text file. Raises FileChanged, FileExists, InvalidInput and errors of the disk."""
    try:
        data = previews.encode_text(content, encoding)
    except UnicodeEncodeError as error:
        message = "This has characters that the file's encoding doesn't support. Save it as UTF-8."
        raise invalid_input([FieldError("text", message)]) from error
    if len(data) > MAX_TEXT_BYTES:
        raise errors.TooLarge(f"Only files up to {MAX_TEXT_BYTES >> 10} KiB can be edited here.")
    with converting_errors():
        return await files.pool(location.root).save(username, location.parameters, data, version)


async def image_type(files: FileAccess, username: str, location: FileLocation) -> str:
    """Return the type of an image that may be shown. Raises NotAFile and TooLarge."""
    piece = await beginning(files, username, location, MAGIC_BYTES)
    kind = previews.image_type(piece.data)
    if kind is None:
        raise file_errors.NotAFile("This file isn't a PNG, JPEG, GIF or WebP image.")
    if piece.size_bytes > MAX_IMAGE_BYTES:
        most = MAX_IMAGE_BYTES >> 20
        raise errors.TooLarge(f"Only images up to {most} MiB are shown; download it instead.")
    return kind


async def read_all(files: FileAccess, username: str, location: FileLocation, most: int) -> bytes:
    """Return the contents of a file of at most `most` bytes. Raises TooLarge."""
    async with files.stream(username, location.root) as channel:
        opened = await files.pool(location.root).open(channel, location.parameters)
        if opened.size_bytes > most:
            raise errors.TooLarge("This file is too large to be shown; download it instead.")
        parts = [piece async for piece in file_pieces(channel, 0, opened.size_bytes)]
    return b"".join(parts)
