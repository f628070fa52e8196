"""The program `dsp`: its commands, and its exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from . import __version__
from .commands import copy, jobs, login, run, sessions, ssh, tensorboard
from .errors import ClientError, ExitCode
from .output import Output

app = typer.Typer(
    name="dsp",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a traceback with local variables would show the token
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(login.login)
app.command()(login.logout)
app.command()(login.whoami)
app.command(context_settings={"ignore_unknown_options": False})(run.run)
app.command()(jobs.jobs)
app.command()(jobs.logs)
app.command()(jobs.cancel)
app.command()(copy.cp)
app.command()(tensorboard.tensorboard)
app.command()(ssh.ssh)
app.command("ssh-config")(ssh.ssh_config)
app.command("ssh-proxy", hidden=True)(ssh.ssh_proxy)
app.add_typer(sessions.app, name="sessions")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"dsp {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="Show the version."),
    ] = False,
) -> None:
    """Jobs, sessions and files on the cluster, from any computer."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code.

    typer itself reports wrong usage, with the code 2, and an interruption, with 130.
    """
    argv = list(sys.argv[1:] if arguments is None else arguments)
    try:
        app(args=argv, prog_name="dsp")
    except ClientError as error:
        own = argv[: argv.index("--")] if "--" in argv else argv
        Output(as_json="--json" in own).error(error)
        return int(error.code)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(ExitCode.OK)
    return int(ExitCode.OK)
