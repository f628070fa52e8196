"""Order of a list of jobs by a parameter or a final metric, which are fields of JSON columns.

A value is a number or a text; numbers come first. A job without the value, or whose value is null,
is not listed.
"""

import math
from dataclasses import dataclass
from typing import Any, Self

from sqlalchemy import (
    ColumnElement,
    Double,
    Integer,
    Numeric,
    Row,
    Select,
    Text,
    case,
    func,
    literal,
    literal_column,
    select,
    tuple_,
)

from portal.errors import FieldError, invalid_input
from portal.models import JOBS_TABLE, BatchJob

_BATCH_JOBS = BatchJob.metadata.tables[BatchJob.__tablename__]
_BOTH_TABLES = JOBS_TABLE.join(_BATCH_JOBS, _BATCH_JOBS.c.id == JOBS_TABLE.c.id)
_COLUMNS = {"metric": _BATCH_JOBS.c.metrics, "param": _BATCH_JOBS.c.parameters}

COLUMN_PATTERN = "^(metric|param):."
TEXT_LENGTH = 50  # texts are sorted by their beginnings, so that a cursor stays short
_LARGEST = 1e300  # parameters may be integers that no floating-point number holds


@dataclass(frozen=True)
class ColumnOrder:
    """Order by one parameter ("param:NAME") or metric ("metric:TAG"). `dialect` is SQLAlchemy's
    name of the database: "sqlite", or else PostgreSQL.
    """

    column: str
    ascending: bool
    dialect: str

    def build_query(self, condition: ColumnElement[bool], cursor: str | None) -> Select[Any]:
        """Build the query for the sort keys of the matching jobs after a cursor; the last key is
        the job's ID. Raises InvalidInput for a cursor of another order.
        """
        kind, _, name = self.column.partition(":")
        build = _select_in_sqlite if self.dialect == "sqlite" else _select_in_postgresql
        found = build(_COLUMNS[kind], name, condition).subquery()
        keys = (found.c.is_text, found.c.number, found.c.text, found.c.id)
        query = select(*keys).order_by(
            *(key.asc() if self.ascending else key.desc() for key in keys)
        )
        if cursor is None:
            return query
        after = tuple_(*_Position.parse(cursor).to_literals())
        return query.where(tuple_(*keys) > after if self.ascending else tuple_(*keys) < after)


def cursor_of(row: Row[Any]) -> str:
    """Return the cursor for the rows after this one."""
    value = f"text~{row.text}" if row.is_text else f"number~{float(row.number)!r}"
    return f"{row.id}~{value}"


@dataclass(frozen=True)
class _Position:
    row_id: str
    is_text: int
    number: float
    text: str

    @classmethod
    def parse(cls, cursor: str) -> Self:
        row_id, _, value = cursor.partition("~")
        kind, divided, text = value.partition("~")
        if kind == "text" and divided:
            return cls(row_id, 1, 0.0, text)
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if kind != "number" or not math.isfinite(number):
            raise invalid_input([FieldError("cursor", "This page cursor is invalid.")])
        return cls(row_id, 0, number, "")

    def to_literals(self) -> tuple[ColumnElement[Any], ...]:
        return (
            literal(self.is_text, Integer),
            literal(self.number, Double),
            literal(self.text, Text),
            literal(self.row_id, Text),
        )


def _select_in_sqlite(
    column: ColumnElement[Any], name: str, condition: ColumnElement[bool]
) -> Select[Any]:
    # Selected by key, because a JSON path can't contain every name.
    field = func.json_each(column).table_valued("key", "value", "type", name="field")
    is_number = field.c.type.in_(("integer", "real"))
    # The value of `true` is 1, and of `false` 0; their types are their texts.
    text = case((field.c.type.in_(("true", "false")), field.c.type), else_=field.c.value)
    source = _BOTH_TABLES.join(field, field.c.key == name)
    keys = _build_keys(is_number, field.c.value, text)
    return select(*keys).select_from(source).where(condition, field.c.type != "null")


def _select_in_postgresql(
    column: ColumnElement[Any], name: str, condition: ColumnElement[bool]
) -> Select[Any]:
    field = func.json_each(column).table_valued("key", "value", name="field")
    kind = func.json_typeof(field.c.value)
    is_number = kind == "number"
    text = field.c.value.op("#>>")(literal_column("'{}'")).cast(Text)
    number = case((is_number, text)).cast(Numeric)
    source = _BOTH_TABLES.join(field, field.c.key == name)
    keys = _build_keys(is_number, number, text)
    return select(*keys).select_from(source).where(condition, kind != "null")


def _build_keys(
    is_number: ColumnElement[bool], number: ColumnElement[Any], text: ColumnElement[Any]
) -> tuple[ColumnElement[Any], ...]:
    # The bounds are Numeric: for a comparison with Double, PostgreSQL would convert `number` to it,
    # which fails for a number that is too large.
    low, high = (literal(end, Double).cast(Numeric) for end in (-_LARGEST, _LARGEST))
    near = case((number < low, low), (number > high, high), else_=number)
    beginning = func.substr(text, 1, TEXT_LENGTH)
    return (
        case((is_number, 0), else_=1).label("is_text"),
        case((is_number, near.cast(Double)), else_=literal(0.0, Double)).label("number"),
        case((is_number, literal("", Text)), else_=beginning).label("text"),
        JOBS_TABLE.c.id,
    )
