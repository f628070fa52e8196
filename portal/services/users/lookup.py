"""Users as administrators see them: the directory entry joined with the portal's row.

The directory decides who exists. A row of `users` is created when a user logs in, or when an
administrator creates or refers to them. Nothing here changes the directory.
"""

from dataclasses import dataclass, replace

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.background.notifier import LIMITS
from portal.config.settings import Settings
from portal.context import AppContext
from portal.db import utcnow
from portal.directory.contract import MAX_PAGE, Ability, Capabilities, DirectoryUser
from portal.errors import Conflict, DirectoryUnavailable, NotFound
from portal.models import (
    AccessToken,
    GroupManager,
    HomeCommandRun,
    SecondFactor,
    User,
    WebSession,
)
from portal.services.identity import memberships
from portal.services.limits.live_counts import LiveCounts, count_live
from spawner.names import USERNAME

HOME_RUNS = 10
DOWN = (
    "The directory doesn't answer. You see the data that the portal has stored, and the "
    "directory can't be changed until it is back."
)
CANT_FIND = (
    "The portal can't look up users in this directory (it uses ldap_user_dn_template). "
    "You see only users who have logged in."
)
SEVERAL = (
    "The directory has several entries named {name}, so none of them can log in. Ask the "
    "directory's administrator to remove the duplicates."
)
ANOTHER_USER = (
    "The portal has another user {name} with the UID {old}; this one has {new}. Delete "
    "the old user here first."
)


@dataclass(frozen=True)
class UserDetails:
    """Everything about a user.

    `entry` None: not in the directory, or unknown for the reason in `problem`. `user` None: the
    portal has no row. At least one of them is set.
    """

    username: str
    entry: DirectoryUser | None
    user: User | None
    problem: str | None
    capabilities: Capabilities
    groups: list[str]
    manages: list[str]
    second_factor: bool
    web_sessions: int
    tokens: int
    live: LiveCounts
    home_runs: list[HomeCommandRun]
    primary_group: str | None = None


def explain_unmanaged(settings: Settings, entry: DirectoryUser) -> str | None:
    """Return why the portal shows a user and does not change them; None for those it manages."""
    if entry.uid is not None and entry.uid < settings.min_uid:
        return (
            f"This is a system account: its UID is below {settings.min_uid}. The portal "
            "only shows it."
        )
    if not USERNAME.fullmatch(entry.username):
        return (
            "UNIX and Slurm refuse this username, so it can't be used on the cluster. The "
            "portal only shows it."
        )
    return None


def check_managed(settings: Settings, entry: DirectoryUser) -> None:
    """Raise Conflict for a user that the portal does not manage."""
    if why := explain_unmanaged(settings, entry):
        raise Conflict(why)


async def fetch_entry(context: AppContext, username: str) -> DirectoryUser:
    """Return the directory entry of a managed user. Raises NotFound, Conflict."""
    entry = await context.directory.find(username)
    if entry is None:
        if await _is_ambiguous(context, username):
            raise Conflict(SEVERAL.format(name=username))
        raise NotFound(f"There is no user {username[:64]} in the directory.")
    check_managed(context.settings, entry)
    return entry


async def _is_ambiguous(context: AppContext, username: str) -> bool:
    """Return whether the directory has several entries of this name, so that none can be used."""
    if not USERNAME.fullmatch(username):
        return False
    page = await context.directory.page(username, limit=MAX_PAGE)
    return sum(entry.username == username for entry in page.users) > 1


async def load_user(db: AsyncSession, username: str) -> User | None:
    """Return the portal's row of a user."""
    return await db.scalar(select(User).where(User.username == username))


