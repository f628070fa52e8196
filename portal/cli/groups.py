"""`portal groups …`: groups at the command line, by the same services as the pages."""

from typing import Annotated

import typer

from portal.api.admin_groups import Group, GroupRow, row_out, show
from portal.cli.context import Json, print_json, print_table, run
from portal.context import AppContext
from portal.directory.contract import NewGroup
from portal.services.audit.audit import Actor
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

    async def execute(context: AppContext, _by: Actor) -> list[GroupRow]:
        rows, cursor = list[GroupRow](), None
        while True:
            page = await groups.page(context, query, cursor, PAGE)
            rows += [row_out(context, group) for group in page.groups]
            cursor = page.cursor
            if page.incomplete:
                typer.echo(page.incomplete, err=True)
            if cursor is None:
                return rows

    rows = run(execute)
    if json:
        print_json(rows)
        return
    header = ("NAME", "GID", "MEMBERS", "DESCRIPTION")
    print_table(header, [(row.name, row.gid, row.member_count, row.description) for row in rows])


@app.command("show")
def show_group(name: Name, json: Json = False) -> None:
    """Show a group and its members."""
    group = run(lambda context, _by: show(context, name))
    if json:
        print_json(group)
        return
    number = "" if group.gid is None else f", GID {group.gid}"
    typer.echo(f"{group.name}{number}{': ' + group.description if group.description else ''}")
    if group.groups:
        typer.echo(f"nested groups: {', '.join(group.groups)}")
    if group.managers:
        typer.echo(f"managers: {', '.join(group.managers)}")
    header = ("USERNAME", "NAME", "ROLE", "INHERITED")
    print_table(
        header,
        [
            (member.username, member.display_name, member.role, "yes" if member.inherited else "")
            for member in group.members
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
    group = run(lambda context, by: groups.create(context, new, by))
    number = "" if group.gid is None else f" with the GID {group.gid}"
    typer.echo(f"{group.name} was created{number}.")


@app.command()
def delete(name: Name) -> None:
    """Delete a group, unless it is the primary group of a user or named in the settings."""
    run(lambda context, by: groups.delete(context, name, by))
    typer.echo(f"{name} was deleted.")


@app.command()
def add(name: Name, usernames: Usernames) -> None:
    """Add users to a group."""

    async def execute(context: AppContext, by: Actor) -> Group:
        for username in usernames:
            await groups.add(context, name, username, by)
        return await show(context, name)

    typer.echo(f"{name} has {len(run(execute).members)} members.")


@app.command()
def remove(name: Name, usernames: Usernames) -> None:
    """Remove users from a group."""

    async def execute(context: AppContext, by: Actor) -> Group:
        for username in usernames:
            await groups.remove(context, name, username, by)
        return await show(context, name)

    typer.echo(f"{name} has {len(run(execute).members)} members.")


# `lead` and `unlead` are the former names of these commands.
@app.command("add-manager")
@app.command("lead", hidden=True)
def add_manager(name: Name, username: Annotated[str, typer.Argument(show_default=False)]) -> None:
    """Make a user a group manager: they see the members' usage and set their limits."""
    run(lambda context, by: role_changes.add_manager(context, name, username, by))
    typer.echo(f"{username} manages {name}.")


@app.command("remove-manager")
@app.command("unlead", hidden=True)
def remove_manager(
    name: Name, username: Annotated[str, typer.Argument(show_default=False)]
) -> None:
    """Remove a group manager."""
    run(lambda context, by: role_changes.remove_manager(context, name, username, by))
    typer.echo(f"{username} no longer manages {name}.")
