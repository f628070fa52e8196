"""Home directories: requests to the site's own commands that create, archive or delete them.

The commands run under the portal's account (services/users/home_commands.py), as argument lists and
never through a shell. They must be idempotent: if the portal is killed during one, it runs again.
"""

from pathlib import PurePosixPath

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.config.settings import Settings
from portal.directory.contract import DirectoryUser
from portal.errors import Conflict
from portal.models import HomeCommandRun, HomeState, HomeTask, User

LIVE = (HomeState.QUEUED, HomeState.RUNNING)
UNKNOWN_ID = -1
SETTINGS = {
    HomeTask.CREATE: "home_command",
    HomeTask.ARCHIVE: "home_archive_command",
    HomeTask.DELETE: "home_delete_command",
}


def get_command(settings: Settings, task: HomeTask) -> list[str]:
    """Return the site's command for a task, with its placeholders; empty if there is none."""
    return list(getattr(settings, SETTINGS[task]))


def require_command(settings: Settings, task: HomeTask) -> None:
    """Raise Conflict if the site has no command for this task."""
    if not get_command(settings, task):
        raise Conflict(_no_command(task))


def _no_command(task: HomeTask) -> str:
    return (
        "The portal has no command for this. One can be set in the portal's settings: "
        f"{SETTINGS[task]}."
    )


async def request(
    db: AsyncSession,
    user: User,
    task: HomeTask,
    *,
    home: str | None,
    uid: int | None,
    gid: int | None,
    by: str,
) -> HomeCommandRun:
    """Request the creation, archiving or deletion of a home directory.

    Runs in the caller's transaction; notify `HOMES` after it. A waiting request is not added twice.
    The path and numbers come from the directory; they are stored as it may have lost them by
    the time the command runs.
    """
    await db.flush()
    same_task = select(HomeCommandRun).where(
        HomeCommandRun.user_id == user.id, HomeCommandRun.task == task
    )
    waiting = await db.scalar(same_task.where(HomeCommandRun.state.in_(LIVE)).limit(1))
    if waiting is not None:
        return waiting
    row = HomeCommandRun(
        user_id=user.id,
        task=task,
        home=home or "",
        uid=UNKNOWN_ID if uid is None else uid,
        gid=UNKNOWN_ID if gid is None else gid,
        requested_by=by,
    )
    db.add(row)
    return row


async def request_once(
    db: AsyncSession, settings: Settings, user: User, entry: DirectoryUser, *, by: str
) -> bool:
    """Request a user's home directory unless that was ever requested. Return whether it was now.

    Called when the user is created and at the first login.
    """
    if not get_command(settings, HomeTask.CREATE):
        return False
    await db.flush()
    earlier = select(HomeCommandRun.id).where(
        HomeCommandRun.user_id == user.id, HomeCommandRun.task == HomeTask.CREATE
    )
    if await db.scalar(earlier.limit(1)) is not None:
        return False
    await request_for(db, user, entry, HomeTask.CREATE, by=by)
    return True


async def request_for(
    db: AsyncSession, user: User, entry: DirectoryUser, task: HomeTask, *, by: str
) -> HomeCommandRun:
    """Request a task as `request` does, with the path and numbers of the directory entry."""
    return await request(db, user, task, home=entry.home, uid=entry.uid, gid=entry.gid, by=by)


def build_arguments(settings: Settings, username: str, row: HomeCommandRun) -> list[str]:
    """Return the command for this row.

    Raises Conflict with the reason if it is not safe to run: it may run as root on a path that the
    directory names.
    """
    require_command(settings, row.task)
    path = PurePosixPath(row.home)
    plain = str(path) == row.home and path.is_absolute() and ".." not in path.parts
    if not plain or len(path.parts) < 3 or not row.home.isprintable():
        raise Conflict("The directory has no valid home directory for this user.")
    if row.uid < settings.min_uid or row.gid < 0:
        raise Conflict("The directory has no UID and GID for this user.")
    places = {"username": username, "uid": row.uid, "gid": row.gid, "home": row.home}
    return [part.format(**places) for part in get_command(settings, row.task)]
