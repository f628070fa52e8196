"""Example trainings as jobs of the portal's, whose loss is read in the jobs' TensorBoards.

All jobs are submitted at once, as alice through the API, and checked as they end, as for a user who
chooses a template and presses Submit. PORTAL_IMAGES (names of images, separated by spaces) lists
the expected images; without it, all that can be built are expected, and a missing one fails its
tests.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from cluster.client import Client
from deploy.images.definition import DEFINITIONS, load
from spawner.catalog.environment import Catalog
from spawner.containers.runtimes import Container
from tests.cluster.job_tools import board_of, log_of, scalars, without_labels
from tests.images import WANTED, needs
from tests.live import Live

EPOCHS = 20
# cross-entropy of two classes: 0.69 is guessing
LOSS_IN_THE_END = 0.35
PATIENCE_S = 900
BOARDS_AT_ONCE = 3
TWO_NODES = {"nodes": 2, "gpus": 0, "memory_gb": 4}
# A training's parameters besides its environment's name. Theano would compile for a minute; the
# notebooks' tests cover that.
GIVEN: dict[str, dict[str, Any]] = {
    "theano": {"interpreted": True},
    "lasagne": {"interpreted": True},
    "horovod": {"learning_rate": 0.5},  # each of two processes has half of the data
}
RESOURCES: dict[str, dict[str, Any]] = {"horovod": TWO_NODES}
TEMPLATES = {"python3": "python-training"}
# no longer developed; they train in `make test-more`
OLD = ("caffe", "caffe2", "chainer", "cntk", "horovod", "lasagne", "mxnet", "python2", "theano")
# Debian has no package for R that writes event files.
PRINTS_ONLY = {"r"}
# All nodes share this machine's cores: a waiting rank must yield to the others.
YIELD = "mkdir -p ~/.openmpi && echo mpi_yield_when_idle=1 > ~/.openmpi/mca-params.conf"
LINE = re.compile(r"^ *(\d+) +(\d\.\d{4}) +\d\.\d{3}$", re.MULTILINE)


def built() -> dict[str, str]:
    """Return the image of each environment whose image is built here, other than by its name."""
    found = Catalog.load(image_dir=Path("images")).environments
    images = {name: e.runtime for name, e in found.items() if isinstance(e.runtime, Container)}
    stems = {name: r.image.stem for name, r in images.items() if r.public_image is None}
    only_by_name = {each.name for each in load(DEFINITIONS) if each.only_by_name}
    return {name: stem for name, stem in stems.items() if stem not in only_by_name}


BUILT = built()


def cases(old: bool) -> list[Any]:
    """Return the environments whose frameworks are no longer developed, or all others, as
    parameters of a test; those that PORTAL_IMAGES leaves out are skipped."""
    return [
        pytest.param(name, marks=needs(image))
        for name, image in BUILT.items()
        if (name in OLD) is old
    ]


def expected(old: bool) -> list[str]:
    """Return the environments of `cases` that are not skipped."""
    return [
        name
        for name, image in BUILT.items()
        if (name in OLD) is old and (WANTED is None or image in WANTED.split())
    ]


def template_of(environment: str) -> str:
    return TEMPLATES.get(environment, f"{environment}-training")


@dataclass
class Training:
    """One job and its result; `loss` is the value in its TensorBoard, if that was opened."""

    job: Any
    log: str
    loss: list[float] = field(default_factory=list)


class Trainings:
    """Jobs of one client, all submitted at once and followed until their ends with one list."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.word = uuid.uuid4().hex
        self.boards = asyncio.Semaphore(BOARDS_AT_ONCE)
        self.found: dict[str, asyncio.Task[Training]] = {}
        self._ends: dict[str, asyncio.Future[None]] = {}  # by job id

    async def submit(self, key: str, *, board: bool = False, **body: Any) -> Any:
        """Submit a job, follow it and return it. `board`: whether to open its TensorBoard."""
        made = await self._post(key, body)
        self.found[key] = asyncio.create_task(self._follow(made["id"], board), name=key)
        return made

    def submit_after(self, first: Any, key: str, **body: Any) -> None:
        """Submit a job when another one has ended, and follow it."""
        self.found[key] = asyncio.create_task(self._after(first["id"], key, body), name=key)

    async def watch(self) -> None:
        """Notify the waiting tasks as jobs end, until all have been checked."""
        while not all(task.done() for task in self.found.values()):
            async for job in self._ended():
                if not self._ends[job["id"]].done():
                    self._ends[job["id"]].set_result(None)
            await asyncio.sleep(0.5)

    async def _ended(self) -> AsyncIterator[Any]:
        path = f"/jobs?q={self.word}&state=ended"
        page = await self.client.api("GET", path)
        while True:
            for job in page["items"]:
                yield job
            if page["next_cursor"] is None:
                return
            page = await self.client.api("GET", f"{path}&cursor={quote(page['next_cursor'])}")

    async def _end(self, batch_job_id: str) -> None:
        """Wait for one job separately, so that a slow one fails only its own test. Raises
        TimeoutError."""
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.shield(self._ends[batch_job_id])

    async def _post(self, key: str, body: Any) -> Any:
        made = await self.client.api("POST", "/jobs", {**body, "name": f"{key} {self.word}"})
        self._ends[made["id"]] = asyncio.get_running_loop().create_future()
        return made

    async def _after(self, first_id: str, key: str, body: Any) -> Training:
        await self._end(first_id)
        made = await self._post(key, body)
        return await self._follow(made["id"], board=False)

    async def _follow(self, batch_job_id: str, board: bool) -> Training:
        await self._end(batch_job_id)
        job = await self.client.api("GET", f"/jobs/{batch_job_id}")
        done = Training(job, await log_of(self.client, job))
        if board and job["outcome"] == "completed":
            async with self.boards:
                done.loss = await self._shown(batch_job_id)
        return done

    async def _shown(self, batch_job_id: str) -> list[float]:
        board = await board_of(self.client, batch_job_id, timeout_s=120)
        assert board["state"] == "running", board["reason"]
        points = await scalars(self.client, board, timeout_s=120)
        await self.client.api("DELETE", f"/jobs/{batch_job_id}/tensorboard")
        return [value for _, _, value in points]


