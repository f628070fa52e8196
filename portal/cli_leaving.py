"""`portal users disable`, `enable`, `delete`, `grant`, `revoke`, `number`: who may be here, and as
what. By the same services as the pages; the portal itself, if it runs, ends what is open."""

from enum import StrEnum
from typing import Annotated

import typer

from portal.cli_desk import Desk, run
from portal.cli_users import Username, app
from portal.models import HomeTask, JobsPolicy, Role
from portal.services.people import admins, offboarding
from portal.services.people.offboarding import Leaving

__all__ = ["app"]  # that of cli_users, and these commands with it

Jobs = Annotated[JobsPolicy, typer.Option(help="What becomes of batch jobs; sessions always end.")]
CLOSING = "The portal ends what is open, if it runs: `portal users show {username}` says more."


class Files(StrEnum):
    """What becomes of a home directory."""

    KEEP = "keep"
    ARCHIVE = "archive"
    DELETE = "delete"


class Granted(StrEnum):
    """Roles that can be granted."""

    ADMIN = "admin"
    VIEWER = "viewer"


@app.command()
def disable(
    username: Username,
    jobs: Jobs = JobsPolicy.CANCEL,
    why: Annotated[str, typer.Option(help="Shown to administrators.")] = "",
) -> None:
    """Shut somebody out, here and in the directory."""

    async def work(desk: Desk) -> None:
        changes = desk.accounts.changes
        await offboarding.disable(desk.accounts, changes, username, jobs, why, desk.by)

    run(work)
    typer.echo(f"{username} is disabled. {CLOSING.format(username=username)}")


@app.command()
def enable(username: Username) -> None:
    """Let somebody in again, in the directory too. What was ended stays so."""
    run(lambda desk: offboarding.enable(desk.accounts, desk.accounts.changes, username, desk.by))
    typer.echo(f"{username} is enabled.")


@app.command()
def delete(
    username: Username,
    files: Annotated[Files, typer.Option(help="What becomes of the home directory.")],
    confirm: Annotated[str, typer.Option(help="The username again.", show_default=False)],
    jobs: Jobs = JobsPolicy.CANCEL,
) -> None:
    """Disable somebody and, once all of theirs has ended, delete them from the directory."""
    if confirm != username:
        raise typer.BadParameter(f"Say --confirm {username}.")
    leaving = Leaving(None if files is Files.KEEP else HomeTask(files.value), jobs)

    async def work(desk: Desk) -> None:
        await offboarding.delete(desk.accounts, desk.accounts.changes, username, leaving, desk.by)

    run(work)
    typer.echo(f"{username} is being deleted. {CLOSING.format(username=username)}")


@app.command()
def grant(
    username: Username,
    role: Annotated[Granted, typer.Argument(help="The role.", show_default=False)],
) -> None:
    """Grant somebody a role, beside what the directory gives them."""

    async def work(desk: Desk) -> None:
        changes = desk.accounts.changes
        await admins.grant(desk.accounts, changes, username, Role(role.value), desk.by)

    run(work)
    typer.echo(f"{username} has been granted the role {role.value}.")


@app.command()
def revoke(username: Username) -> None:
    """Take a granted role away; what the directory gives stays."""
    run(lambda desk: admins.grant(desk.accounts, desk.accounts.changes, username, None, desk.by))
    typer.echo(f"{username} has no granted role.")


@app.command()
def number(
    username: Username,
    uid: Annotated[int, typer.Argument(help="The directory's number.", show_default=False)],
) -> None:
    """Say that somebody whose number in the directory is another one now is the same person."""

    async def work(desk: Desk) -> None:
        changes = desk.accounts.changes
        await offboarding.confirm_number(desk.accounts, changes, username, uid, desk.by)

    run(work)
    typer.echo(f"{username} is known by the number {uid}.")
