"""Routes of files: folders, renaming, deleting and restoring. All operations run as the user."""

from typing import Annotated

from fastapi import APIRouter, Query

from portal.api.file_schemas import (
    DeletedAllOut,
    DeletedOut,
    DeleteFilesIn,
    EmptiedOut,
    EmptyIn,
    EntryOut,
    FolderIn,
    FolderPage,
    MoveIn,
    PlaceOut,
    ProblemOut,
    RestoredAllOut,
    RestoredOut,
    RestoreIn,
    RootsOut,
    SpaceOut,
    TrashOut,
    entry_out,
    place_out,
    room_out,
    root_out,
    trash_out,
)
from portal.errors import PortalError
from portal.services.files import listing, operations
from portal.services.files.listing import ListingRequest, Sort
from portal.services.files.uploads import CHUNK_BYTES
from portal.web.dependencies import ClientIp, DatabaseDep, FilesDep, FilesUser

router = APIRouter(tags=["files"])
Root = Annotated[str, Query(max_length=40)]
PathQuery = Annotated[str, Query(max_length=9000)]


@router.get("/files/roots")
async def file_roots(user: FilesUser, files: FilesDep) -> RootsOut:
    """Return the storage locations, with free space and quota where they are known."""
    operations.tidy_later(files, user.username)
    states = await files.states(user.username)
    return RootsOut(
        items=[root_out(state) for state in states],
        trash_days=files.settings.file_trash_days,
        upload_days=files.settings.file_upload_days,
        chunk_bytes=CHUNK_BYTES,
        max_text_bytes=listing.MAX_TEXT_BYTES,
    )


@router.get("/files/space")
async def file_space(user: FilesUser, files: FilesDep) -> SpaceOut:
    """Return the space in each storage location, and the usage of the caller's quota, where
    known.
    """
    return SpaceOut(items=[room_out(state) for state in await files.states(user.username)])


@router.get("/files/where")
async def where_file(user: FilesUser, files: FilesDep, path: PathQuery) -> PlaceOut:
    """Return the root and path of an absolute path, or of one that begins with ~/."""
    return place_out(await files.locate(user.username, path))


@router.get("/files")
async def list_files(
    user: FilesUser,
    files: FilesDep,
    root: Root = "home",
    path: PathQuery = "",
    sort: Sort = "name",
    descending: bool = False,
    folders_first: bool = True,
    hidden: bool = False,
    q: Annotated[str, Query(max_length=255)] = "",
    prefix: bool = False,
    limit: Annotated[int, Query(ge=1, le=listing.MAX_LIMIT)] = 200,
    cursor: Annotated[str | None, Query(max_length=4000)] = None,
) -> FolderPage:
    """Return a folder's entries in pages.

    `q` matches anywhere in a name, or with `prefix` at its beginning, ignoring case. Links are
    followed.
    """
    place = await files.place(user.username, root, path)
    query = ListingRequest(sort, descending, folders_first, hidden, q, prefix, limit, cursor)
    found = await listing.listing(files, user.username, place, query)
    return FolderPage(
        folder=place_out(place),
        real=place_out(found.real) if found.real else None,
        writable=found.page.writable,
        items=[entry_out(entry, path) for entry in found.page.entries],
        next_cursor=found.cursor,
        total=found.page.total,
        complete=found.page.complete,
    )


@router.get("/files/entry")
async def file_entry(user: FilesUser, files: FilesDep, root: Root, path: PathQuery) -> EntryOut:
    """Return the entry of one path."""
    place = await files.place(user.username, root, path)
    return entry_out(await listing.entry(files, user.username, place), folder_of(path))


@router.post("/files/folders", status_code=201)
async def make_file_folder(body: FolderIn, user: FilesUser, files: FilesDep) -> EntryOut:
    """Create a folder; 409 `file-exists` if the name exists."""
    place = await files.place(user.username, body.root, body.path)
    made = await operations.make_folder(files, user.username, place, parents=body.parents)
    return entry_out(made, folder_of(body.path))


@router.post("/files/move")
async def move_file(body: MoveIn, user: FilesUser, files: FilesDep) -> EntryOut:
    """Rename or move within one file system.

    An existing target is not replaced (409 `file-exists`), except a file by a file with
    `overwrite`.
    """
    place = await files.place(user.username, body.root, body.path)
    to = await files.place(user.username, body.to_root or body.root, body.to_path)
    moved = await operations.move(files, user.username, place, to, overwrite=body.overwrite)
    return entry_out(moved, folder_of(body.to_path))


@router.post("/files/delete")
async def delete_files(
    body: DeleteFilesIn, user: FilesUser, files: FilesDep, database: DatabaseDep, ip: ClientIp
) -> DeletedAllOut:
    """Move files and folders to the trash of their root, or delete them permanently.

    Where there can be no trash the error is `no-trash`, and only `permanent` deletes.
    """
    username = user.username
    places = [await files.place(username, body.root, path) for path in body.paths]
    outcomes = await operations.delete(files, username, places, permanent=body.permanent)
    await operations.note_deleted(database, user, places, outcomes, permanent=body.permanent, ip=ip)
    return DeletedAllOut(
        items=[
            DeletedOut(path=one.path, trash_id=one.trash_id, error=problem(one.error))
            for one in outcomes
        ]
    )


@router.get("/files/trash")
async def file_trash(user: FilesUser, files: FilesDep, root: Root = "home") -> TrashOut:
    """Return the deleted items that can be restored."""
    place = await files.place(user.username, root, "")
    return trash_out(*await operations.trash(files, user.username, place))


@router.post("/files/trash/restore")
async def restore_files(body: RestoreIn, user: FilesUser, files: FilesDep) -> RestoredAllOut:
    """Restore items to their former paths, never over existing files (`file-exists`)."""
    place = await files.place(user.username, body.root, "")
    to = body.to_path
    target = await files.place(user.username, body.root, to) if to is not None else None
    outcomes = await operations.restore(files, user.username, place, body.ids, target)
    return RestoredAllOut(
        items=[
            RestoredOut(
                id=one.path, name=one.entry.name if one.entry else None, error=problem(one.error)
            )
            for one in outcomes
        ]
    )


@router.post("/files/trash/empty")
async def empty_file_trash(body: EmptyIn, user: FilesUser, files: FilesDep) -> EmptiedOut:
    """Delete the contents of the trash permanently."""
    place = await files.place(user.username, body.root, "")
    return EmptiedOut(done=await operations.empty_trash(files, user.username, place, body.ids))


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def problem(error: PortalError | None) -> ProblemOut | None:
    if error is None:
        return None
    return ProblemOut(type=f"urn:portal:{error.slug}", title=error.title, detail=error.detail)
