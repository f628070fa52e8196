"""Groups of the directory as administrators see and change them.

Who is in a group decides who may use the portal and who administers it: what such a change means
here counts at once.
"""

from collections.abc import Collection
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.directory.contract import Capabilities, Group, GroupsPage, NewGroup
from portal.errors import Conflict, DirectoryUnfinished, LastAdmin, NotFound
from portal.models import GroupLeader, Role, User
from portal.services.audit.audit import Action, By, record
from portal.services.login.accounts import Accounts
from portal.services.people import admins, persons

LOOKED_UP = 200
"""Members whose names the directory is asked for; of more only those are shown that the portal
remembers."""


@dataclass(frozen=True)
class Member:
    """Somebody in a group. `display_name` None: not asked for. `inherited`: by way of a group
    within it."""

    username: str
    display_name: str | None
    inherited: bool
    user: User | None


@dataclass(frozen=True)
class Whole:
    """A group, who is in it, and who leads it."""

    group: Group
    members: list[Member]
    leaders: list[str]
    capabilities: Capabilities


async def page(accounts: Accounts, query: str, cursor: str | None, limit: int) -> GroupsPage:
    """Some groups whose name or description hold every word of `query`."""
    return await accounts.directory.groups(query, cursor, limit)


async def one(accounts: Accounts, name: str) -> Whole:
    """Raises NotFound."""
    group = await accounts.directory.group(name)
    if group is None:
        raise NotFound(f"There is no group {name[:64]} in the directory.")
    everyone = set(group.members)
    if group.groups and accounts.settings.ldap_nested_groups:
        everyone |= await accounts.directory.members(name)
    names = await _display_names(accounts, everyone)
    able = await persons.capabilities(accounts)
    async with accounts.database.session() as db:
        users = await _users(db, everyone)
        leaders = await leaders_of(db, name)
    members = [
        Member(
            username,
            names.get(username) or (user.display_name if user else None),
            inherited=username not in group.members,
            user=user,
        )
        for username in sorted(everyone)
        for user in [users.get(username)]
    ]
    return Whole(group, members, leaders, able)


async def leaders_of(db: AsyncSession, group: str) -> list[str]:
    query = (
        select(User.username)
        .join(GroupLeader, GroupLeader.user_id == User.id)
        .where(GroupLeader.group_name == group)
    )
    return sorted((await db.scalars(query)).all())


async def _display_names(accounts: Accounts, usernames: set[str]) -> dict[str, str]:
    if len(usernames) > LOOKED_UP:
        return {}
    found = await accounts.directory.find_many(sorted(usernames))
    return {name: person.display_name for name, person in found.items()}


async def _users(db: AsyncSession, usernames: set[str]) -> dict[str, User]:
    names, found = sorted(usernames), dict[str, User]()
    for at in range(0, len(names), LOOKED_UP):
        some = names[at : at + LOOKED_UP]
        rows = await db.scalars(select(User).where(User.username.in_(some)))
        found.update({user.username: user for user in rows})
    return found


# --- changes --------------------------------------------------------------------------------------


async def create(accounts: Accounts, new: NewGroup, by: By) -> Group:
    """A new group, its members counting at once."""
    try:
        made = await accounts.directory.create_group(new)
    except DirectoryUnfinished as error:
        await _record(accounts, by, Action.GROUP_CREATE, new.name, {"unfinished": error.detail})
        raise
    detail = {"gid": made.gid, "members": sorted(made.members)}
    await _record(accounts, by, Action.GROUP_CREATE, new.name, detail)
    for username in sorted(made.members):
        await persons.note_groups(accounts, username)
    return made


