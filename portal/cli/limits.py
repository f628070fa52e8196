"""`portal limits …`: limits at the command line, by the same services as the pages.

A running portal enforces a change made here at once, and applies it to Slurm within a minute.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, TypeVar

import typer
from pydantic import ValidationError

from portal.api.admin_limits import DriftItem, drift_item
from portal.api.limit_group_totals import load_group_totals
from portal.api.limit_schemas import LimitIn, LimitOut, UserLimitsOut, limit_out, user_limits_out
from portal.cli.context import Json, Number, print_json, print_table, run
from portal.context import AppContext
from portal.errors import NotFound, field_errors, invalid_input
from portal.models import Limit, LimitScope
from portal.services.audit.audit import Actor
from portal.services.limits import limit_changes, limit_views, slurm_drift
from portal.services.limits.all_limits import to_limit_values
from portal.services.limits.limit_changes import LimitRequest
from portal.services.limits.limit_rules import BY_TYPE, FIELDS, LimitValues
from spawner.errors import SlurmError

app = typer.Typer(help="Limits of users and groups.", no_args_is_help=True)
drift_app = typer.Typer(
    help="Drift: changes made in Slurm outside the portal. Revert or accept them in the web"
    " interface.",
    no_args_is_help=True,
)
app.add_typer(drift_app, name="drift")

T = TypeVar("T")
APPLIED = (
    "A running portal applies it to Slurm within a minute; `portal limits list` shows refusals."
)

Username = Annotated[str | None, typer.Option("--user", help="For this user.", show_default=False)]
Group = Annotated[
    str | None, typer.Option(help="For each member of this group.", show_default=False)
]
GroupTotalOption = Annotated[
    bool, typer.Option("--together", help="With --group: the total of all members.")
]
Everybody = Annotated[bool, typer.Option("--default", help="For all users.")]
Names = Annotated[
    str | None, typer.Option(help="Names separated by commas.", show_default=False, metavar="A,B,…")
]
Target = tuple[LimitScope, str]


def _parse_target(
    user: str | None, group: str | None, group_total: bool, everybody: bool
) -> Target:
    """Return the target of a limit. Raises typer.BadParameter unless there is exactly one."""
    if (user is not None) + (group is not None) + everybody != 1:
        raise typer.BadParameter("Set exactly one of --user NAME, --group NAME and --default.")
    if group_total and group is None:
        raise typer.BadParameter("--together requires --group.")
    if user is not None:
        return LimitScope.USER, user.lower()  # names are case-insensitive in the directory
    if group is not None:
        return LimitScope.GROUP if group_total else LimitScope.MEMBER, group
    return LimitScope.DEFAULT, ""


def _run(execute: Callable[[AppContext, Actor], Awaitable[T]]) -> T:
    return run(execute, _to_option)


def _to_option(field: str) -> str:
    """Return the option of a limit's field at the command line."""
    name = field.partition(".")[0]
    return "--group" if name == "name" else f"--{name.replace('_', '-')}"


# --- reading ------------------------------------------------------------------------------------


@app.command("list")
def list_limits(json: Json = False) -> None:
    """List all limits, with refusals by Slurm and drift."""

    async def execute(context: AppContext, _by: Actor) -> list[LimitOut]:
        await context.slurm_limits.recall()
        rows = await limit_changes.list_limits(context)
        members = await limit_views.load_members(context, rows)
        return [
            limit_out(row, limit_views.recall_state(context, row, members.get(row.name, ())))
            for row in rows
        ]

    rows = _run(execute)
    if json:
        print_json(rows)
        return
    print_table(
        ("FOR", "LIMITS", "BY", "SINCE (UTC)", "SLURM"),
        [
            (
                _format_target(row.scope, row.name),
                _format_limits(row),
                row.updated_by,
                f"{row.updated_at:%Y-%m-%d %H:%M}",
                row.slurm.message if row.slurm else "",
            )
            for row in rows
        ],
    )


def _format_target(scope: LimitScope, name: str) -> str:
    match scope:
        case LimitScope.DEFAULT:
            return "all users"
        case LimitScope.USER:
            return name
        case LimitScope.MEMBER:
            return f"each of {name}"
        case LimitScope.GROUP:
            return f"all of {name} together"


