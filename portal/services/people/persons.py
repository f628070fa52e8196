"""People as administrators see them: the directory's entry and the portal's own row together.

The directory says who there is. A row of `users` is the portal's memory of someone: it is made when
they log in, and when an administrator makes or names them. Nothing here changes the directory.
"""

import re
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.db import utcnow
from portal.directory.contract import MAX_PAGE, Ability, Capabilities, Person
from portal.errors import Conflict, DirectoryUnavailable, NotFound
from portal.models import (
    AccessToken,
    GroupLeader,
    HomeRun,
    Job,
    JobKind,
    JobState,
    SecondFactor,
    User,
    WebSession,
)
from portal.services.changes import LIMITS
from portal.services.login.accounts import Accounts
from portal.services.people import people
from portal.settings import USERNAME_PATTERN, Settings

HOME_RUNS = 10
DOWN = (
    "The directory doesn't answer at the moment. What you see is what the portal remembers; nothing"
    " can be changed in the directory until it is back."
)
CANT_FIND = (
    "The portal can't look people up in this directory (it has ldap_user_dn_template). What you see"
    " is who has logged in."
)
SEVERAL = (
    "The directory has several entries called {name}, so nobody knows which is meant, and none of "
    "them can log in. Whoever looks after the directory can mend that."
)
ANOTHER = (
    "The portal remembers another {name}, whose number was {old}; this one's is {new}. Delete the"
    " old one here first."
)
_LOCAL = JobKind.SESSION, JobKind.JOB


@dataclass(frozen=True)
class Live:
    """What somebody has running, or waiting to."""

    sessions: int = 0
    jobs: int = 0


@dataclass(frozen=True)
class Whole:
    """All there is about somebody. `person` None: not in the directory, or `problem` says why that
    isn't known. `user` None: the portal has no row of them. Never both."""

    username: str
    person: Person | None
    user: User | None
    problem: str | None
    capabilities: Capabilities
    groups: list[str]
    leads: list[str]
    second_factor: bool
    web_sessions: int
    tokens: int
    live: Live
    home_runs: list[HomeRun]


def unmanaged(settings: Settings, person: Person) -> str | None:
    """Why the portal shows someone and changes nothing of them; None for those it manages."""
    if person.uid is not None and person.uid < settings.min_uid:
        return (
            f"This is a system account: its number is below {settings.min_uid}. The portal shows it"
            " and changes nothing about it."
        )
    if not re.fullmatch(USERNAME_PATTERN, person.username):
        return (
            "UNIX and Slurm refuse this username, so nobody can work on the cluster with it. The "
            "portal changes nothing about it."
        )
    return None


def check_managed(settings: Settings, person: Person) -> None:
    """Raises Conflict for someone whom the portal doesn't manage."""
    if why := unmanaged(settings, person):
        raise Conflict(why)


async def person_of(accounts: Accounts, username: str) -> Person:
    """Somebody whom the portal manages, as the directory has them. Raises NotFound, Conflict."""
    found = await accounts.directory.find(username)
    if found is None:
        if await _are_several(accounts, username):
            raise Conflict(SEVERAL.format(name=username))
        raise NotFound(f"There is nobody called {username[:64]} in the directory.")
    check_managed(accounts.settings, found)
    return found


async def _are_several(accounts: Accounts, username: str) -> bool:
    """Whether the directory has several entries of this name: then it is nobody's."""
    if not re.fullmatch(USERNAME_PATTERN, username):
        return False
    page = await accounts.directory.page(username, limit=MAX_PAGE)
    return sum(person.username == username for person in page.people) > 1


async def user_of(db: AsyncSession, username: str) -> User | None:
    """The portal's row of somebody."""
    return await db.scalar(select(User).where(User.username == username))


