"""Every migration with rows in every table: up step by step, and back down.

A new migration needs no change here, unless it renames or rewrites something.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command

from portal.backup.revisions import list_revisions
from portal.db import alembic_config, upgrade
from tests.portal.migrations.rows import (
    FORMER_SCOPE,
    Rows,
    add_rows,
    connected,
    describe,
    read_rows,
    reflect,
    tasks,
)

RENAMED_TABLES = {"0021": ("group_leaders", "group_managers")}
RENAMED_COLUMNS = {
    "0022": [("session_uses", "told_at", "reported_at")],
    "0024": [("benchmark_runs", "job_id", "batch_job_id")],
    "0025": [("jobs", "advice", "suggestion")],
    "0035": [
        ("users", "closed_at", "deprovisioned_at"),
        ("users", "closing_problem", "deprovision_problem"),
    ],
}
DROPPED = {"0019": ("tensorboards", "secret")}
SEARCH = {
    "sqlite": "SELECT rowid FROM audit_search WHERE audit_search MATCH 'words:token AND words:ci'",
    "postgresql": "SELECT id FROM audit_events WHERE words @@ to_tsquery('simple', 'token & ci')",
}


def _copy_rows(rows: Rows) -> Rows:
    """Return a copy whose rows can be changed; deepcopy would take a third of the test's time."""
    return {name: {key: dict(row) for key, row in table.items()} for name, table in rows.items()}


def _set(rows: Rows, table: str, **values: Any) -> None:
    for row in rows[table].values():
        row.update(values)


def _end_tensorboards(rows: Rows) -> None:
    for row in rows["tensorboards"].values():
        if row["wanted"]:
            row |= {"wanted": False, "state": "stopped", "host": None, "port": None}


def _rewrite_tasks(rows: Rows, key: str) -> None:
    for row in rows["batch_jobs"].values():
        if row["tasks"] is not None:
            row["tasks"] = tasks(key)


def _copy(rows: Rows, table: str, old: str, new: str) -> None:
    for row in rows[table].values():
        row[new] = row[old]


def _delete(rows: Rows, table: str, condition: Callable[[dict[str, Any]], bool]) -> None:
    rows[table] = {key: row for key, row in rows[table].items() if not condition(row)}


def _change_0019(rows: Rows) -> None:
    _copy(rows, "sessions", "ready_at", "first_ready_at")
    _end_tensorboards(rows)


def _revert_0007(rows: Rows) -> None:
    _set(rows, "users", role="user")
    _delete(rows, "half_logins", lambda row: row["awaits"] != "code")
    _delete(rows, "marks", lambda row: row["name"] == "admins")


# what a step changes in rows that exist
UP: dict[str, Callable[[Rows], None]] = {
    "0007": lambda rows: _copy(rows, "users", "role", "directory_role"),
    "0010": lambda rows: _set(rows, "audit_events", token="ci"),
    "0019": _change_0019,
    "0023": lambda rows: _set(rows, "limits", scope="user"),
    "0025": lambda rows: _rewrite_tasks(rows, "suggestion"),
}
DOWN: dict[str, Callable[[Rows], None]] = {
    "0003": lambda rows: _delete(rows, "shares", lambda row: row["username"] is None),
    "0007": _revert_0007,
    "0019": _end_tensorboards,
    "0023": lambda rows: _set(rows, "limits", scope=FORMER_SCOPE),
    "0025": lambda rows: _rewrite_tasks(rows, "advice"),
}


def expect(rows: Rows, revision: str, *, up: bool) -> Rows:
    """Return the rows as they have to be after a step from or to this revision."""
    expected = _copy_rows(rows)
    change = (UP if up else DOWN).get(revision)
    if change is not None:
        change(expected)
    if revision in RENAMED_TABLES:
        old, new = RENAMED_TABLES[revision] if up else reversed(RENAMED_TABLES[revision])
        expected[new] = expected.pop(old)
    for table, *names in RENAMED_COLUMNS.get(revision, ()):
        old, new = names if up else reversed(names)
        for row in expected[table].values():
            row[new] = row.pop(old)
    if up and revision in DROPPED:
        table, column = DROPPED[revision]
        for row in expected[table].values():
            del row[column]
    return expected


