"""`ssh`, `ssh-config`, and `ssh-proxy`, which ssh runs to reach a session."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Annotated

import typer

from .. import operations
from ..errors import NothingFound, RefusedByPortal, UsageProblem
from ..models import RUNNING, JobSshSetup, SessionSummary
from ..ssh import openssh, portal_ssh
from .jobs import find_job
from .options import CommandContext, JsonOption, PortalOption, open_context
from .sessions import find_session

JOB_NUMBER = re.compile(r"[1-9][0-9]{0,9}")  # names of sessions begin with a letter
SUGGESTIONS = {
    portal_ssh.NO_SCOPE: "Run: dsp login --scope ssh (or give the token the permission SSH)."
}


TargetArgument = Annotated[
    str, typer.Argument(help="A session's name or start of the id, or Slurm's number of a job.")
]


def ssh(
    session: TargetArgument,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND…]", help="A command line; default: a shell."),
    ] = None,
    portal: PortalOption = None,
) -> None:
    """Connect to a running session or job by SSH; the exit status is that of ssh."""
    context = open_context(portal, as_json=False)
    program = openssh.find_program()
    if JOB_NUMBER.fullmatch(session):
        name, problem = session, _find_job(context, session).problem
    else:
        found = _check_running(find_session(context.connection, session))
        setup = context.connection.call(operations.GET_SESSION_SSH, {"session_id": found.id})
        name, problem = found.name, setup.problem
    if problem is not None:
        raise RefusedByPortal(problem, kind="ssh-unavailable")
    config = _prepare(context, program)
    host = f"{name}.{portal_ssh.host_suffix(context.url)}"
    _parse_host(host)  # a name from the portal: ssh's shell gets it
    openssh.run_program([program, "-F", str(config), "--", host, *(command or ())])


def ssh_config(portal: PortalOption = None, as_json: JsonOption = False) -> None:
    """Print the block for ~/.ssh/config with which ssh, scp and editors reach sessions and jobs."""
    context = open_context(portal, as_json=as_json)
    config = _prepare(context, openssh.find_program(), is_shown=True)
    block = config.read_text("utf-8")
    if as_json:
        context.output.result({"config": block, "path": str(config)})
    else:
        context.output.log(block)


def ssh_proxy(
    host: Annotated[str, typer.Argument(help="The name of the session's host, as ssh has it.")],
    portal: PortalOption = None,
) -> None:
    """Connect standard input and output to the sshd of a session or job: ssh's ProxyCommand."""
    context = open_context(portal, as_json=False)
    name = _parse_host(host)
    if JOB_NUMBER.fullmatch(name):
        url = context.to_address(_find_job(context, name).url)
    else:
        found = _check_running(find_session(context.connection, name))
        url = f"{context.to_address(found.url or '').rstrip('/')}/ssh"
    folder = _folder(context)
    asyncio.run(portal_ssh.run(url, context.token, host, folder, SUGGESTIONS))


def _parse_host(host: str) -> str:
    """Return the first part of a host's name. Raises UsageProblem for what can't be one."""
    try:
        return portal_ssh.parse_session(host)
    except portal_ssh.ConnectionRefusal as error:
        raise UsageProblem(str(error)) from error


def _find_job(context: CommandContext, number: str) -> JobSshSetup:
    """Return the setup for a running job. Raises NothingFound, RefusedByPortal."""
    found = find_job(context.connection, number)
    if str(found.job_id) != number:  # the start of another job's id
        raise NothingFound(f"You have no job with the number {number}.")
    return context.connection.call(operations.GET_JOB_SSH, {"batch_job_id": found.id})


def _check_running(session: SessionSummary) -> SessionSummary:
    if session.state != RUNNING or session.url is None:
        raise RefusedByPortal(
            f"The session {session.name} isn't running: {session.state}. {session.reason or ''}",
            f"Run: dsp sessions open {session.name} --no-browser, which waits until it runs.",
            kind="not-running",
        )
    return session


def _prepare(context: CommandContext, program: str, *, is_shown: bool = False) -> Path:
    """Create and update ssh's files for the portal; return its configuration.

    Warn of a version of ssh with a known flaw when the files are created, and each time that the
    block is shown: in ~/.ssh/config it also applies to host names that come from other programs.
    """
    folder = _folder(context)
    account = context.connection.call(operations.GET_ACCOUNT)
    own = openssh.find_own_program()
    block = openssh.render_block(context.url, account.username, folder, own)
    warning = None
    if is_shown or not (folder / openssh.CONFIG).exists():
        warning = openssh.warn_of_version(program)
    if warning is not None:
        context.output.note(warning)
    return openssh.prepare_folder(folder, block)


def _folder(context: CommandContext) -> Path:
    return openssh.folder_of(context.config, context.url)
