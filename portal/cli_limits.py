"""`portal limits …`: what people may use, at the command line, by the same services as the pages.

A running portal obeys what is set here at once, and tells Slurm within a minute.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

import typer
from pydantic import ValidationError

from portal.api.admin_limits import DriftItem, drift_item
from portal.api.limit_schemas import LimitIn, LimitOut, PersonLimitsOut, limit_out, person_out
from portal.api.limit_together import together_of
from portal.app import open_parts
from portal.cli_desk import Desk, as_json, run, table
from portal.errors import NotFound, field_errors, invalid_input
from portal.models import Limit, LimitScope
from portal.parts import Parts
from portal.services.limits import limit_changes, limit_views, slurm_drift
from portal.services.limits.allowances import figures
from portal.services.limits.limit_changes import Wish
from portal.services.limits.limit_rules import BY_TYPE, FIELDS, Figures
from portal.services.limits.limited_people import LimitedPeople
from portal.services.limits.slurm_limits import SlurmLimits
from portal.services.people.people import People
from spawner.errors import SlurmError

app = typer.Typer(help="What people may use.", no_args_is_help=True)
drift = typer.Typer(
    help="What somebody changed in Slurm by hand. It is mended or accepted on the page.",
    no_args_is_help=True,
)
app.add_typer(drift, name="drift")

T = TypeVar("T")
TOLD = "A running portal tells Slurm within a minute; `portal limits list` says if it refuses."

Person = Annotated[str | None, typer.Option(help="For this person.", show_default=False)]
Group = Annotated[
    str | None, typer.Option(help="For each member of this group.", show_default=False)
]
Together = Annotated[
    bool, typer.Option("--together", help="With --group: for all its members together.")
]
Everybody = Annotated[bool, typer.Option("--default", help="For everybody.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Number = Annotated[int | None, typer.Option(show_default=False)]
Names = Annotated[
    str | None, typer.Option(help="Names with commas between.", show_default=False, metavar="A,B,…")
]
Whom = tuple[LimitScope, str]


def _whom(person: str | None, group: str | None, together: bool, everybody: bool) -> Whom:
    """Whom a limit is for. Raises typer.BadParameter unless it is exactly one."""
    if (person is not None) + (group is not None) + everybody != 1:
        raise typer.BadParameter("Say for whom: one of --person NAME, --group NAME, --default.")
    if together and group is None:
        raise typer.BadParameter("--together goes with --group.")
    if person is not None:
        return LimitScope.PERSON, person.lower()  # as the directory's names are read
    if group is not None:
        return LimitScope.GROUP if together else LimitScope.MEMBER, group
    return LimitScope.DEFAULT, ""


# --- the services -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Counter:
    """The desk, and what limits need beside; no loop runs."""

    desk: Desk
    parts: Parts
    slurm: SlurmLimits


def _run(work: Callable[[Counter], Awaitable[T]]) -> T:
    async def at_counter(desk: Desk) -> T:
        async with _open(desk) as counter:
            return await work(counter)

    return run(at_counter, _option)


@asynccontextmanager
async def _open(desk: Desk) -> AsyncIterator[Counter]:
    accounts = desk.accounts
    settings, database, directory = accounts.settings, accounts.database, accounts.directory
    async with AsyncExitStack() as stack:
        parts = await open_parts(settings, database, stack)
        people = People(database, directory, settings)
        slurm = SlurmLimits(parts, LimitedPeople(settings, database, directory, people))
        await slurm.recall()
        yield Counter(desk, parts, slurm)


def _option(field: str) -> str:
    """How a field of a limit is called at the command line."""
    name = field.partition(".")[0]
    return "--group" if name == "name" else f"--{name.replace('_', '-')}"


# --- looking ------------------------------------------------------------------------------------


@app.command("list")
def list_limits(json: Json = False) -> None:
    """List all limits, with what Slurm refused or somebody changed there."""

    async def work(counter: Counter) -> list[LimitOut]:
        rows = await limit_changes.every(counter.parts)
        members = await limit_views.members(counter.parts, rows)
        return [
            limit_out(
                row,
                limit_views.kept_state(
                    counter.parts, counter.slurm, row, members.get(row.name, ())
                ),
            )
            for row in rows
        ]

    rows = _run(work)
    if json:
        as_json(rows)
        return
    table(
        ("FOR", "LIMITS", "BY", "SINCE (UTC)", "SLURM"),
        [
            (
                _for(row.scope, row.name),
                _said(row),
                row.updated_by,
                f"{row.updated_at:%Y-%m-%d %H:%M}",
                row.slurm.message if row.slurm else "",
            )
            for row in rows
        ],
    )


def _for(scope: LimitScope, name: str) -> str:
    match scope:
        case LimitScope.DEFAULT:
            return "everybody"
        case LimitScope.PERSON:
            return name
        case LimitScope.MEMBER:
            return f"each of {name}"
        case LimitScope.GROUP:
            return f"all of {name} together"


def _said(row: LimitOut) -> str:
    said = {name: getattr(row, name) for name in FIELDS}
    words = [f"{name} {_shown(value)}" for name, value in said.items() if value is not None]
    return "; ".join(words) or "nothing"


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{kind}={number}" for kind, number in value.items())
    return ",".join(value) if isinstance(value, list | tuple) else str(value)


@app.command()
def show(
    person: Person = None,
    group: Group = None,
    together: Together = False,
    default: Everybody = False,
    json: Json = False,
) -> None:
    """Show one limit; of a person all that counts for them, and how Slurm has it."""
    scope, name = _whom(person, group, together, default)
    if scope is LimitScope.PERSON:
        _show_person(name, json=json)
        return

    async def work(counter: Counter) -> LimitOut:
        return limit_out(await limit_changes.one(counter.parts, scope, name))

    found = _run(work)
    if json:
        as_json(found)
        return
    typer.echo(f"{_for(scope, name)}, set by {found.updated_by}")
    rows = ((field, getattr(found, field)) for field in FIELDS)
    table(
        ("FIELD", "LIMIT"), [(field, _shown(value)) for field, value in rows if value is not None]
    )


def _show_person(username: str, *, json: bool) -> None:
    async def work(counter: Counter) -> PersonLimitsOut:
        found = await limit_views.of_person(counter.parts, counter.slurm, username)
        return person_out(found, await together_of(counter.parts, found.limits), slurm=True)

    found = _run(work)
    if json:
        as_json(found)
        return
    used = found.use.model_dump()
    table(
        ("FIELD", "LIMIT", "OF", "USED NOW"),
        [
            (
                name,
                "none" if one.value is None else _shown(one.value),
                _for(one.from_.scope, one.from_.name) if one.from_ else "",
                _shown(used[name]) if used.get(name) is not None else "",
            )
            for name, one in found.effective.items()
        ],
    )
    if found.slurm:
        typer.echo("\nIn Slurm, as a running portal last saw it:")
        table(
            ("ACCOUNT", "PARTITION", "TOLD", "FOUND", "REFUSED"),
            [
                (one.account, one.partition, _words(one.written), _words(one.found), one.refused)
                for one in found.slurm
            ],
        )


def _words(figures: Mapping[str, str] | None) -> str:
    return "; ".join(f"{name}: {value}" for name, value in (figures or {}).items())


@drift.command("list")
def list_drift(json: Json = False) -> None:
    """List what isn't as Slurm was told, as a running portal last saw it, and what was accepted."""

    async def work(counter: Counter) -> list[DriftItem]:
        return [drift_item(one) for one in slurm_drift.every(counter.slurm)]

    rows = _run(work)
    if json:
        as_json(rows)
        return
    table(
        ("ACCOUNT", "USER", "PARTITION", "SINCE (UTC)", "FIELD", "TOLD", "FOUND"),
        [
            (
                *(one.account, one.username, one.partition),
                f"{one.since:%Y-%m-%d %H:%M}" if one.since else "accepted",
                *(one.field, one.wanted, one.found),
            )
            for one in rows
        ],
    )


