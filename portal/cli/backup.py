"""`portal backup`, `restore` and `migrate`: backup of the state, its restore, and schema
migrations.
"""

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer
from alembic import command
from alembic.util import CommandError
from sqlalchemy.exc import SQLAlchemyError

from portal import startup
from portal.backup import create as backups
from portal.backup import restore as backup_restore
from portal.backup import revisions
from portal.backup.archive import BackupError
from portal.cli.context import REFUSED, load, print_settings_error
from portal.config.settings import Settings, SettingsError
from portal.db import alembic_config

CONFIG = "PORTAL_CONFIG"
NO_CONFIG = f"{CONFIG} isn't set. Set it to the path of the settings file."


def backup(
    file: Annotated[Path | None, typer.Argument(help="A new file.", show_default=False)] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            help="A folder instead; the file is named after the time.", show_default=False
        ),
    ] = None,
    keep: Annotated[
        int, typer.Option(min=1, help="With --into: the number of backups to keep.")
    ] = 14,
) -> None:
    """Write the database, the secrets and the settings to one file. The portal may run."""
    if (file is None) == (into is None):
        raise typer.BadParameter("Set either a file or --into.")
    settings = load()
    file = file or backups.by_time(into or Path())
    try:
        archive = backups.backup(settings, _config_path(), file)
        gone = backups.delete_old(into, keep) if into else []
    except BackupError as error:
        raise _refuse(error) from error
    for old in gone:
        typer.echo(f"Removed an old backup: {old}")
    typer.echo(f"{file}: portal {archive.portal}, schema {archive.revision}; it contains secrets.")
    typer.echo("Included:")
    for member in archive.members:
        typer.echo(f"  {member.name} ({member.size} bytes)")
    typer.echo("Not included:")
    for what in archive.left_out:
        typer.echo(f"  {what}")


def restore(
    file: Annotated[Path, typer.Argument(help="A backup.", show_default=False)],
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Replace existing secrets, and the database: SQLite's is moved aside, "
            "PostgreSQL's content is deleted.",
        ),
    ] = False,
) -> None:
    """Restore a backup, and migrate its database to this schema. Stop the portal first."""
    config = _config_path()
    if config is None:
        typer.echo(NO_CONFIG, err=True)
        raise typer.Exit(REFUSED)
    try:
        done = backup_restore.restore(config, file, replace=replace)
    except SettingsError as error:
        raise print_settings_error(error) from error
    except (BackupError, startup.StartRefused) as error:
        raise _refuse(error) from error
    manifest = done.manifest
    typer.echo(
        f"{file} of {manifest.made_at:%Y-%m-%d %H:%M} UTC was restored, portal {manifest.portal}."
    )
    if manifest.revision != done.revision:
        typer.echo(f"The schema was migrated from {manifest.revision} to {done.revision}.")
    for path in done.written:
        typer.echo(f"  {path}")
    for path in done.aside:
        typer.echo(f"The previous state was moved to {path}")
    for what in done.kept:
        typer.echo(f"Kept: {what}")
    for image in done.images_missing:
        typer.echo(f"Imported, but its file is missing: {image}")
    typer.echo("All users have to log in again.")


def migrate(
    to: Annotated[
        str | None,
        typer.Option(
            metavar="REVISION",
            help="An older revision, for an older portal. Newer data is lost.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Migrate the database to this version's schema. Stop the portal first."""
    settings = load()
    try:
        with startup.hold_exclusive_lock(settings):
            before, after = asyncio.run(migrate_database(settings, to))
    except (BackupError, startup.StartRefused) as error:
        raise _refuse(error) from error
    if before == after:
        typer.echo(f"The database is already at {after}.")
    else:
        typer.echo(f"The database was migrated from {before or 'nothing'} to {after}.")


async def migrate_database(settings: Settings, to: str | None = None) -> tuple[str | None, str]:
    """Migrate to this version's schema, or back to an older one; return both revisions.

    Raises BackupError, StartRefused.
    """
    database = startup.open_database(settings)
    try:
        schema = await startup.load_schema(database)
        startup.refuse_unusable(database.url, schema)
        if to is None:
            await startup.migrate(database, schema)
            return schema.revision, revisions.head()
        _refuse_revision(schema.revision, to)
        try:
            await asyncio.to_thread(command.downgrade, alembic_config(database.url), to)
        except (SQLAlchemyError, CommandError) as error:
            why = startup.in_short(error)
            sentence = f"The database can't be migrated back to {to} and was not changed: {why}."
            raise BackupError(sentence) from error
        return schema.revision, to
    finally:
        await database.close()


def _refuse_revision(now: str | None, to: str) -> None:
    known = revisions.list_revisions()
    if to not in known:
        raise BackupError(f"There is no revision {to}. Available: {', '.join(known)}.")
    if now is None or known.index(to) < known.index(now):
        raise BackupError(
            f"The database is at {now or 'nothing'}: --to only accepts an older revision."
        )


def _config_path() -> Path | None:
    config = os.environ.get(CONFIG)
    return Path(config).absolute() if config else None


def _refuse(error: Exception) -> typer.Exit:
    typer.echo(str(error), err=True)
    return typer.Exit(REFUSED)