def _format_limits(row: LimitOut) -> str:
    values = {name: getattr(row, name) for name in FIELDS}
    words = [
        f"{name} {_format_value(value)}" for name, value in values.items() if value is not None
    ]
    return "; ".join(words) or "nothing"


def _format_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{kind}={number}" for kind, number in value.items())
    return ",".join(value) if isinstance(value, list | tuple) else str(value)


@app.command()
def show(
    user: Username = None,
    group: Group = None,
    group_total: GroupTotalOption = False,
    default: Everybody = False,
    json: Json = False,
) -> None:
    """Show one limit; for a user, the effective limits and their state in Slurm."""
    scope, name = _parse_target(user, group, group_total, default)
    if scope is LimitScope.USER:
        _show_user(name, json=json)
        return

    async def execute(context: AppContext, _by: Actor) -> LimitOut:
        return limit_out(await limit_changes.load_limit(context, scope, name))

    limits = _run(execute)
    if json:
        print_json(limits)
        return
    typer.echo(f"{_format_target(scope, name)}, set by {limits.updated_by}")
    rows = ((field, getattr(limits, field)) for field in FIELDS)
    print_table(
        ("FIELD", "LIMIT"),
        [(field, _format_value(value)) for field, value in rows if value is not None],
    )


def _show_user(username: str, *, json: bool) -> None:
    async def execute(context: AppContext, _by: Actor) -> UserLimitsOut:
        await context.slurm_limits.recall()
        limits = await limit_views.load_user_limits(context, username)
        return user_limits_out(limits, await load_group_totals(context, limits.limits), slurm=True)

    user_limits = _run(execute)
    if json:
        print_json(user_limits)
        return
    used = user_limits.use.model_dump()
    print_table(
        ("FIELD", "LIMIT", "OF", "USED NOW"),
        [
            (
                name,
                "none" if limit.value is None else _format_value(limit.value),
                _format_target(limit.from_.scope, limit.from_.name) if limit.from_ else "",
                _format_value(used[name]) if used.get(name) is not None else "",
            )
            for name, limit in user_limits.effective.items()
        ],
    )
    if user_limits.slurm:
        typer.echo("\nIn Slurm, as a running portal last saw it:")
        print_table(
            ("ACCOUNT", "PARTITION", "APPLIED", "FOUND", "REFUSED"),
            [
                (
                    association.account,
                    association.partition,
                    _format_values(association.written),
                    _format_values(association.found),
                    association.refused,
                )
                for association in user_limits.slurm
            ],
        )


def _format_values(values: Mapping[str, str] | None) -> str:
    return "; ".join(f"{name}: {value}" for name, value in (values or {}).items())


@drift_app.command("list")
def list_drift(json: Json = False) -> None:
    """List drift in Slurm, as a running portal last saw it, and accepted differences."""

    async def execute(context: AppContext, _by: Actor) -> list[DriftItem]:
        await context.slurm_limits.recall()
        return [drift_item(drift) for drift in slurm_drift.list_drift(context)]

    rows = _run(execute)
    if json:
        print_json(rows)
        return
    print_table(
        ("ACCOUNT", "USER", "PARTITION", "SINCE (UTC)", "FIELD", "APPLIED", "FOUND"),
        [
            (
                *(row.account, row.username, row.partition),
                f"{row.since:%Y-%m-%d %H:%M}" if row.since else "accepted",
                *(row.field, row.wanted, row.found),
            )
            for row in rows
        ],
    )


# --- changing -----------------------------------------------------------------------------------