# --- changing -----------------------------------------------------------------------------------


@app.command("set")
def set_limit(
    person: Person = None,
    group: Group = None,
    together: Together = False,
    default: Everybody = False,
    gpus: Number = None,
    gpus_by_type: Annotated[
        list[str] | None,
        typer.Option(help="May be repeated; replaces those of before.", metavar="TYPE=N"),
    ] = None,
    sessions: Number = None,
    jobs: Number = None,
    cpus: Number = None,
    memory_gb: Number = None,
    time_limit_minutes: Number = None,
    partitions: Names = None,
    accounts: Names = None,
    qos: Names = None,
    create_account: Annotated[
        bool,
        typer.Option(
            "--create-account", help="With --together: make the group's account, if Slurm has none."
        ),
    ] = False,
) -> None:
    """Set fields of a limit; what isn't named stays."""
    whom = _whom(person, group, together, default)
    if create_account and not together:
        raise typer.BadParameter("--create-account goes with --together.")
    lists = {"partitions": partitions, "accounts": accounts, "qos": qos}
    given: dict[str, Any] = {
        "gpus": gpus,
        BY_TYPE: _by_type(gpus_by_type),
        "sessions": sessions,
        "jobs": jobs,
        "cpus": cpus,
        "memory_gb": memory_gb,
        "time_limit_minutes": time_limit_minutes,
        **{name: text.split(",") for name, text in lists.items() if text is not None},
    }
    given = {name: value for name, value in given.items() if value is not None}
    if not given and not create_account:
        raise typer.BadParameter("Say what to set, for example --gpus 2.")

    async def work(counter: Counter) -> LimitOut:
        wanted, row = _checked(given), await _now(counter, whom)
        before = figures(row) if row else Figures()
        version = row.version if row else None
        wish = Wish(whom, replace(before, **wanted.said), version, create_account)
        return await _put(counter, wish)

    _tell(_run(work))


