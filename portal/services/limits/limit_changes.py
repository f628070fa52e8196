"""Limits as administrators and leaders set them: checked, written with who did it, told to Slurm.

Names are checked against what the cluster was last seen to have; while that isn't known they are
taken as they are, and Slurm refuses what it doesn't have.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm.exc import StaleDataError

from portal.db import utcnow
from portal.directory.contract import Directory
from portal.errors import (
    ChangedMeanwhile,
    Conflict,
    DirectoryUnavailable,
    FieldError,
    NotFound,
    invalid_input,
)
from portal.models import GroupLeader, GroupMembership, Limit, LimitScope, User
from portal.parts import Parts
from portal.services.audit import audit
from portal.services.changes import LIMITS
from portal.services.limits import limit_accounts
from portal.services.limits.allowances import (
    Limits,
    account_of,
    concerning,
    figures,
    groups_of,
    sort_out,
)
from portal.services.limits.books import ROOT
from portal.services.limits.limit_rules import BY_TYPE, FIELDS, TOGETHER, Figures, beyond
from spawner.parse_accounting import is_name

MOST_NAMES = 100


async def every(parts: Parts) -> list[Limit]:
    """All limits: the default, groups', people's."""
    order = {scope: at for at, scope in enumerate(LimitScope)}
    async with parts.db.session() as db:
        rows = list((await db.scalars(select(Limit))).all())
    return sorted(rows, key=lambda row: (order[row.scope], row.name))


async def one(parts: Parts, scope: LimitScope, name: str) -> Limit:
    """Raises NotFound where nothing is set."""
    async with parts.db.session() as db:
        row = await _row(db, scope, name)
    if row is None:
        raise NotFound("No limit is set here.")
    return row


async def _row(db: AsyncSession, scope: LimitScope, name: str) -> Limit | None:
    query = select(Limit).where(Limit.scope == scope, Limit.name == name)
    return (await db.scalars(query)).first()


@dataclass(frozen=True)
class Wish:
    """What somebody wants a limit to be. `version` is that which its editor saw: None for one that
    isn't there yet. `create_account`: for a group together, make its account where there is none.
    `held`: what a leader is held to; None for an administrator, whose figures hold all leaders.
    """

    whom: tuple[LimitScope, str]
    given: Figures
    version: int | None = None
    create_account: bool = False
    held: Figures | None = None


async def put(parts: Parts, directory: Directory, by: audit.By, wish: Wish) -> Limit:
    """Set all of a limit's fields. Raises InvalidInput, NotFound for nobody, ChangedMeanwhile, and
    what making the account raises."""
    scope, name = wish.whom
    if wish.create_account and scope is not LimitScope.GROUP:
        text = "Only what a group has together has an account of its own."
        raise invalid_input([FieldError("create_account", text)])
    if not wish.given.said:
        raise invalid_input([FieldError("gpus", "Say something, or remove the limit instead.")])
    await check(parts, scope, name, wish.given)
    await _check_whom(parts, directory, scope, name)
    if wish.create_account:
        await limit_accounts.create(parts, name)
    return await _set(parts, by, wish)


async def _set(parts: Parts, by: audit.By, wish: Wish) -> Limit:
    scope, name = wish.whom
    async with parts.db.session() as db:
        row = await _row(db, scope, name)
        if row is not None and wish.version != row.version:
            raise _changed(row)
        before = figures(row).said if row else {}
        if row is None:
            row = Limit(scope=scope, name=name, updated_by=by.name)
            db.add(row)
        for field in FIELDS:
            setattr(row, field, _plain(getattr(wish.given, field)))
        held = wish.given if wish.held is None else wish.held
        row.held = {field: _plain(value) for field, value in held.said.items()}
        row.updated_at, row.updated_by = utcnow(), by.name
        made = {"account": account_of(parts.settings, name)} if wish.create_account else {}
        record(db, by, audit.Action.LIMIT_SET, wish.whom, before, wish.given.said, made)
        try:
            await db.commit()
        except (StaleDataError, IntegrityError) as error:
            await db.rollback()
            found = await _row(db, scope, name)
            raise (_changed(found) if found else Conflict("Please try again.")) from error
    parts.changes.notify(LIMITS)
    return row


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return value if value is None or isinstance(value, int) else list(value)


def record(
    db: AsyncSession,
    by: audit.By,
    action: audit.Action,
    whom: tuple[LimitScope, str],
    before: dict[str, Any],
    after: dict[str, Any],
    more: Mapping[str, str] | None = None,
) -> None:
    """What changed, field by field, in the caller's transaction."""
    fields = dict.fromkeys([*before, *after])
    detail = audit.changed(before, {field: after.get(field) for field in fields})
    target = shown(*whom)
    audit.record(
        db, action, actor=by.actor, target=target, detail={**detail, **(more or {})}, ip=by.ip
    )


