"""The portal's database during an upgrade: its schema, size and backups.

Everything runs under the account that owns the state folder, as in `portal restore`.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import text

from deploy.upgrade import UpgradeRefused
from deploy.upgrade.installed import run_portal
from portal import startup
from portal.backup import create as backups
from portal.backup import revisions
from portal.backup.owner import as_owner_of
from portal.backup.revisions import Schema
from portal.cli.backup import migrate_database
from portal.config.settings import Settings
from portal.db import sqlite_file

SIDES = ("", "-wal")


def load_schema(settings: Settings) -> Schema:
    """Return the schema. Raises StartRefused if the database doesn't answer."""

    async def load() -> Schema:
        database = startup.open_database(settings)
        try:
            return await startup.load_schema(database)
        finally:
            await database.close()

    file = sqlite_file(settings.database)
    if file is not None and not file.exists():
        return Schema(None, frozenset())
    with as_owner_of(settings.state_dir):
        return asyncio.run(load())


def check_usable(settings: Settings) -> str:
    """Return the revision, from which this version can migrate.

    Raises StartRefused for a newer or damaged database, and UpgradeRefused for an empty one.
    """
    schema = load_schema(settings)
    startup.refuse_unusable(settings.database, schema)
    if schema.revision is None:
        name = revisions.database_name(settings.database)
        raise UpgradeRefused(f"The database {name} is empty: start the portal once.")
    return schema.revision


def measure(settings: Settings) -> int:
    """Return the size of the database in bytes."""

    async def ask() -> int:
        database = startup.open_database(settings)
        try:
            async with database.connection() as connection:
                found = await connection.execute(
                    text("SELECT pg_database_size(current_database())")
                )
                return int(found.scalar_one())
        finally:
            await database.close()

    file = sqlite_file(settings.database)
    if file is not None:
        paths = [Path(f"{file}{side}") for side in SIDES]
        return sum(path.stat().st_size for path in paths if path.exists())
    with as_owner_of(settings.state_dir):
        return asyncio.run(ask())


def name_backup(folder: Path, what: str) -> Path:
    """Return a new file name, which the rotation of nightly backups leaves alone."""
    return folder / f"{what}-{datetime.now(UTC):%Y-%m-%dT%H%M%S.%fZ}"


def back_up(settings: Settings, config: Path, file: Path) -> None:
    """Write a backup. Raises BackupError."""
    with as_owner_of(settings.state_dir):
        backups.backup(settings, config, file)


def migrate(settings: Settings) -> tuple[str | None, str]:
    """Migrate to this version's schema; return both revisions. Raises BackupError, StartRefused."""
    with as_owner_of(settings.state_dir), startup.hold_exclusive_lock(settings):
        return asyncio.run(migrate_database(settings))


def restore(settings: Settings, config: Path, backup: Path, prefix: Path) -> None:
    """Restore a backup with the version in `prefix`, whose schema it has. Raises UpgradeRefused."""
    words = ["restore", "--replace", str(backup)]
    done = run_portal(prefix, words, config, settings.state_dir.stat().st_uid)
    if done.returncode != 0:
        reason = " ".join((done.stderr or done.stdout).split())[-300:]
        raise UpgradeRefused(f"`{prefix}/bin/portal {' '.join(words)}` failed: {reason}")
