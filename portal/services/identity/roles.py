"""Roles, from the directory and by grant, and group managers.

services/users/role_changes.py grants and revokes roles and ensures that an administrator is left.
"""

from collections.abc import Collection

from sqlalchemy import and_, or_, select

from portal.config.settings import Settings
from portal.db import Database
from portal.models import GroupManager, Role, User

_ORDER = tuple(Role)
NOT_ADMITTED = "Your account isn't in a group that may use this portal; ask your administrators."
IS_ADMITTED = or_(User.directory_role.is_not(None), User.groups_at.is_(None))
"""SQL condition for `is_admitted`."""
IS_ADMITTED_AND_ENABLED = and_(User.disabled_at.is_(None), IS_ADMITTED)
"""SQL condition for `is_admitted_and_enabled`."""


def is_admitted(user: User) -> bool:
    """Return whether the user's last known groups let them use the portal.

    True for users who were never looked up: their first login will decide.
    """
    return user.directory_role is not None or user.groups_at is None


def is_admitted_and_enabled(user: User) -> bool:
    """Return whether the user's open logins and tokens are still valid."""
    return user.disabled_at is None and is_admitted(user)


def derive_role(groups: Collection[str], settings: Settings) -> Role | None:
    """Return the role that these groups give; None if they do not admit to the portal."""
    own = set(groups)
    if own & set(settings.ldap_admin_groups):
        return Role.ADMIN
    if own & set(settings.ldap_viewer_groups):
        return Role.VIEWER
    if not settings.ldap_user_groups or own & set(settings.ldap_user_groups):
        return Role.USER
    return None


def choose_higher(directory_role: Role | None, granted_role: Role | None) -> Role:
    """Return the higher of both roles.

    A grant has no effect for users that the directory does not admit to the portal.
    """
    if directory_role is None or granted_role is None:
        return directory_role or Role.USER
    return max(directory_role, granted_role, key=_ORDER.index)


def refresh(settings: Settings, user: User, groups: Collection[str]) -> None:
    """Update the user's role from the directory's groups."""
    user.directory_role = derive_role(groups, settings)
    user.role = choose_higher(user.directory_role, user.granted_role)


async def load_role(database: Database, user_id: str) -> Role:
    """Return the user's effective role."""
    async with database.session() as db:
        return await db.scalar(select(User.role).where(User.id == user_id)) or Role.USER


async def is_manager(database: Database, user_id: str, group: str) -> bool:
    """Return whether the user manages the group."""
    async with database.session() as db:
        return await db.get(GroupManager, (group, user_id)) is not None


async def load_managed_groups(database: Database, user_id: str) -> list[str]:
    """Return the names of the groups that the user manages."""
    query = select(GroupManager.group_name).where(GroupManager.user_id == user_id)
    async with database.session() as db:
        return sorted((await db.scalars(query)).all())
