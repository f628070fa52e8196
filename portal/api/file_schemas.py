"""Schemas of the file routes.

Names and paths are text: each byte of a name that is not valid UTF-8 is represented by a character
of U+EF80…U+EFFF (spawner/launcher/file_names.py). Users choose them: show them as plain text.

A root is a storage location, such as the home; paths are relative to it.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from portal.services.files.roots import FileLocation, RootState
from spawner.launcher.file_answers import (
    DeletedItem,
    Entry,
    FileMatches,
    StopReason,
    UploadInfo,
)
from spawner.launcher.file_names import from_text, is_text

Kind = Literal["file", "folder", "link", "other"]
Path = Annotated[str, Field(max_length=9000)]
RootName = Annotated[str, Field(min_length=1, max_length=40)]


class PlaceOut(BaseModel):
    """A path below a root; "" is the root itself."""

    root: str
    path: str


class EntryOut(BaseModel):
    """An entry in a folder.

    Size, time, mode, owner and rights are of a link's target; `target_kind` is the target's kind,
    null for a broken link and for an entry that is no link. `size_bytes` is null if it is not a
    file. `name_is_text` is false for a name that is not UTF-8.
    """

    name: str
    name_is_text: bool
    path: str
    kind: Kind
    is_link: bool
    target_kind: Kind | None
    size_bytes: int | None
    modified_at: datetime
    mode: int
    owner: str
    readable: bool
    writable: bool
    version: str


class FolderPage(BaseModel):
    """A page of a folder's entries.

    `total` counts all that match the filter; `complete` is false if there was not enough time to
    examine all of them. `real` is the folder's location if it is reached by a link: changes are
    possible only there.
    """

    folder: PlaceOut
    real: PlaceOut | None
    writable: bool
    items: list[EntryOut]
    next_cursor: str | None
    total: int
    complete: bool


class FileMatchOut(BaseModel):
    """A file or folder that a search found; `path` is below the root."""

    root: str
    path: str
    kind: Kind


class FileMatchesOut(BaseModel):
    """The result of a search, the entries nearest to the folder first.

    `stopped` is the limit at which it ended, null if all was searched: `time`, `entries` (the
    number examined) or `found` (the number returned). `unreadable` is the number of folders that
    could not be read.
    """

    items: list[FileMatchOut]
    stopped: StopReason | None
    unreadable: int


class QuotaOut(BaseModel):
    """A user's usage and quota.

    A limit is null if there is none, `used_files` if files are not counted.
    """

    used_bytes: int
    limit_bytes: int | None
    used_files: int | None
    limit_files: int | None


class RootSpaceOut(BaseModel):
    """The space in a storage location: on its whole file system, and by the user's own quota (null:
    the system reports none).

    `problem` is why the location cannot be used; then there are no numbers.
    """

    name: str
    title: str
    total_bytes: int | None
    free_bytes: int | None
    quota: QuotaOut | None
    problem: str | None


class SpaceOut(BaseModel):
    """The space in each storage location."""

    items: list[RootSpaceOut]


class RootOut(RootSpaceOut):
    """A storage location."""

    path: str
    writable: bool


class RootsOut(BaseModel):
    """All storage locations, and the portal's rules for files."""

    items: list[RootOut]
    trash_days: float
    upload_days: float
    chunk_bytes: int
    max_text_bytes: int


class FolderIn(BaseModel):
    """A new folder; `parents`: create missing parents too."""

    model_config = ConfigDict(extra="forbid")

    root: RootName
    path: Path
    parents: StrictBool = False


class MoveIn(BaseModel):
    """A new path for a file or folder; with `overwrite` a file replaces a file."""

    model_config = ConfigDict(extra="forbid")

    root: RootName
    path: Path
    to_root: RootName | None = None
    to_path: Path
    overwrite: StrictBool = False


class DeleteFilesIn(BaseModel):
    """The paths to delete: to the trash, or permanently with `permanent`."""

    model_config = ConfigDict(extra="forbid")

    root: RootName
    paths: Annotated[list[Path], Field(min_length=1, max_length=200)]
    permanent: StrictBool = False


class RestoreIn(BaseModel):
    """The items to restore from the trash; `to_path` if their former folder cannot be used."""

    model_config = ConfigDict(extra="forbid")

    root: RootName
    ids: Annotated[list[str], Field(min_length=1, max_length=200)]
    to_path: Path | None = None


