"""Each framework trains as a job of the portal's, and its loss is read in the job's TensorBoard.

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
from spawner.catalog.environment import Catalog
from spawner.catalog.template import load_templates
from spawner.containers.runtimes import Container
from tests.cluster.job_tools import board_of, log_of, scalars, without_labels
from tests.images import WANTED, needs
from tests.live import Live

pytestmark = pytest.mark.anyio

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
# Debian has no package for R that writes event files.
PRINTS_ONLY = {"r"}
# All nodes share this machine's cores: a waiting rank must yield to the others.
YIELD = "mkdir -p ~/.openmpi && echo mpi_yield_when_idle=1 > ~/.openmpi/mca-params.conf"
LINE = re.compile(r"^ *(\d+) +(\d\.\d{4}) +\d\.\d{3}$", re.MULTILINE)


def built() -> dict[str, str]:
    """Return the image of each environment whose image is built here."""
    found = Catalog.load(image_dir=Path("images")).environments
    images = {name: e.runtime for name, e in found.items() if isinstance(e.runtime, Container)}
    return {name: r.image.stem for name, r in images.items() if r.public_image is None}


BUILT = built()
EXPECTED = [n for n, image in BUILT.items() if WANTED is None or image in WANTED.split()]


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


@pytest.fixture(scope="module")
async def trainings(portal: Live) -> AsyncIterator[Trainings]:
    """All jobs, ended and checked; each test reads its own, and reports only its own failure."""
    portal.exec_as("alice", ["/bin/sh", "-c", YIELD])
    async with portal.login("alice") as alice:
        running = Trainings(alice)
        made = {name: await _submit_training(running, name) for name in EXPECTED}
        await _submit_launches(running)
        if "pytorch" in made:
            running.submit_after(
                made["pytorch"],
                "answers",
                template="batch-inference",
                parameters={"model": f"{made['pytorch']['logdir']}/model.pt2", "batch_size": 100},
                resources={"gpus": 0},
            )
        await running.watch()
        yield running


async def _submit_training(running: Trainings, name: str) -> Any:
    return await running.submit(
        name,
        board=name not in PRINTS_ONLY,
        template=template_of(name),
        parameters={"epochs": EPOCHS, **GIVEN.get(name, {})},
        resources=RESOURCES.get(name, {}),
    )


async def _submit_launches(running: Trainings) -> None:
    if "pytorch" in EXPECTED:
        await running.submit(
            "ddp",
            board=True,
            template="pytorch-multi-node",
            parameters={"epochs": 5, "processes": 2},
            resources=TWO_NODES,
        )
    if "horovod" in EXPECTED:
        await running.submit(
            "mpi", template="mpi-hello", parameters={"ranks": 2}, resources=TWO_NODES
        )


@pytest.mark.parametrize(
    "environment", [pytest.param(name, marks=needs(image)) for name, image in BUILT.items()]
)
async def test_it_trains_and_its_tensorboard_shows_it(
    trainings: Trainings, environment: str
) -> None:
    done = await trainings.found[environment]
    assert done.job["outcome"] == "completed", f"{done.job['reason']}\n{done.log}"
    assert done.job["environment"] == environment
    printed = [float(loss) for _, loss in LINE.findall(done.log)]
    loss = printed if environment in PRINTS_ONLY else done.loss
    assert len(loss) == EPOCHS
    assert loss[-1] < LOSS_IN_THE_END
    assert loss[-1] < 0.7 * loss[0]


async def test_no_gpu_is_taken_that_could_not_be_used(trainings: Trainings) -> None:
    """The images that the tests build are all for CPUs."""
    gpus = {name: (await trainings.found[name]).job["resources"]["gpus"] for name in EXPECTED}
    assert {name for name, count in gpus.items() if count} == set()


def test_every_framework_that_can_be_built_has_a_template() -> None:
    templates = load_templates()
    for name in EXPECTED:
        assert templates[template_of(name)].environment == name
    assert EXPECTED, "PORTAL_IMAGES names no image of an environment"


@pytest.mark.parametrize("name", ["ddp", "mpi", "horovod"])
async def test_a_job_of_two_nodes(portal: Live, trainings: Trainings, name: str) -> None:
    """Both nodes participate, with their own addresses, and their sum is correct."""
    if name not in trainings.found:
        pytest.skip("PORTAL_IMAGES leaves its image out")
    done = await trainings.found[name]
    output = without_labels(done.log)
    assert done.job["outcome"] == "completed", f"{done.job['reason']}\n{done.log}"
    assert sorted(done.job["nodes"]) == ["node01", "node02"]
    reached = re.findall(r"rank 1 on (\w+), address ([\d.]+), .*?has reached ([\d.]+)", output)
    assert [host for host, _, _ in reached] == ["node02"]
    assert {reached[0][2], reached[0][1]} == addresses(portal, "node01", "node02")
    assert "preflight: 2 ranks reach each other, and their all-reduce is right" in output
    each = {"ddp": 2, "mpi": 2, "horovod": 1}[name]
    for node in ("node01", "node02"):
        assert len(re.findall(rf"rank \d of {2 * each} on {node}", output)) == each
    if name == "ddp":
        assert output.count("all ranks have equal weights") == 4
        assert done.loss[-1] < done.loss[0]
    if name == "mpi":
        assert "the all-reduce of 4 ranks is right" in output


def addresses(portal: Live, *nodes: str) -> set[str]:
    """Return the nodes' addresses in Slurm; they must differ."""
    shown = portal.exec_as("alice", ["scontrol", "show", "node", ",".join(nodes)])
    found = set(re.findall(r"NodeAddr=(\S+)", shown))
    assert len(found) == len(nodes)
    return found


async def test_a_model_answers_for_many_inputs(trainings: Trainings) -> None:
    """The model saved by the example training is applied to the example's points, in batches."""
    if "pytorch" not in EXPECTED:
        pytest.skip("PORTAL_IMAGES leaves its image out")
    done = await trainings.found["answers"]
    assert done.job["outcome"] == "completed", done.log
    assert re.search(r"512 of 512 rows, [\d.]+ rows/s", done.log)
    headings, *rows = answers_in(done.job["logdir"])
    assert headings == "input,class,probability"
    assert len(rows) == 512
    assert {row.split(",")[1] for row in rows} == {"0", "1"}


def answers_in(logdir: str) -> list[str]:
    return Path(logdir, "predictions.csv").read_text().splitlines()
