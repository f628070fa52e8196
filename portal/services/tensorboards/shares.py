"""Sharing of the TensorBoard of a session or job with users and groups, until it is revoked.

Only the owner decides; access.py checks access for every request.
"""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from portal.context import AppContext
from portal.errors import Conflict, FieldError, invalid_input
from portal.models import Job, Share, User
from portal.services.audit import audit
from portal.services.identity import memberships
from portal.services.tensorboards import tensorboards
from spawner.names import USERNAME

MAX_SHARES = 50
NO_GROUP = "You are not a member of this group. You can share only with groups you are a member of."


@dataclass(frozen=True)
class ShareTarget:
    """A user by name, or a group by name: exactly one of the two."""

    username: str | None = None
    group: str | None = None

    @property
    def condition(self) -> ColumnElement[bool]:
        if self.group is not None:
            return Share.group_name == self.group
        return Share.username == self.username


@dataclass(frozen=True)
class SharedWith:
    """Users and groups that a TensorBoard is shared with, each sorted by name."""

    users: list[str]
    groups: list[str]

    def has(self, target: ShareTarget) -> bool:
        return target.group in self.groups or target.username in self.users


async def load_shares(context: AppContext, parent: Job) -> SharedWith:
    """Return the users and groups that the TensorBoard of a session or job is shared with."""
    query = select(Share.username, Share.group_name).where(Share.parent_id == parent.id)
    async with context.db.session() as db:
        rows = (await db.execute(query)).all()
    return SharedWith(
        users=sorted(row.username for row in rows if row.username is not None),
        groups=sorted(row.group_name for row in rows if row.group_name is not None),
    )


async def add(
    context: AppContext, parent: Job, target: ShareTarget, *, by: User, ip: str = ""
) -> SharedWith:
    """Share with another user or group; idempotent. The user need not have logged in yet; of
    groups, only those that the sharer is in are allowed.

    Raises InvalidInput for a name that cannot be shared with, Conflict if there are too many
    shares.
    """
    shared = await load_shares(context, parent)
    if shared.has(target):
        return shared
    if target.group is not None:
        await _check_group(context, by, target.group)
    else:
        await _check_user(context, parent, target.username or "")
    if len(shared.users) + len(shared.groups) >= MAX_SHARES:
        raise Conflict(
            f"This is already shared with {MAX_SHARES} users and groups, which is the maximum."
        )
    await tensorboards.ensure(context, parent, parent.user)
    async with context.db.session() as db:
        db.add(Share(parent_id=parent.id, username=target.username, group_name=target.group))
        _record(db, audit.Action.SHARE_ADD, parent, target, by, ip)
        try:
            await db.commit()
        except IntegrityError:  # a concurrent request
            await db.rollback()
    return await load_shares(context, parent)


async def remove(
    context: AppContext, parent: Job, target: ShareTarget, *, by: User, ip: str = ""
) -> SharedWith:
    """Revoke a share, if it exists."""
    async with context.db.session() as db:
        query = delete(Share).where(Share.parent_id == parent.id, target.condition)
        if (await db.scalars(query.returning(Share.id))).all():
            _record(db, audit.Action.SHARE_REMOVE, parent, target, by, ip)
        await db.commit()
    return await load_shares(context, parent)


async def _check_user(context: AppContext, parent: Job, username: str) -> None:
    if not USERNAME.fullmatch(username):
        raise invalid_input([FieldError("username", "This is not a valid username.")])
    if username == parent.user.username:
        raise invalid_input([FieldError("username", "You already own this.")])
    if not await context.directory_users.user_exists(username):
        text = "There is no user with this username. Check the spelling."
        raise invalid_input([FieldError("username", text)])


async def _check_group(context: AppContext, by: User, group: str) -> None:
    await context.directory_users.refresh_if_old(by.id, by.username, by.groups_at)
    own_groups, _ = await memberships.load_groups(context.db, by.id)
    if group not in own_groups:
        raise invalid_input([FieldError("group", NO_GROUP)])


def _record(
    db: AsyncSession, action: audit.Action, parent: Job, target: ShareTarget, by: User, ip: str
) -> None:
    detail = {"with": target.username} if target.group is None else {"with_group": target.group}
    shared = f"{parent.user.username}/{parent.name}"
    audit.record(db, action, actor=by, target=shared, detail=detail, ip=ip)
