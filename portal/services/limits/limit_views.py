"""Limits, usage and Slurm state of users and groups, for administrators, managers and users."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.context import AppContext
from portal.models import GroupMembership, Limit, LimitScope, User
from portal.services.limits import associations as association_rules
from portal.services.limits.all_limits import (
    get_account,
    group_by_scope,
    load_for_user,
    load_groups,
    to_limit_values,
)
from portal.services.limits.allowances import load_in_use
from portal.services.limits.association_states import AssociationState
from portal.services.limits.limit_rules import FIELDS, EffectiveLimit, LimitSource, LimitValues
from portal.services.limits.live_counts import (
    LiveCounts,
    build_members_query,
    count_live,
    count_live_by_user,
)
from portal.services.limits.slurm_limits import NO_ANSWER
from spawner.slurm.parse_accounting import InUse

SYNC_PENDING = "The limit is being applied to Slurm. This can take a minute."
MAX_GROUPS = 3
State = Literal["written", "pending", "refused", "nothing"]


@dataclass(frozen=True)
class LimitSyncState:
    """The state of a limit in Slurm, with a message for display."""

    state: State
    message: str


@dataclass(frozen=True)
class FieldLimit:
    """A user's effective limit of one field, and the one without the user's own limit."""

    effective: EffectiveLimit | None
    without_own: EffectiveLimit | None


@dataclass(frozen=True)
class InUseNow:
    """The current usage of a user or group.

    `live` counts their sessions and jobs by the portal's rows; `running` is the usage of their jobs
    by Slurm, None while Slurm does not answer.
    """

    live: LiveCounts
    running: InUse | None


@dataclass(frozen=True)
class UserLimits:
    """The limits of one user."""

    username: str
    groups: list[str]
    by_field: Mapping[str, FieldLimit]
    limits: list[Limit]
    in_use: InUseNow
    associations: list[AssociationState] = field(default_factory=list)


async def load_user_limits(context: AppContext, username: str) -> UserLimits:
    """Return a user's limits as the portal knows them now."""
    async with context.db.session() as db:
        groups = await load_groups(db, username)
        rows = await load_for_user(db, username, groups)
    limits = group_by_scope(rows)
    effective = limits.merge(username, groups)
    without_own = limits.merge(username, groups, own=False)
    return UserLimits(
        username=username,
        groups=sorted(groups),
        by_field={name: FieldLimit(effective.get(name), without_own.get(name)) for name in FIELDS},
        limits=rows,
        in_use=await load_in_use_now(context, username),
        associations=context.slurm_limits.by_user.get(username, []),
    )


async def load_in_use_now(context: AppContext, username: str) -> InUseNow:
    async with context.db.session() as db:
        live = await count_live(db, [username])
    return InUseNow(live, await load_in_use(context, username))


async def load_group_total_use(context: AppContext, group: str) -> InUseNow:
    """Return what a group's members hold together.

    Running jobs are those in the group's account or, if there is none, all jobs of its members.
    """
    async with context.db.session() as db:
        live = await count_live(db, build_members_query(group))
    usage = await context.accounting.in_use()
    # the user is "" for the whole account, including its users' jobs
    use = usage.get((get_account(context.settings, group), "")) if usage is not None else None
    if usage is not None and use is None:
        async with context.db.session() as db:
            names = set((await db.scalars(build_members_query(group))).all())
        use = sum((in_use for (_, user), in_use in usage.items() if user in names), InUse())
    return InUseNow(live, use)


async def load_group_use(context: AppContext, limits: UserLimits) -> list[tuple[str, InUseNow]]:
    """Return what groups of a user hold now: the first few with a Slurm account and no total."""
    totals = {row.name for row in limits.limits if row.scope is LimitScope.GROUP}
    accounts = set(context.accounting.accounts)
    groups = [
        group
        for group in limits.groups
        if group not in totals and get_account(context.settings, group) in accounts
    ]
    return [(group, await load_group_total_use(context, group)) for group in groups[:MAX_GROUPS]]


