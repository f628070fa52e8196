"""New folders, other names, deleting and bringing back, and the tidying up that nobody asks for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

import structlog

from portal import errors
from portal.db import Database
from portal.errors import FieldError, PortalError, invalid_input
from portal.models import User
from portal.services.audit.audit import Action, record
from portal.services.files.roots import Files, Place, explaining
from portal.settings_files import FileRoot
from spawner.filedata import Deleted, Entry
from spawner.filenames import meant

log = structlog.get_logger(__name__)

AT_ONCE_S = 2.0
WITHIN_S = 20.0
TIDY_S = 0.5
TIDY_EVERY_S = 3600.0
TIDY_TURNS = 200
DAY_S = 86400
UNFINISHED = "There is more in this folder than could be deleted at once. Ask again to go on."


@dataclass(frozen=True)
class Outcome:
    """What became of one of several: its id in the trash if it can be brought back, the entry that
    came back, or why not."""

    path: str
    trash_id: str | None = None
    entry: Entry | None = None
    error: PortalError | None = None


async def make_folder(files: Files, username: str, place: Place, *, parents: bool) -> Entry:
    with explaining():
        return await files.pool(place.root).change(
            username, "make_folder", place.asked, parents=parents
        )


async def move(files: Files, username: str, place: Place, to: Place, *, overwrite: bool) -> Entry:
    """Raises FileExists, OtherFilesystem and what else the system says."""
    with explaining():
        return await files.pool(place.root).change(
            username, "move", place.asked, to_root=to.whole, to_path=meant(to.path),
            overwrite=overwrite,
        )  # fmt: skip


async def delete(
    files: Files, username: str, places: Sequence[Place], *, permanent: bool
) -> list[Outcome]:
    """Each by itself: that one can't be deleted doesn't keep the others."""
    deadline = time.monotonic() + WITHIN_S
    return [await _delete(files, username, one, permanent, deadline) for one in places]


async def _delete(
    files: Files, username: str, place: Place, permanent: bool, deadline: float
) -> Outcome:
    number = str(uuid4())
    try:
        with explaining():
            while not await files.pool(place.root).delete(
                username, place.asked, permanent=permanent, trash_id=number, timeout_s=AT_ONCE_S
            ):
                if time.monotonic() > deadline:
                    return Outcome(place.path, error=errors.Conflict(UNFINISHED))
    except PortalError as error:
        return Outcome(place.path, error=error)
    return Outcome(place.path, trash_id=None if permanent else number)


async def note_deleted(
    database: Database,
    user: User,
    places: Sequence[Place],
    outcomes: Sequence[Outcome],
    *,
    permanent: bool,
    ip: str,
) -> None:
    """That somebody deleted something is recorded, for folders belong to several; nothing else that
    people do with their files is."""
    gone = [one for one, outcome in zip(places, outcomes, strict=True) if outcome.error is None]
    if not gone:
        return
    target = f"{gone[0].root}:{gone[0].path}"
    await note_gone(database, user, target, count=len(gone), permanent=permanent, ip=ip)


async def note_gone(
    database: Database, user: User, target: str, *, count: int, permanent: bool, ip: str
) -> None:
    """Record that `count` things were deleted, the first of which is `target`."""
    detail = {"count": count, "permanent": permanent}
    async with database.session() as db:
        record(db, Action.FILE_DELETE, actor=user, target=target, detail=detail, ip=ip)
        await db.commit()


async def trash(
    files: Files, username: str, root: Place, of: str | None = None
) -> tuple[list[Deleted], bool]:
    """What was deleted below a root, or only what had the path `of` in it, the newest first, and
    whether that is all."""
    with explaining():
        return await files.pool(root.root).list_trash(username, root.whole, of)


async def restore(
    files: Files, username: str, root: Place, ids: Sequence[str], to: Place | None
) -> list[Outcome]:
    """Bring back what was deleted; to another path if `to` says one, which only one can have."""
    if to is not None and len(ids) != 1:
        message = "Several things can't be brought back to one path."
        raise invalid_input([FieldError("to_path", message)])
    return [await _restore(files, username, root, number, to) for number in ids]


async def _restore(
    files: Files, username: str, root: Place, number: str, to: Place | None
) -> Outcome:
    more = {"to_path": meant(to.path)} if to else {}
    try:
        with explaining():
            entry = await files.pool(root.root).change(
                username, "restore", root.asked, number=number, **more
            )
    except PortalError as error:
        return Outcome(number, error=error)
    return Outcome(number, entry=entry)


async def empty_trash(files: Files, username: str, root: Place, ids: list[str] | None) -> bool:
    """Whether all of it is gone; otherwise it took too long, and may be asked for again."""
    deadline = time.monotonic() + WITHIN_S
    with explaining():
        while not await files.pool(root.root).empty_trash(username, root.whole, ids, 0, AT_ONCE_S):
            if time.monotonic() > deadline:
                return False
    return True


def tidy_later(files: Files, username: str) -> None:
    """Begin to tidy up; nobody waits for it."""
    task = asyncio.create_task(tidy(files, username))
    files.tasks.add(task)
    task.add_done_callback(files.tasks.discard)


async def tidy(files: Files, username: str) -> None:
    """Once an hour, while somebody looks at their files: drop uploads that nobody goes on with, and
    empty the trash of what is old, a little at a time."""
    now = time.monotonic()
    if now - files.tidied.get(username, -TIDY_EVERY_S) < TIDY_EVERY_S:
        return
    files.tidied[username] = now
    settings = files.settings
    try:
        with explaining():
            older_s = int(settings.file_upload_days * DAY_S)
            await files.agents.clean_uploads(username, older_s)
            for root in settings.file_roots:
                await _tidy_trash(files, username, root)
    except PortalError as error:
        log.info("files can't be tidied up", username=username, cause=error.detail[:300])


async def _tidy_trash(files: Files, username: str, root: FileRoot) -> None:
    whole = await files.whole(username, root)
    older_s = int(files.settings.file_trash_days * DAY_S)
    try:
        with explaining():
            for _ in range(TIDY_TURNS):
                if await files.pool(root.name).empty_trash(username, whole, None, older_s, TIDY_S):
                    return
    except PortalError as error:
        log.info("a trash can't be emptied", username=username, cause=error.detail[:300])
