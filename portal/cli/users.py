"""`portal users …`: users at the command line, by the same services as the pages.

One-time passwords are shown only on request, on the terminal or in a file of mode 0600; no password
is ever an argument.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from portal.api.admin_users import ImportLine
from portal.api.user_schemas import CheckOut, UserOut, UserRow, row_out, show
from portal.cli.context import (
    Json,
    Number,
    Text,
    new_secret_file,
    print_json,
    print_table,
    run,
)
from portal.context import AppContext
from portal.directory.contract import Edit, NewDirectoryUser, OneTimePassword
from portal.services.audit.audit import Actor
from portal.services.limits.limit_rules import LimitValues
from portal.services.users import commands, csv_file, csv_import, groups, listing, lookup, new_users
from portal.services.users.csv_file import NONE, resolve_cell
from portal.services.users.listing import UserFilter
from portal.services.users.new_users import NewUser
from portal.services.users.readiness import ReadinessState
from portal.services.users.user_imports import Row, UserImport

app = typer.Typer(help="Users of the directory and the portal.", no_args_is_help=True)


def _normalize(username: str) -> str:
    """Normalize a username: names are case-insensitive in the directory."""
    return username.lower()


Username = Annotated[
    str, typer.Argument(help="The username.", show_default=False, callback=_normalize)
]
Shown = Annotated[
    bool, typer.Option("--show-password", help="Print the one-time password on this terminal.")
]
Limited = Annotated[int | None, typer.Option(min=0, help="A per-user limit.", show_default=False)]
PAGE = 200


@app.command("list")
def list_users(
    query: Annotated[str, typer.Argument(help="Words in the username, name or mail address.")] = "",
    state: Annotated[UserFilter, typer.Option(help="Which users to list.")] = UserFilter.ALL,
    limit: Annotated[int, typer.Option(min=1, help="The largest number of rows.")] = 5000,
    json: Json = False,
) -> None:
    """List users."""

    async def execute(context: AppContext, _by: Actor) -> tuple[list[UserRow], list[str]]:
        rows, notes, cursor = list[UserRow](), dict[str, None](), None
        while len(rows) < limit:
            count = min(PAGE, limit - len(rows))
            page = await listing.page(context, query, state, cursor, count)
            rows += [row_out(context, user) for user in page.users]
            notes |= dict.fromkeys(note for note in (page.incomplete, page.problem) if note)
            cursor = page.cursor
            if cursor is None:
                break
        return rows, list(notes)

    rows, notes = run(execute)
    for note in notes:
        typer.echo(note, err=True)
    if json:
        print_json(rows)
        return
    header = ("USERNAME", "NAME", "ROLE", "STATE", "UID", "MAIL")
    print_table(
        header,
        [
            (row.username, row.display_name, row.role, _format_state(row), row.uid, row.email)
            for row in rows
        ],
    )


def _format_state(row: UserRow) -> str:
    words = {
        "deleted": row.deleted_at is not None,
        "missing": row.missing_since is not None,
        "disabled": row.disabled,
        "locked": bool(row.locked),
        "one-time password": row.must_change_password,
        "system": row.unmanaged is not None,
    }
    return ", ".join(word for word, holds in words.items() if holds) or "active"


@app.command("show")
def show_user(username: Username, json: Json = False) -> None:
    """Show all details of a user."""
    _print_user(run(lambda context, _by: _load_user(context, username)), json=json)


async def _load_user(context: AppContext, username: str) -> UserOut:
    """Return a user, with what a running portal last saw in Slurm."""
    await context.slurm_limits.recall()
    return await show(context, username)


def _print_user(user: UserOut, *, json: bool) -> None:
    if json:
        print_json(user)
        return
    facts = {
        "username": user.username,
        "name": user.display_name,
        "mail": user.email,
        "state": _format_state(user),
        "role": user.role,
        "uid, gid": f"{user.uid}, {user.gid}",
        "primary group": user.primary_group,
        "home": user.home,
        "shell": user.shell,
        "groups": ", ".join(user.groups or []),
        "manages": ", ".join(user.manages),
        "last login": user.last_login_at,
        "disabled": user.disabled_why or user.disabled_at,
        "second factor": "yes" if user.second_factor else "no",
        "running": f"{user.live.sessions} sessions, {user.live.jobs} jobs",
        "can log in": _format_answer(user.readiness.login),
        "can start sessions": _format_answer(user.readiness.session),
        "home exists": _format_answer(user.readiness.home),
    }
    width = max(map(len, facts))
    for name, value in facts.items():
        if value:
            typer.echo(f"{name.ljust(width)}  {value}")
    for home in user.home_runs[:1]:
        typer.echo(f"{'home directory'.ljust(width)}  {home.task} {home.state}")
    if user.directory_problem or user.unmanaged:
        typer.echo(user.directory_problem or user.unmanaged, err=True)


def _format_answer(check: CheckOut) -> str:
    return f"{check.answer}: {check.reason}"


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
    login_group: Annotated[
        str | None,
        typer.Option(
            help=f"The group that allows logins. Default: default_login_group. {NONE}: no group.",
            show_default=False,
        ),
    ] = None,
    slurm_account: Annotated[
        str | None,
        typer.Option(
            help=f"The account of their jobs. Default: default_slurm_account. {NONE}: no account.",
            show_default=False,
        ),
    ] = None,
    gpus: Limited = None,
    sessions: Limited = None,
    jobs: Limited = None,
    cpus: Limited = None,
    memory_gb: Limited = None,
    time_limit_minutes: Annotated[int | None, typer.Option(min=1, show_default=False)] = None,
    show_password: Shown = False,
) -> None:
    """Create a user in the directory, with a login group and a Slurm account."""
    entry = NewDirectoryUser(
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
    limits = LimitValues(
        gpus=gpus,
        sessions=sessions,
        jobs=jobs,
        cpus=cpus,
        memory_gb=memory_gb,
        time_limit_minutes=time_limit_minutes,
    )
    password, created = _create(entry, limits, login_group, slurm_account)
    typer.echo(f"{username} was created with the UID {created.uid}.")
    if show_password:
        _print_password(password)
    else:
        typer.echo(f"To set a first password: portal users password {username} --show-password")
    typer.echo(f"Can log in: {_format_answer(created.readiness.login)}")
    if created.readiness.session.answer is ReadinessState.NO:
        typer.echo(f"Can start a session: {_format_answer(created.readiness.session)}")


def _create(
    entry: NewDirectoryUser, limits: LimitValues, login_group: str | None, slurm_account: str | None
) -> tuple[OneTimePassword, UserOut]:
    """Create the user; None means the setting's login group or Slurm account."""

    async def execute(context: AppContext, by: Actor) -> tuple[OneTimePassword, UserOut]:
        defaults = csv_import.get_defaults(context.settings)
        group = resolve_cell(login_group, defaults.login_group)
        account = resolve_cell(slurm_account, defaults.slurm_account)
        new = NewUser(entry, group, account, limits)
        created = await new_users.create(context, new, by)
        return created.password, await _load_user(context, entry.username)

    return run(execute, _to_option)


