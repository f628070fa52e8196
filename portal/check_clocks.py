"""Clocks that have to agree: munge refuses credentials that are five minutes old, or from the
future (munged(8), --ttl), and what the portal writes down is compared with what Slurm says.
"""

import re
import time

from portal.db import Database
from portal.finding import Finding
from spawner.errors import SlurmError
from spawner.slurm import Slurm

MOST_SKEW_S = 30.0
ADVICE = "Let both keep time by the same server: chrony, or systemd-timesyncd."
AT = re.compile(r"^sdiag output at .*?(?:\((?P<epoch>\d+)\))?$", re.MULTILINE)


class Clock(Slurm):
    """A question that only this check asks."""

    async def now(self) -> float | None:
        """slurmctld's time, in seconds; None where it doesn't say (Slurm before 20.11)."""
        found = AT.search(await self._ask(["sdiag"]))
        return float(found["epoch"]) if found and found["epoch"] else None


def skewed(whose: str, ahead_s: float, most_s: float) -> Finding:
    """By how much somebody's clock is ahead of this machine's."""
    what = f"clock of {whose}"
    if abs(ahead_s) <= most_s:
        return Finding(what)
    way = "ahead of" if ahead_s > 0 else "behind"
    return Finding(what, f"it is {abs(ahead_s):.0f} s {way} this machine's", ADVICE)


async def of_slurm(clock: Clock) -> list[Finding]:
    """Nothing where slurmctld can't be asked: that is said elsewhere."""
    return _found("slurmctld", await ahead_of_slurm(clock))


async def of_database(database: Database) -> list[Finding]:
    """PostgreSQL's; SQLite has none of its own."""
    return _found("the database", await ahead_of_database(database))


async def ahead_of_slurm(clock: Clock) -> float | None:
    """By how many seconds slurmctld's clock is; None where it can't be asked."""
    try:
        theirs = await clock.now()
    except SlurmError:
        return None
    return None if theirs is None else theirs - time.time()


async def ahead_of_database(database: Database) -> float | None:
    """By how many seconds PostgreSQL's clock is; None of SQLite."""
    theirs = await database.now()
    return None if theirs is None else theirs.timestamp() - time.time()


def _found(whose: str, ahead_s: float | None) -> list[Finding]:
    return [] if ahead_s is None else [skewed(whose, ahead_s, MOST_SKEW_S)]
