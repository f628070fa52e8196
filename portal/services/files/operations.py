"""Changes to files: create folders, move, delete and restore, and automatic cleanup."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

import structlog

from portal import errors
from portal.config.files import FileRoot
from portal.db import Database
from portal.errors import FieldError, PortalError, invalid_input
from portal.models import User
from portal.services.audit.audit import Action, record
from portal.services.files.roots import FileAccess, FileLocation, converting_errors
from spawner.launcher.file_answers import DeletedItem, Entry
from spawner.launcher.file_names import from_text

log = structlog.get_logger(__name__)

REQUEST_TIMEOUT_S = 2.0  # of one call of the files program, which is then repeated
TOTAL_TIMEOUT_S = 20.0  # of all calls for one operation
TIDY_S = 0.5
TIDY_EVERY_S = 3600.0
TIDY_TURNS = 200
DAY_S = 86400
UNFINISHED = "This folder is too large to delete at once. Delete it again to continue."


@dataclass(frozen=True)
class FileOutcome:
    """Result for one of several items.

    `item` is the path of a deleted entry, or the trash ID of a restored one. `trash_id` is the ID
    in the trash of a deleted entry that can be restored, `entry` the restored entry.
    """

    item: str
    trash_id: str | None = None
    entry: Entry | None = None
    error: PortalError | None = None


async def make_folder(
    files: FileAccess, username: str, location: FileLocation, *, parents: bool
) -> Entry:
    with converting_errors():
        return await files.pool(location.root).change(
            username, "make_folder", location.parameters, parents=parents
        )


async def move(
    files: FileAccess, username: str, location: FileLocation, to: FileLocation, *, overwrite: bool
) -> Entry:
    """Move an entry. Raises FileExists, OtherFilesystem and other errors of the system."""
    with converting_errors():
        return await files.pool(location.root).change(
            username, "move", location.parameters, to_root=to.root_path, to_path=from_text(to.path),
            overwrite=overwrite,
        )  # fmt: skip


async def delete(
    files: FileAccess, username: str, places: Sequence[FileLocation], *, permanent: bool
) -> list[FileOutcome]:
    """Delete several entries independently: a failure of one does not affect the others."""
    deadline = time.monotonic() + TOTAL_TIMEOUT_S
    return [
        await _delete_one(files, username, location, permanent, deadline) for location in places
    ]


async def _delete_one(
    files: FileAccess, username: str, location: FileLocation, permanent: bool, deadline: float
) -> FileOutcome:
    trash_id = str(uuid4())
    try:
        with converting_errors():
            while not await files.pool(location.root).delete(
                username,
                location.parameters,
                permanent=permanent,
                trash_id=trash_id,
                timeout_s=REQUEST_TIMEOUT_S,
            ):
                if time.monotonic() > deadline:
                    return FileOutcome(location.path, error=errors.Conflict(UNFINISHED))
    except PortalError as error:
        return FileOutcome(location.path, error=error)
    return FileOutcome(location.path, trash_id=None if permanent else trash_id)


async def note_deleted(
    database: Database,
    user: User,
    places: Sequence[FileLocation],
    outcomes: Sequence[FileOutcome],
    *,
    permanent: bool,
    ip: str,
) -> None:
    """Record deletions in the audit log, because folders may be shared; no other file operations of
    users are recorded.
    """
    gone = [
        location
        for location, outcome in zip(places, outcomes, strict=True)
        if outcome.error is None
    ]
    if not gone:
        return
    target = f"{gone[0].root}:{gone[0].path}"
    await note_gone(database, user, target, count=len(gone), permanent=permanent, ip=ip)


async def note_gone(
    database: Database, user: User, target: str, *, count: int, permanent: bool, ip: str
) -> None:
    """Record the deletion of `count` items, the first of which is `target`."""
    detail = {"count": count, "permanent": permanent}
    async with database.session() as db:
        record(db, Action.FILE_DELETE, actor=user, target=target, detail=detail, ip=ip)
        await db.commit()


async def trash(
    files: FileAccess, username: str, root: FileLocation, of: str | None = None
) -> tuple[list[DeletedItem], bool]:
    """Return deleted items below a root, or only those that had the path `of`, newest first, and
    whether the list is complete.
    """
    with converting_errors():
        return await files.pool(root.root).list_trash(username, root.root_path, of)


async def restore(
    files: FileAccess,
    username: str,
    root: FileLocation,
    ids: Sequence[str],
    to: FileLocation | None,
) -> list[FileOutcome]:
    """Restore deleted items; `to` is a new path, which is possible for a single item only."""
    if to is not None and len(ids) != 1:
        message = "Several items can't be restored to one path."
        raise invalid_input([FieldError("to_path", message)])
    return [await _restore_one(files, username, root, trash_id, to) for trash_id in ids]


async def _restore_one(
    files: FileAccess, username: str, root: FileLocation, trash_id: str, to: FileLocation | None
) -> FileOutcome:
    renamed = {"to_path": from_text(to.path)} if to else {}
    try:
        with converting_errors():
            entry = await files.pool(root.root).change(
                username, "restore", root.parameters, trash_id=trash_id, **renamed
            )
    except PortalError as error:
        return FileOutcome(trash_id, error=error)
    return FileOutcome(trash_id, entry=entry)


async def empty_trash(
    files: FileAccess, username: str, root: FileLocation, ids: list[str] | None
) -> bool:
    """Return whether all of it has been deleted; if not, it took too long and can be continued by
    another call.
    """
    deadline = time.monotonic() + TOTAL_TIMEOUT_S
    with converting_errors():
        while not await files.pool(root.root).empty_trash(
            username, root.root_path, ids, 0, REQUEST_TIMEOUT_S
        ):
            if time.monotonic() > deadline:
                return False
    return True


def tidy_later(files: FileAccess, username: str) -> None:
    """Start a cleanup in the background."""
    task = asyncio.create_task(tidy(files, username))
    files.tasks.add(task)
    task.add_done_callback(files.tasks.discard)


async def tidy(files: FileAccess, username: str) -> None:
    """Remove abandoned uploads, and delete old items from the trash in small steps. Runs at most
    once an hour per user, while the user is using their files.
    """
    now = time.monotonic()
    if now - files.tidied.get(username, -TIDY_EVERY_S) < TIDY_EVERY_S:
        return
    files.tidied[username] = now
    settings = files.settings
    try:
        with converting_errors():
            older_s = int(settings.file_upload_days * DAY_S)
            await files.first_pool.clean_uploads(username, older_s)
            for root in settings.file_roots:
                await _tidy_trash(files, username, root)
    except PortalError as error:
        log.info("files can't be tidied up", username=username, cause=error.detail[:300])


async def _tidy_trash(files: FileAccess, username: str, root: FileRoot) -> None:
    root_path = await files.root_path_of(username, root)
    older_s = int(files.settings.file_trash_days * DAY_S)
    try:
        with converting_errors():
            for _ in range(TIDY_TURNS):
                if await files.pool(root.name).empty_trash(
                    username, root_path, None, older_s, TIDY_S
                ):
                    return
    except PortalError as error:
        log.info("a trash can't be emptied", username=username, cause=error.detail[:300])
