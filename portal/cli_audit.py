"""`portal audit …`: what was done, at the command line."""

import sys
from datetime import datetime
from typing import Annotated

import typer

from portal.api.admin_audit import EventOut, event_out
from portal.cli_desk import Desk, as_json, in_utc, run, table
from portal.services.audit import audit_export, audit_search
from portal.services.audit.audit_export import Format
from portal.services.audit.audit_search import Filter

app = typer.Typer(help="Who did what, newest first.", no_args_is_help=True)

Words = Annotated[str, typer.Argument(help="Words that begin words of the event.")]
Text = Annotated[str, typer.Option(show_default=False)]
Action = Annotated[str, typer.Option(help="`login.failed`, or `login.` for all of a kind.")]
When = Annotated[
    datetime | None, typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"], help="In UTC.")
]


def _filter(
    query: str, actor: str, action: str, target: str, ip: str,
    since: datetime | None, until: datetime | None,
) -> Filter:  # fmt: skip
    return Filter(query, actor, action, target, ip, in_utc(since), in_utc(until))


@app.command("list")
def list_events(
    query: Words = "",
    actor: Text = "",
    action: Action = "",
    target: Text = "",
    ip: Text = "",
    since: When = None,
    until: When = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 50,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Look events up."""
    wanted = _filter(query, actor, action, target, ip, since, until)

    async def work(desk: Desk) -> list[EventOut]:
        found = await audit_search.page(desk.accounts.database, wanted, limit=limit)
        return [event_out(event) for event in found]

    events = run(work)
    if json:
        as_json(events)
        return
    table(
        ("WHEN (UTC)", "WHO", "WHAT", "TARGET", "FROM", "MORE"),
        [
            (f"{e.at:%Y-%m-%d %H:%M:%S}", e.actor, e.action, e.target, e.ip, _more(e))
            for e in events
        ],
    )


def _more(event: EventOut) -> str:
    told = [f"{change.field}: {change.old} → {change.new}" for change in event.changes]
    told += [f"{name}: {value}" for name, value in event.detail.items()]
    return "; ".join(told)


@app.command()
def export(
    query: Words = "",
    actor: Text = "",
    action: Action = "",
    target: Text = "",
    ip: Text = "",
    since: When = None,
    until: When = None,
    how: Annotated[Format, typer.Option("--format")] = Format.JSONL,
) -> None:
    """Print all events that fit, as JSON Lines or CSV. That it was done is an event of its own."""
    wanted = _filter(query, actor, action, target, ip, since, until)

    async def work(desk: Desk) -> None:
        await audit_export.begin(desk.accounts.database, wanted, how, desk.by)
        async for piece in audit_export.export(desk.accounts.database, wanted, how):
            sys.stdout.write(piece.decode())

    run(work)
