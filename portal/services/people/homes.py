"""Home directories: the site's own command makes, archives or deletes them; here it is asked for.

The portal's account runs it (services/people/home_runs.py), as a list of arguments and never by a
shell. It must be repeatable: after the portal was killed in the middle it runs again.
"""

from pathlib import PurePosixPath

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.directory.contract import Person
from portal.errors import Conflict
from portal.models import HomeRun, HomeState, HomeTask, User
from portal.settings import Settings

LIVE = (HomeState.QUEUED, HomeState.RUNNING)
NOBODYS = -1
SETTINGS = {
    HomeTask.CREATE: "home_command",
    HomeTask.ARCHIVE: "home_archive_command",
    HomeTask.DELETE: "home_delete_command",
}


def command(settings: Settings, task: HomeTask) -> list[str]:
    """The site's command for this task, its places not yet filled in; empty for none."""
    return list(getattr(settings, SETTINGS[task]))


def must_be_on(settings: Settings, task: HomeTask) -> None:
    """Raises Conflict where the site has no command for this."""
    if not command(settings, task):
        raise Conflict(_off(task))


def _off(task: HomeTask) -> str:
    return f"The portal has no command for this: whoever runs it can set {SETTINGS[task]}."


async def request(
    db: AsyncSession,
    user: User,
    task: HomeTask,
    *,
    home: str | None,
    uid: int | None,
    gid: int | None,
    by: str,
) -> HomeRun:
    """Have a home directory made, archived or deleted, in the caller's transaction; then notify
    `HOMES`. What waits already isn't asked for twice. Home and numbers are the directory's, which
    may have forgotten them when the command runs."""
    await db.flush()
    mine = select(HomeRun).where(HomeRun.user_id == user.id, HomeRun.task == task)
    waiting = await db.scalar(mine.where(HomeRun.state.in_(LIVE)).limit(1))
    if waiting is not None:
        return waiting
    row = HomeRun(
        user_id=user.id,
        task=task,
        home=home or "",
        uid=NOBODYS if uid is None else uid,
        gid=NOBODYS if gid is None else gid,
        requested_by=by,
    )
    db.add(row)
    return row


async def request_once(
    db: AsyncSession, settings: Settings, user: User, person: Person, *, by: str
) -> bool:
    """Have the home directory of someone made for whom that was never asked: at their creation,
    or at the first login. Whether it was asked for now."""
    if not command(settings, HomeTask.CREATE):
        return False
    await db.flush()
    mine = select(HomeRun.id).where(HomeRun.user_id == user.id, HomeRun.task == HomeTask.CREATE)
    if await db.scalar(mine.limit(1)) is not None:
        return False
    await request_for(db, user, person, HomeTask.CREATE, by=by)
    return True


async def request_for(
    db: AsyncSession, user: User, person: Person, task: HomeTask, *, by: str
) -> HomeRun:
    """As `request`, with home and numbers of the directory's entry."""
    return await request(db, user, task, home=person.home, uid=person.uid, gid=person.gid, by=by)


def arguments(settings: Settings, username: str, row: HomeRun) -> list[str]:
    """The command for this row. Raises Conflict with the reason where it is better not run: it may
    work as root on a path that the directory names."""
    must_be_on(settings, row.task)
    path = PurePosixPath(row.home)
    plain = str(path) == row.home and path.is_absolute() and ".." not in path.parts
    if not plain or len(path.parts) < 3 or not row.home.isprintable():
        raise Conflict("The directory names nothing that could be this person's home directory.")
    if row.uid < settings.min_uid or row.gid < 0:
        raise Conflict("The directory gives this person no numbers of their own (uid and gid).")
    places = {"username": username, "uid": row.uid, "gid": row.gid, "home": row.home}
    return [part.format(**places) for part in command(settings, row.task)]