def _to_option(field: str) -> str:
    """Return the option of a new user's field at the command line."""
    name = field.removeprefix("limits.").replace("_", "-")
    return name if name == "username" else f"--{name}"


def _print_password(password: OneTimePassword) -> None:
    typer.echo(f"One-time password: {password.password}")
    if not password.must_change:
        typer.echo("The directory doesn't require a change of this password.", err=True)


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
    """Edit a user. Omitted fields stay unchanged."""
    changes = Edit(given_name, surname, display_name, email, gid, home, shell)

    async def execute(context: AppContext, by: Actor) -> UserOut:
        entry = (await lookup.load_details(context, username)).entry
        version = entry.version if entry is not None else ""
        await commands.edit(context, username, changes, version, by)
        return await _load_user(context, username)

    _print_user(run(execute), json=json)


@app.command()
def lock(username: Username) -> None:
    """Refuse a user's password until they are unlocked."""
    run(lambda context, by: commands.lock(context, username, by))
    typer.echo(f"{username} is locked.")


@app.command()
def unlock(username: Username) -> None:
    """End a lock, by an administrator or after too many wrong passwords."""
    run(lambda context, by: commands.unlock(context, username, by))
    typer.echo(f"{username} is unlocked.")


@app.command()
def password(
    username: Username,
    show_password: Shown = False,
    file: Annotated[
        Path | None,
        typer.Option(help="Write the password to this new file instead.", show_default=False),
    ] = None,
) -> None:
    """Set a one-time password, to be changed at the next login."""
    if not show_password and file is None:
        raise typer.BadParameter("Set --show-password, or --file with the name of a new file.")
    if file is None:
        _print_password(_reset_password(username))
        return
    with new_secret_file(file) as out:
        out.write(_reset_password(username).password + "\n")
    typer.echo(f"The one-time password of {username} was written to {file}.")