async def submit_training(running: Trainings, name: str) -> Any:
    return await running.submit(
        name,
        board=name not in PRINTS_ONLY,
        template=template_of(name),
        parameters={"epochs": EPOCHS, **GIVEN.get(name, {})},
        resources=RESOURCES.get(name, {}),
    )


def check_loss(done: Training, environment: str) -> None:
    """Check that a job has trained in this environment, by what users see of its loss."""
    assert done.job["outcome"] == "completed", f"{done.job['reason']}\n{done.log}"
    assert done.job["environment"] == environment
    printed = [float(loss) for _, loss in LINE.findall(done.log)]
    loss = printed if environment in PRINTS_ONLY else done.loss
    assert len(loss) == EPOCHS
    assert loss[-1] < LOSS_IN_THE_END
    assert loss[-1] < 0.7 * loss[0]


def check_two_nodes(portal: Live, done: Training, ranks_per_node: int) -> str:
    """Check that both nodes participated, with their own addresses, and that their sum is
    correct. Return the output."""
    output = without_labels(done.log)
    assert done.job["outcome"] == "completed", f"{done.job['reason']}\n{done.log}"
    assert sorted(done.job["nodes"]) == ["node01", "node02"]
    reached = re.findall(r"rank 1 on (\w+), address ([\d.]+), .*?has reached ([\d.]+)", output)
    assert [host for host, _, _ in reached] == ["node02"]
    assert {reached[0][2], reached[0][1]} == addresses(portal, "node01", "node02")
    assert "preflight: 2 ranks reach each other, and their all-reduce is right" in output
    for node in ("node01", "node02"):
        assert len(re.findall(rf"rank \d of {2 * ranks_per_node} on {node}", output)) == (
            ranks_per_node
        )
    return output


def addresses(portal: Live, *nodes: str) -> set[str]:
    """Return the nodes' addresses in Slurm; they must differ."""
    shown = portal.exec_as("alice", ["scontrol", "show", "node", ",".join(nodes)])
    found = set(re.findall(r"NodeAddr=(\S+)", shown))
    assert len(found) == len(nodes)
    return found
