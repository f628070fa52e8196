"""What users do while a fault strikes: each moment is one coroutine, begun before the fault.

A moment reports that it is there, waits for the signal, and then goes on as a careful user does,
until its result is certain. It raises AssertionError if something is lost or doubled.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from cluster.client import Client, RequestRefused
from portal.services.slurm.lifecycle import TWICE
from tests.cluster.job_tools import AWAY, AWAY_STATUSES, is_away, lines, settled
from tests.cluster.slurm_tools import home_of, until
from tests.faults.world import JOB, SESSION, World, judge
from tests.live import Live
from tests.polling import PATIENCE_S

READY_S = 90.0
LOST_LAUNCH_S = 90.0
REQUEUED_S = 240.0  # Slurm lets a job wait for two minutes that lost its node
BOARD_S = 150.0  # a TensorBoard that was killed while it started fails after two minutes
HEADSTART_S = 0.1  # requests in progress are sent this long before the fault
UPLOAD_BYTES = 24 << 20  # several chunks
ARRAY_TASKS = 3
TASK = """#!/usr/bin/env python3
import os, time
time.sleep(20)  # longer than what comes between it and the fault
with open({file!r}, "a") as out:
    print(os.environ["SLURM_ARRAY_TASK_ID"], file=out)
"""


@dataclass
class Round:
    """One fault's moments, and the signals between them and the fault."""

    world: World
    loses: frozenset[str]
    word: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    sending: asyncio.Event = field(default_factory=asyncio.Event)
    struck: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    ready: dict[str, asyncio.Event] = field(default_factory=dict)
    tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def begin(self) -> None:
        """Start all moments and wait until each is where the fault has to meet it."""
        for moment in BEFORE:
            self._start(moment)
        await self._wait_ready()
        self._start(starting)
        await self._wait_ready()

    async def send(self) -> None:
        """Let users send the requests that the fault shall meet."""
        ended = [name for name, task in self.tasks.items() if task.done()]
        assert not ended, f"ended before the fault: {ended}"
        self.sending.set()
        await asyncio.sleep(HEADSTART_S)

    def _start(self, moment: Moment) -> None:
        name = moment.__name__
        self.ready[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(moment(self), name=name)

    async def _wait_ready(self) -> None:
        async with asyncio.timeout(READY_S):
            for name, event in self.ready.items():
                task, waiting = self.tasks[name], asyncio.create_task(event.wait())
                await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                if task.done():
                    task.result()
                    raise AssertionError(f"{name} ended before the fault")

    async def cancel(self) -> None:
        """End what still acts on the world."""
        for task in self.tasks.values():
            task.cancel()
        if self.tasks:
            await asyncio.wait(self.tasks.values())

    async def finish(self, timeout_s: float) -> list[str]:
        """Wait for the results of all moments and return what is wrong with them."""
        self.over.set()
        await asyncio.wait(self.tasks.values(), timeout=timeout_s)
        problems = []
        for name, task in self.tasks.items():
            if not task.done():
                task.cancel()
                problems.append(f"{name}: no result after {timeout_s:g} s")
            elif (error := task.exception()) and not self.is_expected(name, error):
                problems.append(f"{name}: {type(error).__name__}: {str(error)[:400]}")
        await asyncio.wait(self.tasks.values(), timeout=5)
        return problems

    def is_expected(self, moment: str, error: BaseException) -> bool:
        """Return whether it is a refusal, in words, of what this fault makes impossible."""
        refused = isinstance(error, RequestRefused) and judge(error) is None
        return refused and "submissions" in self.loses and moment in NEED_DISK

    def check_runs(self, job: Any, ran: list[str], expected: list[str]) -> None:
        """Check that a job's script has run once; a fault of its node may end it earlier."""
        if "jobs" in self.loses:
            assert len(set(ran)) == len(ran), f"it ran again: {ran}"
            assert job["outcome"] == "completed" or job["reason"], "it ended without a reason"
            assert job["outcome"] != "completed" or sorted(ran) == expected, f"it never ran: {ran}"
            return
        assert sorted(ran) == expected, f"{ran}: {job['outcome']}, {job['reason']}"
        assert job["outcome"] == "completed" or TWICE in str(job["reason"]), job["reason"]

    def is_held(self, session: Any) -> bool:
        """Return whether Slurm holds a session whose launch has failed, and its user sees why."""
        held = session["state"] == "queued" and session["suggestion"] is not None
        return held and "jobs" in self.loses

    async def settle(self, batch_job_id: str) -> Any:
        """Return a job once it has ended.

        Slurm keeps a job as running whose launch was lost with slurmd or its node; it is canceled.
        """
        bob, path = self.world.bob, f"/jobs/{batch_job_id}"
        try:
            return await settled(bob, batch_job_id, timeout_s=LOST_LAUNCH_S)
        except AssertionError:
            if "jobs" not in self.loses:
                raise
        await self.world.ask(bob, "POST", f"{path}/cancel")
        return {**await settled(bob, batch_job_id), "reason": "canceled by the test"}

    def is_ready(self, moment: str) -> None:
        self.ready[moment].set()

    async def once(self, body: Any, signal: asyncio.Event, name: str) -> None:
        """Submit a job at a signal; its script must run once."""
        self.is_ready(name)
        await signal.wait()
        file = f"once-{self.word}"
        body = {**body, "script": f"echo {name} >> ~/{file}", "name": name}
        made = await self.world.ask(
            self.world.bob, "POST", "/jobs", body, key=f"{self.word}-{name}"
        )
        job = await self.settle(made["id"])
        ran = [line for line in lines(self.world.live, "bob", file) if line == name]
        self.check_runs(job, ran, [name])


Moment = Callable[[Round], Coroutine[Any, Any, None]]


async def submitting(r: Round) -> None:
    await r.once({"resources": JOB}, r.sending, "submitting")


async def submitting_after(r: Round) -> None:
    await r.once({"resources": JOB}, r.struck, "submitting_after")


async def login(r: Round) -> None:
    """Log in while the fault is there; a password that is right is never called wrong."""
    r.is_ready("login")
    await r.struck.wait()
    live = r.world.live
    async with Client(live.base_url) as client:
        body = {"username": "bob", "password": live.users["bob"]}
        await r.world.ask(client, "POST", "/login", body)
        assert (await r.world.ask(client, "GET", "/me"))["username"] == "bob"


async def array(r: Round) -> None:
    """An array whose tasks run when the fault strikes."""
    world, home = r.world, home_of(r.world.live, "bob")
    file = f"array-{r.word}"
    (home / "fault_task.py").write_text(TASK.format(file=str(home / file)))
    rates = [0.1 * (n + 1) for n in range(ARRAY_TASKS)]
    parameters = {"script": "~/fault_task.py", "learning_rate": rates, "hidden": [4]}
    body = {"template": "hyperparameter-array", "parameters": parameters, "resources": JOB}
    made = await world.ask(world.bob, "POST", "/jobs", body, key=f"{r.word}-array")
    await settled(world.bob, made["id"], "starting", "running")
    r.is_ready("array")
    job = await r.settle(made["id"])
    r.check_runs(job, lines(world.live, "bob", file), [str(n) for n in range(ARRAY_TASKS)])


async def starting(r: Round) -> None:
    """A session that has just been started; it comes to run, once."""
    world = r.world
    body = {"environment": "python3", "name": f"starting-{r.word}", "resources": SESSION}
    made = await world.ask(world.alice, "POST", "/sessions", body, key=f"{r.word}-session")
    r.is_ready("starting")
    path = f"/sessions/{made['id']}"
    session = await until(
        lambda: world.ask(world.alice, "GET", path),
        "the session runs",
        timeout_s=REQUEUED_S,
        done=lambda answer: answer["state"] in {"running", "ended"} or r.is_held(answer),
    )
    if not r.loses & {"session", "jobs"}:
        assert session["state"] == "running", session["reason"]
    assert session["state"] == "running" or session["reason"], "it ended without a reason"
    if session["state"] != "ended":
        await world.ask(world.alice, "DELETE", path)
    await until(
        lambda: world.ask(world.alice, "GET", path),
        "the session ends",
        done=lambda answer: answer["state"] == "ended",
    )


async def board(r: Round) -> None:
    """A TensorBoard that starts in a running job."""
    world = r.world
    path = f"/jobs/{world.printing['id']}/tensorboard"
    await world.ask(world.bob, "PUT", path)
    r.is_ready("board")
    shown = await until(
        lambda: world.ask(world.bob, "GET", path),
        "the TensorBoard runs",
        timeout_s=BOARD_S,
        done=lambda answer: answer["state"] in {"running", "failed"},
    )
    if "board" not in r.loses:
        assert shown["state"] == "running", shown["reason"]
    assert shown["state"] == "running" or shown["reason"], "it failed without a reason"
    await r.over.wait()
    await world.ask(world.bob, "DELETE", path)


async def upload(r: Round) -> None:
    """An upload of which a part is there; it is complete in the end, with the same content."""
    world, alice = r.world, r.world.alice
    data = os.urandom(1 << 16) * (UPLOAD_BYTES >> 16)
    begin = {"root": "home", "path": f"upload-{r.word}", "size_bytes": len(data)}
    made = await world.ask(alice, "POST", "/files/uploads", begin)
    size = int(made["chunk_bytes"])
    assert size < UPLOAD_BYTES
    path, offset = f"/files/uploads/{made['id']}", 0
    while offset < len(data):
        if offset >= size:
            r.is_ready("upload")
            await r.sending.wait()
        offset = await _send_chunk(r, path, offset, data[offset : offset + size])
    done: Any = {"done": False}
    while not done["done"]:
        done = await world.ask(alice, "POST", f"{path}/complete", {})
    assert done["sha256"] == hashlib.sha256(data).hexdigest()
    (home_of(world.live, "alice") / f"upload-{r.word}").unlink()


async def _send_chunk(r: Round, path: str, offset: int, data: bytes) -> int:
    """Send a chunk and return where to go on."""
    alice = r.world.alice
    url = f"{alice.base_url}/api/v1{path}?offset={offset}"
    try:
        headers = {"Origin": alice.base_url}
        async with alice.http.put(url, data=io.BytesIO(data), headers=headers) as answer:
            text = await answer.text()
            if answer.status in {200, 409}:
                return int(json.loads(text)["offset"])
            assert answer.status in AWAY_STATUSES, text
    except AWAY as error:
        r.world.journal.note("PUT chunk", error)
    await asyncio.sleep(0.3)
    return int((await r.world.ask(alice, "GET", path))["offset"])


async def follow(r: Round) -> None:
    """Follow a log; connections may end, but no line is lost or doubled."""
    world = r.world
    tail = await world.ask(world.bob, "GET", f"/jobs/{world.printing['id']}/log")
    offset = int(tail["next_offset"])
    text = ""
    while not (r.over.is_set() and text.count("\n") > 2):
        try:
            async with asyncio.timeout(PATIENCE_S):
                async for piece in _pieces(world.bob, world.printing["id"], offset):
                    r.is_ready("follow")
                    text, offset = text + piece["text"], piece["next_offset"]
                    if r.over.is_set() or piece["end"]:
                        break
        except AWAY as error:
            world.journal.note("follow", error)
            if not is_away(error):
                raise
        await asyncio.sleep(0.3)
    numbers = [int(word) for word in text.split("\n")[1:-1]]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), "lines are missing"


