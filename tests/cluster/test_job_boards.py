"""TensorBoards of real jobs: while they run, after their end, of arrays, and shared ones.

Both jobs are submitted first, so that one waits while the other is tested.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from cluster.client import Client, RequestRefused
from tests.cluster.job_tools import SMALL, board_of, log_of, scalars, settled, submit
from tests.live import Live
from tests.polling import until

pytestmark = pytest.mark.anyio

# Logs, reports that it has, and runs until its file exists: no test depends on timing.
TRAINING = """
import argparse, os, pathlib, time
from tensorboardX import SummaryWriter
options = argparse.ArgumentParser()
options.add_argument("--learning-rate", type=float, default=1.0)
options.add_argument("--hidden")
asked = options.parse_args()
log = SummaryWriter(os.environ["PORTAL_LOGDIR"])
for step in range(5):
    log.add_scalar("loss", asked.learning_rate / (step + 1), step)
print("logged", flush=True)
while not pathlib.Path("{end}").exists():
    log.flush()  # again and again, for it doesn't wait for what another thread has yet to write
    time.sleep(0.1)
log.add_scalar("loss", asked.learning_rate / 10, 5)
log.close()
"""
RATES = [0.5, 0.25]


@dataclass(frozen=True)
class Submitted:
    """Both jobs run until their files exist."""

    portal: Live
    alice: Client
    word: str
    job: str
    array: str

    def let_end(self, which: str) -> None:
        (self.portal.state / f"home/alice/{which}-{self.word}.end").touch()

    def own_boards(self) -> int:
        """Return how many TensorBoards of alice's have their own job in Slurm."""
        shown = ["squeue", "-h", "-u", "alice", "-n", "portal-tensorboard", "-o", "%A"]
        return len(self.portal.exec_as("alice", shown).split())


@pytest.fixture(scope="module")
async def made(portal: Live) -> AsyncIterator[Submitted]:
    home = portal.state / "home/alice"
    word = uuid.uuid4().hex[:8]
    scripts = {which: f"{which}-{word}.py" for which in ("job", "array")}
    for which, script in scripts.items():
        (home / script).write_text(TRAINING.format(end=home / f"{which}-{word}.end"))
    small = {**SMALL, "memory_gb": 1}
    async with portal.login("alice") as alice:
        text = f"python3 ~/{scripts['job']}"
        job = await submit(alice, text, environment="python3", resources=small)
        parameters = {"learning_rate": RATES, "script": f"~/{scripts['array']}"}
        body = {"template": "hyperparameter-array", "parameters": parameters, "resources": small}
        array = await alice.api("POST", "/jobs", body)
        made = Submitted(portal, alice, word, job["id"], array["id"])
        yield made
        for which, batch_job_id in (("job", made.job), ("array", made.array)):
            made.let_end(which)
            await settled(alice, batch_job_id)
            await alice.api("DELETE", f"/jobs/{batch_job_id}/tensorboard")


async def _open_status(client: Client, board: Any) -> int:
    """Return the status of the refusal to open this TensorBoard."""
    with pytest.raises(RequestRefused) as refused:
        await client.open_tensorboard(board)
    return refused.value.status


async def _until_logged(client: Client, job: Any, **query: Any) -> None:
    await until(
        lambda: log_of(client, job, **query),
        "the job's output",
        done=lambda answer: "logged" in answer,
        pause_s=0.2,
    )


async def test_a_board_outlives_its_job_and_keeps_its_address(made: Submitted) -> None:
    """First inside the job's own allocation, then separately in the service partition."""
    alice = made.alice
    job = await settled(alice, made.job, "running", timeout_s=120)
    await _until_logged(alice, job)
    board = await board_of(alice, made.job)
    assert board["state"] == "running", board["reason"]
    assert len(await scalars(alice, board)) == 5
    own = made.own_boards()
    await _shared(made.portal, alice, made.job, board)
    shown = await alice.open_tensorboard(board)
    made.let_end("job")
    async with asyncio.timeout(120):
        while made.own_boards() == own:
            assert await alice.status_of(shown) in {200, 424, 503}
            await asyncio.sleep(0.3)
    assert len(await scalars(alice, board)) == 6
    after = await alice.api("GET", f"/jobs/{made.job}/tensorboard")
    assert (after["id"], after["state"], after["reason"]) == (board["id"], "running", None)
    assert await alice.open_tensorboard(after) == shown


