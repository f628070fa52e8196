"""Reconciliation of limits with Slurm's associations, and detection of drift.

The desired associations follow from the limits (services/limits/associations.py, pure), the last
applied values are in the table of associations, and the actual ones are read in each round. A round
may be killed at any point: the next one compares again. sacctmgr's exit code is unreliable, so the
result of each change is read back.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import structlog

from portal.background.background_loop import BackgroundLoop
from portal.background.notifier import LIMITS, Notifier
from portal.db import Database, utcnow
from portal.models import new_id
from portal.services.limits import association_states
from portal.services.limits import associations as association_rules
from portal.services.limits.accounting_cache import AccountingCache
from portal.services.limits.all_limits import AllLimits, load_all
from portal.services.limits.association_lines import build_lines
from portal.services.limits.association_states import AssociationState
from portal.services.limits.associations import (
    ABSENT,
    EXISTS,
    PRESENT,
    AssociationDiff,
    AssociationInput,
)
from portal.services.limits.limited_users import LimitedUsers, ResolvedLimits
from spawner.errors import SpawnerError
from spawner.slurm.parse_accounting import AssociationKey, ClusterFacts
from spawner.slurm.watcher import Watcher

log = structlog.get_logger(__name__)

ROUND_S = 40.0
ROUND_TIMEOUT_S = 12.0
"""A change is answered once Slurm has it, or after this many seconds."""
RETRY_FAILED = timedelta(seconds=10)
GATHER_S = 0.3  # changes within this time share a round
LINES_PER_BATCH = 40
MAX_REPEATED_LINES = 10  # refused lines that are repeated one by one to get the reason
RETRY_REFUSED = timedelta(minutes=5)  # after a refusal
RETRY_DENIED = timedelta(minutes=1)  # after a refusal for lack of rights: slurmdbd may be starting
DENIED = ("privilege", "permission denied")
VALUE_UNCHANGED = "Slurm accepted the change but shows a different value."
NO_ANSWER = "Slurm's accounting doesn't answer. The limit is applied as soon as it does."


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
        """Never returns if another portal now leads: this loop is being cancelled then. None: no
        standby portal.
        """
        self.loop = BackgroundLoop("limits", self._step, ROUND_S, (LIMITS,))

    async def _step(self) -> timedelta | None:
        """Run a round; the next one follows sooner after an error."""
        await asyncio.sleep(GATHER_S)
        await self.round(changed=self.loop.signalled)
        return None if self.trouble is None else RETRY_FAILED

    async def wait_for_comparison(self, timeout_s: float = ROUND_TIMEOUT_S) -> bool:
        """Request a comparison with Slurm (`round`) that begins after this call. Return whether it
        ended in time.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(done)
        self._notifier.notify(LIMITS)
        finished, _ = await asyncio.wait({done}, timeout=timeout_s)
        return bool(finished)

    async def recall(self) -> None:
        """Load the last round's result from the table, in processes that don't run the loop.

        Values yet to be written to Slurm are not included.
        """
        associations = await association_states.load(self._db)
        for association in associations.values():
            if association.drift_since is not None:
                association.drift = association_rules.find_drift(
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
            limits = await load_all(db)
        # Also after a change by the command line: an administrator's change does not wait its turn.
        requested |= self._limits is not None and limits != self._limits
        associations = await association_states.load(self._db)
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
        await association_states.save(self._db, associations, fresh)
        due = [s for s in fresh.values() if s.pending and (requested or _may_retry(s, now))]
        if due and accounting_cache.facts is not None:
            await self._apply(due, accounting_cache.facts)
            associations = fresh
            fresh = await asyncio.to_thread(
                self._compare, associations, concerned, limits, utcnow()
            )
            await association_states.save(self._db, associations, fresh)
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
        """Return every relevant association as it is now. Sends no request, and changes nothing.

        Associations of users whose effective limits are unknown stay as they were.
        """
        accounting_cache = self._accounting
        actual = accounting_cache.associations or {}
        cluster = self._watcher.cluster
        if accounting_cache.facts is None:
            return dict(before)
        desired = association_rules.desired_values(
            AssociationInput(
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
        lines = build_lines(due, facts.cluster, await self._find_new_defaults(due))
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
        """Never return if another portal leads by now: its changes must not be overwritten."""
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
    existence = association.pending.get(EXISTS)
    if existence == ABSENT or actual is None:
        return (existence == ABSENT) == (actual is None)
    ours = {name: value for name, value in association.pending.items() if name != EXISTS}
    ended = {"QOS", "DefaultQOS"}  # once removed, Slurm shows the account's value
    return all(actual.get(n) == v or (v is None and n in ended) for n, v in ours.items())
