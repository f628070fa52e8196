"""Random work and random kills for half an hour, checked by a model of what users asked for.

PORTAL_FAULTS_SOAK_S is the duration. Hypothesis chooses the steps; it does not shrink a failure,
because a real cluster never does the same twice.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
import uuid
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from cluster.client import RequestRefused
from cluster.config.paths import Paths
from portal.services.slurm.lifecycle import TWICE
from tests.cluster.job_tools import AWAY, lines, settled
from tests.cluster.slurm_tools import until
from tests.faults.faults import send
from tests.faults.invariants import BOUND_S, check_rows
from tests.faults.parts import PARTS
from tests.faults.world import JOB, USERS, World
from tests.live import Live
from tests.polling import T

SOAK_S = float(os.environ.get("PORTAL_FAULTS_SOAK_S", "1800"))
END_S = 420.0  # all jobs have ended by then
PAUSE_S = 2.0  # between steps: the cluster shall also work, not only fail
SESSION = {"cpus": 1, "memory_gb": 1, "time_limit_minutes": 120, "partition": "cpu"}
MOST_SESSIONS = 3
KILLED = (
    "portal", "hub", "nginx", "slurmctld", "slurmdbd", "mariadbd", "slurmd", "munged", "slapd",
    "nslcd", "launcher",
)  # fmt: skip


@dataclass
class Asked:
    """A job or session that was asked for, and whether it is still wanted."""

    name: str
    id: str
    wanted: bool = True


class Soak(RuleBasedStateMachine):
    """Users' requests and kills. `jobs` and `sessions` are the model."""

    live: Live  # set by the test

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.word = f"soak-{uuid.uuid4().hex[:8]}"
        self.jobs: list[Asked] = []
        self.sessions: list[Asked] = []
        self.end = time.monotonic() + SOAK_S
        self.world = self.run(self._create_world())

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(coroutine)

    async def _create_world(self) -> World:
        alice, bob, carol = [
            await self.stack.enter_async_context(self.live.login(name)) for name in USERS
        ]
        return World(self.live, alice, bob, carol)

    def has_time(self) -> bool:
        return time.monotonic() < self.end

    @rule(duration_s=st.integers(0, 20))
    @precondition(has_time)
    def submit(self, duration_s: int) -> None:
        name = f"job-{len(self.jobs)}"
        script = f"echo {name} >> ~/{self.word}; sleep {duration_s}"
        self._make(self.jobs, name, "/jobs", {"script": script, "resources": JOB})

    @rule()
    @precondition(lambda self: self.has_time() and len(wanted(self.sessions)) < MOST_SESSIONS)
    def start_session(self) -> None:
        name = f"session-{len(self.sessions)}"
        body = {"environment": "python3", "resources": SESSION}
        self._make(self.sessions, name, "/sessions", body)

    def _make(self, model: list[Asked], name: str, path: str, body: dict[str, Any]) -> None:
        client = self.world.bob if path == "/jobs" else self.world.alice
        key, body = f"{self.word}-{name}", {**body, "name": name}
        made = self.run(self.world.ask(client, "POST", path, body, key=key))
        again = self.run(self.world.ask(client, "POST", path, body, key=key))
        assert made["id"] == again["id"], "one key has made two"
        model.append(Asked(name, made["id"]))

    @rule(data=st.data())
    @precondition(lambda self: self.has_time() and bool(wanted(self.jobs)))
    def cancel(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(wanted(self.jobs)))
        job.wanted = False
        try:
            self.run(self.world.ask(self.world.bob, "POST", f"/jobs/{job.id}/cancel"))
        except RequestRefused as error:
            assert error.status == 409, error  # it has already ended
            job.wanted = True

    @rule(data=st.data())
    @precondition(lambda self: self.has_time() and bool(wanted(self.sessions)))
    def stop_session(self, data: st.DataObject) -> None:
        session = data.draw(st.sampled_from(wanted(self.sessions)))
        session.wanted = False
        self.run(self.world.ask(self.world.alice, "DELETE", f"/sessions/{session.id}"))

    @rule(part=st.sampled_from(KILLED))
    @precondition(has_time)
    def kill(self, part: str) -> None:
        """Kill a part; the steps that follow meet its restart."""
        send(PARTS[part].find(Paths(self.live.state)), signal.SIGKILL)
        self.run(asyncio.sleep(PAUSE_S))
        self.world.resume_nodes()

    @rule()
    @precondition(lambda self: not self.has_time())
    def rest(self) -> None:
        """Do nothing once the time is over."""

    def teardown(self) -> None:
        try:
            self.run(self._check())
        finally:
            self.run(self.stack.aclose())
            self.runner.close()

    async def _check(self) -> None:
        """Check that everything came out as the model has it."""
        for session in wanted(self.sessions):
            shown = await self.world.alice.wait_session(session.id, "running", "ended")
            assert shown["state"] == "running", f"{session.name}: {shown['reason']}"
        await self._wait_for_truth()
        for job in self.jobs:
            ended = await settled(self.world.bob, job.id, timeout_s=END_S)
            ran = lines(self.live, "bob", self.word).count(job.name)
            assert ran == 1 or not (ran or job.wanted), f"{job.name} ran {ran} times"
            if job.wanted:
                done = ended["outcome"] == "completed" or ended["reason"] == TWICE
                assert done, f"{job.name}: {ended['reason']}"
        for session in wanted(self.sessions):
            await self.world.alice.stop_session(session.id)
        await self._wait_for_truth()
        assert not self.world.journal.problems

    async def _wait_for_truth(self) -> None:
        async def load() -> list[str]:
            try:
                return await check_rows(self.world)
            except (*AWAY, RuntimeError) as error:
                return [f"no answer: {error}"]

        await until(load, "users see the truth", BOUND_S, done=lambda found: not found)


def wanted(model: list[Asked]) -> list[Asked]:
    return [one for one in model if one.wanted]


def test_random_work_and_kills_lose_nothing(portal: Live) -> None:
    Soak.live = portal
    run_state_machine_as_test(
        Soak,
        settings=settings(
            max_examples=1,
            stateful_step_count=int(SOAK_S / PAUSE_S) + 1,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