def shown(scope: LimitScope, name: str) -> str:
    """Whom a limit is for, as the audit says it: `bob`, as in all that is done to him, or
    `group vision`, `default`."""
    return name if scope is LimitScope.PERSON else f"{scope.value} {name}".strip()


def _changed(row: Limit) -> ChangedMeanwhile:
    text = f"{row.updated_by} has changed this limit meanwhile. Look at it again before you do."
    extension = {"changed_by": row.updated_by, "changed_at": row.updated_at.isoformat()}
    return ChangedMeanwhile(text, extension=extension)


async def remove(
    parts: Parts, by: audit.By, scope: LimitScope, name: str, version: int | None = None
) -> None:
    """End a limit. Raises NotFound, ChangedMeanwhile where `version` is given and another's."""
    async with parts.db.session() as db:
        row = await _row(db, scope, name)
        if row is None:
            raise NotFound("No limit is set here.")
        if version is not None and version != row.version:
            raise _changed(row)
        record(db, by, audit.Action.LIMIT_REMOVE, (scope, name), figures(row).said, {})
        await db.delete(row)
        try:
            await db.commit()
        except StaleDataError as error:
            raise Conflict("Somebody else has changed this limit meanwhile.") from error
    parts.changes.notify(LIMITS)


# --- checking -----------------------------------------------------------------------------------


async def check(parts: Parts, scope: LimitScope, name: str, given: Figures) -> None:
    """Raise InvalidInput for what there isn't, and for what a group can't have together."""
    problems = [
        FieldError(field, "A group has this only for each of its members: set it there.")
        for field in given.said
        if scope is LimitScope.GROUP and field not in TOGETHER
    ]
    for field, there_is, words in await _there_is(parts, given):
        unknown = [one for one in getattr(given, field) or () if one not in there_is]
        if unknown:
            have = f"There are: {', '.join(sorted(there_is))}." if there_is else "There is none."
            problems.append(FieldError(field, f"There is no {words} {unknown[0]}. {have}"))
    for field in ("partitions", "accounts", "qos"):
        odd = [one for one in getattr(given, field) or () if not is_name(one)]
        problems += [FieldError(field, f"{one[:50]} can't be a name in Slurm.") for one in odd[:1]]
    if scope is LimitScope.GROUP and (other := await _owner_of_account(parts, name)):
        text = f"Slurm's account {account_of(parts.settings, name)} is that of the group {other}."
        problems.append(FieldError("name", text))
    if problems:
        raise invalid_input(problems)


async def _there_is(parts: Parts, given: Figures) -> list[tuple[str, set[str], str]]:
    """Of each field with names, which there are, as far as that is known."""
    found: list[tuple[str, set[str], str]] = []
    cluster = parts.watcher.cluster
    if cluster is not None and cluster.partitions:
        found.append(("partitions", {p.name for p in cluster.partitions}, "partition"))
    if cluster is not None and cluster.nodes:
        types = {kind for node in cluster.nodes for kind in node.gpus}
        found.append((BY_TYPE, types, "GPU of type"))
    books = parts.books
    if not (given.accounts or given.qos) or not await books.known():
        return found
    facts = books.facts
    if set(given.accounts or ()) - set(books.accounts) or set(given.qos or ()) - (
        facts.qos if facts else set()
    ):
        books.forget_facts()  # it may be new
        await books.look_again()
    accounts = set(books.accounts) - {ROOT}
    found.append(("accounts", accounts, "account"))
    if books.facts is not None:
        found.append(("qos", set(books.facts.qos), "QOS"))
    return found


