"""What someone may do: roles from the directory and by grant, and who leads which group.

Who gives and takes roles, and that an administrator is left, is services/admins.py's business.
"""

from collections.abc import Collection

from sqlalchemy import select

from portal.db import Database
from portal.models import GroupLeader, Role, User
from portal.settings import Settings

_ORDER = tuple(Role)


def role_for(groups: Collection[str], settings: Settings) -> Role | None:
    """The role that these groups give; None for those who may not use the portal."""
    mine = set(groups)
    if mine & set(settings.ldap_admin_groups):
        return Role.ADMIN
    if mine & set(settings.ldap_viewer_groups):
        return Role.VIEWER
    if not settings.ldap_user_groups or mine & set(settings.ldap_user_groups):
        return Role.USER
    return None


def effective(directory_role: Role | None, granted_role: Role | None) -> Role:
    """What counts of both: the higher one. A grant is nothing without the directory's leave to use
    the portal at all."""
    if directory_role is None or granted_role is None:
        return directory_role or Role.USER
    return max(directory_role, granted_role, key=_ORDER.index)


def refresh(settings: Settings, user: User, groups: Collection[str]) -> None:
    """Write what the directory's groups mean for someone into their row."""
    user.directory_role = role_for(groups, settings)
    user.role = effective(user.directory_role, user.granted_role)


async def role_of(database: Database, user_id: str) -> Role:
    """The role that counts now."""
    async with database.session() as db:
        return await db.scalar(select(User.role).where(User.id == user_id)) or Role.USER


async def leads(database: Database, user_id: str, group: str) -> bool:
    """Whether someone is a leader of the group."""
    async with database.session() as db:
        return await db.get(GroupLeader, (group, user_id)) is not None


async def led_by(database: Database, user_id: str) -> list[str]:
    """Names of the groups that someone leads."""
    query = select(GroupLeader.group_name).where(GroupLeader.user_id == user_id)
    async with database.session() as db:
        return sorted((await db.scalars(query)).all())
