"""`portal users …`: people at the command line, by the same services as the pages.

One-time passwords are shown only where that is asked for, on the terminal or into a file of mode
0600; no password is ever an argument.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import typer

from portal.api.person_views import Person, PersonRow, row_out, show
from portal.cli_desk import Desk, as_json, run, table, write_secret
from portal.directory.contract import Edit, NewPerson, OneTimePassword
from portal.services.people import csv_people, groups, people_import, person_changes, person_pages
from portal.services.people.people_import import PeopleImport, Result
from portal.services.people.person_pages import State

app = typer.Typer(help="People of the directory and of the portal.", no_args_is_help=True)


def _as_read(username: str) -> str:
    """As the directory's names are read: they ignore case."""
    return username.lower()


Username = Annotated[
    str, typer.Argument(help="The username.", show_default=False, callback=_as_read)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Text = Annotated[str | None, typer.Option(show_default=False)]
Number = Annotated[int | None, typer.Option(show_default=False)]
Shown = Annotated[
    bool, typer.Option("--show-password", help="Print the one-time password on this terminal.")
]
PAGE = 200


@app.command("list")
def list_people(
    query: Annotated[str, typer.Argument(help="Words of username, name or mail.")] = "",
    state: Annotated[State, typer.Option(help="Whom to list.")] = State.ALL,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 5000,
    json: Json = False,
) -> None:
    """List people."""

    async def work(desk: Desk) -> tuple[list[PersonRow], list[str]]:
        rows, notes, cursor = list[PersonRow](), dict[str, None](), None
        while len(rows) < limit:
            wanted = min(PAGE, limit - len(rows))
            page = await person_pages.page(desk.accounts, query, state, cursor, wanted)
            rows += [row_out(desk.accounts, seen) for seen in page.people]
            notes |= dict.fromkeys(note for note in (page.incomplete, page.problem) if note)
            cursor = page.cursor
            if cursor is None:
                break
        return rows, list(notes)

    rows, notes = run(work)
    for note in notes:
        typer.echo(note, err=True)
    if json:
        as_json(rows)
        return
    header = ("USERNAME", "NAME", "ROLE", "STATE", "UID", "MAIL")
    table(
        header,
        [
            (one.username, one.display_name, one.role, _state(one), one.uid, one.email)
            for one in rows
        ],
    )


def _state(one: PersonRow) -> str:
    words = {
        "deleted": one.deleted_at is not None,
        "missing": one.missing_since is not None,
        "disabled": one.disabled,
        "locked": bool(one.locked),
        "one-time password": one.must_change_password,
        "system": one.unmanaged is not None,
    }
    return ", ".join(word for word, holds in words.items() if holds) or "active"


@app.command("show")
def show_person(username: Username, json: Json = False) -> None:
    """Show everything about somebody."""
    _print(run(lambda desk: show(desk.accounts, username)), json=json)


def _print(person: Person, *, json: bool) -> None:
    if json:
        as_json(person)
        return
    facts = {
        "username": person.username,
        "name": person.display_name,
        "mail": person.email,
        "state": _state(person),
        "role": person.role,
        "uid, gid": f"{person.uid}, {person.gid}",
        "home": person.home,
        "shell": person.shell,
        "groups": ", ".join(person.groups or []),
        "leads": ", ".join(person.leads),
        "last login": person.last_login_at,
        "disabled": person.disabled_why or person.disabled_at,
        "second factor": "yes" if person.second_factor else "no",
        "running": f"{person.live.sessions} sessions, {person.live.jobs} jobs",
    }
    width = max(map(len, facts))
    for name, value in facts.items():
        if value:
            typer.echo(f"{name.ljust(width)}  {value}")
    for home in person.home_runs[:1]:
        typer.echo(f"{'home directory'.ljust(width)}  {home.task} {home.state}")
    if person.directory_problem or person.unmanaged:
        typer.echo(person.directory_problem or person.unmanaged, err=True)


@app.command()
def add(
    username: Username,
    surname: Annotated[str, typer.Option(show_default=False)],
    given_name: Annotated[str, typer.Option()] = "",
    display_name: Annotated[str, typer.Option()] = "",
    email: Text = None,
    uid: Number = None,
    gid: Number = None,
    home: Text = None,
    shell: Text = None,
    group: Annotated[list[str] | None, typer.Option(help="May be repeated.")] = None,
    show_password: Shown = False,
) -> None:
    """Create somebody in the directory."""
    new = NewPerson(
        username=username,
        given_name=given_name,
        surname=surname,
        display_name=display_name,
        email=email,
        uid=uid,
        gid=gid,
        home=home,
        shell=shell,
        groups=frozenset(group or ()),
    )
    made = run(lambda desk: person_changes.create(desk.accounts, new, desk.by))
    typer.echo(f"{username} was created, with the number {made.person.uid}.")
    if show_password:
        _tell_password(made.password)
    else:
        typer.echo(f"For a first password: portal users password {username} --show-password")


def _tell_password(made: OneTimePassword) -> None:
    typer.echo(f"One-time password: {made.password}")
    if not made.must_change:
        typer.echo("The directory doesn't insist that it be changed.", err=True)


@app.command()
def edit(
    username: Username,
    given_name: Text = None,
    surname: Text = None,
    display_name: Text = None,
    email: Annotated[str | None, typer.Option(help='"" removes it.', show_default=False)] = None,
    gid: Number = None,
    home: Text = None,
    shell: Text = None,
    json: Json = False,
) -> None:
    """Edit somebody; what isn't named stays."""
    wanted = Edit(given_name, surname, display_name, email, gid, home, shell)

    async def work(desk: Desk) -> Person:
        now = await show(desk.accounts, username)
        await person_changes.edit(desk.accounts, username, wanted, now.version, desk.by)
        return await show(desk.accounts, username)

    _print(run(work), json=json)


@app.command()
def lock(username: Username) -> None:
    """Refuse somebody's password until they are unlocked."""
    run(lambda desk: person_changes.lock(desk.accounts, username, desk.by))
    typer.echo(f"{username} is locked.")


@app.command()
def unlock(username: Username) -> None:
    """End a lock, an administrator's or that after too many wrong passwords."""
    run(lambda desk: person_changes.unlock(desk.accounts, username, desk.by))
    typer.echo(f"{username} is unlocked.")


@app.command()
def password(
    username: Username,
    show_password: Shown = False,
    file: Annotated[
        Path | None, typer.Option(help="Write it into this new file instead.", show_default=False)
    ] = None,
) -> None:
    """Give somebody a one-time password, to be changed at the next login."""
    if not show_password and file is None:
        raise typer.BadParameter("Say --show-password, or --file where it should go.")
    if file is not None:
        write_secret(file, "")
    made = run(lambda desk: person_changes.reset_password(desk.accounts, username, desk.by))
    if file is not None:
        file.write_text(made.password + "\n", encoding="utf-8")
        typer.echo(f"The one-time password of {username} is in {file}.")
    else:
        _tell_password(made)


@app.command("groups")
def change_groups(
    username: Username,
    add: Annotated[list[str] | None, typer.Option(help="May be repeated.")] = None,
    remove: Annotated[list[str] | None, typer.Option(help="May be repeated.")] = None,
) -> None:
    """Show somebody's groups, or put them into some and take them out of others."""

    async def work(desk: Desk) -> Person:
        for name in add or ():
            await groups.add(desk.accounts, name, username, desk.by)
        for name in remove or ():
            await groups.remove(desk.accounts, name, username, desk.by)
        return await show(desk.accounts, username)

    for name in run(work).groups or ():
        typer.echo(name)


@app.command("home")
def make_home(username: Username) -> None:
    """Have somebody's home directory made, again if it was before."""
    run(lambda desk: person_changes.provision(desk.accounts, username, desk.by))
    typer.echo("The portal makes it, if it runs: `portal users show` says how that went.")


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, show_default=False)],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would happen.")] = False,
    passwords: Annotated[
        Path | None,
        typer.Option(
            help="The new file for the one-time passwords, mode 0600.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Create the people of a CSV file, or say what would come of it. Ends with 1 where a line has a
    mistake."""
    if not dry_run and passwords is None:
        raise typer.BadParameter("Name the file for the one-time passwords: --passwords FILE.")
    content = file.read_bytes()
    if passwords is not None and not dry_run:
        write_secret(passwords, "")
    found = run(_import(content, dry_run=dry_run))
    if passwords is not None and not dry_run:
        lines = "".join(f"{one.username},{one.password}\n" for one in found.secrets)
        passwords.write_text(f"username,password\n{lines}", encoding="utf-8")
    _report(found, json=json)
    if found.failed:
        raise typer.Exit(1)


def _import(content: bytes, *, dry_run: bool) -> Callable[[Desk], Awaitable[PeopleImport]]:
    async def work(desk: Desk) -> PeopleImport:
        lines = csv_people.read(csv_people.decoded(content))
        found = PeopleImport(desk.by, dry_run, total=len(lines))
        await people_import.run(desk.accounts, found, lines)
        return found

    return work


def _report(found: PeopleImport, *, json: bool) -> None:
    if json:
        rows = [
            {
                "line": row.line,
                "username": row.username,
                "result": row.result,
                "field": row.field,
                "message": row.message,
            }
            for row in found.rows
        ]
        counts = {"created": found.created, "exists": found.exists, "failed": found.failed}
        as_json({**counts, "rows": rows})
        return
    told = [row for row in found.rows if row.result in {Result.ERROR, Result.EXISTS}]
    if told:
        header = ("LINE", "USERNAME", "RESULT", "FIELD", "WHY")
        table(
            header, [(row.line, row.username, row.result, row.field, row.message) for row in told]
        )
    made = "would be created" if found.dry_run else "were created"
    typer.echo(f"{found.created} {made}, {found.exists} exist, {found.failed} can't be.")
