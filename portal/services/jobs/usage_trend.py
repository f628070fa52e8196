"""Usage of a session or job in the last minutes, and for how long its GPUs have been idle. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

SPAN_S = 900
STEP_S = 30
LOOK_BACK_S = 7200.0
"""Idle times are known up to this duration."""
STALE_S = 180.0
"""Without a measurement for so long, it is unknown whether a GPU is idle."""
IDLE_PERCENT = 1.0

Values = Sequence[float | None]


@dataclass(frozen=True)
class Measurements:
    """Columns of one node: when each point began, in seconds since 1970, and its values.

    A point covers `step_s` seconds. `cpus` are busy CPUs, `gpus` the use of each GPU in percent.
    """

    at: Sequence[float]
    step_s: float
    cpus: Values
    gpus: Sequence[Values]

    @property
    def gpu_rows(self) -> Iterator[list[float | None]]:
        """The use of all GPUs at each point."""
        return ([gpu[index] for gpu in self.gpus] for index in range(len(self.at)))


@dataclass(frozen=True)
class UsageTrend:
    """Use in percent of each STEP_S seconds until now, the oldest first; None is unknown.

    `resource` is what is used. All GPUs have been idle since `gpu_idle_since`, or for longer if
    `gpu_idle_longer`; None: they are not idle, or it is unknown.
    """

    resource: Literal["gpu", "cpu"]
    percent: list[float | None]
    gpu_idle_since: float | None
    gpu_idle_longer: bool


def usage_trend(nodes: Sequence[Measurements], cpus: int, now: float) -> UsageTrend:
    """Return the trend of GPUs, or of CPUs if no GPU was measured; `cpus` are those of one node."""
    has_gpus = any(node.gpus for node in nodes)
    points = [
        (at, at + node.step_s, percent)
        for node in nodes
        for at, percent in zip(node.at, _percents(node, cpus, has_gpus), strict=True)
        if percent is not None and at + node.step_s > now - SPAN_S
    ]
    starts = [now - SPAN_S + STEP_S * index for index in range(SPAN_S // STEP_S)]
    since = _gpu_idle_since(nodes, now) if has_gpus else None
    return UsageTrend(
        resource="gpu" if has_gpus else "cpu",
        percent=[_mean_between(points, start, start + STEP_S) for start in starts],
        gpu_idle_since=since if since is None else max(since, now - LOOK_BACK_S),
        gpu_idle_longer=since is not None and since <= now - LOOK_BACK_S,
    )


def _percents(node: Measurements, cpus: int, has_gpus: bool) -> Iterator[float | None]:
    if has_gpus:
        return (_mean(row) for row in node.gpu_rows)
    return (None if busy is None else min(100.0, 100 * busy / max(1, cpus)) for busy in node.cpus)


def _mean_between(
    points: Sequence[tuple[float, float, float]], start: float, end: float
) -> float | None:
    mean = _mean([percent for begin, until, percent in points if begin < end and until > start])
    return None if mean is None else round(mean, 1)


def _mean(values: Values) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _gpu_idle_since(nodes: Sequence[Measurements], now: float) -> float | None:
    """Return since when the GPUs of all nodes have been idle; None if not, or if it is unknown."""
    starts = [_node_idle_since(node, now) for node in nodes]
    known = [start for start in starts if start is not None]
    return max(known) if known and len(known) == len(starts) else None


def _node_idle_since(node: Measurements, now: float) -> float | None:
    if not node.at or now - (node.at[-1] + node.step_s) > STALE_S:
        return None
    rows = reversed(list(zip(node.at, node.gpu_rows, strict=True)))
    idle = [at for at, _ in takewhile(lambda point: _is_idle(point[1]), rows)]
    return idle[-1] if idle else None


def _is_idle(row: Values) -> bool:
    return bool(row) and all(value is not None and value <= IDLE_PERCENT for value in row)
