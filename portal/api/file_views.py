"""Files on the wire. Names and paths are text: what of a name is no UTF-8 stands as characters of
U+EF80…U+EFFF, a byte each (spawner/filenames.py). They are somebody's to choose: show them as text.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from portal.services.files.roots import Place, RootState
from spawner.filedata import Deleted, Entry, Upload
from spawner.filenames import is_text, meant

Kind = Literal["file", "folder", "link", "other"]
Path = Annotated[str, Field(max_length=9000)]
RootName = Annotated[str, Field(min_length=1, max_length=40)]


class PlaceOut(BaseModel):
    """A path below a root; "" is the root itself."""

    root: str
    path: str


class EntryOut(BaseModel):
    """One name in a folder. Size, time, mode, owner and rights are those of what a link leads to;
    its `target_kind` is null when it leads nowhere. `size_bytes` is null for what is no file.
    `name_is_text` is false for a name that isn't UTF-8."""

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
    """Some entries of a folder. `total` counts all that fit the filter; `complete` is false if
    there wasn't the time to look at all of them. `real` is where the folder lies when a link leads
    there: only there something can be changed."""

    folder: PlaceOut
    real: PlaceOut | None
    writable: bool
    items: list[EntryOut]
    next_cursor: str | None
    total: int
    complete: bool


class QuotaOut(BaseModel):
    """What somebody uses of what they may. A limit is null where nothing limits it, `used_files`
    where nobody counts them."""

    used_bytes: int
    limit_bytes: int | None
    used_files: int | None
    limit_files: int | None


class RoomOut(BaseModel):
    """The room in a place where files are: on its whole file system, and by somebody's own quota
    (null: the system says none). `problem` says why the place can't be used; then there are no
    numbers."""

    name: str
    title: str
    total_bytes: int | None
    free_bytes: int | None
    quota: QuotaOut | None
    problem: str | None


class SpaceOut(BaseModel):
    """The room in each place."""

    items: list[RoomOut]


class RootOut(RoomOut):
    """A place where files are."""

    path: str
    writable: bool


class RootsOut(BaseModel):
    """All places, and what the portal's rules for files are."""

    items: list[RootOut]
    trash_days: float
    upload_days: float
    chunk_bytes: int
    max_text_bytes: int


class FolderIn(BaseModel):
    """A new folder; `parents`: those above it too, if they are missing."""

    model_config = ConfigDict(extra="forbid")

    root: RootName
    path: Path
    parents: bool = False


class MoveIn(BaseModel):
    """A new path for a file or folder; with `overwrite` a file takes the place of a file."""

    model_config = ConfigDict(extra="forbid")

    root: RootName
    path: Path
    to_root: RootName | None = None
    to_path: Path
    overwrite: bool = False


class DeleteIn(BaseModel):
    """What to delete: to the trash, or `permanent`, for good."""

    model_config = ConfigDict(extra="forbid")

    root: RootName
    paths: Annotated[list[Path], Field(min_length=1, max_length=200)]
    permanent: bool = False


class RestoreIn(BaseModel):
    """What to bring back from the trash; `to_path` if it can't go where it was."""

    model_config = ConfigDict(extra="forbid")

    root: RootName
    ids: Annotated[list[str], Field(min_length=1, max_length=200)]
    to_path: Path | None = None


class EmptyIn(BaseModel):
    """What to delete from the trash for good; null: everything."""

    model_config = ConfigDict(extra="forbid")

    root: RootName
    ids: Annotated[list[str], Field(max_length=500)] | None = None


class ProblemOut(BaseModel):
    """Why one of several things could not be done; as a problem document says it."""

    type: str
    title: str
    detail: str


class DeletedOut(BaseModel):
    """What became of one path: `trash_id` brings it back."""

    path: str
    trash_id: str | None
    error: ProblemOut | None


class RestoredOut(BaseModel):
    """What became of one id; `name` is what it is called now."""

    id: str
    name: str | None
    error: ProblemOut | None


class DeletedAllOut(BaseModel):
    """One answer for each that was to be deleted, in the same order."""

    items: list[DeletedOut]


class RestoredAllOut(BaseModel):
    """One answer for each that was to be brought back, in the same order."""

    items: list[RestoredOut]


class TrashItem(BaseModel):
    """Something that can be brought back to `path`."""

    id: str
    path: str
    kind: Kind
    size_bytes: int | None
    deleted_at: datetime


class TrashOut(BaseModel):
    """What was deleted, the last first; `complete` is false if there is more."""

    items: list[TrashItem]
    complete: bool


class EmptiedOut(BaseModel):
    """`done` is false if it took too long: ask again to go on."""

    done: bool


def place_out(place: Place) -> PlaceOut:
    return PlaceOut(root=place.root, path=place.path)


def entry_out(entry: Entry, folder: str) -> EntryOut:
    """An entry in the folder of this path, "" for the root."""
    fields: dict[str, Any] = {
        **vars(entry),
        "path": f"{folder}/{entry.name}" if folder else entry.name,
        "name_is_text": is_text(meant(entry.name)),
    }
    return EntryOut(**fields)


def room_out(state: RootState) -> RoomOut:
    room = state.room
    return RoomOut(
        name=state.root.name,
        title=state.root.title,
        total_bytes=room.total_bytes if room else None,
        free_bytes=room.free_bytes if room else None,
        quota=QuotaOut(**vars(state.quota)) if state.quota else None,
        problem=state.problem,
    )


def root_out(state: RootState) -> RootOut:
    writable = state.room is not None and state.room.writable
    return RootOut(**dict(room_out(state)), path=state.whole, writable=writable)


def trash_out(items: list[Deleted], complete: bool) -> TrashOut:
    return TrashOut(items=[TrashItem(**vars(one)) for one in items], complete=complete)


class UploadIn(BaseModel):
    """A file to be uploaded."""

    model_config = ConfigDict(extra="forbid")

    root: RootName
    path: Path
    size_bytes: Annotated[int, Field(ge=0, le=1 << 50)]
    overwrite: bool = False


class UploadOut(BaseModel):
    """An upload on its way: the next chunk begins at `offset` (null: its folder can't be reached)
    and has at most `chunk_bytes`. `root` is null if it goes where none is now."""

    id: str
    root: str | None
    path: str
    size_bytes: int
    offset: int | None
    overwrite: bool
    created_at: datetime
    chunk_bytes: int


class UploadsOut(BaseModel):
    """Uploads that aren't finished, the newest first."""

    items: list[UploadOut]


class OffsetOut(BaseModel):
    """Where the next chunk begins."""

    offset: int


class FinishIn(BaseModel):
    """`sha256` is what the file's checksum ought to be, in hexadecimal digits."""

    model_config = ConfigDict(extra="forbid")

    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None


class FinishedOut(BaseModel):
    """Of a whole file its checksum and entry. `done` false: the checksum has got to `hashed_bytes`;
    ask again."""

    done: bool
    hashed_bytes: int
    sha256: str | None
    entry: EntryOut | None


def upload_out(upload: Upload, root: str | None, chunk_bytes: int) -> UploadOut:
    fields: dict[str, Any] = {**vars(upload), "root": root, "chunk_bytes": chunk_bytes}
    return UploadOut(**fields)
