"""What Slurm's accounting was last seen to hold: one look for all who want to know.

Only services/limits/slurm_limits.py tells Slurm anything; here it is read and kept, and asked only
so often.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta

import structlog

from portal.db import utcnow
from spawner.accounting import Accounting
from spawner.errors import SlurmError
from spawner.parse_accounting import Facts, Figures, InUse, Place
from spawner.watcher import Watcher

log = structlog.get_logger(__name__)

FACTS_AGE = timedelta(minutes=10)
IN_USE_AGE = timedelta(seconds=20)
AGAIN = timedelta(seconds=15)  # after no answer
ROOT = "root"
"""Slurm's own account at the top of the tree: never touched."""


class Books:
    """`found` are all associations as of `at`; both are None before the first answer. `trouble`
    says why the last question had no answer; `denied`, whether Slurm refused what it was told last
    because the portal may not."""

    def __init__(self, accounting: Accounting, watcher: Watcher) -> None:
        self.accounting = accounting
        self._watcher = watcher
        self.facts: Facts | None = None
        self.found: Mapping[Place, Figures] | None = None
        self.at: datetime | None = None
        self.trouble: str | None = None
        self.denied = False
        self._facts_at: datetime | None = None
        self._in_use: Mapping[tuple[str, str], InUse] | None = None
        self._in_use_at: datetime | None = None
        self._asking, self._counting = asyncio.Lock(), asyncio.Lock()

    @property
    def accounts(self) -> list[str]:
        """Names of the accounts there are, without the root; empty while unknown."""
        return sorted({a for a, user, _ in self.found or () if not user and a != ROOT})

    def of(self, username: str) -> dict[Place, Figures]:
        """The associations of one user."""
        return {place: f for place, f in (self.found or {}).items() if place[1] == username}

    def forget_facts(self) -> None:
        """Ask for them anew at the next look: somebody names what isn't known here."""
        self._facts_at = None

    async def look(self, *, patient: bool = False) -> None:
        """Read the associations, and how the cluster is set up when that is old. Raises SlurmError,
        and then what was known stays. `patient`: nobody waits for it, so that it may wait for its
        turn among the questions that Slurm is asked."""
        try:
            async with self._asking:
                await self._look(self._watcher.afford if patient else self._watcher.count)
        except SlurmError as error:
            self.trouble = error.message
            raise
        self.trouble = None

    async def _look(self, turn: Callable[[], Awaitable[None]]) -> None:
        now = utcnow()
        if self.facts is None or self._facts_at is None or now - self._facts_at > FACTS_AGE:
            await turn()
            self.facts, self._facts_at = await self.accounting.facts(), now
        await turn()
        self.found = await self.accounting.associations(self.facts.cluster)
        self.at = now

    async def known(self) -> bool:
        """Whether anything is known, after one try if not."""
        if self.found is None:
            await self.look_again()
        return self.found is not None

    async def look_again(self) -> None:
        """A look of its own, for names that may be new; what can't be asked stays as it was."""
        try:
            await self.look()
        except SlurmError as error:
            log.warning("Slurm's accounts are not known anew", error=error.message)

    async def in_use(self) -> Mapping[tuple[str, str], InUse] | None:
        """What running jobs hold, by account and user; a moment old. None: nobody knows."""
        async with self._counting:
            now, at = utcnow(), self._in_use_at
            age = IN_USE_AGE if self._in_use is not None else AGAIN
            if at is None or now - at > age:
                self._in_use_at = now
                try:
                    await self._watcher.count()
                    self._in_use = await self.accounting.in_use()
                except SlurmError as error:
                    self._in_use = None
                    log.warning("what is in use is not known", error=error.message)
            return self._in_use
