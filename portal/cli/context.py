"""Common parts of the command line: the context, output, and error messages.

The commands use the same services as the pages, on the same database and directory; the audit log
records them as `cli:` and the UNIX account.
"""

import asyncio
import json
import logging
import os
import pwd
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TextIO, TypeVar

import structlog
import typer
from pydantic import BaseModel

from portal.config.settings import Settings, SettingsError, load_settings
from portal.context import AppContext, open_context
from portal.db import sqlite_file
from portal.errors import PortalError
from portal.services.audit.audit import Actor
from spawner.names import replace_unprintable

BAD_SETTINGS, REFUSED = 2, 1
"""Exit statuses: the settings are invalid; the command was refused or failed."""
T = TypeVar("T")
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Text = Annotated[str | None, typer.Option(show_default=False)]
Number = Annotated[int | None, typer.Option(show_default=False)]


def run(
    work: Callable[[AppContext, Actor], Awaitable[T]], option: Callable[[str], str] | None = None
) -> T:
    """Run a command with the context and the author of its changes.

    A refusal is printed on stderr, with the field, and exits with status 1. `option` returns a
    field's option at the command line.
    """
    hide_logs()
    settings = load()
    _check_account(settings)
    try:
        return asyncio.run(_run_in_context(settings, work))
    except PortalError as error:
        print_refusal(error, option)
        raise typer.Exit(REFUSED) from error


def hide_logs() -> None:
    """Log only critical events: a command prints what its user has to know."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def print_refusal(error: PortalError, option: Callable[[str], str] | None = None) -> None:
    """Print a refusal on stderr: the message, and each field's own message if it differs.

    With `option`, print each field's option with its message instead.
    """
    if option is not None and error.errors:
        for problem in error.errors:
            typer.echo(f"{option(problem.field)}: {problem.message}", err=True)
        return
    typer.echo(error.detail, err=True)
    for problem in error.errors:
        if problem.message != error.detail:
            typer.echo(f"  {problem.field}: {problem.message}", err=True)


def load() -> Settings:
    """Return the settings; an error in them exits with status 2."""
    try:
        return load_settings()
    except SettingsError as error:
        raise print_settings_error(error) from error


def print_settings_error(error: SettingsError) -> typer.Exit:
    """Print each settings error with its field on stderr; return the exit with status 2."""
    typer.echo("The portal can't start with these settings:", err=True)
    for field, message in error.problems:
        typer.echo(f"  {field}: {message}", err=True)
    typer.echo("docs/settings.md describes them all.", err=True)
    return typer.Exit(BAD_SETTINGS)


async def _run_in_context(
    settings: Settings, work: Callable[[AppContext, Actor], Awaitable[T]]
) -> T:
    async with open_context(settings) as context:
        return await work(context, Actor(f"cli:{unix_user()}"))


def unix_user() -> str:
    """Return the name of the account that runs this process."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _check_account(settings: Settings) -> None:
    """Refuse other accounts, because files that SQLite creates beside the database must belong to
    the portal.
    """
    file = sqlite_file(settings.database)
    if file is None:
        return
    try:
        owner = file.stat().st_uid
    except FileNotFoundError as error:
        typer.echo("There is no database yet: start the portal once.", err=True)
        raise typer.Exit(REFUSED) from error
    if owner != os.getuid():
        typer.echo(
            f"Run this as the account that the portal runs as (the owner of {file}), for example "
            "with `sudo -u`.",
            err=True,
        )
        raise typer.Exit(REFUSED)


# --- output -------------------------------------------------------------------------------------


def print_json(value: BaseModel | Sequence[BaseModel] | dict[str, Any]) -> None:
    """Print data as JSON, for programs."""
    if isinstance(value, BaseModel):
        data: Any = value.model_dump(mode="json")
    elif isinstance(value, dict):
        data = value
    else:
        data = [item.model_dump(mode="json") for item in value]
    json.dump(data, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table, with columns as wide as their widest cell."""
    lines = [tuple(header), *(tuple(map(_to_cell, row)) for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(header))]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())


def _to_cell(value: object) -> str:
    return "" if value is None else replace_unprintable(str(value))


def in_utc(at: datetime | None) -> datetime | None:
    """Attach UTC to a time from the command line, which has no zone."""
    return at.replace(tzinfo=UTC) if at is not None else None


@contextmanager
def new_secret_file(file: Path) -> Iterator[TextIO]:
    """Create a file that other accounts cannot read, and remove it again if the body fails.

    Raises typer.BadParameter if it exists.
    """
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise typer.BadParameter(f"{file} can't be created: {error.strerror}") from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        try:
            yield out
        except BaseException:
            file.unlink()
            raise