async def _put(counter: Counter, wish: Wish) -> LimitOut:
    if wish.given.partitions or wish.given.gpus_by_type:
        await _look_at_cluster(counter.parts)
    directory = counter.desk.accounts.directory
    return limit_out(await limit_changes.put(counter.parts, directory, counter.desk.by, wish))


def _by_type(given: list[str] | None) -> dict[str, Any] | None:
    """`v100=2`, once or more, also with commas between."""
    if not given:
        return None
    pairs = [pair.partition("=") for text in given for pair in text.split(",")]
    return {kind.strip(): number.strip() for kind, _, number in pairs}


def _checked(given: Mapping[str, Any]) -> Figures:
    """By the same rules as the API's. Raises InvalidInput."""
    try:
        return LimitIn(**given).figures()
    except ValidationError as error:
        found = [{**one, "loc": ("body", *one["loc"])} for one in error.errors()]
        raise invalid_input(field_errors(found)) from error


async def _look_at_cluster(parts: Parts) -> None:
    """So that names can be checked."""
    try:
        await parts.watcher.survey()
    except SlurmError as error:
        typer.echo(f"Names of partitions and GPUs aren't checked: {error.message}", err=True)


async def _now(counter: Counter, whom: Whom) -> Limit | None:
    try:
        return await limit_changes.one(counter.parts, *whom)
    except NotFound:
        return None


def _tell(row: LimitOut) -> None:
    typer.echo(f"{_for(row.scope, row.name)}: {_said(row)}")
    typer.echo(TOLD)


@app.command()
def unset(
    fields: Annotated[
        list[str], typer.Argument(help=f"Of {', '.join(FIELDS)}.", show_default=False)
    ],
    person: Person = None,
    group: Group = None,
    together: Together = False,
    default: Everybody = False,
) -> None:
    """Have a limit say nothing of these fields any more."""
    whom = _whom(person, group, together, default)
    names = [field.removeprefix("--").replace("-", "_") for field in fields]
    for name in names:
        if name not in FIELDS:
            raise typer.BadParameter(f"There is no {name}. There are: {', '.join(FIELDS)}.")

    async def work(counter: Counter) -> LimitOut:
        row = await limit_changes.one(counter.parts, *whom)
        given = replace(figures(row), **dict.fromkeys(names))
        return await _put(counter, Wish(whom, given, row.version))

    _tell(_run(work))


@app.command()
def remove(
    person: Person = None,
    group: Group = None,
    together: Together = False,
    default: Everybody = False,
) -> None:
    """End a limit; what Slurm was told for it is taken back."""
    scope, name = _whom(person, group, together, default)
    _run(lambda at: limit_changes.remove(at.parts, at.desk.by, scope, name))
    typer.echo(f"{_for(scope, name)}: no limit any more")
    typer.echo(TOLD)