class EmptyTrashIn(BaseModel):
    """The items of the trash to delete permanently; null: all."""

    model_config = ConfigDict(extra="forbid")

    root: RootName
    ids: Annotated[list[str], Field(max_length=500)] | None = None


class ProblemOut(BaseModel):
    """The reason why one of several items failed; as in a problem document."""

    type: str
    title: str
    detail: str


class DeletedOut(BaseModel):
    """The result for one path: `trash_id` is for restoring it."""

    path: str
    trash_id: str | None
    error: ProblemOut | None


class RestoredOut(BaseModel):
    """The result for one id; `name` is its name after restoring."""

    id: str
    name: str | None
    error: ProblemOut | None


class DeletedAllOut(BaseModel):
    """One result for each path to be deleted, in the same order."""

    items: list[DeletedOut]


class RestoredAllOut(BaseModel):
    """One result for each item to be restored, in the same order."""

    items: list[RestoredOut]


class TrashItem(BaseModel):
    """An item that can be restored to `path`."""

    id: str
    path: str
    kind: Kind
    size_bytes: int | None
    deleted_at: datetime


class TrashOut(BaseModel):
    """Deleted items, the latest first; `complete` is false if there are more."""

    items: list[TrashItem]
    complete: bool


class EmptiedOut(BaseModel):
    """The result of emptying the trash.

    `done` is false if it took too long: repeat the request to continue.
    """

    done: bool


def place_out(location: FileLocation) -> PlaceOut:
    return PlaceOut(root=location.root, path=location.path)


def entry_out(entry: Entry, folder: str) -> EntryOut:
    """Convert an entry of the folder with this path, "" for the root."""
    fields: dict[str, Any] = {
        **vars(entry),
        "path": f"{folder}/{entry.name}" if folder else entry.name,
        "name_is_text": is_text(from_text(entry.name)),
    }
    return EntryOut(**fields)


def matches_out(matches: FileMatches, root: str, folder: str) -> FileMatchesOut:
    items = [
        FileMatchOut(
            root=root, path=f"{folder}/{item.path}" if folder else item.path, kind=item.kind
        )
        for item in matches.found
    ]
    return FileMatchesOut(items=items, stopped=matches.stopped, unreadable=matches.unreadable)


def root_space_out(state: RootState) -> RootSpaceOut:
    disk_space = state.disk_space
    return RootSpaceOut(
        name=state.root.name,
        title=state.root.title,
        total_bytes=disk_space.total_bytes if disk_space else None,
        free_bytes=disk_space.free_bytes if disk_space else None,
        quota=QuotaOut(**vars(state.quota)) if state.quota else None,
        problem=state.problem,
    )


def root_out(state: RootState) -> RootOut:
    writable = state.disk_space is not None and state.disk_space.writable
    return RootOut(**dict(root_space_out(state)), path=state.root_path, writable=writable)


def trash_out(items: list[DeletedItem], complete: bool) -> TrashOut:
    return TrashOut(items=[TrashItem(**vars(item)) for item in items], complete=complete)


class UploadIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    root: RootName
    path: Path
    size_bytes: Annotated[int, Field(strict=True, ge=0, le=1 << 50)]
    overwrite: StrictBool = False


class UploadOut(BaseModel):
    """An unfinished upload.

    The next chunk begins at `offset` (null: its folder cannot be reached) and has at most
    `chunk_bytes`. `root` is null if its folder is in none of the present roots.
    """

    id: str
    root: str | None
    path: str
    size_bytes: int
    offset: int | None
    overwrite: bool
    created_at: datetime
    chunk_bytes: int


class UploadsOut(BaseModel):
    """Unfinished uploads, newest first."""

    items: list[UploadOut]


class OffsetOut(BaseModel):
    """The offset of the next chunk."""

    offset: int


class FinishUploadIn(BaseModel):
    """The end of an upload. `sha256` is the file's expected checksum, in hexadecimal digits."""

    model_config = ConfigDict(extra="forbid")

    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None


class FinishedOut(BaseModel):
    """The checksum and entry of a complete file.

    `done` false: `hashed_bytes` of the file are hashed so far; repeat the request.
    """

    done: bool
    hashed_bytes: int
    sha256: str | None
    entry: EntryOut | None


def upload_out(upload: UploadInfo, root: str | None, chunk_bytes: int) -> UploadOut:
    fields: dict[str, Any] = {**vars(upload), "root": root, "chunk_bytes": chunk_bytes}
    return UploadOut(**fields)
