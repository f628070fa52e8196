"""What arrays' running tasks have logged so far, kept in memory for those who look. Who reads, and
how, is scalars.py's business.

An array is read only while somebody looks at it, and seldom enough that its owner's launcher, which
also submits and reads logs, is busy with it for a small part of the time.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

EVERY_S = 15.0
REST = 20.0  # times as long as reading took, before the next
AFTER_FAILURE_S = 60.0
MOST_ARRAYS = 200
Metrics = Mapping[str, float | None]


@dataclass
class Entry:
    """One array: by index, what was found, and when each task was read last."""

    values: dict[int, Metrics] = field(default_factory=dict)
    read_at_s: dict[int, float] = field(default_factory=dict)
    next_s: float = 0.0
    reading: asyncio.Task[None] | None = None

    def oldest(self, indices: Iterable[int], most: int) -> list[int]:
        """Those that were read longest ago, so that all of a large array have their turn."""
        return sorted(indices, key=lambda index: (self.read_at_s.get(index, -1.0), index))[:most]


class SoFar:
    """The arrays that were looked at last; `clock` in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._arrays: OrderedDict[str, Entry] = OrderedDict()

    def of(self, job_id: str) -> Entry:
        """An array's entry; those that nobody has looked at for longest make room."""
        entry = self._arrays.setdefault(job_id, Entry())
        self._arrays.move_to_end(job_id)
        while len(self._arrays) > MOST_ARRAYS:
            _, left = self._arrays.popitem(last=False)
            if left.reading is not None:
                left.reading.cancel()
        return entry

    def forget(self, job_id: str) -> None:
        """Nothing of this array runs any more. What is being read is of no use."""
        entry = self._arrays.pop(job_id, None)
        if entry is not None and entry.reading is not None:
            entry.reading.cancel()

    def is_due(self, entry: Entry) -> bool:
        """Whether it is to be read now."""
        busy = entry.reading is not None and not entry.reading.done()
        return not busy and self._clock() >= entry.next_s

    def keep(self, entry: Entry, found: Mapping[int, Metrics]) -> None:
        """What has been read just now. A task that has logged nothing yet is asked again."""
        now_s = self._clock()
        entry.read_at_s.update(dict.fromkeys(found, now_s))
        entry.values.update({index: values for index, values in found.items() if values})

    def rest(self, entry: Entry, took_s: float, *, failed: bool = False) -> None:
        """When it may be read again."""
        pause_s = AFTER_FAILURE_S if failed else max(EVERY_S, REST * took_s)
        entry.next_s = self._clock() + pause_s

    def close(self) -> None:
        """The portal is ending: what is being read is given up."""
        for job_id in list(self._arrays):
            self.forget(job_id)
