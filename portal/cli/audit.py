"""`portal audit …`: search and export of the audit log at the command line."""

import sys
from datetime import datetime
from typing import Annotated

import typer

from portal.api.admin_audit import EventOut, event_out
from portal.cli.context import Json, in_utc, print_json, print_table, run
from portal.context import AppContext
from portal.services.audit import export as audit_export
from portal.services.audit import search
from portal.services.audit.audit import Actor
from portal.services.audit.export import Format
from portal.services.audit.search import AuditFilter

app = typer.Typer(help="The audit log, newest events first.", no_args_is_help=True)

Words = Annotated[str, typer.Argument(help="Beginnings of words in the event.")]
Text = Annotated[str, typer.Option(show_default=False)]
Action = Annotated[
    str, typer.Option(help="An action such as `login.failed`, or a prefix such as `login.`.")
]
When = Annotated[
    datetime | None, typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"], help="In UTC.")
]


def _build_filter(
    query: str, actor: str, action: str, target: str, ip: str,
    since: datetime | None, until: datetime | None,
) -> AuditFilter:  # fmt: skip
    return AuditFilter(query, actor, action, target, ip, in_utc(since), in_utc(until))


@app.command("list")
def list_events(
    query: Words = "",
    actor: Text = "",
    action: Action = "",
    target: Text = "",
    ip: Text = "",
    since: When = None,
    until: When = None,
    limit: Annotated[
        int, typer.Option(min=1, max=10_000, help="The largest number of events.")
    ] = 50,
    json: Json = False,
) -> None:
    """Search events."""
    event_filter = _build_filter(query, actor, action, target, ip, since, until)

    async def execute(context: AppContext, _by: Actor) -> list[EventOut]:
        events = await search.page(context.db, event_filter, limit=limit)
        return [event_out(event) for event in events]

    events = run(execute)
    if json:
        print_json(events)
        return
    print_table(
        ("TIME (UTC)", "ACTOR", "ACTION", "TARGET", "ADDRESS", "DETAILS"),
        [
            (f"{e.at:%Y-%m-%d %H:%M:%S}", e.actor, e.action, e.target, e.ip, _format_details(e))
            for e in events
        ],
    )


def _format_details(event: EventOut) -> str:
    parts = [f"{change.field}: {change.old} → {change.new}" for change in event.changes]
    parts += [f"{name}: {value}" for name, value in event.detail.items()]
    return "; ".join(parts)


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
    """Print all matching events, as JSON Lines or CSV. The export is itself an event."""
    event_filter = _build_filter(query, actor, action, target, ip, since, until)

    async def execute(context: AppContext, by: Actor) -> None:
        await audit_export.record_export(context.db, event_filter, how, by)
        async for piece in audit_export.export(context.db, event_filter, how):
            sys.stdout.write(piece.decode())

    run(execute)
