"""Suggested resources for a job, from the actual usage of its owner's last similar jobs. Pure.

Requesting too much only means a longer wait; requesting too little ends a job. So a value is
lowered only if far less was used, with a margin, and raised only if a run ended because the value
was too low.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spawner.slurm.model import Outcome

# By default Slurm samples a job's memory every 30 s: a job that ended sooner may not have been
# measured.
MEASURED_S = 30
MEMORY_ROOM = 1.25
CPU_ROOM = 1.5  # an average hides the peaks while data are loaded
TIME_ROOM = 2.0  # margin for other parameters or another node
WORTH = 0.75  # largest ratio to the request: a smaller change is not worth the risk
MIN_MEMORY_GB = 1.0
MIN_MINUTES = 15
_MEMORY_STEPS_GB = ((4, 0.5), (16, 1), (64, 4), (256, 8))
_TIME_STEPS_MIN = ((60, 15), (360, 30), (1440, 60))


@dataclass(frozen=True)
class RequestedSize:
    """Requested resources per node; None leaves the choice to Slurm."""

    cpus: int
    memory_gb: float | None
    time_limit_minutes: int | None


@dataclass(frozen=True)
class Run:
    """A job that has ended; for an array, the time of its longest task and the memory of its
    largest one. `cpus`, the average in use, and memory are per node; None means unknown.
    """

    outcome: Outcome
    asked: RequestedSize
    elapsed_s: int | None
    cpus: float | None
    memory_gb: float | None

    @property
    def measured(self) -> bool:
        return self.elapsed_s is not None and self.elapsed_s >= MEASURED_S


@dataclass(frozen=True)
class SizingFigure:
    """Maximum usage of one resource, the current request and a suggestion, which is None if the
    request is close enough. `exceeded`: a run ended because its request was too low.
    """

    used: float
    asked: float | None
    suggested: float | None
    exceeded: bool = False


@dataclass(frozen=True)
class Sizing:
    """Suggestions; memory in GB, time in minutes; None if nothing is known. `runs` is the number of
    runs that were evaluated.
    """

    runs: int
    cpus: SizingFigure | None = None
    memory_gb: SizingFigure | None = None
    time_limit_minutes: SizingFigure | None = None


def compute_sizing(runs: Sequence[Run], base: RequestedSize) -> Sizing:
    """Compute suggestions for a job that would request `base` from these runs."""
    return Sizing(
        runs=len(runs),
        cpus=_size_cpus(runs, base),
        memory_gb=_size_memory(runs, base.memory_gb),
        time_limit_minutes=_size_time(runs, base.time_limit_minutes),
    )


def _size_cpus(runs: Iterable[Run], base: RequestedSize) -> SizingFigure | None:
    used = [run.cpus for run in runs if run.cpus is not None and run.measured]
    if not used:
        return None
    suggested = max(1, math.ceil(max(used) * CPU_ROOM))
    worth = suggested <= base.cpus * WORTH
    return SizingFigure(round(max(used), 2), base.cpus, suggested if worth else None)


def _size_memory(runs: Sequence[Run], base: float | None) -> SizingFigure | None:
    short = [r.asked.memory_gb for r in runs if r.outcome is Outcome.OUT_OF_MEMORY]
    used = [run.memory_gb for run in runs if run.memory_gb is not None and run.measured]
    used += [requested for requested in short if requested is not None]
    if not used:
        return None
    suggested = round_up(max(MIN_MEMORY_GB, max(used) * MEMORY_ROOM), _MEMORY_STEPS_GB, 16)
    sufficient = [r.asked.memory_gb for r in runs if r.outcome is not Outcome.OUT_OF_MEMORY]
    needed = _find_needed_value(short, sufficient)
    return _to_figure(max(used), base, max(suggested, needed or 0), needed is not None)


def _size_time(runs: Sequence[Run], base: int | None) -> SizingFigure | None:
    short = [r.asked.time_limit_minutes for r in runs if r.outcome is Outcome.TIMEOUT]
    done = [r for r in runs if r.outcome is Outcome.COMPLETED]
    lengths = [run.elapsed_s / 60 for run in done if run.elapsed_s is not None]
    used = [*lengths, *(float(requested) for requested in short if requested is not None)]
    if not used:
        return None
    suggested = max([MIN_MINUTES, *(length * TIME_ROOM for length in lengths)])
    needed = _find_needed_value(short, [r.asked.time_limit_minutes for r in done])
    suggested = round_up(max(suggested, needed or 0), _TIME_STEPS_MIN, 240)
    return _to_figure(max(used), base, suggested, needed is not None)


def _to_figure(used: float, base: float | None, suggested: float, exceeded: bool) -> SizingFigure:
    """Return the figure, with a suggestion if the change is worth it."""
    is_increase = suggested > (base or 0)
    worth = base is None or (is_increase if exceeded else suggested <= base * WORTH)
    return SizingFigure(round(used, 3), base, suggested if worth else None, exceeded)


def _find_needed_value(
    short: Iterable[float | None], sufficient: Iterable[float | None]
) -> float | None:
    """Return the value needed after runs that ended because `short` was too low: the smallest
    larger value that sufficed in another run, else twice as much. None if there were no such
    runs.
    """
    lacking = max((requested for requested in short if requested is not None), default=None)
    if lacking is None:
        return None
    enough = [
        requested for requested in sufficient if requested is not None and requested > lacking
    ]
    return min(enough, default=2 * lacking)


def round_up(value: float, steps: Sequence[tuple[float, float]], last: float) -> float:
    """Round up to a round number: each of `steps` is (upper bound, step size up to it)."""
    step = next((step for upto, step in steps if value <= upto), last)
    return math.ceil(round(value / step, 6)) * step
