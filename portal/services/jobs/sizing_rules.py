"""How much a job should ask for, from what its owner's last jobs of the kind really used. Pure.

Too much asked for only makes one wait; too little ends a job. So a figure is lowered only where far
less was used, with room to spare, and raised only where a run ended because it wasn't enough.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spawner.model import Outcome

# By default Slurm looks at a job's memory every 30 s: what ended sooner may not have been measured.
MEASURED_S = 30
MEMORY_ROOM = 1.25
CPU_ROOM = 1.5  # an average says little about the moments in which data are loaded
TIME_ROOM = 2.0  # other parameters, another node
WORTH = 0.75  # of what is asked for: less of a change isn't worth the risk
LEAST_MEMORY_GB = 1.0
LEAST_MINUTES = 15
_MEMORY_STEPS_GB = ((4, 0.5), (16, 1), (64, 4), (256, 8))
_TIME_STEPS_MIN = ((60, 15), (360, 30), (1440, 60))


@dataclass(frozen=True)
class Asked:
    """What one asks for, of each node; None leaves it to Slurm."""

    cpus: int
    memory_gb: float | None
    time_limit_minutes: int | None


@dataclass(frozen=True)
class Run:
    """A job that has ended, of an array its largest task. `cpus`, in use on the average, and memory
    are of one node; None: not known."""

    outcome: Outcome
    asked: Asked
    elapsed_s: int | None
    cpus: float | None
    memory_gb: float | None

    @property
    def measured(self) -> bool:
        return self.elapsed_s is not None and self.elapsed_s >= MEASURED_S


@dataclass(frozen=True)
class Figure:
    """The most that was used, what is asked for as it stands, and what would do; `suggested` is
    None where that is near enough. `exceeded`: a run ended because what it had wasn't enough."""

    used: float
    asked: float | None
    suggested: float | None
    exceeded: bool = False


@dataclass(frozen=True)
class Sizing:
    """Memory in GB, time in minutes; None where nothing is known. `runs` is how many were looked
    at."""

    runs: int
    cpus: Figure | None = None
    memory_gb: Figure | None = None
    time_limit_minutes: Figure | None = None


def sizing(runs: Sequence[Run], base: Asked) -> Sizing:
    """What these runs say about a job that would ask for `base`."""
    return Sizing(
        runs=len(runs),
        cpus=_cpus(runs, base),
        memory_gb=_memory(runs, base.memory_gb),
        time_limit_minutes=_time(runs, base.time_limit_minutes),
    )


def _cpus(runs: Iterable[Run], base: Asked) -> Figure | None:
    used = [run.cpus for run in runs if run.cpus is not None and run.measured]
    if not used:
        return None
    wanted = max(1, math.ceil(max(used) * CPU_ROOM))
    worth = wanted <= base.cpus * WORTH
    return Figure(round(max(used), 2), base.cpus, wanted if worth else None)


def _memory(runs: Sequence[Run], base: float | None) -> Figure | None:
    short = [r.asked.memory_gb for r in runs if r.outcome is Outcome.OUT_OF_MEMORY]
    used = [run.memory_gb for run in runs if run.memory_gb is not None and run.measured]
    used += [asked for asked in short if asked is not None]
    if not used:
        return None
    wanted = rounded(max(LEAST_MEMORY_GB, max(used) * MEMORY_ROOM), _MEMORY_STEPS_GB, 16)
    held = [r.asked.memory_gb for r in runs if r.outcome is not Outcome.OUT_OF_MEMORY]
    needed = _more_than(short, held)
    return _figure(max(used), base, max(wanted, needed or 0), needed is not None)


def _time(runs: Sequence[Run], base: int | None) -> Figure | None:
    short = [r.asked.time_limit_minutes for r in runs if r.outcome is Outcome.TIMEOUT]
    done = [r for r in runs if r.outcome is Outcome.COMPLETED]
    used = [run.elapsed_s / 60 for run in done if run.elapsed_s is not None]
    used += [float(asked) for asked in short if asked is not None]
    if not used:
        return None
    lengths = [r.elapsed_s / 60 for r in done if r.elapsed_s is not None]
    wanted = max([LEAST_MINUTES, *(length * TIME_ROOM for length in lengths)])
    needed = _more_than(short, [r.asked.time_limit_minutes for r in done])
    wanted = rounded(max(wanted, needed or 0), _TIME_STEPS_MIN, 240)
    return _figure(max(used), base, wanted, needed is not None)


def _figure(used: float, base: float | None, wanted: float, exceeded: bool) -> Figure:
    """The suggestion, where it is worth one."""
    more = wanted > (base or 0)
    worth = base is None or (more if exceeded else wanted <= base * WORTH)
    return Figure(round(used, 3), base, wanted if worth else None, exceeded)


def _more_than(short: Iterable[float | None], held: Iterable[float | None]) -> float | None:
    """What is needed after runs that ended for want of `short`: what has since been shown to do,
    or else twice as much. None: there were no such runs."""
    lacking = max((asked for asked in short if asked is not None), default=None)
    if lacking is None:
        return None
    enough = [asked for asked in held if asked is not None and asked > lacking]
    return min(enough, default=2 * lacking)


def rounded(value: float, steps: Sequence[tuple[float, float]], last: float) -> float:
    """Up to a round number: each of `steps` is (up to here, multiples of this)."""
    step = next((step for upto, step in steps if value <= upto), last)
    return math.ceil(round(value / step, 6)) * step
