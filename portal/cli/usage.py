"""`portal usage`: usage at the command line, as counted by a running portal."""

import sys
from typing import Annotated

import typer

from portal.api.usage import UsageBy, usage_csv, usage_totals
from portal.cli.context import Json, print_json, print_table, run


def usage(
    first: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="YYYY-MM[-DD]", help="Default: this month.", show_default=False
        ),
    ] = None,
    last: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="YYYY-MM[-DD]",
            help="The last month or day, included.",
            show_default=False,
        ),
    ] = None,
    by: UsageBy = "user",
    user: Annotated[str | None, typer.Option(help="Only this user.", show_default=False)] = None,
    group: Annotated[
        str | None, typer.Option(help="Only members of this group.", show_default=False)
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV, for spreadsheets.")] = False,
    json: Json = False,
) -> None:
    """Show GPU-hours and CPU-hours by user, group, Slurm account, month or day."""
    if csv and json:
        raise typer.BadParameter("Set either --csv or --json, not both.")

    totals = run(
        lambda context, _by: usage_totals(context, (first, last), by, user, group),
        lambda field: f"--{field}",
    )
    if csv:
        sys.stdout.write(usage_csv(totals))
    elif json:
        print_json(totals)
    else:
        rows = [*totals.items, totals.total.model_copy(update={"name": "total"})]
        print_table(
            (by.upper(), "GPU-HOURS", "CPU-HOURS", "JOBS"),
            [(row.name, row.gpu_hours, row.cpu_hours, row.jobs) for row in rows],
        )
        read = f"{totals.as_of:%Y-%m-%d %H:%M} UTC" if totals.as_of else "never"
        typer.echo(f"Slurm's accounting was last read: {read}")
