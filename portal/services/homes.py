"""Home directories: the site's own command makes, archives or deletes them; here it is asked for.

The portal's account runs it (services/home_runs.py), in a list of arguments and never by a shell.
It must be repeatable: whoever is killed in the middle runs it again.
"""

from pathlib import PurePosixPath

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.db import utcnow
from portal.directory.contract import Person
from portal.errors import Conflict
from portal.models import HomeRun, HomeState, HomeTask, User
from portal.settings import Settings

LIVE = (HomeState.QUEUED, HomeState.RUNNING)
_SETTINGS = {
    HomeTask.CREATE: "home_command",
    HomeTask.ARCHIVE: "home_archive_command",
    HomeTask.DELETE: "home_delete_command",
}


def command(settings: Settings, task: HomeTask) -> list[str]:
    """The site's command for this task, its places not yet filled in; empty for none."""
    return list(getattr(settings, _SETTINGS[task]))


def must_be_on(settings: Settings, task: HomeTask) -> None:
    """Raises Conflict where the portal has no command for this."""
    if not command(settings, task):
        raise Conflict(
            f"The portal has no command for this: whoever runs it can set {_SETTINGS[task]}."
        )


async def request(
    db: AsyncSession,
    settings: Settings,
    user: User,
    person: Person,
    task: HomeTask,
    *,
    requested_by: str,
) -> HomeRun | None:
    """Have a home directory made, archived or deleted, in the caller's transaction; then notify
    `HOMES`. What is asked for already isn't asked for twice. None where there is no command.

    `person` is the entry, for home and numbers, which it may lose next.
    """
    if not command(settings, task):
        return None
    await db.flush()
    mine = select(HomeRun).where(HomeRun.user_id == user.id, HomeRun.task == task)
    waiting = await db.scalar(mine.where(HomeRun.state.in_(LIVE)).limit(1))
    if waiting is not None:
        return waiting
    row = HomeRun(
        user_id=user.id,
        task=task,
        home=person.home or "",
        uid=person.uid if person.uid is not None else -1,
        gid=person.gid if person.gid is not None else -1,
        requested_by=requested_by,
    )
    if why := _impossible(settings, row):
        row.state, row.output, row.ended_at = HomeState.FAILED, why, utcnow()
    db.add(row)
    return row


async def request_first(db: AsyncSession, settings: Settings, user: User, person: Person) -> bool:
    """At a login: have the home directory of someone made for whom that was never asked. Whether
    it was asked for now."""
    if not settings.home_command:
        return False
    mine = select(HomeRun.id).where(HomeRun.user_id == user.id, HomeRun.task == HomeTask.CREATE)
    if await db.scalar(mine.limit(1)) is not None:
        return False
    await request(db, settings, user, person, HomeTask.CREATE, requested_by=user.username)
    return True


def _impossible(settings: Settings, row: HomeRun) -> str | None:
    """Why the command is better not run: it works as root on a path that the directory names."""
    path = PurePosixPath(row.home)
    plain = str(path) == row.home and path.is_absolute() and ".." not in path.parts
    if not plain or len(path.parts) < 3 or not row.home.isprintable():
        return "The directory names no home directory for this person that could be one."
    if row.uid < settings.min_uid or row.gid < 0:
        return "The directory gives this person no numbers of their own (uid and gid)."
    return None
