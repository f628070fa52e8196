"""The command line: serve, check, openapi; what administrators do is in other files.

These and app.py alone read the environment; everything else is handed its settings.
"""

import asyncio
import json
import logging
import sys
from contextlib import ExitStack
from typing import Annotated

import typer

from portal import check as checks
from portal import (
    cli_announcements,
    cli_audit,
    cli_backup,
    cli_groups,
    cli_init,
    cli_install,
    cli_leaving,
    cli_limits,
    cli_node_ca,
    cli_usage,
    start,
)
from portal import logging as portal_logging
from portal.app import bare_app, create_app
from portal.cli_desk import load
from portal.finding import Finding
from portal.serve import Server, server_config

MOST_SAID = 2000
app = typer.Typer(
    help="The Data Scientist Portal's web service. Settings: PORTAL_CONFIG names a TOML file.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


app.add_typer(cli_leaving.app, name="users")
app.add_typer(cli_groups.app, name="groups")
app.add_typer(cli_limits.app, name="limits")
app.command()(cli_usage.usage)
app.add_typer(cli_audit.app, name="audit")
app.add_typer(cli_announcements.app, name="announcements")
app.command()(cli_init.init)
app.command()(cli_node_ca.node_ca)
app.command()(cli_install.secrets)
app.command()(cli_install.runtime)
app.command()(cli_install.system_files)
app.command()(cli_backup.migrate)
app.command()(cli_backup.backup)
app.command()(cli_backup.restore)


@app.command()
def serve(
    fd: Annotated[
        int | None, typer.Option(help="A listening socket that was handed over, by its number.")
    ] = None,
) -> None:
    """Serve until told to stop."""
    settings = load()
    portal_logging.configure(settings)
    log = logging.getLogger(__name__)
    with ExitStack() as stack:
        try:
            stack.enter_context(start.running(settings))
            listener = stack.enter_context(start.listener(settings, fd))
            start.prepare_node_ca(settings)
            asyncio.run(start.prepare_database(settings))
        except start.StartRefused as error:
            typer.echo(f"The portal can't start: {error}", err=True)
            raise typer.Exit(1) from error
        log.info("the portal starts on %s", settings.public_url)
        server = Server(server_config(create_app(settings), settings))
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
            help="Somebody, such as yourself, as whom the launcher and one small job are tried:"
            " the job looks at a node.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Try everything the portal needs; say what to do about what doesn't work."""
    settings = load()
    findings = [Finding("settings"), checks.pages(settings), *checks.run(settings, as_user)]
    for finding in findings:
        typer.echo(_line(finding))
    if as_user is None:
        typer.echo("Nodes weren't looked at: `portal check --as NAME` does it as somebody.")
    if any(finding.problem for finding in findings):
        raise typer.Exit(1)


@app.command()
def openapi() -> None:
    """Print the API's schema, always the same for the same code."""
    json.dump(bare_app().openapi(), sys.stdout, indent=2, sort_keys=True, ensure_ascii=False)
    sys.stdout.write("\n")


def _line(finding: Finding) -> str:
    what = _plain(finding.what)
    if finding.problem is None:
        return f"ok      {what}"
    return f"FAILED  {what}: {_plain(finding.problem)}\n        → {finding.advice}"


def _plain(text: str) -> str:
    """A user's job may have said it: it moves no cursor and fills no screen."""
    words = " ".join(text.split())[:MOST_SAID]
    return "".join(letter if letter.isprintable() else "?" for letter in words)


def main() -> None:
    app()
