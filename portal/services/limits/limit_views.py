"""What someone may use, uses, and what Slurm knows of it: for administrators, leaders, oneself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.models import GroupMembership, Job, JobKind, JobState, Limit, LimitScope, User
from portal.parts import Parts
from portal.services.limits import associations as rules
from portal.services.limits.allowances import (
    account_of,
    concerning,
    figures,
    groups_of,
    in_use_by,
    live_counts,
    members_query,
    sort_out,
)
from portal.services.limits.limit_rules import FIELDS, Counted, Figures, Source
from portal.services.limits.slurm_limits import NO_ANSWER, SlurmLimits, Standing
from spawner.parse_accounting import InUse

STILL_BEING_TOLD = "Slurm is being told. This can take a minute."
State = Literal["written", "pending", "refused", "nothing"]


@dataclass(frozen=True)
class SlurmState:
    """Whether Slurm has a limit, and what there is to say about it."""

    state: State
    message: str


@dataclass(frozen=True)
class Count:
    """What counts for a field, and what would if the person had no limit of their own."""

    counted: Counted | None
    otherwise: Counted | None


@dataclass(frozen=True)
class InUseNow:
    """What runs now; None where nobody knows. Sessions and jobs that wait count too."""

    sessions: int
    jobs: int
    use: InUse | None


@dataclass(frozen=True)
class PersonLimits:
    """All about one person's limits."""

    username: str
    groups: list[str]
    counts: Mapping[str, Count]
    limits: list[Limit]
    in_use: InUseNow
    standings: list[Standing] = field(default_factory=list)


async def of_person(parts: Parts, slurm: SlurmLimits, username: str) -> PersonLimits:
    """As the portal knows them now."""
    async with parts.db.session() as db:
        groups = await groups_of(db, username)
        rows = await concerning(db, username, groups)
    limits = sort_out(rows)
    counted = limits.effective(username, groups)
    otherwise = limits.effective(username, groups, own=False)
    return PersonLimits(
        username=username,
        groups=sorted(groups),
        counts={name: Count(counted.get(name), otherwise.get(name)) for name in FIELDS},
        limits=rows,
        in_use=await in_use(parts, username),
        standings=slurm.by_user.get(username, []),
    )


async def in_use(parts: Parts, username: str) -> InUseNow:
    counts = await live_counts(parts, [username])
    return InUseNow(counts["sessions"], counts["jobs"], await in_use_by(parts, username))


async def in_use_together(parts: Parts, group: str) -> InUseNow:
    """What a group's members have; running jobs those of the account that belongs to it, or, where
    there is none, of the members with all of theirs."""
    counts = await live_counts(parts, members_query(group))
    found = await parts.books.in_use()
    use = found.get((account_of(parts.settings, group), "")) if found is not None else None
    if found is not None and use is None:
        async with parts.db.session() as db:
            names = set((await db.scalars(members_query(group))).all())
        use = sum((one for (_, user), one in found.items() if user in names), InUse())
    return InUseNow(counts["sessions"], counts["jobs"], use)


@dataclass(frozen=True)
class Member:
    """One member of a group: their own limit, if any, what counts, and what they use now."""

    username: str
    display_name: str
    limit: Limit | None
    effective: Mapping[str, Counted]
    in_use: InUseNow


@dataclass(frozen=True)
class GroupLimits:
    """A group's limits and its members. `ceiling` is what a leader may give at most."""

    together: Limit | None
    member: Limit | None
    ceiling: Mapping[str, Counted]
    in_use: InUseNow
    people: list[Member]


async def of_group(parts: Parts, group: str) -> GroupLimits:
    """As the portal knows it; members are those whom it knows."""
    async with parts.db.session() as db:
        limits = list((await db.scalars(select(Limit))).all())
        query = select(User).join(GroupMembership, GroupMembership.user_id == User.id)
        query = query.where(GroupMembership.name == group, User.deleted_at.is_(None))
        users = list((await db.scalars(query.order_by(User.username))).all())
        groups = await _groups_of_all(db, [user.id for user in users])
        counts = await _live_of_all(db, [user.id for user in users])
    sorted_out, use = sort_out(limits), await parts.books.in_use()
    own = {row.name: row for row in limits if row.scope is LimitScope.PERSON}
    of_group = {row.scope: row for row in limits if row.name == group}
    together = of_group.get(LimitScope.GROUP)
    people = [
        Member(
            username=user.username,
            display_name=user.display_name,
            limit=own.get(user.username),
            effective=sorted_out.effective(user.username, groups.get(user.id, set())),
            in_use=InUseNow(*counts.get(user.id, (0, 0)), _use_of(use, user.username)),
        )
        for user in users
    ]
    ceiling = dict(sorted_out.effective("", {group}))
    for name, value in (figures(together).said if together else {}).items():
        ceiling[name] = Counted(value, Source(LimitScope.GROUP, group))
    return GroupLimits(
        together=together,
        member=of_group.get(LimitScope.MEMBER),
        ceiling=ceiling,
        in_use=await in_use_together(parts, group),
        people=people,
    )


def _use_of(found: Mapping[tuple[str, str], InUse] | None, username: str) -> InUse | None:
    if found is None:
        return None
    return sum((use for (_, user), use in found.items() if user == username), InUse())


async def _groups_of_all(db: AsyncSession, ids: list[str]) -> dict[str, set[str]]:
    query = select(GroupMembership.user_id, GroupMembership.name)
    found: dict[str, set[str]] = {}
    for user_id, name in await db.execute(query.where(GroupMembership.user_id.in_(ids))):
        found.setdefault(user_id, set()).add(name)
    return found


