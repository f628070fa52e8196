"""Limits as administrators and group managers set them: validated, stored and audited.

The topic LIMITS then has them written to Slurm. Names are validated against the last known state of
the cluster; while that is unknown they are accepted, and Slurm rejects what does not exist.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm.exc import StaleDataError

from portal.background.notifier import LIMITS
from portal.context import AppContext
from portal.db import utcnow
from portal.errors import (
    Conflict,
    DirectoryUnavailable,
    EditConflict,
    FieldError,
    NotFound,
    invalid_input,
)
from portal.models import GroupManager, GroupMembership, Limit, LimitScope, User
from portal.services.audit import audit
from portal.services.limits import limit_accounts
from portal.services.limits.accounting_cache import ROOT
from portal.services.limits.all_limits import (
    AllLimits,
    get_account,
    group_by_scope,
    load_for_user,
    load_groups,
    to_limit_values,
)
from portal.services.limits.limit_rules import (
    BY_TYPE,
    FIELDS,
    GROUP_TOTAL_FIELDS,
    LimitValues,
    find_exceeding,
)
from spawner.slurm.parse_accounting import is_name

MAX_NAMES = 100


async def list_limits(context: AppContext) -> list[Limit]:
    """Return all limits: the default, then groups', then users'."""
    order = {scope: at for at, scope in enumerate(LimitScope)}
    async with context.db.session() as db:
        rows = list((await db.scalars(select(Limit))).all())
    return sorted(rows, key=lambda row: (order[row.scope], row.name))


async def load_limit(context: AppContext, scope: LimitScope, name: str) -> Limit:
    """Return one limit. Raises NotFound where none is set."""
    async with context.db.session() as db:
        row = await _load_row(db, scope, name)
    if row is None:
        raise NotFound("No limit is set here.")
    return row


async def _load_row(db: AsyncSession, scope: LimitScope, name: str) -> Limit | None:
    query = select(Limit).where(Limit.scope == scope, Limit.name == name)
    return (await db.scalars(query)).first()


@dataclass(frozen=True)
class LimitRequest:
    """A requested limit.

    `version` is the version that its editor saw, None for a new limit. `create_account`: for a
    group total, create the group's account if it is missing. `manager_bounds` are the values that
    group managers may not exceed later; None for an administrator's limit, all of whose values
    bind group managers.
    """

    subject: tuple[LimitScope, str]
    given: LimitValues
    version: int | None = None
    create_account: bool = False
    manager_bounds: LimitValues | None = None


async def put(context: AppContext, by: audit.Actor, request: LimitRequest) -> Limit:
    """Set all fields of a limit.

    Raises InvalidInput, NotFound for an unknown user or group, EditConflict, and what creating
    the account raises.
    """
    scope, name = request.subject
    if request.create_account and scope is not LimitScope.GROUP:
        text = "Only a group total has an account of its own."
        raise invalid_input([FieldError("create_account", text)])
    if not request.given.set_fields:
        raise invalid_input([FieldError("gpus", "Set at least one field, or delete the limit.")])
    await check(context, scope, name, request.given)
    await _check_target(context, scope, name)
    if request.create_account:
        await limit_accounts.create(context, name)
    return await _save(context, by, request)


async def _save(context: AppContext, by: audit.Actor, request: LimitRequest) -> Limit:
    scope, name = request.subject
    async with context.db.session() as db:
        row = await _load_row(db, scope, name)
        if row is not None and request.version != row.version:
            raise _conflict_error(row)
        before = to_limit_values(row).set_fields if row else {}
        if row is None:
            row = Limit(scope=scope, name=name, updated_by=by.name)
            db.add(row)
        for field in FIELDS:
            setattr(row, field, _to_json(getattr(request.given, field)))
        bounds = request.given if request.manager_bounds is None else request.manager_bounds
        row.held = {field: _to_json(value) for field, value in bounds.set_fields.items()}
        row.updated_at, row.updated_by = utcnow(), by.name
        detail = {"account": get_account(context.settings, name)} if request.create_account else {}
        record(
            db,
            by,
            audit.Action.LIMIT_SET,
            request.subject,
            before,
            request.given.set_fields,
            detail,
        )
        try:
            await db.commit()
        except (StaleDataError, IntegrityError) as error:
            await db.rollback()
            current = await _load_row(db, scope, name)
            raise (_conflict_error(current) if current else Conflict("Try again.")) from error
    context.notifier.notify(LIMITS)
    return row


def _to_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return value if value is None or isinstance(value, int) else list(value)


def record(
    db: AsyncSession,
    by: audit.Actor,
    action: audit.Action,
    subject: tuple[LimitScope, str],
    before: dict[str, Any],
    after: dict[str, Any],
    extra: Mapping[str, str] | None = None,
) -> None:
    """Record the changed fields, in the caller's transaction."""
    fields = dict.fromkeys([*before, *after])
    detail = audit.list_changes(before, {field: after.get(field) for field in fields})
    target = format_target(*subject)
    audit.record(
        db, action, actor=by.actor, target=target, detail={**detail, **(extra or {})}, ip=by.ip
    )


