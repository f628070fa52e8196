"""`portal announcements …`: management of announcements at the command line.

A running portal shows changes made here within ten seconds.
"""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from portal.api.announcements import ManagedAnnouncement, managed
from portal.cli.context import Json, Text, in_utc, print_json, print_table, run
from portal.context import AppContext
from portal.models import AnnouncementLevel
from portal.services.announcements import announcements
from portal.services.announcements.announcements import (
    MAX_TEXT,
    MAX_TITLE,
    AnnouncementRequest,
)
from portal.services.audit.audit import Actor

app = typer.Typer(help="Announcements to all users.", no_args_is_help=True)

Id = Annotated[
    str, typer.Argument(help="The id in `portal announcements list`.", show_default=False)
]
When = Annotated[
    datetime | None,
    typer.Option(formats=["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"], help="In UTC."),
]


@app.command("list")
def list_announcements(json: Json = False) -> None:
    """List the newest fifty announcements, including those that have ended."""

    async def execute(context: AppContext, _by: Actor) -> list[ManagedAnnouncement]:
        rows = await announcements.page(context.db)
        return [managed(row) for row in rows[: announcements.PAGE]]

    rows = run(execute)
    if json:
        print_json(rows)
        return
    print_table(
        ("ID", "STATE", "LEVEL", "FROM (UTC)", "UNTIL (UTC)", "TITLE"),
        [
            (
                row.id,
                row.state,
                row.level,
                _format_time(row.starts_at),
                _format_time(row.ends_at),
                row.title,
            )
            for row in rows
        ],
    )


def _format_time(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment is not None else "–"


@app.command()
def add(
    title: Annotated[str, typer.Argument(show_default=False)],
    text: Annotated[str, typer.Option(show_default=False)] = "",
    level: AnnouncementLevel = AnnouncementLevel.INFO,
    starts: When = None,
    ends: When = None,
    public: Annotated[
        bool, typer.Option("--public", help="Also show it on the login page.")
    ] = False,
) -> None:
    """Create an announcement, and print its id."""
    _check_lengths(title, text)
    new = AnnouncementRequest(title, level, text, in_utc(starts), in_utc(ends), public)

    async def execute(context: AppContext, by: Actor) -> str:
        return (await announcements.add(context.db, new, by)).id

    typer.echo(run(execute, _to_option))


def _check_lengths(title: str, text: str) -> None:
    if len(title) > MAX_TITLE or len(text) > MAX_TEXT:
        raise typer.BadParameter(
            f"The title is limited to {MAX_TITLE} characters, the text to {MAX_TEXT}."
        )


def _to_option(field: str) -> str:
    """Return the option of a field at the command line."""
    return {"title": "the title"}.get(field, f"--{field.removesuffix('_at')}")


@app.command()
def edit(
    announcement: Id,
    title: Text = None,
    text: Text = None,
    level: Annotated[AnnouncementLevel | None, typer.Option(show_default=False)] = None,
    starts: When = None,
    ends: When = None,
    no_end: Annotated[bool, typer.Option("--no-end", help="Remove the end time.")] = False,
    public: Annotated[
        bool | None,
        typer.Option(
            "--public/--not-public", help="Also show it on the login page.", show_default=False
        ),
    ] = None,
) -> None:
    """Edit an announcement. Omitted fields stay unchanged."""
    if no_end and ends is not None:
        raise typer.BadParameter("Set either --ends or --no-end, not both.")
    _check_lengths(title or "", text or "")
    changes = {
        "title": title,
        "text": text,
        "level": level,
        "starts_at": in_utc(starts),
        "ends_at": in_utc(ends),
        "public": public,
    }
    values: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
    if no_end:
        values["ends_at"] = None
    if not values:
        raise typer.BadParameter("Set at least one field, for example --ends.")

    async def execute(context: AppContext, by: Actor) -> None:
        row = await announcements.get(context.db, announcement)
        await announcements.edit(context.db, row.id, row.version, values, by)

    run(execute, _to_option)


@app.command()
def end(announcement: Id) -> None:
    """End an announcement now; it stays in the list."""

    async def execute(context: AppContext, by: Actor) -> None:
        row = await announcements.get(context.db, announcement)
        values: dict[str, Any] = {"ends_at": datetime.now(UTC)}
        await announcements.edit(context.db, row.id, row.version, values, by)

    run(execute)


@app.command()
def delete(announcement: Id) -> None:
    """Delete an announcement permanently."""

    async def execute(context: AppContext, by: Actor) -> None:
        await announcements.delete(context.db, announcement, by)

    run(execute)
