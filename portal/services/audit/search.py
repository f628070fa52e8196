"""Audit search by words, actor, action, target, address and time; newest events first.

Words are looked up in a full-text index (migration 0010): FTS5 in SQLite, which walks back from the
newest event, and a GIN index in PostgreSQL. Filters on actor, action, target and address also
narrow by words and then compare exactly, so any combination is fast with a million events.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Integer, Select, column, func, or_, select, table
from sqlalchemy.ext.asyncio import AsyncSession

from portal.db import Database
from portal.errors import FieldError, invalid_input
from portal.models import AuditEvent
from portal.services.audit.audit import list_recorded_actions

PAGE = 50
BATCH = 500
MAX_WORDS = 12
SLACK = timedelta(hours=1)
"""Tolerance between the order of ids and of times.

Ids are assigned in commit order and times slightly earlier. Only a clock set back by more than this
makes the two orders differ by more.
"""

_SEARCH = table("audit_search", column("rowid", Integer))


@dataclass(frozen=True)
class AuditFilter:
    """Search criteria; None and "" match everything.

    Each word of `query`, such as `ali` or `10.1.2`, must be the beginning of something in the
    event. An `action` that ends in a dot matches all actions with that prefix. Times are inclusive.
    """

    query: str = ""
    actor: str | None = None
    action: str | None = None
    target: str | None = None
    ip: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def phrases(self) -> list[list[str]]:
        """Return the words of each space-separated part of the query.

        The parts of `10.1.2` are three words that must follow each other.
        """
        phrases = [_split_words(text) for text in self.query.split()]
        return [words for words in phrases if words][:MAX_WORDS]

    @property
    def finds_nothing(self) -> bool:
        """Return whether the query has only punctuation, which no event matches."""
        return bool(self.query.strip()) and not self.phrases

    @property
    def exact(self) -> dict[str, list[str]]:
        """Return the accepted values of the exact-match filters by column.

        Only an action that was renamed has several.
        """
        fields = {name: getattr(self, name) for name in ("actor", "action", "target", "ip")}
        return {
            name: list_recorded_actions(value) if name == "action" else [value]
            for name, value in fields.items()
            if value
        }


def cursor(event: AuditEvent) -> str:
    """Return the cursor of the page after this event."""
    return str(event.id)


def read_cursor(text: str) -> int:
    """Parse a cursor that `cursor` wrote. Raises InvalidInput."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise invalid_input([FieldError("cursor", "This page cursor is invalid.")])
    return int(text)


async def page(
    database: Database, event_filter: AuditFilter, before: int | None = None, limit: int = PAGE + 1
) -> list[AuditEvent]:
    """Return matching events with ids below `before`, newest first."""
    if event_filter.finds_nothing:
        return []
    async with database.session() as db:
        bounds = await _find_id_bounds(db, event_filter)
        if bounds is None:
            return []
        low, high = bounds
        if before is not None:
            high = before - 1 if high is None else min(high, before - 1)
        query = _build_query(event_filter, low, high, db.get_bind().dialect.name)
        return list((await db.scalars(query.limit(limit))).all())


async def iterate_events(
    database: Database, event_filter: AuditFilter
) -> AsyncIterator[list[AuditEvent]]:
    """Yield all matching events in batches, newest first.

    Events that are recorded during the iteration are not included. No transaction is open between
    two batches.
    """
    before = None
    while batch := await page(database, event_filter, before, BATCH):
        yield batch
        before = batch[-1].id


async def _find_id_bounds(
    db: AsyncSession, event_filter: AuditFilter
) -> tuple[int | None, int | None] | None:
    """Return the lowest and highest id for the time range, or None if no event is in it."""
    low = high = None
    if event_filter.since is not None:
        first = select(AuditEvent.id).where(AuditEvent.at >= event_filter.since - SLACK)
        low = await db.scalar(first.order_by(AuditEvent.at).limit(1))
        if low is None:
            return None
    if event_filter.until is not None:
        last = select(AuditEvent.id).where(AuditEvent.at <= event_filter.until + SLACK)
        high = await db.scalar(last.order_by(AuditEvent.at.desc(), AuditEvent.id.desc()).limit(1))
        if high is None:
            return None
    return low, high


def _build_query(
    event_filter: AuditFilter, low: int | None, high: int | None, dialect: str
) -> Select[AuditEvent]:
    query = select(AuditEvent).where(*_exact_conditions(event_filter))
    number: ColumnElement[int] = AuditEvent.id.expression
    order = number
    if dialect == "sqlite":
        if match := _fts5_query(event_filter):
            number = order = _SEARCH.c.rowid
            query = query.join(_SEARCH, AuditEvent.id == number).where(
                column("audit_search").op("MATCH")(match)
            )
    elif tsquery := _to_tsquery(event_filter):
        query = query.where(column("words").op("@@")(func.to_tsquery("simple", tsquery)))
        if " & " in tsquery:
            # Each word may be common and both together match nothing. Ordered by an indexed
            # expression, PostgreSQL would walk back through all events for the first page.
            order = number + 0
    if low is not None:
        query = query.where(number >= low)
    if high is not None:
        query = query.where(number <= high)
    return query.order_by(order.desc())


def _exact_conditions(event_filter: AuditFilter) -> list[ColumnElement[bool]]:
    """Return the exact conditions on events that matched by words.

    They use a function of the column, so that SQLite does not start from an index of the column: it
    would then evaluate the full-text match once per row.
    """
    conditions: list[ColumnElement[bool]] = []
    for name, values in event_filter.exact.items():
        plain = func.coalesce(getattr(AuditEvent, name), "")
        conditions.append(
            or_(
                *(
                    plain.startswith(value, autoescape=True)
                    if name == "action" and value.endswith(".")
                    else plain == value
                    for value in values
                )
            )
        )
    if event_filter.since is not None:
        conditions.append(AuditEvent.at >= event_filter.since)
    if event_filter.until is not None:
        conditions.append(AuditEvent.at <= event_filter.until)
    return conditions


def _split_words(text: str) -> list[str]:
    """Split into runs of letters and digits."""
    return "".join(char if char.isalnum() else " " for char in text).split()


def _fts5_query(event_filter: AuditFilter) -> str:
    """Return the FTS5 query: query words in any column, filter words in their column.

    Quoted text has no special meaning in FTS5, and the words have only letters and digits.
    """
    parts = [f'"{" ".join(words)}" *' for words in event_filter.phrases]
    for name, values in event_filter.exact.items():
        phrases = [f'{name} : "{" ".join(words)}"' for words in map(_split_words, values) if words]
        if phrases:
            parts.append(f"({' OR '.join(phrases)})")
    return " AND ".join(parts)


def _to_tsquery(event_filter: AuditFilter) -> str:
    """Return the PostgreSQL tsquery."""
    parts = [f"({' <-> '.join(words)}:*)" for words in event_filter.phrases]
    for values in event_filter.exact.values():
        phrases = [f"({' <-> '.join(words)})" for words in map(_split_words, values) if words]
        if phrases:
            parts.append(f"({' | '.join(phrases)})")
    return " & ".join(parts)
