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
from pathlib import Path

from portal.db import sqlite_file, upgrade
from tests.servers import postgresql
from tests.servers.postgresql import PostgreSql

VARIABLE = "PORTAL_TEST_DATABASE"
KINDS = ("sqlite", "postgresql")
EMPTY = "portal_empty"
_made: dict[Path, str] = {}


def kind() -> str:
    """Return the kind of database that the tests are run with."""
    found = os.environ.get(VARIABLE, KINDS[0])
    if found not in KINDS:
        raise ValueError(f"{VARIABLE} must be one of {', '.join(KINDS)}")
    return found


def database_of(folder: Path) -> str:
    """Return the database URL of a portal that keeps its state in this folder."""
    if kind() == "sqlite":
        return f"sqlite+aiosqlite:///{folder / 'portal.db'}"
    server = _server()
    if folder not in _made:
        name = f"portal_{len(_made) + 1}"
        server.sql("postgres", f"CREATE DATABASE {name} TEMPLATE {EMPTY}")
        _made[folder] = server.url(name)
    return _made[folder]


def new_of(folder: Path) -> str:
    """Return the same with an empty database, for tests that migrate it themselves."""
    if kind() != "sqlite":
        assert folder not in _made
        _made[folder] = _server().make(f"portal_{len(_made) + 1}")
    return database_of(folder)


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
def _server() -> PostgreSql:
    """Start one server for the whole run."""
    open_until_the_end = ExitStack()
    server = open_until_the_end.enter_context(postgresql.running())
    atexit.register(open_until_the_end.close)
    _migrate(server.make(EMPTY))
    return server
