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
NO_CONFIG = f"{CONFIG} says where the settings file is, or shall be: set it."


def backup(
    file: Annotated[Path | None, typer.Argument(help="A new file.", show_default=False)] = None,
    into: Annotated[
        Path | None,
        typer.Option(help="Or a folder: the file is named by the time.", show_default=False),
    ] = None,
    keep: Annotated[
        int, typer.Option(min=1, help="With --into: how many there are afterwards.")
    ] = 14,
) -> None:
    """Write the database, the secrets and the settings into one file, while the portal runs."""
    if (file is None) == (into is None):
        raise typer.BadParameter("Say either a file or --into.")
    settings = load()
    file = file or backups.by_time(into or Path())
    try:
        made = backups.backup(settings, _config_path(), file)
        gone = backups.forget_old(into, keep) if into else []
    except BackupError as error:
        raise _refuse(error) from error
    for old in gone:
        typer.echo(f"Removed, being older than {keep} others: {old}")
    typer.echo(f"{file}: portal {made.portal}, schema {made.revision}; keep it as a secret.")
    typer.echo("In it:")
    for member in made.members:
        typer.echo(f"  {member.name} ({member.size} bytes)")
    typer.echo("Left out:")
    for what in made.left_out:
        typer.echo(f"  {what}")


def restore(
    file: Annotated[Path, typer.Argument(help="A backup.", show_default=False)],
    replace: Annotated[
        bool, typer.Option("--replace", help="Even where there is a state already.")
    ] = False,
) -> None:
    """Restore a backup, and migrate its database to this version's schema. No portal may run."""
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
    made = done.manifest
    typer.echo(f"{file} of {made.made_at:%Y-%m-%d %H:%M} UTC is back, portal {made.portal}.")
    if made.revision != done.revision:
        typer.echo(f"The schema went from {made.revision} to {done.revision}.")
    for place in done.written:
        typer.echo(f"  {place}")
    for place in done.aside:
        typer.echo(f"What was there before is {place}")
    for what in done.kept:
        typer.echo(f"Kept: {what}")
    for image in done.images_missing:
        typer.echo(f"Imported, but its file is missing: {image}")
    typer.echo("Everybody has to log in again.")


def migrate(
    to: Annotated[
        str | None,
        typer.Option(
            metavar="REVISION",
            help="An older revision, for an older portal: what only newer ones know is lost.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Migrate the database to this version's schema. No portal may run."""
    settings = load()
    try:
        with startup.alone(settings):
            before, after = asyncio.run(_migrate(settings, to))
    except (BackupError, startup.StartRefused) as error:
        raise _refuse(error) from error
    if before == after:
        typer.echo(f"The database is at {after} already.")
    else:
        typer.echo(f"The database went from {before or 'nothing'} to {after}.")


async def _migrate(settings: Settings, to: str | None) -> tuple[str | None, str]:
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
            sentence = f"The database can't go back to {to}, and was left as it is: {why}."
            raise BackupError(sentence) from error
        return schema.revision, to
    finally:
        await database.close()


def _refuse_revision(now: str | None, to: str) -> None:
    known = revisions.list_revisions()
    if to not in known:
        raise BackupError(f"There is no revision {to}; there are {', '.join(known)}.")
    if now is None or known.index(to) < known.index(now):
        raise BackupError(f"The database is at {now or 'nothing'}: --to goes back only.")


def _config_path() -> Path | None:
    config = os.environ.get(CONFIG)
    return Path(config).absolute() if config else None


def _refuse(error: Exception) -> typer.Exit:
    typer.echo(str(error), err=True)
    return typer.Exit(REFUSED)
