"""The initial resources of forms: the same that a submission requests from Slurm."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import select

from portal.models import AuditEvent
from tests.portal.job_portal import World, job_world
from tests.portal.limits_portal import put, put_back
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def shared(slapd: Slapd, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with job_world(
        slapd, tmp_path_factory.mktemp("jobs"), default_gpu_partition="gpu"
    ) as made:
        yield made


@pytest.fixture
async def world(shared: World) -> AsyncIterator[World]:
    async with put_back(shared) as made:
        yield made


async def completed(world: World, *requests: dict[str, Any], **of: str) -> list[Any]:
    answer = await world.ask("POST", "/resources", {"requests": requests, **of})
    assert answer.status == 200, answer
    items: list[Any] = answer.body["items"]
    return items


async def test_an_unnamed_partition_follows_the_number_of_gpus(world: World) -> None:
    found = await completed(
        world, {}, {"gpus": 4}, {"gpus": 1, "partition": "cpu"}, {"cpus": 32}, environment="plain"
    )
    assert [each["partition"] for each in found] == ["cpu", "gpu", "cpu", "gpu"]


@pytest.mark.parametrize("asked", [{}, {"gpus": 2}, {"partition": "gpu"}, {"cpus": 32}])
async def test_a_submission_asks_for_what_the_form_shows(
    world: World, asked: dict[str, Any]
) -> None:
    for body in ({"environment": "plain"}, {}):
        (shown,) = await completed(world, asked, **body)
        job = await world.job(**body, resources=asked)
        assert job["resources"] == shown
    (shown,) = await completed(world, asked, environment="plain")
    # The environment has no kernel, so the session is refused after it was recorded.
    await world.ask("POST", "/sessions", {"environment": "plain", "resources": asked})
    async with world.context.db.session() as db:
        query = select(AuditEvent).where(AuditEvent.action == "session.start")
        event = (await db.scalars(query.order_by(AuditEvent.at.desc()).limit(1))).one()
    assert event.detail["resources"] == shown


async def test_template_shows_default_resources(world: World) -> None:
    for template in (await world.ask("GET", "/templates")).body["items"]:
        (shown,) = await completed(world, {}, template=template["name"])
        assert template["default_resources"] == shown


async def test_what_is_not_named_is_within_the_limits(world: World) -> None:
    limit = {"partitions": ["gpu"], "time_limit_minutes": 30}
    assert (await put(world, "/admin/limits/default", **limit)).status == 200
    found = await completed(world, {}, {"partition": "cpu", "time_limit_minutes": 60})
    assert [(each["partition"], each["time_limit_minutes"]) for each in found] == [
        ("gpu", 30),
        ("cpu", 60),
    ]


async def test_an_unknown_name_is_refused(world: World) -> None:
    for body, status in (({"template": "none"}, 404), ({"environment": "none"}, 422)):
        answer = await world.ask("POST", "/resources", {"requests": [{}], **body})
        assert answer.status == status, answer
