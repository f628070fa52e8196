"""Routes of files: folders, renaming, deleting and restoring. All operations run as the user."""

from typing import Annotated

from fastapi import APIRouter, Query

from portal.api.file_schemas import (
    DeletedAllOut,
    DeletedOut,
    DeleteFilesIn,
    EmptiedOut,
    EmptyTrashIn,
    EntryOut,
    FileMatchesOut,
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
    matches_out,
    place_out,
    root_out,
    root_space_out,
    trash_out,
)
from portal.errors import PortalError
from portal.services.files import listing, operations, search
from portal.services.files.listing import ListingRequest, Sort
from portal.services.files.uploads import CHUNK_BYTES
from portal.web.dependencies import ClientIp, ContextDep, FilesUser

router = APIRouter(tags=["files"])
Root = Annotated[str, Query(max_length=40)]
PathQuery = Annotated[str, Query(max_length=9000)]


@router.get("/files/roots")
async def file_roots(user: FilesUser, context: ContextDep) -> RootsOut:
    """Return the storage locations, with free space and quota where they are known.

    Expired items of the trash and abandoned uploads are deleted in the background.
    """
    files = context.files
    operations.tidy_later(files, user.username)
    states = await files.list_states(user.username)
    return RootsOut(
        items=[root_out(state) for state in states],
        trash_days=files.settings.file_trash_days,
        upload_days=files.settings.file_upload_days,
        chunk_bytes=CHUNK_BYTES,
        max_text_bytes=listing.MAX_TEXT_BYTES,
    )


@router.get("/files/space")
async def file_space(user: FilesUser, context: ContextDep) -> SpaceOut:
    """Return the space in each storage location, and the usage of the caller's quota, where
    known.
    """
    return SpaceOut(
        items=[root_space_out(state) for state in await context.files.list_states(user.username)]
    )


@router.get("/files/where")
async def where_file(user: FilesUser, context: ContextDep, path: PathQuery) -> PlaceOut:
    """Return the root and path of an absolute path, or of one that begins with ~/."""
    return place_out(await context.files.locate(user.username, path))


@router.get("/files")
async def list_files(
    user: FilesUser,
    context: ContextDep,
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
    location = await context.files.resolve(user.username, root, path)
    query = ListingRequest(sort, descending, folders_first, hidden, q, prefix, limit, cursor)
    result = await listing.listing(context.files, user.username, location, query)
    return FolderPage(
        folder=place_out(location),
        real=place_out(result.real) if result.real else None,
        writable=result.page.writable,
        items=[entry_out(entry, path) for entry in result.page.entries],
        next_cursor=result.cursor,
        total=result.page.total,
        complete=result.page.complete,
    )


@router.get("/files/search")
async def search_files(
    user: FilesUser,
    context: ContextDep,
    q: Annotated[str, Query(min_length=2, max_length=255, pattern=r"\S")],
    root: Annotated[str | None, Query(max_length=40)] = None,
    path: PathQuery = "",
) -> FileMatchesOut:
    """Find files and folders below a folder whose names contain all words of `q`, ignoring case.

    Without `root`, the first storage location is searched. Hidden entries are left out, and no link
    is followed. A search is limited in time and number.
    """
    root = root or context.settings.file_roots[0].name
    location = await context.files.resolve(user.username, root, path)
    found = await search.search(context.files, user.username, location, q)
    return matches_out(found, root, path)


@router.get("/files/entry")
async def file_entry(user: FilesUser, context: ContextDep, root: Root, path: PathQuery) -> EntryOut:
    """Return the entry of one path."""
    location = await context.files.resolve(user.username, root, path)
    return entry_out(await listing.entry(context.files, user.username, location), folder_of(path))


@router.post("/files/folders", status_code=201)
async def make_file_folder(body: FolderIn, user: FilesUser, context: ContextDep) -> EntryOut:
    """Create a folder; 409 `file-exists` if the name exists."""
    location = await context.files.resolve(user.username, body.root, body.path)
    folder = await operations.make_folder(
        context.files, user.username, location, parents=body.parents
    )
    return entry_out(folder, folder_of(body.path))


@router.post("/files/move")
async def move_file(body: MoveIn, user: FilesUser, context: ContextDep) -> EntryOut:
    """Rename or move within one file system.

    An existing target is not replaced (409 `file-exists`), except a file by a file with
    `overwrite`.
    """
    location = await context.files.resolve(user.username, body.root, body.path)
    to = await context.files.resolve(user.username, body.to_root or body.root, body.to_path)
    moved = await operations.move(
        context.files, user.username, location, to, overwrite=body.overwrite
    )
    return entry_out(moved, folder_of(body.to_path))


@router.post("/files/delete")
async def delete_files(
    body: DeleteFilesIn, user: FilesUser, context: ContextDep, ip: ClientIp
) -> DeletedAllOut:
    """Move files and folders to the trash of their root, or delete them permanently.

    Where there can be no trash the error is `no-trash`, and only `permanent` deletes.
    """
    username = user.username
    places = [await context.files.resolve(username, body.root, path) for path in body.paths]
    outcomes = await operations.delete(context.files, username, places, permanent=body.permanent)
    await operations.note_deleted(
        context.db, user, places, outcomes, permanent=body.permanent, ip=ip
    )
    return DeletedAllOut(
        items=[
            DeletedOut(path=outcome.item, trash_id=outcome.trash_id, error=problem(outcome.error))
            for outcome in outcomes
        ]
    )


@router.get("/files/trash")
async def file_trash(user: FilesUser, context: ContextDep, root: Root = "home") -> TrashOut:
    """Return the deleted items that can be restored."""
    location = await context.files.resolve(user.username, root, "")
    return trash_out(*await operations.trash(context.files, user.username, location))


@router.post("/files/trash/restore")
async def restore_files(body: RestoreIn, user: FilesUser, context: ContextDep) -> RestoredAllOut:
    """Restore items to their former paths, never over existing files (`file-exists`)."""
    location = await context.files.resolve(user.username, body.root, "")
    to = body.to_path
    target = await context.files.resolve(user.username, body.root, to) if to is not None else None
    outcomes = await operations.restore(context.files, user.username, location, body.ids, target)
    return RestoredAllOut(
        items=[
            RestoredOut(
                id=outcome.item,
                name=outcome.entry.name if outcome.entry else None,
                error=problem(outcome.error),
            )
            for outcome in outcomes
        ]
    )


@router.post("/files/trash/empty")
async def empty_file_trash(body: EmptyTrashIn, user: FilesUser, context: ContextDep) -> EmptiedOut:
    """Delete the contents of the trash permanently."""
    location = await context.files.resolve(user.username, body.root, "")
    return EmptiedOut(
        done=await operations.empty_trash(context.files, user.username, location, body.ids)
    )


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def problem(error: PortalError | None) -> ProblemOut | None:
    if error is None:
        return None
    return ProblemOut(type=f"urn:portal:{error.slug}", title=error.title, detail=error.detail)
