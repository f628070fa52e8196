"""`portal usage`: usage at the command line, as counted by a running portal."""

import sys
from contextlib import AsyncExitStack
from typing import Annotated, Literal

import typer

from portal.api.my_limits import UsageTotals, usage_csv, usage_totals
from portal.app import open_context
from portal.cli.context import CliContext, as_json, run, table


def usage(
    first: Annotated[
        str | None,
        typer.Option("--from", metavar="YYYY-MM", help="Default: this month.", show_default=False),
    ] = None,
    last: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="YYYY-MM", help="The last month, included.", show_default=False
        ),
    ] = None,
    by: Literal["user", "group", "month"] = "user",
    user: Annotated[str | None, typer.Option(help="Only this user.", show_default=False)] = None,
    group: Annotated[
        str | None, typer.Option(help="Only members of this group.", show_default=False)
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV, for spreadsheets.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Show GPU-hours and CPU-hours by user, group or month."""
    if csv and json:
        raise typer.BadParameter("Set either --csv or --json, not both.")

    async def execute(desk: CliContext) -> UsageTotals:
        async with AsyncExitStack() as stack:
            context = await open_context(desk.accounts.settings, desk.accounts.database, stack)
            return await usage_totals(context, (first, last), by, user, group)

    found = run(execute, lambda field: f"--{field}")
    if csv:
        sys.stdout.write(usage_csv(found))
    elif json:
        as_json(found)
    else:
        rows = [*found.items, found.total.model_copy(update={"name": "total"})]
        table(
            (by.upper(), "GPU-HOURS", "CPU-HOURS", "JOBS"),
            [(row.name, row.gpu_hours, row.cpu_hours, row.jobs) for row in rows],
        )
        read = f"{found.as_of:%Y-%m-%d %H:%M} UTC" if found.as_of else "never"
        typer.echo(f"Slurm's accounting was last read: {read}")