async def delete(accounts: Accounts, name: str, by: By) -> None:
    """Remove a group. Raises NotFound, and Conflict while it is somebody's primary group or the
    settings name it."""
    group = await accounts.directory.group(name)
    if group is None:
        raise NotFound(f"There is no group {name[:64]} in the directory.")
    _refuse_named(accounts, group.name)
    if accounts.settings.ldap_nested_groups:
        await _refuse_last_admins(accounts, await accounts.directory.members(name))
    try:
        await accounts.directory.delete_group(name)
    except DirectoryUnfinished as error:
        await _record(accounts, by, Action.GROUP_DELETE, name, {"unfinished": error.detail})
        raise
    await _record(accounts, by, Action.GROUP_DELETE, name, {"members": sorted(group.members)})
    for username in sorted(group.members):
        await persons.note_groups(accounts, username)


def _refuse_named(accounts: Accounts, name: str) -> None:
    settings = accounts.settings
    for setting, names in (
        ("ldap_admin_groups", settings.ldap_admin_groups),
        ("ldap_viewer_groups", settings.ldap_viewer_groups),
        ("ldap_user_groups", settings.ldap_user_groups),
    ):
        if name in names:
            raise Conflict(f"The setting {setting} names this group: take it out of there first.")


async def _refuse_last_admins(accounts: Accounts, usernames: Collection[str]) -> None:
    """Where groups lie in groups, any may be the one that all administrators come by."""
    query = select(User).where(
        User.role == Role.ADMIN, User.granted_role.is_distinct_from(Role.ADMIN)
    )
    async with accounts.database.session() as db:
        found = [user for user in await db.scalars(query) if admins.counts(user)]
    if found and all(user.username in usernames for user in found):
        raise LastAdmin(admins.NONE_LEFT)


async def add(accounts: Accounts, name: str, username: str, by: By) -> None:
    """Put somebody into a group; who is in it already stays."""
    await persons.person_of(accounts, username)
    try:
        await accounts.directory.add_member(name, username)
    except DirectoryUnfinished as error:
        await _record_member(accounts, by, Action.GROUP_ADD, name, username, error.detail)
        raise
    await _record_member(accounts, by, Action.GROUP_ADD, name, username)
    await persons.note_groups(accounts, username)


async def remove(accounts: Accounts, name: str, username: str, by: By) -> None:
    """Take somebody out of a group, be they still in the directory or not. Raises LastAdmin, and
    Conflict for the last member of a groupOfNames, and for an administrator who would end their
    own role."""
    async with AsyncExitStack() as stack:
        if await _makes_admin(accounts, name, username):
            admins.not_oneself(by, username, "end your own administrator's role")
            await stack.enter_async_context(admins.keeping_one(accounts, username))
        try:
            await accounts.directory.remove_member(name, username)
        except DirectoryUnfinished as error:
            await _record_member(accounts, by, Action.GROUP_REMOVE, name, username, error.detail)
            raise
        await _record_member(accounts, by, Action.GROUP_REMOVE, name, username)
        await persons.note_groups(accounts, username)


async def _makes_admin(accounts: Accounts, name: str, username: str) -> bool:
    """Whether somebody might be no administrator any more without this group. Where groups lie in
    groups any of them may be the way to it."""
    settings = accounts.settings
    giving = set(settings.ldap_admin_groups)
    if name not in giving and not settings.ldap_nested_groups:
        return False
    async with accounts.database.session() as db:
        user = await persons.user_of(db, username)
    if user is None or user.granted_role is Role.ADMIN:
        return False
    person = await accounts.directory.find(username)
    others = person.groups & giving - {name} if person is not None else set[str]()
    return settings.ldap_nested_groups or not others


async def _record_member(
    accounts: Accounts, by: By, action: Action, group: str, username: str, unfinished: str = ""
) -> None:
    detail = {"group": group, **({"unfinished": unfinished} if unfinished else {})}
    await _record(accounts, by, action, username, detail)


async def _record(
    accounts: Accounts, by: By, action: Action, target: str, detail: dict[str, Any]
) -> None:
    async with accounts.database.session() as db:
        record(db, action, actor=by.actor, target=target, detail=detail, ip=by.ip)
        await db.commit()
