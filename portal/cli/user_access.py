"""`portal users disable`, `enable`, `delete`, `grant`, `revoke`, `number`: access and roles of
users.

By the same services as the pages; a running portal ends the sessions and jobs.
"""

from enum import StrEnum
from typing import Annotated

import typer

from portal.cli.context import run
from portal.cli.users import Username, app
from portal.context import AppContext
from portal.models import HomeTask, JobsPolicy, Role
from portal.services.audit.audit import Actor
from portal.services.deprovision import offboarding
from portal.services.deprovision.offboarding import DeletionOptions
from portal.services.users import role_changes

__all__ = ["app"]  # the app of portal.cli.users, with these commands added

Jobs = Annotated[JobsPolicy, typer.Option(help="What happens to batch jobs; sessions always end.")]
CLOSING = "A running portal ends their sessions and jobs: see `portal users show {username}`."


class HomePolicy(StrEnum):
    """The fate of a home directory."""

    KEEP = "keep"
    ARCHIVE = "archive"
    DELETE = "delete"


class Granted(StrEnum):
    """The roles that can be granted."""

    ADMIN = "admin"
    VIEWER = "viewer"


@app.command()
def disable(
    username: Username,
    jobs: Jobs = JobsPolicy.CANCEL,
    why: Annotated[str, typer.Option(help="Shown to administrators.")] = "",
) -> None:
    """Disable a user, here and in the directory."""

    async def execute(context: AppContext, by: Actor) -> None:
        await offboarding.disable(context, username, jobs, why, by)

    run(execute)
    typer.echo(f"{username} is disabled. {CLOSING.format(username=username)}")


@app.command()
def enable(username: Username) -> None:
    """Enable a user again, in the directory too. What was ended is not restarted."""
    run(lambda context, by: offboarding.enable(context, username, by))
    typer.echo(f"{username} is enabled.")


@app.command()
def delete(
    username: Username,
    files: Annotated[HomePolicy, typer.Option(help="What happens to the home directory.")],
    confirm: Annotated[
        str, typer.Option(help="The username again, to confirm.", show_default=False)
    ],
    jobs: Jobs = JobsPolicy.CANCEL,
) -> None:
    """Disable a user and, once their sessions and jobs have ended, delete the account."""
    if confirm != username:
        raise typer.BadParameter(f"Set --confirm {username} to confirm.")
    options = DeletionOptions(None if files is HomePolicy.KEEP else HomeTask(files.value), jobs)

    async def execute(context: AppContext, by: Actor) -> None:
        await offboarding.delete(context, username, options, by)

    run(execute)
    typer.echo(f"{username} is being deleted. {CLOSING.format(username=username)}")


@app.command()
def grant(
    username: Username,
    role: Annotated[Granted, typer.Argument(help="The role.", show_default=False)],
) -> None:
    """Grant a user a role in addition to the directory's."""

    async def execute(context: AppContext, by: Actor) -> None:
        await role_changes.grant(context, username, Role(role.value), by)

    run(execute)
    typer.echo(f"{username} has been granted the role {role.value}.")


@app.command()
def revoke(username: Username) -> None:
    """Revoke a granted role; the directory's role stays."""
    run(lambda context, by: role_changes.grant(context, username, None, by))
    typer.echo(f"{username} has no granted role.")


@app.command()
def number(
    username: Username,
    uid: Annotated[int, typer.Argument(help="The UID in the directory.", show_default=False)],
) -> None:
    """Confirm that a user whose UID in the directory has changed is still the same user."""

    async def execute(context: AppContext, by: Actor) -> None:
        await offboarding.confirm_number(context, username, uid, by)

    run(execute)
    typer.echo(f"{username} now has the UID {uid}.")