async def _live_of_all(db: AsyncSession, ids: list[str]) -> dict[str, tuple[int, int]]:
    """Sessions and jobs of each that wait or run; an array is one job here."""
    query = select(Job.user_id, Job.kind, func.count()).group_by(Job.user_id, Job.kind)
    query = query.where(Job.user_id.in_(ids), Job.state != JobState.ENDED)
    found: dict[str, tuple[int, int]] = {}
    for user_id, kind, number in await db.execute(query):
        sessions, jobs = found.get(user_id, (0, 0))
        more = (number, 0) if kind is JobKind.SESSION else (0, number)
        if kind in {JobKind.SESSION, JobKind.JOB}:
            found[user_id] = (sessions + more[0], jobs + more[1])
    return found


async def members(parts: Parts, rows: Iterable[Limit]) -> dict[str, set[str]]:
    """Of the groups that these limits are for each member of, the members that are known."""
    groups = [row.name for row in rows if row.scope is LimitScope.MEMBER]
    async with parts.db.session() as db:
        query = select(GroupMembership.name, User.username).join(
            User, User.id == GroupMembership.user_id
        )
        found: dict[str, set[str]] = {}
        for group, username in await db.execute(query.where(GroupMembership.name.in_(groups))):
            found.setdefault(group, set()).add(username)
    return found


def state_of(parts: Parts, slurm: SlurmLimits, row: Limit, members: Iterable[str]) -> SlurmState:
    """How a limit stands with Slurm. `members` are those whom a limit of MEMBER concerns."""
    mine = _concerned(parts, slurm, row, set(members))
    said = figures(row)
    if slurm.trouble is not None:
        return SlurmState("pending", NO_ANSWER)
    notes = " ".join(_notes(parts, row, said, mine))
    if not mine:
        return SlurmState("nothing", notes or "Slurm has nothing that this limit would change.")
    refused = [one for one in mine if one.refused]
    if refused:
        text = f"Slurm refused {rules.place_words(refused[0].place)}: {refused[0].refused}"
        more = f" And {len(refused) - 1} more." if len(refused) > 1 else ""
        return SlurmState("refused", text + more)
    waiting = sum(bool(one.tell) for one in mine)
    if waiting:
        return SlurmState("pending", f"{waiting} of {len(mine)} associations are yet to be told.")
    if any(one.drift for one in mine):
        notes = f"Somebody has changed it in Slurm by hand. {notes}"
    return SlurmState("written", notes.strip())


def kept_state(
    parts: Parts, slurm: SlurmLimits, row: Limit, members: Iterable[str]
) -> SlurmState | None:
    """As above for who doesn't run the loop (`SlurmLimits.recall`): what Slurm refused or somebody
    changed. None where there is neither, which doesn't say that Slurm has heard of it."""
    found = state_of(parts, slurm, row, members)
    drifted = any(one.drift for one in _concerned(parts, slurm, row, set(members)))
    return found if found.state == "refused" or drifted else None


def _concerned(parts: Parts, slurm: SlurmLimits, row: Limit, members: set[str]) -> list[Standing]:
    match row.scope:
        case LimitScope.PERSON:
            return slurm.by_user.get(row.name, [])
        case LimitScope.GROUP:
            own = account_of(parts.settings, row.name)
            return [one for one in slurm.by_user.get("", ()) if one.place[0] == own]
        case LimitScope.MEMBER:
            return [one for name in sorted(members) for one in slurm.by_user.get(name, ())]
        case LimitScope.DEFAULT:
            return [one for place, one in slurm.standings.items() if place[1]]


def _notes(parts: Parts, row: Limit, said: Figures, mine: list[Standing]) -> list[str]:
    """What Slurm can't hold people to; docs/limits.md has it all."""
    facts, notes = parts.books.facts, []
    if facts is not None and mine and not {"limits", "qos"} & facts.enforces:
        notes.append("Slurm doesn't enforce limits here: AccountingStorageEnforce lacks `limits`.")
    missing = [
        kind for kind in said.gpus_by_type or () if facts and f"gres/gpu:{kind}" not in facts.tres
    ]
    if missing:
        kinds = ", ".join(missing)
        text = f"Slurm doesn't count GPUs of type {kinds} by themselves: put gres/gpu:{missing[0]}"
        notes.append(f"{text} into AccountingStorageTRES. Until then the portal alone minds it.")
    if (said.sessions is None) != (said.jobs is None):
        notes.append("Slurm counts sessions and jobs together, and hears of neither alone.")
    if row.scope is LimitScope.GROUP and not mine:
        account = account_of(parts.settings, row.name)
        if parts.books.found is not None and account not in parts.books.accounts:
            notes.append(f"Slurm has no account {account}: the portal alone minds this.")
    if row.scope is LimitScope.GROUP and mine:
        own, found = mine[0].place[0], parts.books.found
        if found is not None and not any(a == own and user for a, user, _ in found):
            notes.append(
                f"Nobody has Slurm's account {own} yet, so that it binds no job: let the limit for"
                " each member name it among the accounts, or add them with sacctmgr."
            )
    accounts = {one.place[0] for one in mine if one.found is not None and not one.place[2]}
    if row.scope is LimitScope.PERSON and len(accounts) > 1:
        notes.append(f"Slurm counts each account by itself: {rules.names(accounts)}.")
    return notes


def shown_figures(figures: Mapping[str, Any] | None) -> dict[str, str]:
    """An association's figures in words, by their label."""
    named = figures or {}
    return {rules.label(name): rules.shown(name, value) for name, value in named.items()}
