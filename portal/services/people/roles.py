"""What someone may do: roles from the directory and by grant, and who leads which group.

Who gives and takes roles, and that an administrator is left, is services/people/admins.py's
business.
"""

from collections.abc import Collection

from sqlalchemy import and_, or_, select

from portal.db import Database
from portal.models import GroupLeader, Role, User
from portal.settings import Settings

_ORDER = tuple(Role)
NOT_ADMITTED = "Your account isn't in a group that may use this portal; ask your administrators."
IS_ADMITTED = or_(User.directory_role.is_not(None), User.groups_at.is_(None))
"""`is_admitted`, in SQL."""
MAY_ENTER = and_(User.disabled_at.is_(None), IS_ADMITTED)
"""`may_enter`, in SQL."""


def is_admitted(user: User) -> bool:
    """Whether the groups that someone was in at the last look let them use the portal. True of
    those never looked up: a login, their first, will say."""
    return user.directory_role is not None or user.groups_at is None


def may_enter(user: User) -> bool:
    """Whether what was opened for someone, a login or a token, still opens anything."""
    return user.disabled_at is None and is_admitted(user)


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
