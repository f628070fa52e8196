"""Copy of an SQLite database with SQLite's online backup: a consistent state while others write."""

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from portal.backup.archive import BackupError
from portal.backup.revisions import VERSION_TABLE

SIDES = ("-wal", "-shm", "-journal")


def dump(database: Path, to: Path) -> str:
    """Copy the database; return its schema's revision."""
    if not database.is_file():
        raise BackupError(f"The database {database} does not exist yet: start the portal once.")
    os.close(os.open(to, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(to)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # a single file, without a log
            return _check_integrity(copy, to)
    except sqlite3.Error as error:
        raise BackupError(f"The database {database} can't be copied: {error}.") from error


def check(file: Path) -> str:
    """Check a copy; return its schema's revision."""
    try:
        with closing(sqlite3.connect(file)) as copy:
            return _check_integrity(copy, file)
    except sqlite3.Error as error:
        raise BackupError(f"The database in the backup can't be read: {error}.") from error


def _check_integrity(copy: sqlite3.Connection, file: Path) -> str:
    (result,) = copy.execute("PRAGMA quick_check(1)").fetchone()
    if result != "ok":
        raise BackupError(f"The database {file} is damaged: {result}.")
    row = copy.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()  # noqa: S608
    if row is None:
        raise BackupError(f"The database {file} has no schema revision.")
    return str(row[0])


def is_empty(database: Path) -> bool:
    """Return whether the database contains nothing that a restore would lose."""
    if not database.exists() or database.stat().st_size == 0:
        return True
    try:
        with closing(sqlite3.connect(database)) as connection:
            return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None
    except sqlite3.Error:
        return False  # unreadable, but not empty


def put_aside(database: Path) -> Path:
    """Rename the existing database together with its log; it can still be opened."""
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}"
    aside = database.with_name(f"{database.name}.before-restore-{stamp}")
    for side in ("", *SIDES):
        old = database.with_name(database.name + side)
        if old.exists():
            old.rename(aside.with_name(aside.name + side))
    return aside
