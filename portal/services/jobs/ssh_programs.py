"""Programs that serve SSH in batch jobs: their addresses and starts, in memory only.

A program reports its address every few seconds, so that the portal knows it again soon after a
restart.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

FRESH_S = 60.0
"""A program that has not reported for this time is taken for gone."""
START_S = 20.0
"""Time that a program gets from its start to its first report; nginx waits for 30 s."""


@dataclass(frozen=True)
class JobSshProgram:
    """Address of a job's program, as Slurm and the program report it; `tls_name` as in Session."""

    node: str
    host: str
    port: int
    tls_name: str | None


@dataclass
class JobSshPrograms:
    """The programs by the id of their job. `clock` is for tests."""

    clock: Callable[[], float] = time.monotonic
    _programs: dict[str, tuple[JobSshProgram, float]] = field(default_factory=dict)
    _starts: dict[str, tuple[asyncio.Task[None], float]] = field(default_factory=dict)
    _problems: dict[str, tuple[str, float]] = field(default_factory=dict)

    def find(self, batch_job_id: str, node: str | None) -> JobSshProgram | None:
        """Return the job's program if it still reports, and the job is still on its node."""
        self._forget_old()
        found = self._programs.get(batch_job_id)
        return found[0] if found is not None and found[0].node == node else None

    def register(self, batch_job_id: str, program: JobSshProgram) -> bool:
        """Record a report; return whether it is of a program that was not known."""
        known = self._programs.get(batch_job_id)
        self._programs[batch_job_id] = program, self.clock()
        self._problems.pop(batch_job_id, None)
        return known is None or known[0] != program

    def remove(self, batch_job_id: str, problem: str | None) -> None:
        """Record that the program ends; `problem` is the reason if it failed."""
        self._programs.pop(batch_job_id, None)
        self._starts.pop(batch_job_id, None)
        if problem is not None:
            self._problems[batch_job_id] = problem, self.clock()

    def problem(self, batch_job_id: str) -> str | None:
        """Return why the last start failed, until the next one."""
        found = self._problems.get(batch_job_id)
        return None if found is None else found[0]

    async def start(
        self, batch_job_id: str, begin: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        """Start the program, unless a start has not had its time yet. Raises the errors of `begin`.

        Concurrent calls share one start, which outlives the request that began it.
        """
        self._forget_old()
        if batch_job_id not in self._starts:
            self._problems.pop(batch_job_id, None)
            task = asyncio.create_task(begin())
            self._starts[batch_job_id] = task, self.clock()
        await asyncio.shield(self._starts[batch_job_id][0])

    def _forget_old(self) -> None:
        now = self.clock()
        for entries, kept_s in (
            (self._programs, FRESH_S),
            (self._starts, START_S),
            (self._problems, FRESH_S),
        ):
            for key in [key for key, (_, at) in entries.items() if now - at > kept_s]:
                del entries[key]
