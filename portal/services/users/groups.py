"""Directory groups, as administrators see and change them.

Memberships decide who may use and administer the portal; changes take effect at once.
"""

from collections.abc import Collection
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.directory.contract import Capabilities, DirectoryGroup, GroupsPage, NewGroup
from portal.errors import Conflict, DirectoryUnfinished, LastAdmin, NotFound
from portal.models import GroupManager, Role, User
from portal.services.audit.audit import Action, By, record
from portal.services.auth.accounts import Accounts
from portal.services.users import lookup, role_changes

LOOKED_UP = 200
"""Maximum number of members to look up in the directory by name.

In larger groups only the names that the portal has stored are shown.
"""


@dataclass(frozen=True)
class DirectoryMember:
    """A member of a group.

    `display_name` None: not looked up. `inherited`: a member through a nested group.
    """

    username: str
    display_name: str | None
    inherited: bool
    user: User | None


@dataclass(frozen=True)
class GroupDetails:
    """A group with its members and managers."""

    group: DirectoryGroup
    members: list[DirectoryMember]
    managers: list[str]
    capabilities: Capabilities


async def page(accounts: Accounts, query: str, cursor: str | None, limit: int) -> GroupsPage:
    """Return a page of groups with every word of `query` in their name or description."""
    return await accounts.directory.groups(query, cursor, limit)


async def one(accounts: Accounts, name: str) -> GroupDetails:
    """Return a group with its members. Raises NotFound."""
    group = await accounts.directory.group(name)
    if group is None:
        raise NotFound(f"There is no group {name[:64]} in the directory.")
    everyone = set(group.members)
    if group.groups and accounts.settings.ldap_nested_groups:
        everyone |= await accounts.directory.members(name)
    names = await _load_display_names(accounts, everyone)
    able = await lookup.capabilities(accounts)
    async with accounts.database.session() as db:
        users = await _load_users(db, everyone)
        managers = await managers_of(db, name)
    members = [
        DirectoryMember(
            username,
            names.get(username) or (user.display_name if user else None),
            inherited=username not in group.members,
            user=user,
        )
        for username in sorted(everyone)
        for user in [users.get(username)]
    ]
    return GroupDetails(group, members, managers, able)


async def managers_of(db: AsyncSession, group: str) -> list[str]:
    query = (
        select(User.username)
        .join(GroupManager, GroupManager.user_id == User.id)
        .where(GroupManager.group_name == group)
    )
    return sorted((await db.scalars(query)).all())


async def _load_display_names(accounts: Accounts, usernames: set[str]) -> dict[str, str]:
    if len(usernames) > LOOKED_UP:
        return {}
    found = await accounts.directory.find_many(sorted(usernames))
    return {name: entry.display_name for name, entry in found.items()}


async def _load_users(db: AsyncSession, usernames: set[str]) -> dict[str, User]:
    names, found = sorted(usernames), dict[str, User]()
    for at in range(0, len(names), LOOKED_UP):
        some = names[at : at + LOOKED_UP]
        rows = await db.scalars(select(User).where(User.username.in_(some)))
        found.update({user.username: user for user in rows})
    return found


# --- changes --------------------------------------------------------------------------------------


async def create(accounts: Accounts, new: NewGroup, by: By) -> DirectoryGroup:
    """Create a group. Its members' rights in the portal are updated at once."""
    try:
        made = await accounts.directory.create_group(new)
    except DirectoryUnfinished as error:
        await _record(accounts, by, Action.GROUP_CREATE, new.name, {"unfinished": error.detail})
        raise
    detail = {"gid": made.gid, "members": sorted(made.members)}
    await _record(accounts, by, Action.GROUP_CREATE, new.name, detail)
    for username in sorted(made.members):
        await lookup.note_groups(accounts, username)
    return made


async def delete(accounts: Accounts, name: str, by: By) -> None:
    """Delete a group.

    Raises NotFound, and Conflict while it is a user's primary group or the settings name it.
    """
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
        await lookup.note_groups(accounts, username)


def _refuse_named(accounts: Accounts, name: str) -> None:
    settings = accounts.settings
    for setting, names in (
        ("ldap_admin_groups", settings.ldap_admin_groups),
        ("ldap_viewer_groups", settings.ldap_viewer_groups),
        ("ldap_user_groups", settings.ldap_user_groups),
    ):
        if name in names:
            raise Conflict(f"The setting {setting} lists this group. Remove it there first.")


async def _refuse_last_admins(accounts: Accounts, usernames: Collection[str]) -> None:
    """Raise LastAdmin if all administrators are members.

    With nested groups, any group may be the one that makes them administrators.
    """
    query = select(User).where(
        User.role == Role.ADMIN, User.granted_role.is_distinct_from(Role.ADMIN)
    )
    async with accounts.database.session() as db:
        found = [user for user in await db.scalars(query) if role_changes.is_active_admin(user)]
    if found and all(user.username in usernames for user in found):
        raise LastAdmin(role_changes.NONE_LEFT)


async def add(accounts: Accounts, name: str, username: str, by: By) -> None:
    """Add a user to a group; does nothing for a member."""
    await lookup.fetch_entry(accounts, username)
    try:
        await accounts.directory.add_member(name, username)
    except DirectoryUnfinished as error:
        await _record_member(accounts, by, Action.GROUP_ADD, name, username, error.detail)
        raise
    await _record_member(accounts, by, Action.GROUP_ADD, name, username)
    await lookup.note_groups(accounts, username)


async def remove(accounts: Accounts, name: str, username: str, by: By) -> None:
    """Remove a user from a group, even if the directory no longer has the user.

    Raises LastAdmin, and Conflict for the last member of a groupOfNames and for administrators who
    would end their own role.
    """
    async with AsyncExitStack() as stack:
        if await _makes_admin(accounts, name, username):
            role_changes.not_oneself(by, username, "end your own administrator role")
            await stack.enter_async_context(role_changes.keeping_one(accounts, username))
        try:
            await accounts.directory.remove_member(name, username)
        except DirectoryUnfinished as error:
            await _record_member(accounts, by, Action.GROUP_REMOVE, name, username, error.detail)
            raise
        await _record_member(accounts, by, Action.GROUP_REMOVE, name, username)
        await lookup.note_groups(accounts, username)


async def _makes_admin(accounts: Accounts, name: str, username: str) -> bool:
    """Return whether the user might lose the administrator role without this group.

    With nested groups, any group may be the one that gives the role.
    """
    settings = accounts.settings
    giving = set(settings.ldap_admin_groups)
    if name not in giving and not settings.ldap_nested_groups:
        return False
    async with accounts.database.session() as db:
        user = await lookup.user_of(db, username)
    if user is None or user.granted_role is Role.ADMIN:
        return False
    entry = await accounts.directory.find(username)
    others = entry.groups & giving - {name} if entry is not None else set[str]()
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