def format_target(scope: LimitScope, name: str) -> str:
    """Return the limit's target for the audit: `group vision`, `default` or, for a user, `bob`.

    A user's name stands alone, as in all other events about that user.
    """
    return name if scope is LimitScope.USER else f"{scope.value} {name}".strip()


def _conflict_error(row: Limit) -> EditConflict:
    text = (
        f"{row.updated_by} changed this limit after you opened it. Review the current limit, "
        "then make your change again."
    )
    extension = {"changed_by": row.updated_by, "changed_at": row.updated_at.isoformat()}
    return EditConflict(text, extension=extension)


async def remove(
    context: AppContext, by: audit.Actor, scope: LimitScope, name: str, version: int | None = None
) -> None:
    """Delete a limit. Raises NotFound, EditConflict where `version` is given and outdated."""
    async with context.db.session() as db:
        row = await _load_row(db, scope, name)
        if row is None:
            raise NotFound("No limit is set here.")
        if version is not None and version != row.version:
            raise _conflict_error(row)
        record(
            db, by, audit.Action.LIMIT_REMOVE, (scope, name), to_limit_values(row).set_fields, {}
        )
        await db.delete(row)
        try:
            await db.commit()
        except StaleDataError as error:
            raise Conflict("This limit was changed by another user.") from error
    context.notifier.notify(LIMITS)


# --- validation ---------------------------------------------------------------------------------


async def check(context: AppContext, scope: LimitScope, name: str, given: LimitValues) -> None:
    """Raise InvalidInput for names that do not exist, and for fields a group total cannot have."""
    problems = [
        FieldError(field, "A group total can't have this field. Set it in the per-member limit.")
        for field in given.set_fields
        if scope is LimitScope.GROUP and field not in GROUP_TOTAL_FIELDS
    ]
    for field, existing, words in await _list_existing(context, given):
        unknown = [item for item in getattr(given, field) or () if item not in existing]
        if unknown:
            have = f"Available: {', '.join(sorted(existing))}." if existing else "None exists."
            problems.append(FieldError(field, f"There is no {words} {unknown[0]}. {have}"))
    for field in ("partitions", "accounts", "qos"):
        invalid = [item for item in getattr(given, field) or () if not is_name(item)]
        problems += [
            FieldError(field, f"{item[:50]} can't be a name in Slurm.") for item in invalid[:1]
        ]
    if scope is LimitScope.GROUP and (owner := await _owner_of_account(context, name)):
        text = (
            f"The Slurm account {get_account(context.settings, name)} belongs to the group {owner}."
        )
        problems.append(FieldError("name", text))
    if problems:
        raise invalid_input(problems)


async def _list_existing(
    context: AppContext, given: LimitValues
) -> list[tuple[str, set[str], str]]:
    """Return the existing names and the noun for each field with names, as far as known."""
    existing: list[tuple[str, set[str], str]] = []
    cluster = context.watcher.cluster
    if cluster is not None and cluster.partitions:
        existing.append(("partitions", {p.name for p in cluster.partitions}, "partition"))
    if cluster is not None and cluster.nodes:
        types = {kind for node in cluster.nodes for kind in node.gpus}
        existing.append((BY_TYPE, types, "GPU of type"))
    accounting_cache = context.accounting
    if not (given.accounts or given.qos) or not await accounting_cache.known():
        return existing
    facts = accounting_cache.facts
    if set(given.accounts or ()) - set(accounting_cache.accounts) or set(given.qos or ()) - (
        facts.qos if facts else set()
    ):
        accounting_cache.forget_facts()  # the name may be new
        await accounting_cache.try_refresh()
    accounts = set(accounting_cache.accounts) - {ROOT}
    existing.append(("accounts", accounts, "account"))
    if accounting_cache.facts is not None:
        existing.append(("qos", set(accounting_cache.facts.qos), "QOS"))
    return existing


