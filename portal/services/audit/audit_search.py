"""Looking up what was done: by words, by who, what, whom, from where and when; newest first.

Words are found in an index of each database's own (migration 0010): FTS5 in SQLite, which walks
back from the newest event, and a GIN index in PostgreSQL. Filters by who and what narrow by words
too, and then compare exactly; so any mixture of them is quick in a million events.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Integer, Select, column, func, select, table
from sqlalchemy.ext.asyncio import AsyncSession

from portal.db import Database
from portal.errors import FieldError, invalid_input
from portal.models import AuditEvent

PAGE = 50
BATCH = 500
MAX_WORDS = 12
SLACK = timedelta(hours=1)
"""Events get their numbers in the order of their commits and their times a little before; nothing
but a clock that was put back by more than this makes the two disagree by more."""

_SEARCH = table("audit_search", column("rowid", Integer))


@dataclass(frozen=True)
class Filter:
    """What is looked for; None and "" ask for nothing. `query`: each of its words, be it `ali` or
    `10.1.2`, begins something in the event. `action` may end in a dot: then everything that begins
    so. Times are inclusive."""

    query: str = ""
    actor: str | None = None
    action: str | None = None
    target: str | None = None
    ip: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def phrases(self) -> list[list[str]]:
        """What stands between spaces in the query, in words: `10.1.2` is three that follow each
        other."""
        found = [_words(text) for text in self.query.split()]
        return [words for words in found if words][:MAX_WORDS]

    @property
    def finds_nothing(self) -> bool:
        """Whether the query is nothing but signs, which no event is found by."""
        return bool(self.query.strip()) and not self.phrases

    @property
    def exact(self) -> dict[str, str]:
        """By column, what it must be."""
        found = {name: getattr(self, name) for name in ("actor", "action", "target", "ip")}
        return {name: value for name, value in found.items() if value}


def cursor(event: AuditEvent) -> str:
    """What asks for the events before this one."""
    return str(event.id)


def read_cursor(text: str) -> int:
    """The number that `cursor` wrote. Raises InvalidInput."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise invalid_input([FieldError("cursor", "This is not the cursor of a page.")])
    return int(text)


async def page(
    database: Database, wanted: Filter, before: int | None = None, limit: int = PAGE + 1
) -> list[AuditEvent]:
    """Events that fit, newest first, from below the number `before`."""
    if wanted.finds_nothing:
        return []
    async with database.session() as db:
        bounds = await _bounds(db, wanted)
        if bounds is None:
            return []
        low, high = bounds
        if before is not None:
            high = before - 1 if high is None else min(high, before - 1)
        query = _query(wanted, low, high, db.get_bind().dialect.name)
        return list((await db.scalars(query.limit(limit))).all())


async def every(database: Database, wanted: Filter) -> AsyncIterator[list[AuditEvent]]:
    """All events that fit, in batches, newest first. Those that happen meanwhile aren't among them;
    between two batches nothing is open."""
    before = None
    while batch := await page(database, wanted, before, BATCH):
        yield batch
        before = batch[-1].id


async def _bounds(db: AsyncSession, wanted: Filter) -> tuple[int | None, int | None] | None:
    """The numbers between which events of these times lie; None where there can't be any."""
    low = high = None
    if wanted.since is not None:
        first = select(AuditEvent.id).where(AuditEvent.at >= wanted.since - SLACK)
        low = await db.scalar(first.order_by(AuditEvent.at).limit(1))
        if low is None:
            return None
    if wanted.until is not None:
        last = select(AuditEvent.id).where(AuditEvent.at <= wanted.until + SLACK)
        high = await db.scalar(last.order_by(AuditEvent.at.desc(), AuditEvent.id.desc()).limit(1))
        if high is None:
            return None
    return low, high


def _query(wanted: Filter, low: int | None, high: int | None, dialect: str) -> Select[AuditEvent]:
    query = select(AuditEvent).where(*_compared(wanted))
    number: ColumnElement[int] = AuditEvent.id.expression
    order = number
    if dialect == "sqlite":
        if match := _match(wanted):
            number = order = _SEARCH.c.rowid
            query = query.join(_SEARCH, AuditEvent.id == number).where(
                column("audit_search").op("MATCH")(match)
            )
    elif asked := _asked(wanted):
        query = query.where(column("words").op("@@")(func.to_tsquery("simple", asked)))
        if " & " in asked:
            # Each may be common and both together in no event: PostgreSQL would walk back through
            # all events for the first page, unless the order is none that an index has.
            order = number + 0
    if low is not None:
        query = query.where(number >= low)
    if high is not None:
        query = query.where(number <= high)
    return query.order_by(order.desc())


def _compared(wanted: Filter) -> list[ColumnElement[bool]]:
    """What must hold of an event that was found by its words. By a function of the column, so that
    SQLite doesn't begin with an index of the column: it would ask for the words once per row."""
    found: list[ColumnElement[bool]] = []
    for name, value in wanted.exact.items():
        plain = func.coalesce(getattr(AuditEvent, name), "")
        is_prefix = name == "action" and value.endswith(".")
        found.append(plain.startswith(value, autoescape=True) if is_prefix else plain == value)
    if wanted.since is not None:
        found.append(AuditEvent.at >= wanted.since)
    if wanted.until is not None:
        found.append(AuditEvent.at <= wanted.until)
    return found


def _words(text: str) -> list[str]:
    """Letters and digits that stand together."""
    return "".join(char if char.isalnum() else " " for char in text).split()


def _match(wanted: Filter) -> str:
    """In FTS5's words: the query anywhere, and the words of each filter in its column. What is
    quoted there has no meaning but itself, and here there are letters and digits only."""
    parts = [f'"{" ".join(words)}" *' for words in wanted.phrases]
    for name, value in wanted.exact.items():
        if words := _words(value):
            parts.append(f'{name} : "{" ".join(words)}"')
    return " AND ".join(parts)


def _asked(wanted: Filter) -> str:
    """In PostgreSQL's words."""
    parts = [f"({' <-> '.join(words)}:*)" for words in wanted.phrases]
    for value in wanted.exact.values():
        if words := _words(value):
            parts.append(f"({' <-> '.join(words)})")
    return " & ".join(parts)