async def _owner_of_account(parts: Parts, group: str) -> str | None:
    """Another group that shares a limit under the same account of Slurm's."""
    account = account_of(parts.settings, group)
    async with parts.db.session() as db:
        query = select(Limit.name).where(Limit.scope == LimitScope.GROUP, Limit.name != group)
        others = (await db.scalars(query)).all()
    return next((one for one in others if account_of(parts.settings, one) == account), None)


async def _check_whom(parts: Parts, directory: Directory, scope: LimitScope, name: str) -> None:
    """Raise NotFound for a person or group that nobody knows; one that can't be asked after is
    taken for known."""
    if scope is LimitScope.DEFAULT:
        return
    known = _user_known if scope is LimitScope.PERSON else _group_known
    async with parts.db.session() as db:
        if await known(db, name) or not directory.finds:
            return
    try:
        found = await (directory.find if scope is LimitScope.PERSON else directory.group)(name)
    except DirectoryUnavailable:
        return
    if found is None:
        what = "person" if scope is LimitScope.PERSON else "group"
        raise NotFound(f"The directory knows no {what} {name[:100]}.")


async def _user_known(db: AsyncSession, name: str) -> bool:
    query = select(User.id).where(User.username == name, User.deleted_at.is_(None))
    return await db.scalar(query) is not None


async def _group_known(db: AsyncSession, name: str) -> bool:
    query = select(GroupMembership.name).where(GroupMembership.name == name).limit(1)
    return await db.scalar(query) is not None


# --- leaders ------------------------------------------------------------------------------------


async def put_as_leader(
    parts: Parts, by: audit.By, group: str, username: str, given: Figures, version: int | None
) -> Limit:
    """Set a member's own limit, within what the group has; what an administrator, or the leader of
    another group, has set for them a leader only lowers, however often. An administrator who
    doesn't lead the group may do it too, and then it is an administrator's. Raises NotFound for
    who isn't a member, InvalidInput, ChangedMeanwhile."""
    async with parts.db.session() as db:
        groups = await groups_of(db, username)
        if group not in groups:
            raise NotFound(f"{username[:100]} isn't a member of {group}, as far as is known here.")
        rows = await concerning(db, username, groups)
        leaders = await _leaders(db, group)
    limits = sort_out(rows)
    mine = next((row for row in rows if row.scope is LimitScope.PERSON), None)
    held = _held(mine, leaders) if mine is not None and by.name in leaders else Figures()
    await check(parts, LimitScope.PERSON, username, given)
    problems = beyond(given, _ceiling(limits, username, group, groups), held)
    if problems:
        raise invalid_input(problems)
    above = held if by.name in leaders else None
    return await _set(parts, by, Wish((LimitScope.PERSON, username), given, version, held=above))


async def _leaders(db: AsyncSession, group: str) -> set[str]:
    query = select(User.username).join(GroupLeader, GroupLeader.user_id == User.id)
    return set((await db.scalars(query.where(GroupLeader.group_name == group))).all())


def _held(mine: Limit, leaders: set[str]) -> Figures:
    """What leaders of a group may only lower in a person's limit: all of one that somebody else has
    written; of their own, or that of an administrator who leads the group too, what it keeps."""
    return Figures(**(mine.held or {})) if mine.updated_by in leaders else figures(mine)


def _ceiling(limits: Limits, username: str, group: str, groups: set[str]) -> Figures:
    """The most that a leader may give a member of these groups: what all have together, else what
    each member has, else what the person has from elsewhere."""
    together = limits.together.get(group)
    elsewhere = limits.effective(username, groups, own=False)
    each = limits.members.get(group)
    said = {name: counted.value for name, counted in elsewhere.items()}
    said |= each.said if each else {}
    return Figures(**{**said, **(together.said if together else {})})


def names_of(values: Iterable[str]) -> list[str]:
    """Names as they are kept: each once, in the order given."""
    return list(dict.fromkeys(value.strip() for value in values))