@dataclass(frozen=True)
class MemberLimits:
    """A member of a group: their own limit, if any, effective limits and current usage."""

    username: str
    display_name: str
    limit: Limit | None
    effective: Mapping[str, EffectiveLimit]
    in_use: InUseNow


@dataclass(frozen=True)
class GroupLimits:
    """A group's limits and members. `ceiling` is the most a group manager may give."""

    group_total: Limit | None
    per_member: Limit | None
    ceiling: Mapping[str, EffectiveLimit]
    in_use: InUseNow
    members: list[MemberLimits]


async def load_group_limits(context: AppContext, group: str) -> GroupLimits:
    """Return a group's limits, with the members that the portal knows."""
    async with context.db.session() as db:
        limits = list((await db.scalars(select(Limit))).all())
        query = select(User).join(GroupMembership, GroupMembership.user_id == User.id)
        query = query.where(GroupMembership.name == group, User.deleted_at.is_(None))
        users = list((await db.scalars(query.order_by(User.username))).all())
        groups = await _load_groups(db, [user.id for user in users])
        live = await count_live_by_user(db, build_members_query(group))
    sorted_out, use = group_by_scope(limits), await context.accounting.in_use()
    own = {row.name: row for row in limits if row.scope is LimitScope.USER}
    by_scope = {row.scope: row for row in limits if row.name == group}
    group_total = by_scope.get(LimitScope.GROUP)
    members = [
        MemberLimits(
            username=user.username,
            display_name=user.display_name,
            limit=own.get(user.username),
            effective=sorted_out.merge(user.username, groups.get(user.id, set())),
            in_use=InUseNow(live.get(user.username, LiveCounts()), _sum_in_use(use, user.username)),
        )
        for user in users
    ]
    ceiling = dict(sorted_out.merge("", {group}))
    for name, value in (to_limit_values(group_total).set_fields if group_total else {}).items():
        ceiling[name] = EffectiveLimit(value, LimitSource(LimitScope.GROUP, group))
    return GroupLimits(
        group_total=group_total,
        per_member=by_scope.get(LimitScope.MEMBER),
        ceiling=ceiling,
        in_use=await load_group_total_use(context, group),
        members=members,
    )


def _sum_in_use(usage: Mapping[tuple[str, str], InUse] | None, username: str) -> InUse | None:
    if usage is None:
        return None
    return sum((use for (_, user), use in usage.items() if user == username), InUse())


async def _load_groups(db: AsyncSession, ids: list[str]) -> dict[str, set[str]]:
    query = select(GroupMembership.user_id, GroupMembership.name)
    groups: dict[str, set[str]] = {}
    for user_id, name in await db.execute(query.where(GroupMembership.user_id.in_(ids))):
        groups.setdefault(user_id, set()).add(name)
    return groups


async def load_members(context: AppContext, rows: Iterable[Limit]) -> dict[str, set[str]]:
    """Return the known members of the groups with a per-member limit among these limits."""
    groups = [row.name for row in rows if row.scope is LimitScope.MEMBER]
    async with context.db.session() as db:
        query = select(GroupMembership.name, User.username).join(
            User, User.id == GroupMembership.user_id
        )
        by_group: dict[str, set[str]] = {}
        for group, username in await db.execute(query.where(GroupMembership.name.in_(groups))):
            by_group.setdefault(group, set()).add(username)
    return by_group


