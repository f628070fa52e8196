"""Each framework that is developed today trains as a job of the portal's, and its loss is read in
the job's TensorBoard. A training on two nodes, and a trained model's use, are among them.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from spawner.catalog.template import load_templates
from tests.cluster.trainings import (
    BUILT,
    TWO_NODES,
    Trainings,
    cases,
    check_loss,
    check_two_nodes,
    expected,
    submit_training,
    template_of,
)
from tests.live import Live

pytestmark = pytest.mark.anyio

EXPECTED = expected(old=False)


@pytest.fixture(scope="module")
async def trainings(portal: Live) -> AsyncIterator[Trainings]:
    """All jobs, ended and checked; each test reads its own, and reports only its own failure."""
    async with portal.login("alice") as alice:
        running = Trainings(alice)
        made = {name: await submit_training(running, name) for name in EXPECTED}
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


async def _submit_launches(running: Trainings) -> None:
    if "pytorch" in EXPECTED:
        await running.submit(
            "ddp",
            board=True,
            template="pytorch-multi-node",
            parameters={"epochs": 5, "processes": 2},
            resources=TWO_NODES,
        )


@pytest.mark.parametrize("environment", cases(old=False))
async def test_it_trains_and_its_tensorboard_shows_it(
    trainings: Trainings, environment: str
) -> None:
    check_loss(await trainings.found[environment], environment)


async def test_no_gpu_is_taken_that_could_not_be_used(trainings: Trainings) -> None:
    """The images that the tests build are all for CPUs."""
    gpus = {name: (await trainings.found[name]).job["resources"]["gpus"] for name in EXPECTED}
    assert {name for name, count in gpus.items() if count} == set()


def test_every_framework_that_can_be_built_has_a_template() -> None:
    templates = load_templates()
    for name in BUILT:
        assert templates[template_of(name)].environment == name
    assert EXPECTED, "PORTAL_IMAGES names no image of an environment"


async def test_ddp_trains_on_two_nodes(portal: Live, trainings: Trainings) -> None:
    if "ddp" not in trainings.found:
        pytest.skip("PORTAL_IMAGES leaves its image out")
    done = await trainings.found["ddp"]
    output = check_two_nodes(portal, done, ranks_per_node=2)
    assert output.count("all ranks have equal weights") == 4
    assert done.loss[-1] < done.loss[0]


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