@app.command("set")
def set_limit(
    user: Username = None,
    group: Group = None,
    group_total: GroupTotalOption = False,
    default: Everybody = False,
    gpus: Number = None,
    gpus_by_type: Annotated[
        list[str] | None,
        typer.Option(help="May be repeated; replaces the previous values.", metavar="TYPE=N"),
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
            "--create-account", help="With --together: create the group's account if it is missing."
        ),
    ] = False,
) -> None:
    """Set fields of a limit. Omitted fields stay unchanged."""
    target = _parse_target(user, group, group_total, default)
    if create_account and not group_total:
        raise typer.BadParameter("--create-account requires --together.")
    lists = {"partitions": partitions, "accounts": accounts, "qos": qos}
    given: dict[str, Any] = {
        "gpus": gpus,
        BY_TYPE: _parse_by_type(gpus_by_type),
        "sessions": sessions,
        "jobs": jobs,
        "cpus": cpus,
        "memory_gb": memory_gb,
        "time_limit_minutes": time_limit_minutes,
        **{name: text.split(",") for name, text in lists.items() if text is not None},
    }
    given = {name: value for name, value in given.items() if value is not None}
    if not given and not create_account:
        raise typer.BadParameter("Set at least one field, for example --gpus 2.")

    async def execute(context: AppContext, by: Actor) -> LimitOut:
        request, row = _validate(given), await _find_limit(context, target)
        before = to_limit_values(row) if row else LimitValues()
        version = row.version if row else None
        change = LimitRequest(
            target, replace(before, **request.set_fields), version, create_account
        )
        return await _store_limit(context, change, by)

    _print_result(_run(execute))


async def _store_limit(context: AppContext, change: LimitRequest, by: Actor) -> LimitOut:
    if change.given.partitions or change.given.gpus_by_type:
        await _load_cluster(context)
    return limit_out(await limit_changes.put(context, by, change))


def _parse_by_type(given: list[str] | None) -> dict[str, Any] | None:
    """Parse `v100=2`, once or more, also separated by commas."""
    if not given:
        return None
    pairs = [pair.partition("=") for text in given for pair in text.split(",")]
    return {kind.strip(): _parse_number(number.strip()) for kind, _, number in pairs}


def _parse_number(text: str) -> int | str:
    """Return the number; other text is returned as is, and rejected by API validation."""
    return int(text) if text.isascii() and text.isdecimal() else text


def _validate(given: Mapping[str, Any]) -> LimitValues:
    """Validate by the same rules as the API. Raises InvalidInput."""
    try:
        return LimitIn(**given).to_limit_values()
    except ValidationError as error:
        problems = [{**item, "loc": ("body", *item["loc"])} for item in error.errors()]
        raise invalid_input(field_errors(problems)) from error


async def _load_cluster(context: AppContext) -> None:
    """Read the cluster, so that names can be checked."""
    try:
        await context.watcher.fetch_cluster_once()
    except SlurmError as error:
        typer.echo(f"Names of partitions and GPUs aren't checked: {error.message}", err=True)


async def _find_limit(context: AppContext, target: Target) -> Limit | None:
    try:
        return await limit_changes.load_limit(context, *target)
    except NotFound:
        return None


def _print_result(row: LimitOut) -> None:
    typer.echo(f"{_format_target(row.scope, row.name)}: {_format_limits(row)}")
    typer.echo(APPLIED)


@app.command()
def unset(
    fields: Annotated[
        list[str], typer.Argument(help=f"One or more of {', '.join(FIELDS)}.", show_default=False)
    ],
    user: Username = None,
    group: Group = None,
    group_total: GroupTotalOption = False,
    default: Everybody = False,
) -> None:
    """Unset fields of a limit."""
    target = _parse_target(user, group, group_total, default)
    names = [field.removeprefix("--").replace("-", "_") for field in fields]
    for name in names:
        if name not in FIELDS:
            raise typer.BadParameter(f"There is no field {name}. Available: {', '.join(FIELDS)}.")

    async def execute(context: AppContext, by: Actor) -> LimitOut:
        row = await limit_changes.load_limit(context, *target)
        given = replace(to_limit_values(row), **dict.fromkeys(names))
        return await _store_limit(context, LimitRequest(target, given, row.version), by)

    _print_result(_run(execute))


@app.command()
def remove(
    user: Username = None,
    group: Group = None,
    group_total: GroupTotalOption = False,
    default: Everybody = False,
) -> None:
    """Delete a limit, and revert it in Slurm."""
    scope, name = _parse_target(user, group, group_total, default)
    _run(lambda context, by: limit_changes.remove(context, by, scope, name))
    typer.echo(f"{_format_target(scope, name)}: the limit was deleted")
    typer.echo(APPLIED)
