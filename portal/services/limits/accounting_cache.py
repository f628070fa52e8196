"""Cache of Slurm's accounting data: associations, facts about the setup, and usage by running jobs.

This module only reads from Slurm, at limited intervals. services/limits/slurm_limits.py writes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta

import structlog

from portal.db import utcnow
from spawner.errors import SlurmError
from spawner.slurm.accounting import Accounting
from spawner.slurm.parse_accounting import AssociationKey, AssociationValues, ClusterFacts, InUse
from spawner.slurm.watcher import Watcher

log = structlog.get_logger(__name__)

FACTS_AGE = timedelta(minutes=10)
IN_USE_AGE = timedelta(seconds=20)
RETRY_DELAY = timedelta(seconds=15)  # after no answer
RECENT = timedelta(seconds=60)
DAYS_AT_ONCE = 31
ROOT = "root"
"""Slurm's account at the root of the tree, which the portal never modifies."""


class AccountingCache:
    """Cache of Slurm's accounting data.

    `associations` are as of `at`; both are None before the first answer. `facts`: the cluster's
    name, what it enforces, the TRES it counts and its QOS. `trouble` is the error of the last
    query, if it failed. `denied` is whether Slurm refused the last changes because the portal's
    account lacks the rights. `runaways` are the ids of jobs without an end that Slurm does not
    have, when usage was last read. `days_at_once` are the days of usage to read with one query,
    fewer after one that was too slow.
    """

    def __init__(self, accounting: Accounting, watcher: Watcher) -> None:
        self.accounting = accounting
        self._watcher = watcher
        self.facts: ClusterFacts | None = None
        self.associations: Mapping[AssociationKey, AssociationValues] | None = None
        self.at: datetime | None = None
        self.trouble: str | None = None
        self.denied = False
        self.runaways: Sequence[int] = ()
        self.days_at_once = DAYS_AT_ONCE
        self._facts_at: datetime | None = None
        self._tried_at: datetime | None = None
        self._in_use: Mapping[tuple[str, str], InUse] | None = None
        self._in_use_at: datetime | None = None
        self._refresh_lock, self._in_use_lock = asyncio.Lock(), asyncio.Lock()

    @property
    def accounts(self) -> list[str]:
        """Names of all accounts without the root; empty while unknown."""
        return sorted({a for a, user, _ in self.associations or () if not user and a != ROOT})

    def list_for_user(self, username: str) -> dict[AssociationKey, AssociationValues]:
        """Return the associations of one user."""
        return {key: f for key, f in (self.associations or {}).items() if key[1] == username}

    def forget_facts(self) -> None:
        """Query the facts again at the next refresh, because a QOS is used that they lack."""
        self._facts_at = None

    async def refresh(self, *, patient: bool = False) -> None:
        """Read the associations, and the facts about the setup if those are old.

        Raises SlurmError; the cached data then stays. With `patient` no caller waits for the
        result, so the query waits for its turn in the rate limit of Slurm queries.
        """
        try:
            async with self._refresh_lock:
                await self._query(
                    self._watcher.wait_for_call_budget
                    if patient
                    else self._watcher.charge_call_budget
                )
        except SlurmError as error:
            self.trouble = error.message
            raise
        self.trouble = None

    async def _query(self, turn: Callable[[], Awaitable[None]]) -> None:
        now = utcnow()
        if self.facts is None or self._facts_at is None or now - self._facts_at > FACTS_AGE:
            await turn()
            self.facts, self._facts_at = await self.accounting.facts(), now
        await turn()
        self.associations = await self.accounting.associations(self.facts.cluster)
        self.at = now

    async def known(self) -> bool:
        """Return whether the associations are known, after one attempt if they are not."""
        if self.associations is None:
            await self.try_refresh()
        return self.associations is not None

    async def is_recent(self) -> bool:
        """Return whether the associations are at most RECENT old, after one query if they were not.

        After a failed query, Slurm is not asked again before RETRY_DELAY has passed.
        """
        if self._is_recent():
            return True
        tried = self._tried_at
        if tried is None or utcnow() - tried > RETRY_DELAY:
            self._tried_at = utcnow()
            await self.try_refresh()
        return self._is_recent()

    def _is_recent(self) -> bool:
        return self.at is not None and utcnow() - self.at <= RECENT

    async def try_refresh(self) -> None:
        """Refresh at once, for names that may be new. Errors are logged; the cached data stays."""
        try:
            await self.refresh()
        except SlurmError as error:
            log.warning("Slurm's accounts can't be refreshed", error=error.message)

    async def in_use(self) -> Mapping[tuple[str, str], InUse] | None:
        """Return what running jobs hold, by account and user, at most IN_USE_AGE old.

        The user is "" for the whole account, including its users' jobs. Returns None while unknown.
        """
        async with self._in_use_lock:
            now, at = utcnow(), self._in_use_at
            age = IN_USE_AGE if self._in_use is not None else RETRY_DELAY
            if at is None or now - at > age:
                self._in_use_at = now
                try:
                    await self._watcher.charge_call_budget()
                    self._in_use = await self.accounting.in_use()
                except SlurmError as error:
                    self._in_use = None
                    log.warning("what is in use is not known", error=error.message)
            return self._in_use
