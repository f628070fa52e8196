"""Clock skew of slurmctld and PostgreSQL against this machine, for the system status.

A node's clock can only be read by a program on the node, which runs as its user: `portal check
--as` does that.
"""

import time
from dataclasses import dataclass

from portal.config.settings import Settings
from portal.db import Database
from portal.health.clocks import (
    ADVICE,
    MOST_SKEW_S,
    ClockCommands,
    measure_database_skew,
    measure_slurm_skew,
)
from portal.health.status import ComponentState, ProbeResult

EVERY_S = 60.0
ASK_S = 5.0
"""Short timeout: the watcher already reports a Slurm that does not answer."""


@dataclass
class SlurmClock:
    """slurmctld's clock, queried at most once per EVERY_S seconds."""

    _ahead_s: float | None = None
    _asked_at: float | None = None

    async def differs(self, settings: Settings) -> ProbeResult | None:
        """Return a failing result if the clock is skewed.

        Return None also if Slurm does not answer: another check reports that.
        """
        now = time.monotonic()
        if self._asked_at is None or now - self._asked_at >= EVERY_S:
            self._asked_at = now
            timeout_s = min(ASK_S, settings.slurm_timeout_s)
            clock = ClockCommands(settings.slurm_bin_dir, settings.slurm_conf, timeout_s)
            self._ahead_s = await measure_slurm_skew(clock)
        return to_probe_result(self._ahead_s)


async def probe_database_clock(database: Database) -> ProbeResult | None:
    """Return a failing result if PostgreSQL's clock is skewed, else None."""
    return to_probe_result(await measure_database_skew(database))


def to_probe_result(ahead_s: float | None) -> ProbeResult | None:
    """Build the result for a clock that is `ahead_s` seconds ahead (None: unknown). Pure."""
    if ahead_s is None or abs(ahead_s) <= MOST_SKEW_S:
        return None
    text = (
        f"Responding, but its clock is {abs(ahead_s):.0f} s "
        f"{'ahead of' if ahead_s > 0 else 'behind'} this machine's."
    )
    return ProbeResult(ComponentState.FAILING, text, ADVICE)
