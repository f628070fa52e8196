"""What the system's status says of clocks that differ from this machine's: Slurm's and
PostgreSQL's, each by its own word. A node's is known by a program on it alone, which is its user's:
`portal check --as` asks one.
"""

import time
from dataclasses import dataclass

from portal.check_clocks import ADVICE, MOST_SKEW_S, Clock, ahead_of_database, ahead_of_slurm
from portal.db import Database
from portal.services.status import Found, State
from portal.settings import Settings

EVERY_S = 60.0
ASK_S = 5.0
"""Whether Slurm answers at all is told by the watcher."""


@dataclass
class SlurmClock:
    """slurmctld's, asked once a minute at most."""

    _ahead_s: float | None = None
    _asked_at: float | None = None

    async def differs(self, settings: Settings) -> Found | None:
        """None too where it can't be asked: that is said elsewhere."""
        now = time.monotonic()
        if self._asked_at is None or now - self._asked_at >= EVERY_S:
            self._asked_at = now
            timeout_s = min(ASK_S, settings.slurm_timeout_s)
            clock = Clock(settings.slurm_bin_dir, settings.slurm_conf, timeout_s)
            self._ahead_s = await ahead_of_slurm(clock)
        return told(self._ahead_s)


async def of_database(database: Database) -> Found | None:
    """PostgreSQL's."""
    return told(await ahead_of_database(database))


def told(ahead_s: float | None) -> Found | None:
    """Pure."""
    if ahead_s is None or abs(ahead_s) <= MOST_SKEW_S:
        return None
    text = (
        f"It answers, but its clock is {abs(ahead_s):.0f} s"
        f" {'ahead of' if ahead_s > 0 else 'behind'} this machine's."
    )
    return Found(State.FAILING, text, ADVICE)