async def _pieces(client: Client, job: str, offset: int) -> Any:
    url = f"{client.base_url}/api/v1/jobs/{job}/log/follow?offset={offset}"
    async with client.http.get(url) as answer:
        if answer.status >= 400:
            raise RequestRefused(answer.status, await answer.json(content_type=None))
        async for line in answer.content:
            if line.startswith(b"data: "):
                yield json.loads(line[6:])


async def change(r: Round) -> None:
    """An administrator's change of a limit, which Slurm has in the end."""
    world, path = r.world, "/admin/limits/user/bob"
    r.is_ready("change")
    await r.struck.wait()
    cpus = 500 + int(r.word[:4], 16) % 400

    async def put() -> Any:
        limits = (await world.ask(world.carol, "GET", "/admin/limits"))["items"]
        mine = [one for one in limits if (one["scope"], one["name"]) == ("user", "bob")]
        if mine and mine[0]["cpus"] == cpus:
            return mine[0]
        version = mine[0]["version"] if mine else None
        try:
            await world.ask(world.carol, "PUT", path, {"cpus": cpus, "version": version})
        except RequestRefused as error:
            assert error.status == 409, error  # it was applied, but its answer was lost
        return None

    await until(put, "the limit is set")
    show = ["sacctmgr", "-nP", "show", "assoc", "user=bob", "format=grptres"]
    await until(
        lambda: asyncio.to_thread(_read, world.live, show),
        "Slurm has the limit",
        done=lambda text: f"cpu={cpus}" in text,
    )


def _read(live: Live, argv: list[str]) -> str:
    try:
        return live.exec_as("root", argv)
    except RuntimeError:
        return ""


NEED_DISK = frozenset({"submitting", "submitting_after", "array", "starting", "board", "upload"})
"""Moments that write files, which a full or read-only disk refuses."""

BEFORE: tuple[Moment, ...] = (
    login, submitting, submitting_after, array, board, upload, follow, change,
)  # fmt: skip
