"""Checks of clocks that have to agree.

munge refuses credentials that are five minutes old, or from the future (munged(8), --ttl), and the
portal compares its own timestamps with Slurm's. A node's clock can only be read by a program on the
node, which runs as its user: node.py.
"""

import time
from datetime import datetime

from portal.context import AppContext
from portal.health.result import CheckResult, failing
from spawner.errors import SlurmError

MAX_SKEW_S = 30.0
SUGGESTION = "Synchronize both clocks with the same time server, using chrony or systemd-timesyncd."


def check_skew(ahead_s: float, answered_at: datetime | None = None) -> CheckResult:
    """Check a clock that is this many seconds ahead of this machine's. Pure."""
    if abs(ahead_s) <= MAX_SKEW_S:
        return CheckResult(answered_at=answered_at)
    text = (
        f"Its clock is {abs(ahead_s):.0f} s "
        f"{'ahead of' if ahead_s > 0 else 'behind'} this machine's."
    )
    return failing(text, SUGGESTION, answered_at=answered_at)


async def check_slurm_clock(context: AppContext) -> CheckResult | None:
    """Check slurmctld's clock.

    No result if it does not answer: another check reports that.
    """
    try:
        theirs = await context.slurm.controller_time()
    except SlurmError:
        return None
    return None if theirs is None else check_skew(theirs - time.time(), context.watcher.at)


async def check_database_clock(context: AppContext) -> CheckResult | None:
    """Check PostgreSQL's clock; SQLite has none of its own."""
    theirs = await context.db.now()
    return None if theirs is None else check_skew(theirs.timestamp() - time.time())
