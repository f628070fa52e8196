"""Lists of people: everyone in the directory's pages, or those of whom the portal's rows say so.

A cursor begins with `d` where the directory goes on and with `u` where the portal's rows do, in the
order of usernames. While the directory is silent, everyone means whoever the portal remembers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sqlalchemy import ColumnElement, func, or_, select

from portal.directory.contract import Person
from portal.errors import DirectoryUnavailable, FieldError, invalid_input
from portal.models import Role, User
from portal.services.login.accounts import Accounts
from portal.services.people import persons

MAX_WORDS = 8


class State(StrEnum):
    """Whom a list is of. ACTIVE: known to the portal and not disabled."""

    ALL = "all"
    ACTIVE = "active"
    DISABLED = "disabled"
    ADMINS = "admins"
    VIEWERS = "viewers"
    MISSING = "missing"
    DELETED = "deleted"


@dataclass(frozen=True)
class Seen:
    """Someone in a list; one of both is there. `problem`: the directory couldn't be asked."""

    username: str
    person: Person | None
    user: User | None
    problem: str | None


@dataclass(frozen=True)
class Page:
    """`incomplete`: a sentence where the directory keeps the rest to itself. `problem`: one where
    it couldn't be asked."""

    people: list[Seen] = field(default_factory=list)
    cursor: str | None = None
    incomplete: str | None = None
    problem: str | None = None


async def page(
    accounts: Accounts, query: str, state: State, cursor: str | None, limit: int
) -> Page:
    """Some people whose username, name or mail hold every word of `query`."""
    kind, place = _read(cursor)
    remembered = state is not State.ALL or kind == "u" or not accounts.directory.finds
    if not remembered:
        try:
            return await _from_directory(accounts, query, place or None, limit)
        except DirectoryUnavailable:
            if kind == "d":
                raise  # in the middle of a list there is nothing to go on with
    elif kind == "d":
        raise _not_a_cursor()
    return await _from_rows(accounts, query, state, place, limit)


def _read(cursor: str | None) -> tuple[str, str]:
    if cursor is None:
        return "", ""
    kind, _, place = cursor.partition(":")
    if kind not in {"d", "u"} or not place:
        raise _not_a_cursor()
    return kind, place


def _not_a_cursor() -> Exception:
    return invalid_input([FieldError("cursor", "This is not the cursor of this list.")])


async def _from_directory(accounts: Accounts, query: str, place: str | None, limit: int) -> Page:
    found = await accounts.directory.page(query, place, limit)
    names = [person.username for person in found.people]
    async with accounts.database.session() as db:
        rows = await db.scalars(select(User).where(User.username.in_(names)))
        users = {user.username: user for user in rows}
    return Page(
        [Seen(one.username, one, users.get(one.username), None) for one in found.people],
        f"d:{found.cursor}" if found.cursor else None,
        found.incomplete,
    )


async def _from_rows(accounts: Accounts, query: str, state: State, after: str, limit: int) -> Page:
    users = await _rows(accounts, query, state, after, limit + 1)
    shown = users[:limit]
    problem, found = None, dict[str, Person]()
    if not accounts.directory.finds:
        problem = persons.CANT_FIND
    else:
        try:
            found = await accounts.directory.find_many([user.username for user in shown])
        except DirectoryUnavailable:
            problem = persons.DOWN
    cursor = f"u:{shown[-1].username}" if len(users) > len(shown) else None
    seen = [Seen(user.username, found.get(user.username), user, problem) for user in shown]
    return Page(seen, cursor, None, problem)


async def _rows(
    accounts: Accounts, query: str, state: State, after: str, limit: int
) -> Sequence[User]:
    which = [*_state(state), *_words(query), User.username > after]
    async with accounts.database.session() as db:
        return (
            await db.scalars(select(User).where(*which).order_by(User.username).limit(limit))
        ).all()


def _state(state: State) -> list[ColumnElement[bool]]:
    there = User.deleted_at.is_(None)
    which: dict[State, list[ColumnElement[bool]]] = {
        State.ALL: [there],
        State.ACTIVE: [there, User.disabled_at.is_(None), User.missing_since.is_(None)],
        State.DISABLED: [there, User.disabled_at.is_not(None)],
        State.ADMINS: [there, User.role == Role.ADMIN],
        State.VIEWERS: [there, User.role == Role.VIEWER],
        State.MISSING: [there, User.missing_since.is_not(None)],
        State.DELETED: [User.deleted_at.is_not(None)],
    }
    return which[state]


def _words(query: str) -> list[ColumnElement[bool]]:
    columns = User.username, User.display_name, User.email, User.former_username
    return [
        or_(*(func.lower(column).contains(word.lower(), autoescape=True) for column in columns))
        for word in query.split()[:MAX_WORDS]
    ]
