"""`portal groups …`: groups at the command line, by the same services as the pages."""

from typing import Annotated

import typer

from portal.api.admin_groups import Group, GroupRow, row_out, show
from portal.cli.context import CliContext, Json, as_json, run, table
from portal.directory.contract import NewGroup
from portal.services.users import groups, role_changes

app = typer.Typer(help="Groups of the directory.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The group's name.", show_default=False)]
Usernames = Annotated[list[str], typer.Argument(help="Usernames.", show_default=False)]
PAGE = 200


@app.command("list")
def list_groups(
    query: Annotated[str, typer.Argument(help="Words in the name or description.")] = "",
    json: Json = False,
) -> None:
    """List groups."""

    async def execute(desk: CliContext) -> list[GroupRow]:
        rows, cursor = list[GroupRow](), None
        while True:
            page = await groups.page(desk.accounts, query, cursor, PAGE)
            rows += [row_out(desk.accounts, group) for group in page.groups]
            cursor = page.cursor
            if page.incomplete:
                typer.echo(page.incomplete, err=True)
            if cursor is None:
                return rows

    rows = run(execute)
    if json:
        as_json(rows)
        return
    header = ("NAME", "GID", "MEMBERS", "DESCRIPTION")
    table(header, [(one.name, one.gid, one.member_count, one.description) for one in rows])


@app.command("show")
def show_group(name: Name, json: Json = False) -> None:
    """Show a group and its members."""
    found = run(lambda desk: show(desk.accounts, name))
    if json:
        as_json(found)
        return
    number = "" if found.gid is None else f", GID {found.gid}"
    typer.echo(f"{found.name}{number}{': ' + found.description if found.description else ''}")
    if found.groups:
        typer.echo(f"nested groups: {', '.join(found.groups)}")
    if found.managers:
        typer.echo(f"managers: {', '.join(found.managers)}")
    header = ("USERNAME", "NAME", "ROLE", "INHERITED")
    table(
        header,
        [
            (one.username, one.display_name, one.role, "yes" if one.inherited else "")
            for one in found.members
        ],
    )


@app.command()
def create(
    name: Name,
    gid: Annotated[int | None, typer.Option(show_default=False)] = None,
    description: Annotated[str | None, typer.Option(show_default=False)] = None,
    member: Annotated[list[str] | None, typer.Option(help="May be repeated.")] = None,
) -> None:
    """Create a group."""
    new = NewGroup(name, gid, description or None, frozenset(member or ()))
    made = run(lambda desk: groups.create(desk.accounts, new, desk.by))
    number = "" if made.gid is None else f" with the GID {made.gid}"
    typer.echo(f"{made.name} was created{number}.")


@app.command()
def delete(name: Name) -> None:
    """Delete a group, unless it is the primary group of a user or named in the settings."""
    run(lambda desk: groups.delete(desk.accounts, name, desk.by))
    typer.echo(f"{name} was deleted.")


@app.command()
def add(name: Name, usernames: Usernames) -> None:
    """Add users to a group."""

    async def execute(desk: CliContext) -> Group:
        for username in usernames:
            await groups.add(desk.accounts, name, username, desk.by)
        return await show(desk.accounts, name)

    typer.echo(f"{name} has {len(run(execute).members)} members.")


@app.command()
def remove(name: Name, usernames: Usernames) -> None:
    """Remove users from a group."""

    async def execute(desk: CliContext) -> Group:
        for username in usernames:
            await groups.remove(desk.accounts, name, username, desk.by)
        return await show(desk.accounts, name)

    typer.echo(f"{name} has {len(run(execute).members)} members.")


@app.command("add-manager")
@app.command("lead", hidden=True)
def add_manager(name: Name, username: Annotated[str, typer.Argument(show_default=False)]) -> None:
    """Make a user a group manager: they see the members' usage and set their limits."""
    run(lambda desk: role_changes.add_manager(desk.accounts, name, username, desk.by))
    typer.echo(f"{username} manages {name}.")


@app.command("remove-manager")
@app.command("unlead", hidden=True)
def remove_manager(
    name: Name, username: Annotated[str, typer.Argument(show_default=False)]
) -> None:
    """Remove a group manager."""
    run(lambda desk: role_changes.remove_manager(desk.accounts, name, username, desk.by))
    typer.echo(f"{username} no longer manages {name}.")
