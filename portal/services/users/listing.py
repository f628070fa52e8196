"""Paged lists of users, from the directory or from the portal's rows.

A cursor begins with `d` for the directory's pages and with `u` for the portal's rows, in the order
of user names. While the directory does not answer, the list of all users is that of the portal's
rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sqlalchemy import ColumnElement, func, or_, select

from portal.context import AppContext
from portal.directory.contract import DirectoryUser
from portal.errors import DirectoryUnavailable, FieldError, invalid_input
from portal.models import Role, User
from portal.services.users import lookup

MAX_WORDS = 8


class UserFilter(StrEnum):
    """Filter of a list.

    ACTIVE: in the portal, and neither disabled, deleted nor missing from the directory. MISSING: no
    longer in the directory. DELETED: deleted by an administrator in the portal.
    """

    ALL = "all"
    ACTIVE = "active"
    DISABLED = "disabled"
    ADMINS = "admins"
    VIEWERS = "viewers"
    MISSING = "missing"
    DELETED = "deleted"


@dataclass(frozen=True)
class ListedUser:
    """A user in a list; at least one of `entry` and `user` is set.

    `problem`: the directory could not be asked.
    """

    username: str
    entry: DirectoryUser | None
    user: User | None
    problem: str | None


@dataclass(frozen=True)
class UserPage:
    """One page.

    `incomplete`: a message if the directory returns only part of the results. `problem`: one if it
    could not be asked.
    """

    users: list[ListedUser] = field(default_factory=list)
    cursor: str | None = None
    incomplete: str | None = None
    problem: str | None = None


async def page(
    context: AppContext, query: str, state: UserFilter, cursor: str | None, limit: int
) -> UserPage:
    """Return a page of users with every word of `query` in their user name, name or e-mail."""
    kind, position = _parse_cursor(cursor)
    remembered = (
        state is not UserFilter.ALL or kind == "u" or not context.directory.can_look_up_users
    )
    if not remembered:
        try:
            return await _from_directory(context, query, position or None, limit)
        except DirectoryUnavailable:
            if kind == "d":
                raise  # the directory's list cannot be continued with the portal's rows
    elif kind == "d":
        raise _cursor_error()
    return await _from_rows(context, query, state, position, limit)


def _parse_cursor(cursor: str | None) -> tuple[str, str]:
    if cursor is None:
        return "", ""
    kind, _, position = cursor.partition(":")
    if kind not in {"d", "u"} or not position:
        raise _cursor_error()
    return kind, position


def _cursor_error() -> Exception:
    return invalid_input([FieldError("cursor", "This isn't a valid cursor for this list.")])


async def _from_directory(
    context: AppContext, query: str, position: str | None, limit: int
) -> UserPage:
    result = await context.directory.page(query, position, limit)
    names = [entry.username for entry in result.users]
    async with context.db.session() as db:
        rows = await db.scalars(select(User).where(User.username.in_(names)))
        users = {user.username: user for user in rows}
    return UserPage(
        [
            ListedUser(found_user.username, found_user, users.get(found_user.username), None)
            for found_user in result.users
        ],
        f"d:{result.cursor}" if result.cursor else None,
        result.incomplete,
    )


async def _from_rows(
    context: AppContext, query: str, state: UserFilter, after: str, limit: int
) -> UserPage:
    users = await _load_rows(context, query, state, after, limit + 1)
    shown = users[:limit]
    problem, entries = None, dict[str, DirectoryUser]()
    if not context.directory.can_look_up_users:
        problem = lookup.CANT_FIND
    else:
        try:
            entries = await context.directory.find_many([user.username for user in shown])
        except DirectoryUnavailable:
            problem = lookup.DOWN
    cursor = f"u:{shown[-1].username}" if len(users) > len(shown) else None
    seen = [ListedUser(user.username, entries.get(user.username), user, problem) for user in shown]
    return UserPage(seen, cursor, None, problem)


async def _load_rows(
    context: AppContext, query: str, state: UserFilter, after: str, limit: int
) -> Sequence[User]:
    which = [*_state_filter(state), *_word_filters(query), User.username > after]
    async with context.db.session() as db:
        return (
            await db.scalars(select(User).where(*which).order_by(User.username).limit(limit))
        ).all()


def _state_filter(state: UserFilter) -> list[ColumnElement[bool]]:
    there = User.deleted_at.is_(None)
    which: dict[UserFilter, list[ColumnElement[bool]]] = {
        UserFilter.ALL: [there],
        UserFilter.ACTIVE: [there, User.disabled_at.is_(None), User.missing_since.is_(None)],
        UserFilter.DISABLED: [there, User.disabled_at.is_not(None)],
        UserFilter.ADMINS: [there, User.role == Role.ADMIN],
        UserFilter.VIEWERS: [there, User.role == Role.VIEWER],
        UserFilter.MISSING: [there, User.missing_since.is_not(None)],
        UserFilter.DELETED: [User.deleted_at.is_not(None)],
    }
    return which[state]


def _word_filters(query: str) -> list[ColumnElement[bool]]:
    columns = User.username, User.display_name, User.email, User.former_username
    return [
        or_(*(func.lower(column).contains(word.lower(), autoescape=True) for column in columns))
        for word in query.split()[:MAX_WORDS]
    ]
