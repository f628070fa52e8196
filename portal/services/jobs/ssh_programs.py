"""Programs that serve SSH in batch jobs: their addresses and starts, in memory only.

Each start of a program is a run with an id of its own. A job has one current run, and what other
runs report changes nothing. A program reports its address every few seconds, so that the portal
knows it again soon after a restart.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

FRESH_S = 60.0
"""A program that has not reported for this time is considered gone."""
START_S = 20.0
"""Time that a connection waits for a program's first report; nginx waits for 30 s."""
GIVEN_UP_S = 60.0
"""A run without a report for this time has failed: its start takes at most `START_S`, and its
program then gives up after 30 s (job_ssh.HELLO_S)."""
ENDED_S = 1800.0
"""A program that has not reported for this time has ended by itself (portal_client.GIVE_UP_S)."""

BeginRun = Callable[[str, str | None], Coroutine[Any, Any, None]]
"""Start the run with this id, in place of an earlier one, if any, whose step may live."""


@dataclass(frozen=True)
class JobSshProgram:
    """Address of a job's program, as Slurm and the program report it. `tls_name` is the name in its
    certificate, None for a program without one.
    """

    node: str
    host: str
    port: int
    tls_name: str | None


@dataclass(frozen=True)
class _Start:
    run_id: str
    task: asyncio.Task[None]


@dataclass
class JobSshPrograms:
    """The programs by the id of their job. `clock` is for tests."""

    clock: Callable[[], float] = time.monotonic
    _programs: dict[str, tuple[JobSshProgram, float]] = field(default_factory=dict)
    _starts: dict[str, tuple[_Start, float]] = field(default_factory=dict)
    _runs: dict[str, tuple[str, float]] = field(default_factory=dict)
    """The last run whose step may live."""
    _problems: dict[str, tuple[str, float]] = field(default_factory=dict)

    def find(self, batch_job_id: str, node: str | None) -> JobSshProgram | None:
        """Return the job's program if it still reports, and the job is still on its node."""
        self._forget_old()
        found = self._programs.get(batch_job_id)
        return found[0] if found is not None and found[0].node == node else None

    def current_run(self, batch_job_id: str) -> str | None:
        """Return the id of the run that may report, None if any may: the portal knows of none."""
        self._forget_old()
        if (start := self._starts.get(batch_job_id)) is not None:
            return start[0].run_id
        run = self._runs.get(batch_job_id)
        return run[0] if run is not None else None

    def is_current(self, batch_job_id: str, run_id: str) -> bool:
        """Return whether this run may report."""
        return self.current_run(batch_job_id) in {None, run_id}

    def register(self, batch_job_id: str, run_id: str, program: JobSshProgram) -> bool:
        """Record a report of the current run; return whether its address was not known."""
        known = self._programs.get(batch_job_id)
        self._programs[batch_job_id] = program, self.clock()
        self._runs[batch_job_id] = run_id, self.clock()
        self._problems.pop(batch_job_id, None)
        return known is None or known[0] != program

    def remove(
        self, batch_job_id: str, run_id: str, problem: str | None, *, may_live: bool = False
    ) -> bool:
        """Record that a run ends, unless another is current; return whether it was recorded.

        `problem` is the reason if it failed. `may_live`: the step may have started all the same.
        """
        if not self.is_current(batch_job_id, run_id):
            return False
        self._programs.pop(batch_job_id, None)
        self._starts.pop(batch_job_id, None)
        run = self._runs.get(batch_job_id)
        if not may_live and run is not None and run[0] == run_id:
            del self._runs[batch_job_id]
        if problem is not None:
            self._problems[batch_job_id] = problem, self.clock()
        return True

    def explain(self, batch_job_id: str, run_id: str, problem: str) -> None:
        """Record why the current run has not reported yet."""
        if self.current_run(batch_job_id) == run_id:
            self._problems[batch_job_id] = problem, self.clock()

    def problem(self, batch_job_id: str) -> str | None:
        """Return why there is no program, as of the last attempt."""
        found = self._problems.get(batch_job_id)
        return None if found is None else found[0]

    async def start(self, batch_job_id: str, run_id: str, begin: BeginRun) -> None:
        """Start the program, unless a start is already in progress. Raises the errors of `begin`.

        Concurrent calls share one start, which outlives the request that began it.
        """
        self._forget_old()
        self._problems.pop(batch_job_id, None)
        if batch_job_id not in self._starts:
            self._programs.pop(batch_job_id, None)
            earlier = self._runs.get(batch_job_id)
            task = asyncio.create_task(begin(run_id, earlier[0] if earlier is not None else None))
            self._starts[batch_job_id] = _Start(run_id, task), self.clock()
        await asyncio.shield(self._starts[batch_job_id][0].task)

    def expect(self, batch_job_id: str, run_id: str) -> None:
        """Record that the step of this run is about to start, and that an earlier one has ended."""
        self._runs[batch_job_id] = run_id, self.clock()

    def _forget_old(self) -> None:
        now = self.clock()
        for entries, kept_s in (
            (self._programs, FRESH_S),
            (self._starts, GIVEN_UP_S),
            (self._runs, ENDED_S),
            (self._problems, FRESH_S),
        ):
            for key in [key for key, (_, at) in entries.items() if now - at > kept_s]:
                del entries[key]