async def ensure(db: AsyncSession, settings: Settings, person: Person) -> User:
    """The portal's row of somebody in the directory, made if there is none, and brought up to what
    the directory says; in the caller's transaction. `person` comes with groups.

    Raises Conflict where the row is about somebody else, who had this name with another number.
    """
    user = await user_of(db, person.username)
    if user is None:
        user = User(username=person.username)
        db.add(user)
    elif not people.is_same(user, person):
        raise Conflict(ANOTHER.format(name=person.username, old=user.uid, new=person.uid))
    user.display_name, user.email, user.uid = person.display_name, person.email, person.uid
    await people.learn(db, settings, user, person.groups)
    return user


async def note_groups(accounts: Accounts, username: str) -> None:
    """Someone's groups have changed just now: what that means here counts at once, not only at
    their next login."""
    async with accounts.database.session() as db:
        known = await user_of(db, username) is not None
    person = await accounts.directory.find(username) if known else None
    if person is not None:
        async with accounts.database.session() as db:
            user = await user_of(db, username)
            if user is not None and people.is_same(user, person):
                await people.learn(db, accounts.settings, user, person.groups)
                await db.commit()
    accounts.changes.notify(LIMITS)


async def capabilities(accounts: Accounts) -> Capabilities:
    """What can be done in this directory; nothing while it doesn't answer."""
    try:
        return await accounts.directory.capabilities()
    except DirectoryUnavailable:
        kind = accounts.settings.ldap_directory
        return Capabilities(kind, dict.fromkeys(Ability, DOWN))


async def one(accounts: Accounts, username: str) -> Whole:
    """Everything about somebody. Raises NotFound, Conflict where the directory has several of this
    name, and DirectoryUnavailable for someone whom the portal doesn't remember while the directory
    is silent."""
    person, problem, silence = None, None, None
    try:
        if not accounts.directory.finds:
            problem = CANT_FIND
        else:
            person = await accounts.directory.find(username)
            if person is None and await _are_several(accounts, username):
                problem = SEVERAL.format(name=username)
    except DirectoryUnavailable as error:
        problem, silence = DOWN, error
    able = await capabilities(accounts)
    async with accounts.database.session() as db:
        user = await user_of(db, username)
        if user is not None or person is not None:
            return await _whole(db, username, person, user, problem, able)
    if silence is not None:
        raise silence
    if problem is not None and accounts.directory.finds:
        raise Conflict(problem)
    raise NotFound(f"There is nobody called {username[:64]}.")


async def _whole(
    db: AsyncSession,
    username: str,
    person: Person | None,
    user: User | None,
    problem: str | None,
    able: Capabilities,
) -> Whole:
    mine = user.id if user is not None else ""
    remembered = await people.names_of(db, mine)
    leading = select(GroupLeader.group_name).where(GroupLeader.user_id == mine)
    factor = select(SecondFactor.user_id).where(
        SecondFactor.user_id == mine, SecondFactor.confirmed_at.is_not(None)
    )
    now = utcnow()
    open_sessions = select(func.count()).where(
        WebSession.user_id == mine, WebSession.expires_at > now
    )
    tokens = select(func.count()).where(AccessToken.user_id == mine, AccessToken.expires_at > now)
    runs = select(HomeRun).where(HomeRun.user_id == mine)
    newest = runs.order_by(HomeRun.created_at.desc(), HomeRun.id).limit(HOME_RUNS)
    return Whole(
        username=username,
        person=person,
        user=user,
        problem=problem,
        capabilities=able,
        groups=sorted(person.groups) if person is not None else remembered,
        leads=sorted((await db.scalars(leading)).all()),
        second_factor=await db.scalar(factor) is not None,
        web_sessions=await db.scalar(open_sessions) or 0,
        tokens=await db.scalar(tokens) or 0,
        live=await _live(db, mine),
        home_runs=list((await db.scalars(newest)).all()),
    )


async def _live(db: AsyncSession, user_id: str) -> Live:
    query = (
        select(Job.kind, func.count())
        .where(Job.user_id == user_id, Job.state != JobState.ENDED, Job.kind.in_(_LOCAL))
        .group_by(Job.kind)
    )
    counts = dict((await db.execute(query)).all())
    return Live(counts.get(JobKind.SESSION, 0), counts.get(JobKind.JOB, 0))