async def _owner_of_account(context: AppContext, group: str) -> str | None:
    """Return another group with a group total under the same Slurm account, if any."""
    account = get_account(context.settings, group)
    async with context.db.session() as db:
        query = select(Limit.name).where(Limit.scope == LimitScope.GROUP, Limit.name != group)
        others = (await db.scalars(query)).all()
    return next(
        (other for other in others if get_account(context.settings, other) == account), None
    )


async def _check_target(context: AppContext, scope: LimitScope, name: str) -> None:
    """Raise NotFound for an unknown user or group.

    If the directory cannot be queried, the user or group is assumed to exist.
    """
    if scope is LimitScope.DEFAULT:
        return
    known = _is_known_user if scope is LimitScope.USER else _is_known_group
    async with context.db.session() as db:
        if await known(db, name) or not context.directory.can_look_up_users:
            return
    directory = context.directory
    try:
        entry = await (directory.find if scope is LimitScope.USER else directory.group)(name)
    except DirectoryUnavailable:
        return
    if entry is None:
        kind = "user" if scope is LimitScope.USER else "group"
        raise NotFound(f"There is no {kind} {name[:100]} in the directory.")


async def _is_known_user(db: AsyncSession, name: str) -> bool:
    query = select(User.id).where(User.username == name, User.deleted_at.is_(None))
    return await db.scalar(query) is not None


async def _is_known_group(db: AsyncSession, name: str) -> bool:
    query = select(GroupMembership.name).where(GroupMembership.name == name).limit(1)
    return await db.scalar(query) is not None


# --- group managers -----------------------------------------------------------------------------


async def put_as_manager(
    context: AppContext,
    by: audit.Actor,
    group: str,
    username: str,
    given: LimitValues,
    version: int | None,
) -> Limit:
    """Set a member's own limit as a group manager, within what the group has.

    Values set by an administrator, or by a manager of another group, can only be lowered by a group
    manager, however often. An administrator who does not manage the group may call this too; the
    limit then counts as set by an administrator. Raises NotFound for non-members, InvalidInput,
    EditConflict.
    """
    async with context.db.session() as db:
        groups = await load_groups(db, username)
        if group not in groups:
            raise NotFound(f"{username[:100]} isn't a known member of {group}.")
        rows = await load_for_user(db, username, groups)
        managers = await _load_managers(db, group)
    limits = group_by_scope(rows)
    user_limit = next((row for row in rows if row.scope is LimitScope.USER), None)
    bounds = (
        _get_manager_bounds(user_limit, managers)
        if user_limit is not None and by.name in managers
        else LimitValues()
    )
    await check(context, LimitScope.USER, username, given)
    problems = find_exceeding(given, _get_ceiling(limits, username, group, groups), bounds)
    if problems:
        raise invalid_input(problems)
    request = LimitRequest(
        (LimitScope.USER, username),
        given,
        version,
        manager_bounds=bounds if by.name in managers else None,
    )
    return await _save(context, by, request)


async def _load_managers(db: AsyncSession, group: str) -> set[str]:
    query = select(User.username).join(GroupManager, GroupManager.user_id == User.id)
    return set((await db.scalars(query.where(GroupManager.group_name == group))).all())


def _get_manager_bounds(limit: Limit, managers: set[str]) -> LimitValues:
    """Return the values of a user's limit that managers of a group may only lower.

    These are all values if the limit was last set by another user. If it was set by a manager of
    the group (even one who is an administrator), these are the values that the limit keeps as
    `held`.
    """
    return (
        LimitValues(**(limit.held or {}))
        if limit.updated_by in managers
        else to_limit_values(limit)
    )


def _get_ceiling(limits: AllLimits, username: str, group: str, groups: set[str]) -> LimitValues:
    """Return the most that a group manager may give a member of these groups.

    Per field: the group total, else the per-member limit, else what the user has from elsewhere.
    """
    total = limits.group_totals.get(group)
    elsewhere = limits.merge(username, groups, own=False)
    each = limits.per_member.get(group)
    values = {name: limit.value for name, limit in elsewhere.items()}
    values |= each.set_fields if each else {}
    return LimitValues(**{**values, **(total.set_fields if total else {})})


def normalize_names(values: Iterable[str]) -> list[str]:
    """Normalize names for storage: stripped, without duplicates, in the order given."""
    return list(dict.fromkeys(value.strip() for value in values))