async def ensure(db: AsyncSession, settings: Settings, entry: DirectoryUser) -> User:
    """Return the portal's row of a directory user, created if needed and updated.

    Runs in the caller's transaction. `entry` must have its groups. Raises Conflict if the row is
    that of another user, who had this name with another uid.
    """
    user = await load_user(db, entry.username)
    if user is None:
        user = User(username=entry.username)
        db.add(user)
    elif not memberships.is_same(user, entry):
        raise Conflict(ANOTHER_USER.format(name=entry.username, old=user.uid, new=entry.uid))
    user.display_name, user.email, user.uid = entry.display_name, entry.email, entry.uid
    await memberships.store_groups_and_role(db, settings, user, entry.groups)
    return user


async def refresh_after_group_change(context: AppContext, username: str) -> None:
    """Update a user whose groups have just changed, so that the change takes effect at once."""
    async with context.db.session() as db:
        known = await load_user(db, username) is not None
    entry = await context.directory.find(username) if known else None
    if entry is not None:
        async with context.db.session() as db:
            user = await load_user(db, username)
            if user is not None and memberships.is_same(user, entry):
                await memberships.store_groups_and_role(db, context.settings, user, entry.groups)
                await db.commit()
    # groups decide limits: wake the loop that writes them to Slurm
    context.notifier.notify(LIMITS)


async def load_capabilities(context: AppContext) -> Capabilities:
    """Return what the directory supports; nothing while it does not answer."""
    try:
        return await context.directory.capabilities()
    except DirectoryUnavailable:
        kind = context.settings.ldap_directory
        return Capabilities(kind, dict.fromkeys(Ability, DOWN))


async def load_details(context: AppContext, username: str) -> UserDetails:
    """Return everything about a user.

    Raises NotFound, Conflict if the directory has several entries of this name, and
    DirectoryUnavailable for a user without a row while the directory does not answer.
    """
    # The directory is read last, so that it is never older than what the row records about it.
    details = await _load_row(context, username)
    entry, problem, silence, group = None, None, None, None
    try:
        if not context.directory.can_look_up_users:
            problem = CANT_FIND
        else:
            entry = await context.directory.find(username)
            if entry is None and await _is_ambiguous(context, username):
                problem = SEVERAL.format(name=username)
            if entry is not None and entry.gid is not None:
                group = await context.directory.group_name(entry.gid)
    except DirectoryUnavailable as error:
        problem, silence = DOWN, error
    if details.user is not None or entry is not None:
        return replace(
            details,
            entry=entry,
            problem=problem,
            primary_group=group,
            groups=sorted(entry.groups) if entry is not None else details.groups,
        )
    if silence is not None:
        raise silence
    if problem is not None and context.directory.can_look_up_users:
        raise Conflict(problem)
    raise NotFound(f"There is no user {username[:64]}.")


async def _load_row(context: AppContext, username: str) -> UserDetails:
    """Return what the database knows; the fields of the directory are empty."""
    able = await load_capabilities(context)
    async with context.db.session() as db:
        user = await load_user(db, username)
        user_id = user.id if user is not None else ""
        managed = select(GroupManager.group_name).where(GroupManager.user_id == user_id)
        factor = select(SecondFactor.user_id).where(
            SecondFactor.user_id == user_id, SecondFactor.confirmed_at.is_not(None)
        )
        now = utcnow()
        open_sessions = select(func.count()).where(
            WebSession.user_id == user_id, WebSession.expires_at > now
        )
        tokens = select(func.count()).where(
            AccessToken.user_id == user_id, AccessToken.expires_at > now
        )
        runs = select(HomeCommandRun).where(HomeCommandRun.user_id == user_id)
        newest = runs.order_by(HomeCommandRun.created_at.desc(), HomeCommandRun.id).limit(HOME_RUNS)
        return UserDetails(
            username=username,
            entry=None,
            user=user,
            problem=None,
            capabilities=able,
            groups=await memberships.load_names(db, user_id),
            manages=sorted((await db.scalars(managed)).all()),
            second_factor=await db.scalar(factor) is not None,
            web_sessions=await db.scalar(open_sessions) or 0,
            tokens=await db.scalar(tokens) or 0,
            live=await count_live(db, [username]),
            home_runs=list((await db.scalars(newest)).all()),
        )
