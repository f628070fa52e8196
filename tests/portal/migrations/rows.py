"""Rows in every table, whatever its columns are: to insert, to read, and to compare."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any

import sqlalchemy as sa

Rows = dict[str, dict[tuple[Any, ...], dict[str, Any]]]  # table → primary key → column → value
GENERATED = {"audit_events.words"}
# a share is with a user or with a group
NOT_IN_FULL = {"shares.group_name"}
IN_SPARSE = {"shares.group_name", "half_logins.awaits"}
FORMER_SCOPE = ["scope = ", "person", ""][1]  # of limits, before 0023
TASK_REASON = 'No "advice": here.'


@contextmanager
def connected(url: str) -> Iterator[sa.Connection]:
    engine = sa.create_engine(url.replace("+aiosqlite", ""))
    try:
        with engine.begin() as connection:
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("PRAGMA foreign_keys=ON")
            yield connection
    finally:
        engine.dispose()


def reflect(connection: sa.Connection) -> sa.MetaData:
    """Return the schema, without the search of the audit log, which has no model."""
    found = sa.MetaData()
    found.reflect(
        connection,
        only=lambda name, _: name != "alembic_version" and not name.startswith("audit_search"),
    )
    return found


def add_rows(connection: sa.Connection, schema: sa.MetaData, era: int, revision: str) -> None:
    """Insert two rows into each table: one with all columns, one with the required ones.

    `era` makes them differ from those of earlier revisions. All texts of a row are the same, so
    that foreign keys refer to the row of the same kind and era.
    """
    for table in schema.sorted_tables:
        for number, wanted in ((2 * era, _full(table)), (2 * era + 1, _sparse(table))):
            values = {column.name: _value(column, number, revision) for column in wanted}
            connection.execute(sa.insert(table).values(values))


def _full(table: sa.Table) -> list[sa.Column[Any]]:
    return [column for column in table.columns if str(column) not in GENERATED | NOT_IN_FULL]


def _sparse(table: sa.Table) -> list[sa.Column[Any]]:
    return [column for column in table.columns if not column.nullable or str(column) in IN_SPARSE]


def _value(column: sa.Column[Any], number: int, revision: str) -> Any:
    is_full = number % 2 == 0
    special = {
        "audit_events.detail": {"token": "ci"},
        "users.role": "viewer" if is_full and revision >= "0007" else "user",
        "half_logins.awaits": "password" if is_full else "code",
        "limits.scope": "user" if revision >= "0023" else FORMER_SCOPE,
        "batch_jobs.tasks": tasks("suggestion" if revision >= "0025" else "advice"),
    }
    if str(column) in special:
        return special[str(column)]
    by_type = {
        sa.Boolean: is_full,
        sa.Integer: number,
        sa.Float: number + 0.5,
        sa.DateTime: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number),
        sa.Date: date(2026, 1, 1) + timedelta(days=number),
        sa.JSON: {"number": number},
        sa.String: f"row {number}",
    }
    (value,) = [value for kind, value in by_type.items() if isinstance(column.type, kind)]
    return value


def tasks(key: str) -> list[dict[str, Any]]:
    return [{"index": 1, "cause": {"reason": TASK_REASON, key: "Wait."}}]


def read_rows(connection: sa.Connection, schema: sa.MetaData) -> Rows:
    found: Rows = {}
    for table in schema.sorted_tables:
        columns = [column for column in table.columns if str(column) not in GENERATED]
        rows = connection.execute(sa.select(*columns)).mappings()
        keys = [column.name for column in table.primary_key.columns]
        found[table.name] = {tuple(row[key] for key in keys): dict(row) for row in rows}
    return found


def describe(connection: sa.Connection, schema: sa.MetaData) -> dict[str, Any]:
    """Return columns, indexes and constraints for comparison; without defaults and names of
    constraints, which a downgrade needn't restore.
    """
    dialect = connection.dialect
    return {
        table.name: {
            "columns": {
                column.name: (column.type.compile(dialect), column.nullable)
                for column in table.columns
            },
            "indexes": {
                (index.name, tuple(index.columns.keys()), index.unique) for index in table.indexes
            },
            "constraints": {_describe_constraint(found) for found in table.constraints},
        }
        for table in schema.sorted_tables
    }


def _describe_constraint(constraint: sa.Constraint) -> tuple[Any, ...]:
    kind = type(constraint).__name__
    match constraint:
        case sa.ForeignKeyConstraint():
            refers_to = constraint.elements[0].target_fullname
            return kind, tuple(constraint.column_keys), refers_to, constraint.ondelete
        case sa.CheckConstraint():
            return kind, str(constraint.sqltext)
        case sa.PrimaryKeyConstraint() | sa.UniqueConstraint():
            return kind, tuple(constraint.columns.keys())
    raise AssertionError(f"an unknown constraint: {constraint!r}")