def compare_with_slurm(context: AppContext, row: Limit, members: Iterable[str]) -> LimitSyncState:
    """Return whether Slurm has a limit. `members` are the users that a MEMBER limit applies to."""
    associations = _list_associations(context, row, set(members))
    given = to_limit_values(row)
    if context.slurm_limits.trouble is not None:
        return LimitSyncState("pending", NO_ANSWER)
    notes = " ".join(_list_notes(context, row, given, associations))
    if not associations:
        return LimitSyncState("nothing", notes or "This limit changes nothing in Slurm.")
    refused = [association for association in associations if association.refused]
    if refused:
        first = association_rules.association_text(refused[0].key)
        text = f"Slurm refused {first}: {refused[0].refused}"
        others = f" And {len(refused) - 1} more." if len(refused) > 1 else ""
        return LimitSyncState("refused", text + others)
    waiting = sum(bool(association.pending) for association in associations)
    if waiting:
        return LimitSyncState(
            "pending", f"{waiting} of {len(associations)} associations are not updated yet."
        )
    if any(association.drift for association in associations):
        notes = f"It was changed directly in Slurm. {notes}"
    return LimitSyncState("written", notes.strip())


def recall_state(context: AppContext, row: Limit, members: Iterable[str]) -> LimitSyncState | None:
    """Return what Slurm refused or drifted, in processes that don't run the loop.

    They load it with `SlurmLimits.recall`. None means neither, not that Slurm has the limit.
    """
    state = compare_with_slurm(context, row, members)
    drifted = any(
        association.drift for association in _list_associations(context, row, set(members))
    )
    return state if state.state == "refused" or drifted else None


def _list_associations(
    context: AppContext, row: Limit, members: set[str]
) -> list[AssociationState]:
    slurm = context.slurm_limits
    match row.scope:
        case LimitScope.USER:
            return slurm.by_user.get(row.name, [])
        case LimitScope.GROUP:
            own = get_account(context.settings, row.name)
            return [
                association
                for association in slurm.by_user.get("", ())
                if association.key[0] == own
            ]
        case LimitScope.MEMBER:
            return [
                association
                for name in sorted(members)
                for association in slurm.by_user.get(name, ())
            ]
        case LimitScope.DEFAULT:
            return [association for key, association in slurm.associations.items() if key[1]]


def _list_notes(
    context: AppContext, row: Limit, given: LimitValues, associations: list[AssociationState]
) -> list[str]:
    """Return notes on what Slurm cannot enforce; docs/limits.md lists all cases."""
    facts, notes = context.accounting.facts, []
    if facts is not None and associations and not {"limits", "qos"} & facts.enforces:
        notes.append("Slurm doesn't enforce limits here: AccountingStorageEnforce lacks `limits`.")
    missing = [
        kind for kind in given.gpus_by_type or () if facts and f"gres/gpu:{kind}" not in facts.tres
    ]
    if missing:
        kinds = ", ".join(missing)
        text = f"Slurm doesn't count GPUs of type {kinds} separately: add gres/gpu:{missing[0]}"
        notes.append(
            f"{text} to AccountingStorageTRES. Until then only the portal enforces this limit."
        )
    if (given.sessions is None) != (given.jobs is None):
        notes.append(
            "Slurm counts sessions and jobs together, so only the portal enforces a limit for "
            "one of them."
        )
    if row.scope is LimitScope.GROUP and not associations:
        account = get_account(context.settings, row.name)
        if (
            context.accounting.associations is not None
            and account not in context.accounting.accounts
        ):
            notes.append(f"Slurm has no account {account}, so only the portal enforces this.")
    if row.scope is LimitScope.GROUP and associations:
        own, actual = associations[0].key[0], context.accounting.associations
        if actual is not None and not any(a == own and user for a, user, _ in actual):
            notes.append(
                f"No user has the Slurm account {own} yet, so this limit applies to no "
                "job. Add the account to the accounts of the per-member limit, or add "
                "users with sacctmgr."
            )
    accounts = {
        association.key[0]
        for association in associations
        if association.actual is not None and not association.key[2]
    }
    if row.scope is LimitScope.USER and len(accounts) > 1:
        notes.append(f"Slurm counts each account separately: {association_rules.names(accounts)}.")
    return notes


def format_association_values(values: Mapping[str, Any] | None) -> dict[str, str]:
    """Return an association's values for display, by label."""
    return {
        association_rules.label(name): association_rules.format_value(name, value)
        for name, value in (values or {}).items()
    }
