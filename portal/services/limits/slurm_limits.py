"""Reconciliation of limits with Slurm's associations, and detection of drift.

The desired associations follow from the limits (services/limits/associations.py, pure), the last
applied values are in the table of associations, and the actual ones are read in each round. A round
may be killed at any point: the next one compares again. sacctmgr's exit code is unreliable, so the
result of each change is read back.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import structlog
from sqlalchemy import delete, insert, select, update

from portal.background.background_loop import BackgroundLoop
from portal.background.notifier import LIMITS, Notifier
from portal.db import Database, utcnow
from portal.models import Association, new_id
from portal.services.limits import associations as association_rules
from portal.services.limits.accounting_cache import AccountingCache
from portal.services.limits.all_limits import AllLimits, every_limit
from portal.services.limits.associations import (
    ABSENT,
    EXISTS,
    PRESENT,
    AssociationDiff,
    DesiredAssociations,
)
from portal.services.limits.limited_users import LimitedUsers, ResolvedLimits
from spawner.errors import SpawnerError
from spawner.slurm import parse_accounting
from spawner.slurm.parse_accounting import AssociationKey, ClusterFacts
from spawner.slurm.watcher import Watcher

log = structlog.get_logger(__name__)

ROUND_S = 40.0
ROUND_TIMEOUT_S = 12.0
"""A change is answered once Slurm has it, or after this many seconds."""
RETRY_FAILED = timedelta(seconds=10)
GATHER_S = 0.3  # changes within this time share a round
USERS_IN_A_LINE = 100
LINES_PER_BATCH = 40
MAX_REPEATED_LINES = 10  # refused lines that are repeated one by one to get the reason
RETRY_REFUSED = timedelta(minutes=5)  # after a refusal
RETRY_DENIED = timedelta(minutes=1)  # after a refusal for lack of rights: slurmdbd may be starting
DENIED = ("privilege", "permission denied")
VALUE_UNCHANGED = "Slurm accepted the change but shows a different value."
NO_ANSWER = "Slurm's accounting doesn't answer. The limit is applied as soon as it does."


@dataclass
class AssociationState:
    """One association as of the last round. `pending` are values yet to be written to Slurm."""

    id: str
    key: AssociationKey
    desired: Mapping[str, Any] = field(default_factory=dict)
    applied: dict[str, Any] = field(default_factory=dict)
    actual: Mapping[str, Any] | None = None
    accepted: dict[str, Any] = field(default_factory=dict)
    pending: dict[str, Any] = field(default_factory=dict)
    drift: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    refused: str | None = None
    tried_at: datetime | None = None
    written_at: datetime | None = None
    drift_since: datetime | None = None

    def to_columns(self) -> dict[str, Any]:
        """Return the columns of its row."""
        names = ("applied", "accepted", "refused", "tried_at", "written_at", "drift_since")
        row = {name: getattr(self, name) for name in names}
        actual = None if self.actual is None else dict(self.actual)
        row["written"] = dict(row.pop("applied"))
        return {**row, "accepted": dict(self.accepted), "found": actual}

    def drift_id(self, name: str) -> str:
        """Return the id of one drifted value; it may appear in a URL."""
        return str(uuid5(NAMESPACE_OID, f"{self.id}/{name}"))


class SlurmLimits:
    """The `loop` that compares limits with Slurm, and the result of its last round.

    `by_user` has the associations by user name in the order of their keys; associations of
    accounts are under "".
    """

    def __init__(
        self,
        db: Database,
        notifier: Notifier,
        accounting: AccountingCache,
        watcher: Watcher,
        limited_users: LimitedUsers,
    ) -> None:
        self.limited_users = limited_users
        self._db, self._notifier = db, notifier
        self._accounting, self._watcher = accounting, watcher
        self.associations: Mapping[AssociationKey, AssociationState] = {}
        self.by_user: Mapping[str, list[AssociationState]] = {}
        self.trouble: str | None = None
        self._limits: AllLimits | None = None  # of the last completed comparison
        self._round = asyncio.Lock()
        self._waiting: list[asyncio.Future[None]] = []
        self.block_unless_leader: Callable[[], Awaitable[None]] | None = None
        """As in AppContext; None has no standby."""
        self.loop = BackgroundLoop("limits", self._step, ROUND_S, (LIMITS,))

    async def _step(self) -> timedelta | None:
        """Run a round; the next one follows sooner after an error."""
        await asyncio.sleep(GATHER_S)
        await self.round(changed=self.loop.signalled)
        return None if self.trouble is None else RETRY_FAILED

    async def wait_for_round(self, timeout_s: float = ROUND_TIMEOUT_S) -> bool:
        """Request a round that begins after this call. Return whether it ended in time."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(done)
        self._notifier.notify(LIMITS)
        finished, _ = await asyncio.wait({done}, timeout=timeout_s)
        return bool(finished)

    async def recall(self) -> None:
        """Load the last round's result from the table, in processes that don't run the loop.

        Values yet to be written to Slurm are not included.
        """
        associations = await self._load()
        for association in associations.values():
            if association.drift_since is not None:
                association.drift = association_rules.differs(
                    association.applied, association.actual, association.accepted
                )
        self._publish(associations)

    @asynccontextmanager
    async def between_rounds(self) -> AsyncIterator[None]:
        """Hold off rounds while the block runs."""
        async with self._round:
            yield

    async def round(self, *, changed: bool = False) -> None:
        """Compare once and apply the differences. Without an answer from Slurm the state stays.

        `changed`: limits, users or groups have changed.
        """
        async with self._round:
            waiting, self._waiting = self._waiting, []
            try:
                await self._reconcile(requested=bool(waiting), changed=changed)
                self.trouble = None
            except SpawnerError as error:
                self.trouble = error.message
                log.warning("Slurm's limits wait", error=error.message, stderr=error.stderr[:300])
            finally:
                for done in waiting:
                    if not done.done():
                        done.set_result(None)

    async def _reconcile(self, *, requested: bool, changed: bool) -> None:
        async with self._db.session() as db:
            limits = await every_limit(db)
        # Also after a change by the command line: an administrator's change does not wait its turn.
        requested |= self._limits is not None and limits != self._limits
        associations = await self._load()
        if not associations and limits == AllLimits(None, {}, {}, {}):
            self._publish({})
            return
        accounting_cache = self._accounting
        await accounting_cache.refresh(patient=not requested)
        in_slurm = {user for _, user, _ in accounting_cache.associations or () if user}
        concerned = await self.limited_users.load(limits, in_slurm, changed=changed)
        self._limits = limits
        now = utcnow()
        fresh = await asyncio.to_thread(self._compare, associations, concerned, limits, now)
        await self._save(associations, fresh)
        due = [s for s in fresh.values() if s.pending and (requested or _may_retry(s, now))]
        if due and accounting_cache.facts is not None:
            await self._apply(due, accounting_cache.facts)
            associations = fresh
            fresh = await asyncio.to_thread(
                self._compare, associations, concerned, limits, utcnow()
            )
            await self._save(associations, fresh)
        self._publish(fresh)

    def _publish(self, associations: dict[AssociationKey, AssociationState]) -> None:
        by_user: dict[str, list[AssociationState]] = {}
        for key in sorted(associations):
            by_user.setdefault(key[1], []).append(associations[key])
        self.associations, self.by_user = associations, by_user
        self._accounting.denied = any(
            _is_denied(association) for association in associations.values() if association.pending
        )

    def _compare(
        self,
        before: Mapping[AssociationKey, AssociationState],
        concerned: ResolvedLimits,
        limits: AllLimits,
        now: datetime,
    ) -> dict[AssociationKey, AssociationState]:
        """Return every relevant association as it is now. Pure but for the ids of new ones.

        Associations of users whose effective limits are unknown stay as they were.
        """
        accounting_cache = self._accounting
        actual = accounting_cache.associations or {}
        cluster = self._watcher.cluster
        if accounting_cache.facts is None:
            return dict(before)
        desired = association_rules.desired_values(
            DesiredAssociations(
                users=concerned.users,
                accounts=self.limited_users.accounts(limits),
                actual=actual,
                applied={key: association.applied for key, association in before.items()},
                partitions=frozenset(p.name for p in (cluster.partitions if cluster else ())),
                facts=accounting_cache.facts,
            )
        )
        usernames = {key[1] for key, association in before.items() if EXISTS in association.applied}
        result = {}
        for key in {**before, **desired}:
            old, values = before.get(key), desired.get(key, {})
            if old is not None and key[1] and not concerned.knows(key[1]):
                result[key] = old
                continue
            applied = (
                old.applied
                if old
                else association_rules.assume_applied(key, values, key[1] in usernames)
            )
            accepted = old.accepted if old else {}
            diff = association_rules.compare(key, values, applied, actual.get(key), accepted)
            if values or diff.pending:
                result[key] = _build_state(key, old, values, actual.get(key), diff, now)
        return result

    # --- applying -------------------------------------------------------------------------------

    async def _apply(self, due: list[AssociationState], facts: ClusterFacts) -> None:
        """Write all changes in batches. Refused ones are repeated one by one to get the reason."""
        lines = lines_for(due, facts.cluster, await self._find_new_defaults(due))
        for at in range(0, len(lines), LINES_PER_BATCH):
            batch = [line for line, _ in lines[at : at + LINES_PER_BATCH]]
            await self._check_leader()
            complaint = await self._accounting.accounting.update(batch)
            if complaint:
                log.warning("Slurm refused something", complaint=complaint)
        await self._accounting.refresh()
        actual = self._accounting.associations or {}
        refused = [(line, s) for line, group in lines for s in group if not _is_applied(s, actual)]
        repeated = 0
        for line, association in refused:
            why = ""
            if repeated < MAX_REPEATED_LINES:
                repeated += 1
                await self._check_leader()
                why = await self._accounting.accounting.update([line])
            association.refused = why or association.refused or VALUE_UNCHANGED
            association.tried_at = utcnow()
        if repeated:
            await self._accounting.refresh()

    async def _check_leader(self) -> None:
        """Raise if another portal leads by now: its changes must not be overwritten."""
        if self.block_unless_leader is not None:
            await self.block_unless_leader()

    async def _find_new_defaults(self, due: list[AssociationState]) -> dict[str, str]:
        """Return new default accounts for users whose default account is being removed.

        Slurm refuses to remove a user's default association.
        """
        going = {(s.key[0], s.key[1]) for s in due if s.pending.get(EXISTS) == ABSENT}
        if not going:
            return {}
        defaults = await self._accounting.accounting.default_accounts()
        moving = {user for account, user in going if defaults.get(user) == account}
        stays: dict[str, str] = {}
        for account, user, partition in self._accounting.associations or ():
            if user in moving and not partition and (account, user) not in going:
                stays.setdefault(user, account)
        for association in due:
            account, user, partition = association.key
            if user in moving and not partition and association.pending.get(EXISTS) == PRESENT:
                stays.setdefault(user, account)
        return stays

    # --- the table ------------------------------------------------------------------------------

    async def _load(self) -> dict[AssociationKey, AssociationState]:
        table = Association.__table__
        async with self._db.session() as db:
            rows = (await db.execute(select(table))).mappings().all()
        return {
            (row["account"], row["username"], row["partition"]): AssociationState(
                id=row["id"],
                key=(row["account"], row["username"], row["partition"]),
                applied=row["written"] or {},
                actual=row["found"],
                accepted=row["accepted"] or {},
                refused=row["refused"],
                tried_at=row["tried_at"],
                written_at=row["written_at"],
                drift_since=row["drift_since"],
            )
            for row in rows
        }

    async def _save(
        self,
        before: Mapping[AssociationKey, AssociationState],
        after: Mapping[AssociationKey, AssociationState],
    ) -> None:
        """Store the differences."""
        gone = [association.id for key, association in before.items() if key not in after]
        new = [association for key, association in after.items() if key not in before]
        both = [(before[key], association) for key, association in after.items() if key in before]
        changed = [new for old, new in both if old.to_columns() != new.to_columns()]
        if not (gone or new or changed):
            return
        async with self._db.session() as db:
            for at in range(0, len(gone), 500):
                ids = gone[at : at + 500]
                await db.execute(delete(Association).where(Association.id.in_(ids)))
            if new:
                await db.execute(insert(Association), [_to_row(association) for association in new])
            if changed:
                rows = [
                    {"id": association.id, **association.to_columns()} for association in changed
                ]
                await db.execute(update(Association), rows)
            await db.commit()


