"""Who may look at a TensorBoard: its owner, and whom it is shared with, by name or by a group.

One rule, in SQL, for the requests that go to a TensorBoard and for the list of what others have
shared. What is asked at every request is one query. That someone is an admin changes nothing.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, and_, bindparam, exists, or_, select
from sqlalchemy.orm import aliased

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
from portal.services.people.people import People
from portal.services.sessions.gate import Login, login_parameters, open_login
from portal.settings import Settings

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
# What its owner has taken off the list can't be taken back there any more: nobody else sees it.
_ON_LIST = exists().where(_JOB.c.id == Tensorboard.parent_id, _JOB.c.removed_at.is_(None))
# And what somebody had shared who may not enter any more (services/people/roles.py) ends with them.
_SHARER = aliased(User)
_OWNER_MAY = exists().where(
    _SHARER.id == Tensorboard.user_id,
    _SHARER.disabled_at.is_(None),
    or_(_SHARER.directory_role.is_not(None), _SHARER.groups_at.is_(None)),
)
_IS_OWN = Tensorboard.user_id == User.id
_SHARED = and_(_ON_LIST, _OWNER_MAY, or_(_BY_NAME, _BY_GROUP))


@dataclass(frozen=True)
class Board:
    """What a request needs to know of a TensorBoard that may be looked at. `own`: by its owner;
    `by_name`: shared with this person themselves, not only with a group of theirs."""

    id: str
    state: TensorboardState
    reason: str | None
    host: str | None
    port: int | None
    tls_name: str | None
    secret: str
    last_request_at: datetime | None
    owner: str
    own: bool
    by_name: bool
    groups_at: datetime | None


def _look(*, content: bool) -> Select[Any]:
    may_look = and_(Tensorboard.id == bindparam("board_id"), or_(_IS_OWN, _SHARED))
    return (
        open_login(
            Tensorboard.id,
            Tensorboard.state,
            Tensorboard.reason,
            Tensorboard.host,
            Tensorboard.port,
            Tensorboard.tls_name,
            Tensorboard.secret,
            Tensorboard.last_request_at,
            _OWNER.username,
            _IS_OWN,
            _BY_NAME,
            User.groups_at,
            content=content,
        )
        .outerjoin(Tensorboard, may_look)
        .outerjoin(_OWNER, _OWNER.id == Tensorboard.user_id)
    )


_LOOK = _look(content=False)
_LOOK_AT_CONTENT = _look(content=True)


async def look(
    database: Database,
    settings: Settings,
    people: People,
    token: str,
    board_id: str,
    host: str | None = None,
) -> tuple[Login | None, Board | None]:
    """Whose cookie this is, and the TensorBoard of that id if they may look at it now. Whether
    someone still is in the group that lets them in is asked of the directory every few minutes.
    `host` is the content host that the cookie was shown at; None: the portal's own."""
    parameters = {**login_parameters(settings, token, host), "board_id": board_id}
    query = _LOOK if host is None else _LOOK_AT_CONTENT
    login, board = await _ask(database, query, parameters)
    if login is None or board is None or board.own or board.by_name:
        return login, board
    if await people.freshen(login.user_id, login.username, board.groups_at):
        return await _ask(database, query, parameters)
    return login, board


async def _ask(
    database: Database, query: Select[Any], parameters: dict[str, Any]
) -> tuple[Login | None, Board | None]:
    async with database.engine.connect() as connection:
        row = (await connection.execute(query, parameters)).one_or_none()
    if row is None:
        return None, None
    return Login(*row[:3]), Board(*row[3:]) if row[3] is not None else None


# --- lists ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """A TensorBoard in somebody's list, with the session or job it belongs to. `groups`: the
    groups of theirs that it is shared with; `by_name`: whether it is shared with themselves."""

    board: Tensorboard
    name: str
    kind: JobKind
    parent_state: JobState
    owner: User
    by_name: bool
    groups: list[str]


async def page(
    database: Database, user: User, *, shared: bool, cursor: str | None = None, limit: int = PAGE
) -> list[Seen]:
    """TensorBoards of `user`'s own, or those that others share with them, the newest session or
    job first; at most one more than `limit`. Raises InvalidInput for a cursor that is none."""
    rule = _SHARED if shared else _ON_LIST
    owned = Tensorboard.user_id != User.id if shared else _IS_OWN
    query = (
        select(Tensorboard, _PARENT.c.name, _PARENT.c.kind, _PARENT.c.state, _OWNER)
        .select_from(Tensorboard)
        .join(User, User.id == user.id)
        .join(_PARENT, _PARENT.c.id == Tensorboard.parent_id)
        .join(_OWNER, _OWNER.id == Tensorboard.user_id)
        .where(owned, rule)
        .order_by(_PARENT.c.created_at.desc(), _PARENT.c.id.desc())
        .limit(limit + 1)
    )
    if cursor is not None:
        query = query.where(_after(*paging.read_cursor(cursor)))
    async with database.session() as db:
        rows = (await db.execute(query)).unique().all()
        parents = [row[0].parent_id for row in rows]
        ways = (await db.execute(_ways(user, parents))).all() if shared else []
    return [_seen(row, ways) for row in rows]


def _after(at: datetime, job_id: str) -> Any:
    older = and_(_PARENT.c.created_at == at, _PARENT.c.id < job_id)
    return or_(_PARENT.c.created_at < at, older)


def _ways(user: User, parents: list[str]) -> Any:
    """How each of these came to be shared with `user`: parent, username, group."""
    mine = select(GroupMembership.name).where(GroupMembership.user_id == user.id)
    return select(Share.parent_id, Share.username, Share.group_name).where(
        Share.parent_id.in_(parents),
        or_(Share.username == user.username, Share.group_name.in_(mine)),
    )


def _seen(row: Any, ways: Any) -> Seen:
    board, name, kind, state, owner = row
    here = [way for way in ways if way.parent_id == board.parent_id]
    return Seen(
        board=board,
        name=name,
        kind=kind,
        parent_state=state,
        owner=owner,
        by_name=any(way.username is not None for way in here),
        groups=sorted(way.group_name for way in here if way.group_name is not None),
    )


def cursor_of(seen: Seen) -> str:
    """Where a page ended."""
    return paging.cursor(seen.board.parent.created_at, seen.board.parent_id)