async def _shared(portal: Live, alice: Client, batch_job_id: str, board: Any) -> None:
    """Share by name and by group; after revocation, the next request is refused."""
    async with portal.login("bob") as bob:
        assert await _open_status(bob, board) == 404
        (group,) = (await bob.api("GET", "/me/groups"))["items"]
        for recipient in ("bob", f"groups/{group}"):
            await alice.api("PUT", f"/jobs/{batch_job_id}/shares/{recipient}")
            assert len(await scalars(bob, board)) == 5
            seen = (await bob.api("GET", "/tensorboards?shared=true"))["items"]
            assert [(one["owner"], one["url"]) for one in seen] == [("alice", board["url"])]
            with pytest.raises(RequestRefused):
                await bob.api("GET", f"/jobs/{batch_job_id}")
            shown = await bob.open_tensorboard(board)
            await alice.api("DELETE", f"/jobs/{batch_job_id}/shares/{recipient}")
            assert await bob.status_of(shown) == 404
            assert await _open_status(bob, board) == 404
    with pytest.raises(RequestRefused) as refused:
        await alice.api("PUT", f"/jobs/{batch_job_id}/shares/groups/portal-admins")
    assert refused.value.fields.keys() == {"group"}


async def test_an_arrays_tasks_are_side_by_side_while_they_run(made: Submitted) -> None:
    """In one TensorBoard, as one run each; and in the table, with their logged values so far."""
    alice = made.alice
    job = await settled(alice, made.array, "running", timeout_s=120)
    for index in range(len(RATES)):
        await _until_logged(alice, job, task=index)
    board = await board_of(alice, made.array)
    assert board["state"] == "running", board["reason"]
    for index, rate in enumerate(RATES):
        points = await scalars(alice, board, run=f"task-{index}")
        assert [point[2] for point in points] == [
            pytest.approx(rate / (step + 1)) for step in range(5)
        ]
    assert await _runs(alice, board) == {"task-0", "task-1"}
    tasks = await _tasks(alice, made.array, lambda task: task["metrics"])
    assert [task["state"] for task in tasks] == ["running", "running"]
    assert [task["parameters"]["learning_rate"] for task in tasks] == RATES
    assert [task["metrics"] for task in tasks] == [
        {"loss": pytest.approx(rate / 5)} for rate in RATES
    ]
    assert {task["so_far"] for task in tasks} == {True}
    with pytest.raises(RequestRefused) as refused:
        await alice.api("GET", f"/jobs/{made.array}/log")
    assert refused.value.fields.keys() == {"task"}


async def _runs(client: Client, board: Any) -> set[str]:
    async with client.http.get(f"{await client.open_tensorboard(board)}data/runs") as answer:
        return set(await answer.json())


async def _tasks(client: Client, batch_job_id: str, ready: Any) -> list[Any]:
    """Return an array's tasks, once all of them meet the condition."""
    async with asyncio.timeout(120):
        while True:
            tasks = (await client.api("GET", f"/jobs/{batch_job_id}"))["array"]["tasks"]
            if all(ready(task) for task in tasks):
                return list(tasks)
            await asyncio.sleep(0.3)


async def test_an_array_that_has_ended_is_one_job_with_a_table(made: Submitted) -> None:
    """Each task has its parameters and its last logged value; both TensorBoards continue."""
    alice = made.alice
    made.let_end("array")
    job = await settled(alice, made.array, timeout_s=120)
    assert job["outcome"] == "completed", job["reason"]
    assert job["array"]["counts"] == {"completed": len(RATES)}
    tasks = await _tasks(alice, made.array, lambda task: task["metrics"] and not task["so_far"])
    assert [task["metrics"] for task in tasks] == [
        {"loss": pytest.approx(rate / 10)} for rate in RATES
    ]
    board = await board_of(alice, made.array)
    assert board["state"] == "running", board["reason"]
    assert await _runs(alice, board) == {"task-0", "task-1"}
    job = await alice.api("GET", f"/jobs/{made.array}")
    assert job["usage"]["elapsed_s"] > 0
    single = await settled(alice, made.job, timeout_s=120)
    assert single["outcome"] == "completed", single["reason"]
    assert len(await scalars(alice, single["tensorboard"])) == 6
