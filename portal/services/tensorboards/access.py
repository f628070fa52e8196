"""Access to TensorBoards: for the owner, and for users that it is shared with, by name or by group.

One rule, in SQL, for requests to a TensorBoard and for the list of those shared by others. The
check of a request is one query. Administrators have no additional access.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, and_, bindparam, exists, or_, select
from sqlalchemy.orm import aliased

from portal.context import AppContext
from portal.db import Database
from portal.models import (
    GroupMembership,
    Job,
    JobKind,
    JobState,
    Share,
    Tensorboard,
    TensorboardState,
    User,
)
from portal.services import paging
from portal.services.sessions.gate import GateLogin, build_login_query, login_parameters

PAGE = 50

_JOB = Job.__table__
_PARENT = _JOB.alias()
_OWNER = aliased(User)
_BY_NAME = exists().where(Share.parent_id == Tensorboard.parent_id, Share.username == User.username)
_BY_GROUP = exists().where(
    Share.parent_id == Tensorboard.parent_id,
    Share.group_name == GroupMembership.name,
    GroupMembership.user_id == User.id,
)
# The owner cannot revoke shares of an item that was removed from the list, so others have no
# access.
_ON_LIST = exists().where(_JOB.c.id == Tensorboard.parent_id, _JOB.c.removed_at.is_(None))
# Shares end when their owner loses access to the portal (services/identity/roles.py).
_SHARER = aliased(User)  # the owner, in a subquery of its own
_OWNER_HAS_ACCESS = exists().where(
    _SHARER.id == Tensorboard.user_id,
    _SHARER.disabled_at.is_(None),
    or_(_SHARER.directory_role.is_not(None), _SHARER.groups_at.is_(None)),
)
_IS_OWN = Tensorboard.user_id == User.id
_SHARED = and_(_ON_LIST, _OWNER_HAS_ACCESS, or_(_BY_NAME, _BY_GROUP))


@dataclass(frozen=True)
class TensorboardAccess:
    """A TensorBoard that may be viewed, with the fields that a request needs. `own`: by its owner;
    `by_name`: shared with this user, not only with a group of theirs; `groups_at`: when the user's
    groups were last read from the directory.
    """

    id: str
    state: TensorboardState
    reason: str | None
    host: str | None
    port: int | None
    tls_name: str | None
    guard_key: str
    last_request_at: datetime | None
    owner: str
    own: bool
    by_name: bool
    groups_at: datetime | None


def _build_lookup(*, content: bool) -> Select[Any]:
    may_view = and_(Tensorboard.id == bindparam("board_id"), or_(_IS_OWN, _SHARED))
    return (
        build_login_query(
            Tensorboard.id,
            Tensorboard.state,
            Tensorboard.reason,
            Tensorboard.host,
            Tensorboard.port,
            Tensorboard.tls_name,
            Tensorboard.guard_key,
            Tensorboard.last_request_at,
            _OWNER.username,
            _IS_OWN,
            _BY_NAME,
            User.groups_at,
            content=content,
        )
        .outerjoin(Tensorboard, may_view)
        .outerjoin(_OWNER, _OWNER.id == Tensorboard.user_id)
    )


_LOOKUP = _build_lookup(content=False)
_CONTENT_LOOKUP = _build_lookup(content=True)


async def load_access(
    context: AppContext, token: str, board_id: str, host: str | None = None
) -> tuple[GateLogin | None, TensorboardAccess | None]:
    """Return the login of this cookie, and the TensorBoard of this ID if that user may view it now.

    Membership in the group that grants access is refreshed from the directory every few minutes.
    `host` is the content host (web/content_host.py) that received the cookie; None is the portal's
    own host.
    """
    parameters = {**login_parameters(context.settings, token, host), "board_id": board_id}
    query = _LOOKUP if host is None else _CONTENT_LOOKUP
    login, board = await _run_lookup(context.db, query, parameters)
    if login is None or board is None or board.own or board.by_name:
        return login, board
    if await context.directory_users.refresh_if_old(login.user_id, login.username, board.groups_at):
        return await _run_lookup(context.db, query, parameters)
    return login, board


async def _run_lookup(
    database: Database, query: Select[Any], parameters: dict[str, Any]
) -> tuple[GateLogin | None, TensorboardAccess | None]:
    async with database.connection() as connection:
        row = (await connection.execute(query, parameters)).one_or_none()
    if row is None:
        return None, None
    return GateLogin(*row[:4]), TensorboardAccess(*row[4:]) if row[4] is not None else None


# --- lists ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ListedTensorboard:
    """A TensorBoard in a user's list, with the session or job that it belongs to. `groups`: the
    user's groups that it is shared with; `by_name`: whether it is shared with the user by name.
    """

    board: Tensorboard
    name: str
    kind: JobKind
    parent_state: JobState
    owner: User
    by_name: bool
    groups: list[str]


async def page(
    database: Database, user: User, *, shared: bool, cursor: str | None = None, limit: int = PAGE
) -> list[ListedTensorboard]:
    """Return the user's own TensorBoards, or those that others share with them, newest session or
    job first; at most `limit` + 1 rows. Raises InvalidInput for an invalid cursor.
    """
    access = _SHARED if shared else _ON_LIST
    ownership = Tensorboard.user_id != User.id if shared else _IS_OWN
    query = (
        select(Tensorboard, _PARENT.c.name, _PARENT.c.kind, _PARENT.c.state, _OWNER)
        .select_from(Tensorboard)
        .join(User, User.id == user.id)
        .join(_PARENT, _PARENT.c.id == Tensorboard.parent_id)
        .join(_OWNER, _OWNER.id == Tensorboard.user_id)
        .where(ownership, access)
        .order_by(_PARENT.c.created_at.desc(), _PARENT.c.id.desc())
        .limit(limit + 1)
    )
    if cursor is not None:
        query = query.where(
            paging.build_after_condition(_PARENT.c.created_at, _PARENT.c.id, cursor)
        )
    async with database.session() as db:
        rows = (await db.execute(query)).unique().all()
        parents = [row[0].parent_id for row in rows]
        grants = (await db.execute(_build_grants_query(user, parents))).all() if shared else []
    return [_to_listed(row, grants) for row in rows]


def _build_grants_query(user: User, parents: list[str]) -> Any:
    """Build the query for the shares that grant `user` access to the TensorBoards of these sessions
    and jobs: parent, username, group.
    """
    own_groups = select(GroupMembership.name).where(GroupMembership.user_id == user.id)
    return select(Share.parent_id, Share.username, Share.group_name).where(
        Share.parent_id.in_(parents),
        or_(Share.username == user.username, Share.group_name.in_(own_groups)),
    )


def _to_listed(row: Any, grants: Any) -> ListedTensorboard:
    board, name, kind, state, owner = row
    here = [grant for grant in grants if grant.parent_id == board.parent_id]
    return ListedTensorboard(
        board=board,
        name=name,
        kind=kind,
        parent_state=state,
        owner=owner,
        by_name=any(grant.username is not None for grant in here),
        groups=sorted(grant.group_name for grant in here if grant.group_name is not None),
    )


def cursor_of(listed: ListedTensorboard) -> str:
    """Return the cursor of the page after this item."""
    return paging.cursor(listed.board.parent.created_at, listed.board.parent_id)