def _to_row(association: AssociationState) -> dict[str, Any]:
    account, username, partition = association.key
    where = {"account": account, "username": username, "partition": partition}
    return {"id": association.id, **where, **association.to_columns()}


def _build_state(
    key: AssociationKey,
    old: AssociationState | None,
    desired: Mapping[str, Any],
    actual: Mapping[str, Any] | None,
    diff: AssociationDiff,
    now: datetime,
) -> AssociationState:
    is_new = old is None or diff.applied != old.applied
    since = old.drift_since if old and old.drift_since else now
    return AssociationState(
        id=old.id if old else new_id(),
        key=key,
        desired=desired,
        applied=diff.applied
        if not diff.pending
        else {**(old.applied if old else {}), **diff.applied},
        actual=actual,
        accepted=diff.accepted,
        pending=diff.pending,
        drift=diff.drift,
        refused=old.refused if old and diff.pending else None,
        tried_at=old.tried_at if old and diff.pending else None,
        written_at=now if is_new and diff.applied else (old.written_at if old else None),
        drift_since=since if diff.drift else None,
    )


def _may_retry(association: AssociationState, now: datetime) -> bool:
    if association.refused is None or association.tried_at is None:
        return True
    return now - association.tried_at > (RETRY_DENIED if _is_denied(association) else RETRY_REFUSED)


