"""The command line: serve, check, openapi; the administrators' commands are in other modules.

Only the CLI modules and app.py read the environment; everything else receives its settings.
"""

import asyncio
import gc
import json
import logging
import sys
from contextlib import ExitStack
from typing import Annotated

import typer

from portal import logging as portal_logging
from portal import startup
from portal.cli import (
    announcements,
    audit,
    backup,
    groups,
    init,
    limits,
    node_ca,
    usage,
    user_access,
)
from portal.cli.check_results import format_result
from portal.cli.context import hide_logs, load
from portal.health.command import check as run_checks
from portal.health.result import CheckResult

app = typer.Typer(
    help="The Data Scientist Portal's web service. Settings: PORTAL_CONFIG names a TOML file.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


app.add_typer(user_access.app, name="users")
app.add_typer(groups.app, name="groups")
app.add_typer(limits.app, name="limits")
app.command()(usage.usage)
app.add_typer(audit.app, name="audit")
app.add_typer(announcements.app, name="announcements")
app.command()(init.init)
app.command()(node_ca.node_ca)
app.command()(backup.migrate)
app.command()(backup.backup)
app.command()(backup.restore)


@app.command()
def serve(
    fd: Annotated[
        int | None, typer.Option(help="The file descriptor of an inherited listening socket.")
    ] = None,
) -> None:
    """Serve until stopped."""
    gc.disable()  # until PortalServer has started: no module is garbage, and searching takes 0.5 s
    # Imported here: at the top, the routes would be a quarter of every other command's start time.
    from portal.app import create_app  # noqa: PLC0415
    from portal.server import PortalServer, server_config  # noqa: PLC0415

    settings = load()
    portal_logging.configure(settings)
    log = logging.getLogger(__name__)
    with ExitStack() as stack:
        try:
            stack.enter_context(startup.hold_running_lock(settings))
            listener = stack.enter_context(startup.listener(settings, fd))
            startup.prepare_node_ca(settings)
            asyncio.run(startup.prepare_database(settings))
        except startup.StartRefused as error:
            typer.echo(f"The portal can't start: {error}", err=True)
            raise typer.Exit(1) from error
        log.info("the portal starts on %s", settings.public_url)
        server = PortalServer(server_config(create_app(settings), settings))
        server.run(sockets=[listener])
    if not server.started:
        raise typer.Exit(1)


@app.command()
def check(
    as_user: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="NAME",
            help="A user, such as yourself. Checks the launcher and a node with a small job of this"
            " user.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Check everything the portal needs, and print a remedy for each failure."""
    hide_logs()
    settings = load()
    results = [CheckResult("settings"), *asyncio.run(run_checks(settings, as_user))]
    for result in results:
        typer.echo(format_result(result))
    if as_user is None:
        typer.echo("Nodes weren't checked. To check them as a user: portal check --as NAME")
    if any(result.problem for result in results):
        raise typer.Exit(1)


@app.command()
def openapi() -> None:
    """Print the API's schema, which is deterministic."""
    from portal.app import bare_app  # noqa: PLC0415

    json.dump(bare_app().openapi(), sys.stdout, indent=2, sort_keys=True, ensure_ascii=False)
    sys.stdout.write("\n")
