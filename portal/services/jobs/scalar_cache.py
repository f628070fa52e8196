"""In-memory cache of the values that arrays' running tasks have logged; scalars.py reads them.

An array is read only while a user is viewing it, and rarely enough to take only a small part of a
processor's time.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

READ_EVERY_S = 15.0
PAUSE_FACTOR = 20.0  # the pause after a read, in durations of this read
AFTER_FAILURE_S = 60.0
MAX_ARRAYS = 200
ScalarValues = Mapping[str, float | None]


def pause_after(took_s: float) -> float:
    """Return the pause after a read of event files that took so long."""
    return max(READ_EVERY_S, PAUSE_FACTOR * took_s)


@dataclass
class CachedScalars:
    """Cached values of one array by index, and the time at which each task was last read.

    `next_s` is the earliest time of the next read, `reading` the last read.
    """

    values: dict[int, ScalarValues] = field(default_factory=dict)
    read_at_s: dict[int, float] = field(default_factory=dict)
    next_s: float = 0.0
    reading: asyncio.Task[None] | None = None

    def oldest(self, indices: Iterable[int], most: int) -> list[int]:
        """Return the tasks that were read longest ago, so that all tasks of a large array are read
        in turn.
        """
        return sorted(indices, key=lambda index: (self.read_at_s.get(index, -1.0), index))[:most]


class ScalarCache:
    """Entries of the most recently viewed arrays; `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._arrays: OrderedDict[str, CachedScalars] = OrderedDict()

    def of(self, batch_job_id: str) -> CachedScalars:
        """Return an array's entry; the least recently viewed entries are evicted."""
        entry = self._arrays.setdefault(batch_job_id, CachedScalars())
        self._arrays.move_to_end(batch_job_id)
        while len(self._arrays) > MAX_ARRAYS:
            _, evicted = self._arrays.popitem(last=False)
            if evicted.reading is not None:
                evicted.reading.cancel()
        return entry

    def forget(self, batch_job_id: str) -> None:
        """Drop the entry of an array that has no running tasks, and cancel its read in progress."""
        entry = self._arrays.pop(batch_job_id, None)
        if entry is not None and entry.reading is not None:
            entry.reading.cancel()

    def is_due(self, entry: CachedScalars) -> bool:
        """Return whether the array should be read now."""
        busy = entry.reading is not None and not entry.reading.done()
        return not busy and self._clock() >= entry.next_s

    def put(self, entry: CachedScalars, metrics: Mapping[int, ScalarValues]) -> None:
        """Store values that were just read. Those of a task are kept if it shows none now."""
        now_s = self._clock()
        entry.read_at_s.update(dict.fromkeys(metrics, now_s))
        entry.values.update({index: values for index, values in metrics.items() if values})

    def schedule_next(self, entry: CachedScalars, took_s: float, *, failed: bool = False) -> None:
        """Set the earliest time of the next read."""
        pause_s = AFTER_FAILURE_S if failed else pause_after(took_s)
        entry.next_s = self._clock() + pause_s

    def close(self) -> None:
        """Cancel all reads in progress when the portal shuts down."""
        for batch_job_id in list(self._arrays):
            self.forget(batch_job_id)
