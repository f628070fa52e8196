"""Directory groups, as administrators see and change them.

Memberships decide who may use and administer the portal; changes take effect at once.
"""

from collections.abc import Collection
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.context import AppContext
from portal.directory.contract import Capabilities, DirectoryGroup, GroupsPage, NewGroup
from portal.errors import Conflict, DirectoryUnfinished, LastAdmin, NotFound
from portal.models import GroupManager, Role, User
from portal.services.audit.audit import Action, Actor, record
from portal.services.users import lookup, role_changes

MAX_LOOKED_UP = 200
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


async def page(context: AppContext, query: str, cursor: str | None, limit: int) -> GroupsPage:
    """Return a page of groups with every word of `query` in their name or description."""
    return await context.directory.groups(query, cursor, limit)


async def load_details(context: AppContext, name: str) -> GroupDetails:
    """Return a group with its members. Raises NotFound."""
    group = await context.directory.group(name)
    if group is None:
        raise NotFound(f"There is no group {name[:64]} in the directory.")
    everyone = set(group.members)
    if group.groups and context.settings.ldap_nested_groups:
        everyone |= await context.directory.members(name)
    names = await _load_display_names(context, everyone)
    able = await lookup.load_capabilities(context)
    async with context.db.session() as db:
        users = await _load_users(db, everyone)
        managers = await load_managers(db, name)
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


async def load_managers(db: AsyncSession, group: str) -> list[str]:
    query = (
        select(User.username)
        .join(GroupManager, GroupManager.user_id == User.id)
        .where(GroupManager.group_name == group)
    )
    return sorted((await db.scalars(query)).all())


async def _load_display_names(context: AppContext, usernames: set[str]) -> dict[str, str]:
    if len(usernames) > MAX_LOOKED_UP:
        return {}
    entries = await context.directory.find_many(sorted(usernames))
    return {name: entry.display_name for name, entry in entries.items()}


async def _load_users(db: AsyncSession, usernames: set[str]) -> dict[str, User]:
    names, users = sorted(usernames), dict[str, User]()
    for at in range(0, len(names), MAX_LOOKED_UP):
        some = names[at : at + MAX_LOOKED_UP]
        rows = await db.scalars(select(User).where(User.username.in_(some)))
        users.update({user.username: user for user in rows})
    return users


# --- changes --------------------------------------------------------------------------------------


async def create(context: AppContext, new: NewGroup, by: Actor) -> DirectoryGroup:
    """Create a group. Its members' rights in the portal are updated at once."""
    try:
        group = await context.directory.create_group(new)
    except DirectoryUnfinished as error:
        await _record(context, by, Action.GROUP_CREATE, new.name, {"unfinished": error.detail})
        raise
    detail = {"gid": group.gid, "members": sorted(group.members)}
    await _record(context, by, Action.GROUP_CREATE, new.name, detail)
    for username in sorted(group.members):
        await lookup.refresh_after_group_change(context, username)
    return group


async def delete(context: AppContext, name: str, by: Actor) -> None:
    """Delete a group.

    Raises NotFound, and Conflict while it is a user's primary group or the settings name it.
    """
    group = await context.directory.group(name)
    if group is None:
        raise NotFound(f"There is no group {name[:64]} in the directory.")
    _refuse_named(context, group.name)
    if context.settings.ldap_nested_groups:
        await _refuse_last_admins(context, await context.directory.members(name))
    try:
        await context.directory.delete_group(name)
    except DirectoryUnfinished as error:
        await _record(context, by, Action.GROUP_DELETE, name, {"unfinished": error.detail})
        raise
    await _record(context, by, Action.GROUP_DELETE, name, {"members": sorted(group.members)})
    for username in sorted(group.members):
        await lookup.refresh_after_group_change(context, username)


def _refuse_named(context: AppContext, name: str) -> None:
    settings = context.settings
    for setting, names in (
        ("ldap_admin_groups", settings.ldap_admin_groups),
        ("ldap_viewer_groups", settings.ldap_viewer_groups),
        ("ldap_user_groups", settings.ldap_user_groups),
    ):
        if name in names:
            raise Conflict(f"The setting {setting} lists this group. Remove it there first.")


async def _refuse_last_admins(context: AppContext, usernames: Collection[str]) -> None:
    """Raise LastAdmin if deleting a group with these members might leave no administrator.

    With nested groups, any group may be the one that makes a member an administrator, or that
    admits a member with a granted role to the portal.
    """
    all_admitted = not context.settings.ldap_user_groups
    async with context.db.session() as db:
        rows = await db.scalars(select(User).where(User.role == Role.ADMIN))
        admins = [user for user in rows if role_changes.is_active_admin(user)]
    remaining = [
        user
        for user in admins
        if user.username not in usernames or (all_admitted and user.granted_role is Role.ADMIN)
    ]
    if admins and not remaining:
        raise LastAdmin(role_changes.NONE_LEFT)


async def add(context: AppContext, name: str, username: str, by: Actor) -> None:
    """Add a user to a group; does nothing for a member."""
    await lookup.fetch_entry(context, username)
    try:
        await context.directory.add_member(name, username)
    except DirectoryUnfinished as error:
        await _record_member(context, by, Action.GROUP_ADD, name, username, error.detail)
        raise
    await _record_member(context, by, Action.GROUP_ADD, name, username)
    await lookup.refresh_after_group_change(context, username)


async def remove(context: AppContext, name: str, username: str, by: Actor) -> None:
    """Remove a user from a group, even if the directory no longer has the user.

    Raises LastAdmin, and Conflict for the last member of a groupOfNames and for administrators who
    would end their own role.
    """
    async with AsyncExitStack() as stack:
        if await _makes_admin(context, name, username):
            role_changes.refuse_oneself(by, username, "end your own administrator role")
            await stack.enter_async_context(role_changes.guard_last_admin(context, username))
        try:
            await context.directory.remove_member(name, username)
        except DirectoryUnfinished as error:
            await _record_member(context, by, Action.GROUP_REMOVE, name, username, error.detail)
            raise
        await _record_member(context, by, Action.GROUP_REMOVE, name, username)
        await lookup.refresh_after_group_change(context, username)


async def _makes_admin(context: AppContext, name: str, username: str) -> bool:
    """Return whether the user might lose the administrator role without this group.

    With nested groups, any group may be the one that gives the role.
    """
    settings = context.settings
    giving = set(settings.ldap_admin_groups)
    if name not in giving and not settings.ldap_nested_groups:
        return False
    async with context.db.session() as db:
        user = await lookup.load_user(db, username)
    if user is None or user.granted_role is Role.ADMIN:
        return False
    entry = await context.directory.find(username)
    others = entry.groups & giving - {name} if entry is not None else set[str]()
    return settings.ldap_nested_groups or not others


async def _record_member(
    context: AppContext, by: Actor, action: Action, group: str, username: str, unfinished: str = ""
) -> None:
    detail = {"group": group, **({"unfinished": unfinished} if unfinished else {})}
    await _record(context, by, action, username, detail)


async def _record(
    context: AppContext, by: Actor, action: Action, target: str, detail: dict[str, Any]
) -> None:
    async with context.db.session() as db:
        record(db, action, actor=by.actor, target=target, detail=detail, ip=by.ip)
        await db.commit()