def _is_denied(association: AssociationState) -> bool:
    """Return whether Slurm refused it because the portal's account lacks the rights."""
    reason = (association.refused or "").lower()
    return any(word in reason for word in DENIED)


def _is_applied(
    association: AssociationState, associations: Mapping[AssociationKey, Mapping[str, Any]]
) -> bool:
    """Return whether Slurm has the values that were just written."""
    actual = associations.get(association.key)
    here = association.pending.get(EXISTS)
    if here == ABSENT or actual is None:
        return (here == ABSENT) == (actual is None)
    ours = {name: value for name, value in association.pending.items() if name != EXISTS}
    ended = {"QOS", "DefaultQOS"}  # once removed, Slurm shows the account's value
    return all(actual.get(n) == v or (v is None and n in ended) for n, v in ours.items())


# --- lines for sacctmgr -------------------------------------------------------------------------

Line = tuple[str, list[AssociationState]]


def lines_for(
    due: Iterable[AssociationState], cluster: str, moves: Mapping[str, str]
) -> list[Line]:
    """Return the sacctmgr commands, in a workable order, and the associations of each.

    First come additions, then values, then removals. `moves` are the new default accounts by user.
    Associations with equal values share a command.
    """
    adds: dict[tuple[bool, str, str], list[AssociationState]] = {}
    sets: dict[tuple[str, str, str], list[AssociationState]] = {}
    gone: list[Line] = []
    for association in sorted(due, key=lambda member: member.key):
        account, username, partition = association.key
        here = association.pending.get(EXISTS)
        if here == ABSENT:
            if not partition and username in moves:
                gone.append(
                    (parse_accounting.set_default_account(cluster, username, moves[username]), [])
                )
            gone.append(
                (parse_accounting.remove(cluster, account, username, partition), [association])
            )
            continue
        if here == PRESENT:
            adds.setdefault((bool(partition), account, partition), []).append(association)
        values = {name: value for name, value in association.pending.items() if name != EXISTS}
        if values:
            sets.setdefault((account, partition if username else "*", repr(values)), []).append(
                association
            )
    lines: list[Line] = []
    for _, some in sorted(adds.items()):
        for group in _chunk(some):
            account, _, partition = group[0].key
            line = parse_accounting.add(
                cluster, account, [member.key[1] for member in group], partition
            )
            lines.append((line, group))
    for _, some in sorted(sets.items()):
        for group in _chunk(some):
            account, _, partition = group[0].key
            users = [member.key[1] for member in group if member.key[1]]
            values = {name: value for name, value in group[0].pending.items() if name != EXISTS}
            lines.append(
                (parse_accounting.modify(cluster, account, users, partition, values), group)
            )
    return [*lines, *gone]


def _chunk(some: list[AssociationState]) -> list[list[AssociationState]]:
    return [some[at : at + USERS_IN_A_LINE] for at in range(0, len(some), USERS_IN_A_LINE)]
