"""The databases of the tests' portals: SQLite, or one PostgreSQL server for all of them.

    PORTAL_TEST_DATABASE=postgresql python -m pytest tests/portal

A folder has one database, however often its portal restarts. Each is a copy of an empty one that
was migrated once, unless a test is about migration.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from itertools import count
from pathlib import Path

from portal.db import sqlite_file, upgrade
from tests.servers import postgresql
from tests.servers.postgresql import PostgreSql

VARIABLE = "PORTAL_TEST_DATABASE"
KINDS = ("sqlite", "postgresql")
EMPTY = "portal_empty"
_made: dict[Path, str] = {}  # names of databases on PostgreSQL
_numbers = count(1)


def kind() -> str:
    """Return the kind of database that the tests are run with."""
    found = os.environ.get(VARIABLE, KINDS[0])
    if found not in KINDS:
        raise ValueError(f"{VARIABLE} must be one of {', '.join(KINDS)}")
    return found


@cache
def server() -> PostgreSql:
    """Start the one PostgreSQL server of this process, which ends with it."""
    open_until_the_end = ExitStack()
    found = open_until_the_end.enter_context(postgresql.running())
    atexit.register(open_until_the_end.close)
    return found


def database_of(folder: Path) -> str:
    """Return the database URL of a portal that keeps its state in this folder."""
    if kind() == "sqlite":
        return f"sqlite+aiosqlite:///{folder / 'portal.db'}"
    found = server()
    if folder not in _made:
        name = f"portal_{next(_numbers)}"
        make_migrated(name)
        _made[folder] = name
    return found.url(_made[folder])


def make_migrated(name: str) -> str:
    """Create a PostgreSQL database with the portal's tables and no rows; return its URL."""
    server().sql("postgres", f"CREATE DATABASE {name} TEMPLATE {_template()}")
    return server().url(name)


def drop_database_of(folder: Path) -> None:
    """Drop the folder's database, if it has one on PostgreSQL: each takes 9 MB of the disk."""
    name = _made.pop(folder, None)
    if name is not None:
        server().sql("postgres", f"DROP DATABASE {name} WITH (FORCE)")


def copy_empty(url: str) -> None:
    """Create an SQLite database where there is none, as a copy of the migrated one."""
    file = sqlite_file(url)
    if file is not None and not file.exists():
        file.touch(mode=0o600)
        shutil.copyfile(_empty_file(), file)


@cache
def _empty_file() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="portal-tests-")
    atexit.register(folder.cleanup)
    file = Path(folder.name) / "portal.db"
    _migrate(f"sqlite+aiosqlite:///{file}")
    return file


def _migrate(url: str) -> None:
    with ThreadPoolExecutor(1) as thread:  # migrations must not run inside an event loop
        thread.submit(upgrade, url).result()


@cache
def _template() -> str:
    """Return the name of a migrated database without rows."""
    _migrate(server().make(EMPTY))
    return EMPTY