def check_rows(expected: Rows, found: Rows, *, up: bool) -> None:
    """Compare tables, rows and columns; on the way down, some tables and columns are dropped."""
    assert not up or expected.keys() <= found.keys()
    for table in expected.keys() & found.keys():
        assert expected[table].keys() == found[table].keys(), table
        for key, row in expected[table].items():
            there = found[table][key]
            columns = row.keys() if up else row.keys() & there.keys()
            assert {name: there.get(name) for name in columns} == {
                name: row[name] for name in columns
            }, (table, key)


def test_rows_of_every_table_survive_each_step_up_and_down(tmp_path: Path) -> None:
    """The same on PostgreSQL is in tests/more/portal."""
    check_each_step(f"sqlite+aiosqlite:///{tmp_path / 'portal.db'}")


def check_each_step(url: str) -> None:
    steps = list_revisions()[::-1]
    rows: Rows = {}
    schemas: dict[str, Any] = {}
    for era, revision in enumerate(steps):
        upgrade(url, revision)
        with connected(url) as connection:
            schema = reflect(connection)
            expected = expect(rows, revision, up=True)
            if revision == "0007":  # a row that the migration inserts itself
                expected["marks"] |= {("admins",): {"name": "admins"}}
            check_rows(expected, read_rows(connection, schema), up=True)
            add_rows(connection, schema, era, revision)
            rows = read_rows(connection, schema)
            schemas[revision] = describe(connection, schema)
    assert all(len(of_table) >= 2 for of_table in rows.values())
    with connected(url) as connection:
        found = connection.execute(sa.text(SEARCH[connection.dialect.name])).scalars()
        assert {(number,) for number in found} == rows["audit_events"].keys()
    for revision, older in pairwise(reversed(steps)):
        command.downgrade(alembic_config(url), older)
        with connected(url) as connection:
            schema = reflect(connection)
            assert describe(connection, schema) == schemas[older]
            found_rows = read_rows(connection, schema)
        check_rows(expect(rows, revision, up=False), found_rows, up=False)
        rows = found_rows


def test_tasks_are_counted_by_state_or_outcome(url: str) -> None:
    upgrade(url, "0032")
    states = [{"state": "queued"}, {"state": "queued", "outcome": None}]
    tasks_of_array = [*states, {"state": "ended", "outcome": "failed"}]
    with connected(url) as connection:
        schema = reflect(connection)
        add_rows(connection, schema, 32, "0032")
        jobs = schema.tables["batch_jobs"]
        is_array = jobs.c.tasks.is_not(None)
        connection.execute(jobs.update().where(is_array).values(tasks=tasks_of_array))
    upgrade(url, "0034")
    with connected(url) as connection:
        jobs = reflect(connection).tables["batch_jobs"]
        counts = connection.execute(sa.select(jobs.c.tasks, jobs.c.task_counts)).all()
    assert {tasks is not None: found for tasks, found in counts} == {
        True: {"queued": 2, "failed": 1},
        False: None,
    }


def test_durations_follow_from_the_times(url: str) -> None:
    upgrade(url, "0030")
    begin = datetime(2026, 1, 1)
    with connected(url) as connection:
        schema = reflect(connection)
        add_rows(connection, schema, 30, "0030")
        times = {"started_at": begin, "ended_at": begin + timedelta(minutes=2, milliseconds=500)}
        connection.execute(schema.tables["jobs"].update().values(times))
    upgrade(url, "0031")
    with connected(url) as connection:
        durations = connection.execute(sa.text("SELECT duration_s FROM jobs")).scalars().all()
    assert durations
    assert set(durations) == {120}
