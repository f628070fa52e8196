"""Random work and random kills for half an hour, checked by a model of what users asked for.

PORTAL_FAULTS_SOAK_S is the duration, PORTAL_FAULTS_SEED the seed of the choices, which a failure
prints.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

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

pytestmark = pytest.mark.anyio

SOAK_S = float(os.environ.get("PORTAL_FAULTS_SOAK_S", "1800"))
SEED = int(os.environ.get("PORTAL_FAULTS_SEED", str(random.randrange(1 << 32))))  # noqa: S311
END_S = 420.0  # all jobs have ended by then
PAUSE_S = 2.0  # after a kill: the cluster shall also work, not only fail
SESSION = {"cpus": 1, "memory_gb": 1, "time_limit_minutes": 120, "partition": "cpu"}
MAX_SESSIONS = 3
LONGEST_JOB_S = 20
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


@dataclass
class Soak:
    """Users' requests and kills. `jobs` and `sessions` are the model."""

    world: World
    choose: random.Random
    word: str = field(default_factory=lambda: f"soak-{uuid.uuid4().hex[:8]}")
    jobs: list[Asked] = field(default_factory=list)
    sessions: list[Asked] = field(default_factory=list)
    steps: Counter[str] = field(default_factory=Counter)

    async def step(self) -> None:
        """Take one of the steps that are possible now."""
        possible: list[Callable[[], Awaitable[None]]] = [self.submit, self.kill]
        if len(wanted(self.sessions)) < MAX_SESSIONS:
            possible.append(self.start_session)
        if wanted(self.jobs):
            possible.append(self.cancel)
        if wanted(self.sessions):
            possible.append(self.stop_session)
        await self.choose.choice(possible)()

    async def submit(self) -> None:
        name = f"job-{len(self.jobs)}"
        duration_s = self.choose.randint(0, LONGEST_JOB_S)
        script = f"echo {name} >> ~/{self.word}; sleep {duration_s}"
        await self._make(self.jobs, name, "/jobs", {"script": script, "resources": JOB})

    async def start_session(self) -> None:
        name = f"session-{len(self.sessions)}"
        body = {"environment": "python3", "resources": SESSION}
        await self._make(self.sessions, name, "/sessions", body)

    async def _make(self, model: list[Asked], name: str, path: str, body: dict[str, Any]) -> None:
        self.steps[path] += 1
        client = self.world.bob if path == "/jobs" else self.world.alice
        key, body = f"{self.word}-{name}", {**body, "name": name}
        made = await self.world.ask(client, "POST", path, body, key=key)
        again = await self.world.ask(client, "POST", path, body, key=key)
        assert made["id"] == again["id"], "one key has made two"
        model.append(Asked(name, made["id"]))

    async def cancel(self) -> None:
        self.steps["cancel"] += 1
        job = self.choose.choice(wanted(self.jobs))
        job.wanted = False
        try:
            await self.world.ask(self.world.bob, "POST", f"/jobs/{job.id}/cancel")
        except RequestRefused as error:
            assert error.status == 409, error  # it has already ended
            job.wanted = True

    async def stop_session(self) -> None:
        self.steps["stop"] += 1
        session = self.choose.choice(wanted(self.sessions))
        session.wanted = False
        await self.world.ask(self.world.alice, "DELETE", f"/sessions/{session.id}")

    async def kill(self) -> None:
        """Kill a part; the steps that follow meet its restart."""
        part = self.choose.choice(KILLED)
        self.steps[f"kill {part}"] += send(
            PARTS[part].find(Paths(self.world.live.state)), signal.SIGKILL
        )
        await asyncio.sleep(PAUSE_S)
        self.world.resume_nodes()

    async def check(self) -> None:
        """Check that everything came out as the model has it."""
        for session in wanted(self.sessions):
            shown = await self.world.alice.wait_session(session.id, "running", "ended")
            assert shown["state"] == "running", f"{session.name}: {shown['reason']}"
        await self._wait_for_truth()
        for job in self.jobs:
            ended = await settled(self.world.bob, job.id, timeout_s=END_S)
            ran = lines(self.world.live, "bob", self.word).count(job.name)
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


async def test_random_work_and_kills_lose_nothing(portal: Live) -> None:
    print(f"PORTAL_FAULTS_SEED={SEED}")
    alice, bob, carol = (portal.login(name) for name in USERS)
    async with alice as first, bob as second, carol as third:
        soak = Soak(World(portal, first, second, third), random.Random(SEED))  # noqa: S311
        end = time.monotonic() + SOAK_S
        while time.monotonic() < end:
            await soak.step()
        await soak.check()
    killed = {step for step, count in soak.steps.items() if step.startswith("kill") and count}
    assert soak.steps["/jobs"] and soak.steps["/sessions"] and len(killed) > 1, soak.steps