def _reset_password(username: str) -> OneTimePassword:
    return run(lambda context, by: commands.reset_password(context, username, by))


@app.command("groups")
def change_groups(
    username: Username,
    add: Annotated[list[str] | None, typer.Option(help="May be repeated.")] = None,
    remove: Annotated[list[str] | None, typer.Option(help="May be repeated.")] = None,
) -> None:
    """Show a user's groups, or add and remove some."""

    async def execute(context: AppContext, by: Actor) -> list[str]:
        for name in add or ():
            await groups.add(context, name, username, by)
        for name in remove or ():
            await groups.remove(context, name, username, by)
        return (await lookup.load_details(context, username)).groups

    for name in run(execute):
        typer.echo(name)


@app.command("home")
def make_home(username: Username) -> None:
    """Create a user's home directory, even if it was created before."""
    run(lambda context, by: commands.request_home(context, username, by))
    typer.echo("Requested. A running portal creates it; see the result with `portal users show`.")


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, show_default=False)],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would happen.")
    ] = False,
    passwords: Annotated[
        Path | None,
        typer.Option(
            help="The new file for the one-time passwords, mode 0600.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Create the users of a CSV file, or preview the result. Exits with 1 on any error."""
    if not dry_run and passwords is None:
        raise typer.BadParameter("Set --passwords FILE, the new file for the one-time passwords.")
    content = file.read_bytes()
    with ExitStack() as files:
        out = None
        if passwords is not None and not dry_run:
            out = files.enter_context(new_secret_file(passwords))
        user_import = run(lambda context, by: _import_lines(context, content, by, dry_run=dry_run))
        if out is not None:
            secrets = (f"{secret.username},{secret.password}\n" for secret in user_import.secrets)
            out.writelines(("username,password\n", *secrets))
    _print_report(user_import, json=json)
    if user_import.failed:
        raise typer.Exit(1)


async def _import_lines(
    context: AppContext, content: bytes, by: Actor, *, dry_run: bool
) -> UserImport:
    defaults = csv_import.get_defaults(context.settings)
    lines = csv_file.read(csv_file.decode_file(content), defaults)
    user_import = UserImport(by, dry_run, total=len(lines))
    await csv_import.run(context, user_import, lines)
    return user_import


def _print_report(user_import: UserImport, *, json: bool) -> None:
    if json:
        counts = {
            "created": user_import.created,
            "exists": user_import.exists,
            "failed": user_import.failed,
        }
        rows = [ImportLine.model_validate(row).model_dump(mode="json") for row in user_import.rows]
        print_json({**counts, "rows": rows})
        return
    header = ("LINE", "USERNAME", "RESULT", "LOGIN GROUP", "ACCOUNT", "ROLE", "REASON")
    shown = (
        user_import.rows
        if user_import.dry_run
        else [row for row in user_import.rows if row.findings]
    )
    if shown:
        print_table(header, [_to_cells(row) for row in shown])
    created = "would be created" if user_import.dry_run else "were created"
    others = f"{user_import.exists} already exist, {user_import.failed} failed."
    typer.echo(f"{user_import.created} {created}, {others}")


def _to_cells(row: Row) -> tuple[object, ...]:
    why = "; ".join(
        f"{finding.field}: {finding.message}" if finding.field else finding.message
        for finding in row.findings
    )
    role = row.role or ("" if row.findings else "can't log in")
    return (
        *(row.line, row.username, row.result, row.login_group, row.slurm_account),
        *(role, why),
    )
