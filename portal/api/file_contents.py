"""Routes of file contents: previews as data, images, text for editing, downloads and archives.

Nothing is sent as HTML or as another type that a browser executes: see file_answer.py.
"""

from contextlib import AsyncExitStack
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from portal.api.file_answer import (
    BINARY_RESPONSES,
    CONFINED,
    OCTETS,
    Streamed,
    attachment,
    disposition,
    last_modified,
    parse_range,
)
from portal.api.file_schemas import EntryOut, Path, RootName, entry_out
from portal.api.files import PathQuery, Root, folder_of
from portal.services.files import listing
from portal.services.files.roots import FileLocation, check_path, converting_errors
from portal.streaming.proxy import Allowed
from portal.web.dependencies import ContextDep, CurrentIdentity, FilesUser, still_open
from spawner.launcher.file_names import from_text
from spawner.launcher.file_pool import archive_pieces, file_pieces

router = APIRouter(tags=["files"])


class TableOut(BaseModel):
    """The first rows of a delimited file; `columns` are numbers if the file has no header."""

    delimiter: str
    has_header: bool
    columns: list[str]
    rows: list[list[str]]
    truncated: bool


class CellOutputOut(BaseModel):
    """Plain text, the text of an error, or an image."""

    kind: Literal["text", "error", "image"]
    text: str | None
    image_type: str | None
    data_b64: str | None


class CellOut(BaseModel):
    """A notebook cell; `source` is text, also for Markdown."""

    kind: Literal["markdown", "code", "raw"]
    source: str
    execution_count: int | None
    outputs: list[CellOutputOut]


class NotebookPreview(BaseModel):
    """A notebook as data; `truncated` if something was left out because of its size."""

    language: str | None
    cells: list[CellOut]
    truncated: bool


class PreviewOut(BaseModel):
    """A preview of a file.

    An image is fetched from `/files/image`; of a table and of text this is the beginning.
    `truncated`: the file is longer.
    """

    kind: Literal["empty", "text", "csv", "image", "notebook", "binary"]
    size_bytes: int
    version: str
    truncated: bool = False
    text: str | None = None
    encoding: str | None = None
    image_type: str | None = None
    table: TableOut | None = None
    notebook: NotebookPreview | None = None


class TextOut(BaseModel):
    """A whole text file; the request that saves it must include `version`."""

    text: str
    encoding: str
    version: str
    size_bytes: int


class TextIn(BaseModel):
    """A text file's new content.

    `version` is of the text that was edited; null: the file does not exist yet.
    """

    model_config = ConfigDict(extra="forbid")

    root: RootName
    path: Path
    text: Annotated[str, Field(max_length=listing.MAX_TEXT_BYTES)]
    encoding: Literal["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "latin-1"] = "utf-8"
    version: Annotated[str, Field(max_length=100)] | None = None


@router.get("/files/preview")
async def preview_file(
    user: FilesUser, context: ContextDep, root: Root, path: PathQuery
) -> PreviewOut:
    """Return a file's type, and its beginning as far as it can be shown."""
    location = await context.files.resolve(user.username, root, path)
    piece, preview = await listing.preview(context.files, user.username, location)
    return PreviewOut(size_bytes=piece.size_bytes, version=piece.version, **preview)


@router.get("/files/text")
async def file_text(user: FilesUser, context: ContextDep, root: Root, path: PathQuery) -> TextOut:
    """Return a text file for editing. 413 for a large one, 422 `not-a-file` if it is not text."""
    location = await context.files.resolve(user.username, root, path)
    piece, content = await listing.text(context.files, user.username, location)
    return TextOut(
        text=content.text,
        encoding=content.encoding,
        version=piece.version,
        size_bytes=piece.size_bytes,
    )


@router.put("/files/text")
async def save_file_text(body: TextIn, user: FilesUser, context: ContextDep) -> EntryOut:
    """Save a text file atomically.

    If it was changed elsewhere since: 409 `file-changed` with its current `version`; send that one
    to replace it anyway.
    """
    location = await context.files.resolve(user.username, body.root, body.path)
    saved = await listing.save_text(
        context.files, user.username, location, body.text, body.encoding, body.version
    )
    return entry_out(saved, folder_of(body.path))


@router.get("/files/image", responses=BINARY_RESPONSES)
async def file_image(
    request: Request,
    user: FilesUser,
    who: CurrentIdentity,
    context: ContextDep,
    root: Root,
    path: PathQuery,
) -> Streamed:
    """Return an image for display in a page.

    Only PNG, JPEG, GIF and WebP, recognized by the first bytes.
    """
    location = await context.files.resolve(user.username, root, path)
    media_type = await listing.image_type(context.files, user.username, location)
    allowed = partial(still_open, context, who)
    return await _stream_file(request, context, user.username, location, media_type, allowed)


@router.get("/files/download", responses=BINARY_RESPONSES)
async def download_file(
    request: Request,
    user: FilesUser,
    who: CurrentIdentity,
    context: ContextDep,
    root: Root,
    path: PathQuery,
) -> Streamed:
    """Download a file. `Range` with `If-Range` resumes an interrupted download."""
    location = await context.files.resolve(user.username, root, path)
    allowed = partial(still_open, context, who)
    return await _stream_file(request, context, user.username, location, OCTETS, allowed)


async def _stream_file(
    request: Request,
    context: ContextDep,
    username: str,
    location: FileLocation,
    media_type: str,
    allowed: Allowed,
) -> Streamed:
    async with AsyncExitStack() as stack:
        channel = await stack.enter_async_context(context.files.stream(username, location.root))
        with converting_errors():
            opened = await context.files.pool(location.root).open(channel, location.parameters)
        etag = f'"{opened.version}"'
        part = parse_range(request.headers, opened.size_bytes, etag, opened.modified_at)
        headers = {
            **CONFINED,
            **part.headers,
            "Content-Type": media_type,
            "Content-Disposition": disposition(location.name),
            "ETag": etag,
            "Last-Modified": last_modified(opened.modified_at),
        }
        pieces = file_pieces(channel, part.offset, part.length) if part.length else None
        resources = stack.pop_all()
    return Streamed(pieces, resources, allowed, status_code=part.status, headers=headers)


@router.get("/files/archive", responses=BINARY_RESPONSES)
async def download_archive(
    user: FilesUser,
    who: CurrentIdentity,
    context: ContextDep,
    root: Root,
    path: PathQuery = "",
    name: Annotated[list[str], Query(max_length=200)] = [],  # noqa: B006 - never changed
    archive: Annotated[Literal["zip", "tar"], Query(alias="format")] = "zip",
) -> Streamed:
    """Download a folder, or some of its entries by `name`, as one file that is generated while it
    is sent.

    Unreadable entries are listed in a LEFT-OUT.txt at its end; a zip contains no links.
    """
    files = context.files
    location = await files.resolve(user.username, root, path)
    names = [from_text(check_path(text, "name")) for text in name]
    shown = name[0] if len(name) == 1 else location.name
    if not names and path:
        names = [from_text(location.name)]
        location = await files.resolve(user.username, root, folder_of(path))
    elif not names:
        names = [from_text(entry) for entry in await listing.names(files, user.username, location)]
    async with AsyncExitStack() as stack:
        channel = await stack.enter_async_context(files.stream(user.username, location.root))
        pieces = archive_pieces(channel, location.parameters, names, archive)
        with converting_errors():
            first = await anext(pieces, b"")
        resources = stack.pop_all()
    allowed = partial(still_open, context, who)
    return attachment(first, pieces, resources, allowed, f"{shown}.{archive}")
