"""`portal announcements …`: what everyone is told, at the command line.

A running portal shows what is changed here within ten seconds.
"""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from portal.api.announcements import ManagedAnnouncement, managed
from portal.cli_desk import Desk, as_json, in_utc, run, table
from portal.models import AnnouncementLevel
from portal.services import announcements
from portal.services.announcements import MAX_TEXT, MAX_TITLE, Wish

app = typer.Typer(help="What everyone is told.", no_args_is_help=True)

Id = Annotated[str, typer.Argument(help="As `list` shows it.", show_default=False)]
When = Annotated[
    datetime | None,
    typer.Option(formats=["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"], help="In UTC."),
]
Text = Annotated[str | None, typer.Option(show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@app.command("list")
def list_announcements(json: Json = False) -> None:
    """List the newest fifty, also those that have ended."""

    async def work(desk: Desk) -> list[ManagedAnnouncement]:
        found = await announcements.page(desk.accounts.database)
        return [managed(row) for row in found[: announcements.PAGE]]

    rows = run(work)
    if json:
        as_json(rows)
        return
    table(
        ("ID", "STATE", "LEVEL", "FROM (UTC)", "UNTIL (UTC)", "TITLE"),
        [
            (row.id, row.state, row.level, _at(row.starts_at), _at(row.ends_at), row.title)
            for row in rows
        ],
    )


def _at(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment is not None else "–"


@app.command()
def add(
    title: Annotated[str, typer.Argument(show_default=False)],
    text: Annotated[str, typer.Option(show_default=False)] = "",
    level: AnnouncementLevel = AnnouncementLevel.INFO,
    starts: When = None,
    ends: When = None,
    public: Annotated[bool, typer.Option("--public", help="On the login page too.")] = False,
) -> None:
    """Announce something; prints its id."""
    _check_lengths(title, text)
    wish = Wish(title, level, text, in_utc(starts), in_utc(ends), public)

    async def work(desk: Desk) -> str:
        return (await announcements.add(desk.accounts.database, wish, desk.by)).id

    typer.echo(run(work, _option))


def _check_lengths(title: str, text: str) -> None:
    if len(title) > MAX_TITLE or len(text) > MAX_TEXT:
        raise typer.BadParameter(f"A title has at most {MAX_TITLE} characters, a text {MAX_TEXT}.")


def _option(field: str) -> str:
    """How a field is called at the command line."""
    return {"title": "the title"}.get(field, f"--{field.removesuffix('_at')}")


@app.command()
def edit(
    announcement: Id,
    title: Text = None,
    text: Text = None,
    level: Annotated[AnnouncementLevel | None, typer.Option(show_default=False)] = None,
    starts: When = None,
    ends: When = None,
    no_end: Annotated[bool, typer.Option("--no-end", help="Until further notice.")] = False,
    public: Annotated[
        bool | None,
        typer.Option("--public/--not-public", help="On the login page too.", show_default=False),
    ] = None,
) -> None:
    """Change it; what isn't named stays."""
    if no_end and ends is not None:
        raise typer.BadParameter("Say --ends or --no-end, not both.")
    _check_lengths(title or "", text or "")
    named = {
        "title": title,
        "text": text,
        "level": level,
        "starts_at": in_utc(starts),
        "ends_at": in_utc(ends),
        "public": public,
    }
    values: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    if no_end:
        values["ends_at"] = None
    if not values:
        raise typer.BadParameter("Say what to change, for example --ends.")

    async def work(desk: Desk) -> None:
        row = await announcements.get(desk.accounts.database, announcement)
        await announcements.edit(desk.accounts.database, row.id, row.version, values, desk.by)

    run(work, _option)


@app.command()
def end(announcement: Id) -> None:
    """End it now; it stays in the list."""

    async def work(desk: Desk) -> None:
        row = await announcements.get(desk.accounts.database, announcement)
        values: dict[str, Any] = {"ends_at": datetime.now(UTC)}
        await announcements.edit(desk.accounts.database, row.id, row.version, values, desk.by)

    run(work)


@app.command()
def delete(announcement: Id) -> None:
    """Take it away for good."""

    async def work(desk: Desk) -> None:
        await announcements.delete(desk.accounts.database, announcement, desk.by)

    run(work)
