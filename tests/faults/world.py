"""Users' work that stays while parts fail: a session whose cell executes, its TensorBoard, a
printing job and a queued one. All of it is made through the API, as users do.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cluster.client import Client, RequestRefused
from tests.cluster.job_tools import AWAY, is_away, settled
from tests.cluster.slurm_tools import home_of, until
from tests.live import Live
from tests.polling import PATIENCE_S

SESSION = {"cpus": 1, "memory_gb": 2, "time_limit_minutes": 600, "partition": "cpu"}
JOB = {"cpus": 1, "memory_gb": 0.25, "time_limit_minutes": 600, "partition": "cpu"}
USERS = ("alice", "bob", "carol")
CLOSED = "debug"  # the partition in which jobs wait
WAITING = {"cpus": 1, "memory_gb": 0.25, "time_limit_minutes": 10, "partition": CLOSED}
TICK_S = 0.25
KEEP_S = 4.0
CELL = """import time
with open({file!r}, "a", buffering=1) as out:
    for n in range(1_000_000):
        print(n, file=out)
        time.sleep({pause})
"""
PRINTING = f"for n in $(seq 0 1000000); do echo $n; sleep {TICK_S}; done"
SENTENCE = re.compile(r"\w+ .*\w+\W*$", re.DOTALL)


def judge(error: RequestRefused) -> str | None:
    """Return what is wrong with an answer: a 5xx needs a sentence, and not about a bug."""
    if error.status < 500:
        return None
    kind, detail = str(error.problem.get("type", "")), str(error.problem.get("detail", ""))
    if kind == "urn:portal:internal":
        return f"{error.status}: {detail}"
    if not kind or not SENTENCE.search(detail):
        return f"{error.status} without a sentence: {detail[:200]!r}"
    return None


@dataclass
class Journal:
    """What the portal answered during one fault."""

    refused: int = 0
    broken: int = 0
    problems: list[str] = field(default_factory=list)

    def note(self, what: str, error: BaseException) -> None:
        if not isinstance(error, RequestRefused):
            self.broken += 1
            return
        self.refused += error.status >= 500
        if problem := judge(error):
            self.problems.append(f"{what}: {problem}")


@dataclass
class World:
    """The users, and the work that is there before and after each fault."""

    live: Live
    alice: Client
    bob: Client
    carol: Client
    word: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    journal: Journal = field(default_factory=Journal)
    session: Any = None
    board: Any = None
    board_url: str = ""
    cells: int = 0
    queued: Any = None
    printing: Any = None

    @property
    def ticks(self) -> Path:
        return home_of(self.live, "alice") / f"ticks-{self.word}-{self.cells}"

    async def ask(
        self, client: Client, method: str, path: str, body: Any = None, key: str | None = None
    ) -> Any:
        """Send a request until it is answered, as a careful client does.

        Raises RequestRefused for an answer that a repetition does not change.
        """
        headers = {"Idempotency-Key": key} if key else {}
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return await client.api(method, path, body, headers=headers)
            except AWAY as error:
                self.journal.note(f"{method} {path}", error)
                if not is_away(error) or time.monotonic() > deadline:
                    raise
            await asyncio.sleep(0.3)

    async def repair(self) -> None:
        """Bring back what the last fault ended, and resume nodes that Slurm drained."""
        self.journal = Journal()
        for client, name in zip((self.alice, self.bob, self.carol), USERS, strict=True):
            await self.ask(client, "POST", "/reauth", {"password": self.live.users[name]})
        await asyncio.to_thread(self.resume_nodes)
        await asyncio.to_thread(self.close_partition)
        await self._clear()
        await self._ensure_session()
        await self._ensure_cell()
        await self._ensure_board()
        await self._ensure_jobs()

    def close_partition(self, state: str = "DOWN") -> None:
        """Let jobs wait in the partition; a killed slurmctld opens it again."""
        change = ["scontrol", "update", f"PartitionName={CLOSED}", f"State={state}"]
        self.live.exec_as("root", change)

    async def keep_nodes(self) -> None:
        """Resume nodes that Slurm drains, as an operator does, for example for a job that a killed
        slurmctld sends twice.
        """
        while True:
            await asyncio.sleep(KEEP_S)
            with suppress(RuntimeError, subprocess.TimeoutExpired):  # Slurm is what fails
                await asyncio.to_thread(self.resume_nodes)

    def resume_nodes(self) -> None:
        for line in self.live.exec_as("root", ["sinfo", "-h", "-R", "-o", "%N"]).splitlines():
            self.live.exec_as("root", ["scontrol", "update", f"nodename={line}", "state=resume"])

    async def _clear(self) -> None:
        """End what earlier rounds have left."""
        kept = {row["id"] for row in (self.session, self.queued, self.printing) if row}
        for row in (await self.ask(self.alice, "GET", "/sessions?state=live"))["items"]:
            if row["id"] not in kept:
                await self.ask(self.alice, "DELETE", f"/sessions/{row['id']}")
        for path, client in (("/sessions", self.alice), ("/jobs", self.bob)):
            for row in (await self.ask(client, "GET", f"{path}?state=all"))["items"]:
                board = row["tensorboard"]
                if row["id"] not in kept and board and board["state"] != "stopped":
                    await self.ask(client, "DELETE", f"{path}/{row['id']}/tensorboard")
        for client in (self.alice, self.bob):
            for row in (await self.ask(client, "GET", "/jobs?state=live"))["items"]:
                if row["id"] not in kept and row["state"] != "stopping":
                    await self.ask(client, "POST", f"/jobs/{row['id']}/cancel")

    async def _ensure_session(self) -> None:
        if self.session:
            now = await self.ask(self.alice, "GET", f"/sessions/{self.session['id']}")
            if now["state"] == "running":
                return
        made = await self.alice.start_session(
            name=f"standing-{uuid.uuid4().hex[:6]}", resources=SESSION
        )
        self.session = await self.alice.wait_session(made["id"], "running", "ended")
        assert self.session["state"] == "running", self.session["reason"]
        self.board = None

    async def _ensure_cell(self) -> None:
        """Start a cell that writes numbers, unless the last one still does."""
        await self.alice.open_lab(self.session)
        if self.cells and await asyncio.to_thread(is_ticking, self.ticks):
            return
        self.cells += 1
        async with self.alice.kernel(self.session) as kernel:
            await kernel.send(CELL.format(file=str(self.ticks), pause=TICK_S))
            await until(self.ticks.exists, "the cell writes")

    async def _ensure_board(self) -> None:
        if self.board and await self.alice.status_of(self.board_url) == 200:
            return
        self.board = await self.alice.wait_tensorboard(self.session["id"])
        assert self.board["state"] == "running", self.board["reason"]
        self.board_url = await self.alice.open_tensorboard(self.board)

    async def _ensure_jobs(self) -> None:
        self.printing = await self._ensure_job(self.printing, "running", PRINTING, JOB)
        self.queued = await self._ensure_job(self.queued, "queued", "sleep 60", WAITING)
        hold = ["scontrol", "hold", str(self.queued["job_id"])]
        await asyncio.to_thread(self.live.exec_as, "root", hold)

    async def _ensure_job(self, job: Any, state: str, script: str, resources: Any) -> Any:
        if job:
            now = await self.ask(self.bob, "GET", f"/jobs/{job['id']}")
            if now["state"] == state:
                return now
        body = {"script": script, "resources": resources, "name": f"standing {state}"}
        made = await self.ask(self.bob, "POST", "/jobs", body)
        return await settled(self.bob, made["id"], state)


def is_ticking(path: Path) -> bool:
    return path.exists() and time.time() - path.stat().st_mtime < 10 * TICK_S


@asynccontextmanager
async def create_world(live: Live) -> AsyncIterator[World]:
    """Bring a world up; what it has left running ends with it."""
    async with AsyncExitStack() as stack:
        alice, bob, carol = [await stack.enter_async_context(live.login(name)) for name in USERS]
        world = World(live, alice, bob, carol)
        keeping = asyncio.create_task(world.keep_nodes())
        try:
            yield world
        finally:
            keeping.cancel()
            await asyncio.wait({keeping})
            world.session = world.queued = world.printing = None
            await world._clear()
            world.close_partition("UP")
