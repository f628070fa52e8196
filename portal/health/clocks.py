"""Checks of clocks that have to agree.

munge refuses credentials that are five minutes old, or from the future (munged(8), --ttl), and the
portal compares its own timestamps with Slurm's.
"""

import re
import time

from portal.db import Database
from portal.health.finding import CheckResult
from spawner.errors import SlurmError
from spawner.slurm.client import Slurm

MOST_SKEW_S = 30.0
ADVICE = "Synchronize both clocks with the same time server, using chrony or systemd-timesyncd."
AT = re.compile(r"^sdiag output at .*?(?:\((?P<epoch>\d+)\))?$", re.MULTILINE)


class ClockCommands(Slurm):
    """A Slurm command that only this check runs."""

    async def now(self) -> float | None:
        """Return slurmctld's time, in seconds; None if it is not in the output (Slurm before
        20.11).
        """
        found = AT.search(await self._ask(["sdiag"]))
        return float(found["epoch"]) if found and found["epoch"] else None


def skewed(whose: str, ahead_s: float, most_s: float) -> CheckResult:
    """Return a finding about a clock that is this many seconds ahead of this machine's."""
    what = f"clock of {whose}"
    if abs(ahead_s) <= most_s:
        return CheckResult(what)
    way = "ahead of" if ahead_s > 0 else "behind"
    return CheckResult(what, f"it is {abs(ahead_s):.0f} s {way} this machine's", ADVICE)


async def check_slurm_clock(clock: ClockCommands) -> list[CheckResult]:
    """Check slurmctld's clock.

    No finding if slurmctld does not answer: another check reports that.
    """
    return _to_findings("slurmctld", await measure_slurm_skew(clock))


async def check_database_clock(database: Database) -> list[CheckResult]:
    """Check PostgreSQL's clock; SQLite has none of its own."""
    return _to_findings("the database", await measure_database_skew(database))


async def measure_slurm_skew(clock: ClockCommands) -> float | None:
    """Return by how many seconds slurmctld's clock is ahead; None if it does not answer."""
    try:
        theirs = await clock.now()
    except SlurmError:
        return None
    return None if theirs is None else theirs - time.time()


async def measure_database_skew(database: Database) -> float | None:
    """Return by how many seconds PostgreSQL's clock is ahead; None for SQLite."""
    theirs = await database.now()
    return None if theirs is None else theirs.timestamp() - time.time()


def _to_findings(whose: str, ahead_s: float | None) -> list[CheckResult]:
    return [] if ahead_s is None else [skewed(whose, ahead_s, MOST_SKEW_S)]
