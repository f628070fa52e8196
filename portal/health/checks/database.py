"""Checks of the database and of the disk with the portal's state."""

import asyncio
import shutil
from pathlib import Path

from portal.context import AppContext
from portal.db import Database, sqlite_file
from portal.health.result import CheckResult, failing

SUGGESTION = "Check database_url and state_dir, and that the database server runs."
DISK_SUGGESTION = "Free space on the disk of state_dir: when it is full, nothing can be saved."
GIB = 1024**3
LITTLE_SHARE, LITTLE_BYTES = 0.05, GIB


async def check_database(context: AppContext) -> CheckResult:
    """Check that the running portal's database answers."""
    database = context.db
    await database.check_answers()
    return CheckResult(text=await asyncio.to_thread(_describe, database))


def check_disk(context: AppContext) -> CheckResult:
    """Check that the disk with the portal's state has free space."""
    folder = context.settings.state_dir
    use = shutil.disk_usage(folder)
    text = f"{use.free / GIB:.1f} of {use.total / GIB:.1f} GiB are free on the disk of {folder}."
    if use.free < LITTLE_BYTES or use.free < use.total * LITTLE_SHARE:
        return failing(text, DISK_SUGGESTION)
    return CheckResult(text=text, timed=False)


def _describe(db: Database) -> str:
    file = sqlite_file(db.url)
    if file is None:
        return "PostgreSQL is responding." if db.url.startswith("postgresql") else "Responding."
    bytes_ = sum(_file_size(Path(f"{file}{end}")) for end in ("", "-wal"))
    return f"SQLite is responding; its file is {bytes_ / 1024**2:.0f} MiB."


def _file_size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0
