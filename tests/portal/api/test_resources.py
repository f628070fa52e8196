"""The resources of forms: completed and refused as by a submission."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import select

from portal.models import AuditEvent, JobState, Session, User
from tests.portal.job_portal import JobPortal, run_job_portal
from tests.portal.limits_portal import put, put_back
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def shared(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobPortal]:
    async with run_job_portal(
        slapd, tmp_path_factory.mktemp("jobs"), default_gpu_partition="gpu"
    ) as made:
        yield made


@pytest.fixture
async def job_portal(shared: JobPortal) -> AsyncIterator[JobPortal]:
    async with put_back(shared) as made:
        yield made


async def check(job_portal: JobPortal, *requests: dict[str, Any], **of: str) -> Any:
    answer = await job_portal.ask("POST", "/resources", {"requests": requests, **of})
    assert answer.status == 200, answer
    return answer.body


async def completed(job_portal: JobPortal, *requests: dict[str, Any], **of: str) -> list[Any]:
    items = (await check(job_portal, *requests, **of))["items"]
    return [{key: value for key, value in item.items() if key != "errors"} for item in items]


async def refused(job_portal: JobPortal, resources: dict[str, Any], **of: str) -> dict[str, str]:
    """Return the errors of one request by field."""
    (item,) = (await check(job_portal, resources, **of))["items"]
    return {error["field"]: error["message"] for error in item["errors"]}


async def test_an_unnamed_partition_follows_the_number_of_gpus(job_portal: JobPortal) -> None:
    found = await completed(
        job_portal,
        {},
        {"gpus": 4},
        {"gpus": 1, "partition": "cpu"},
        {"cpus": 32},
        environment="plain",
    )
    assert [each["partition"] for each in found] == ["cpu", "gpu", "cpu", "gpu"]


@pytest.mark.parametrize("asked", [{}, {"gpus": 2}, {"partition": "gpu"}, {"cpus": 32}])
async def test_a_submission_asks_for_what_the_form_shows(
    job_portal: JobPortal, asked: dict[str, Any]
) -> None:
    for body in ({"environment": "plain"}, {}):
        (shown,) = await completed(job_portal, asked, **body)
        job = await job_portal.job(**body, resources=asked)
        assert job["resources"] == shown
    (shown,) = await completed(job_portal, asked, environment="plain")
    # The environment has no kernel, so the session is refused after it was recorded.
    await job_portal.ask("POST", "/sessions", {"environment": "plain", "resources": asked})
    async with job_portal.context.db.session() as db:
        query = select(AuditEvent).where(AuditEvent.action == "session.start")
        event = (await db.scalars(query.order_by(AuditEvent.at.desc()).limit(1))).one()
    assert event.detail["resources"] == shown


async def test_template_shows_default_resources(job_portal: JobPortal) -> None:
    for template in (await job_portal.ask("GET", "/templates")).body["items"]:
        (shown,) = await completed(job_portal, {}, template=template["name"])
        assert template["default_resources"] == shown


async def test_what_is_not_named_is_within_the_limits(job_portal: JobPortal) -> None:
    limit: dict[str, Any] = {"partitions": ["gpu"], "time_limit_minutes": 30}
    assert (await put(job_portal, "/admin/limits/default", **limit)).status == 200
    found = await completed(job_portal, {}, {"partition": "cpu", "time_limit_minutes": 60})
    assert [(each["partition"], each["time_limit_minutes"]) for each in found] == [
        ("gpu", 30),
        ("cpu", 60),
    ]


async def test_an_unknown_name_is_refused(job_portal: JobPortal) -> None:
    for body, status in (({"template": "none"}, 404), ({"environment": "none"}, 422)):
        answer = await job_portal.ask("POST", "/resources", {"requests": [{}], **body})
        assert answer.status == status, answer


@pytest.mark.parametrize(
    "asked",
    [
        {"cpus": 0, "gpus": 1.5, "memory_gb": -1, "partition": "cpu"},
        {"time_limit_minutes": 0, "partition": "x" * 65, "colour": "red"},
        {"gpus": 2, "partition": "cpu"},
        {"cpus": 999, "nodes": 1000, "partition": "gpu"},
    ],
)
async def test_errors_are_those_of_a_submission(
    job_portal: JobPortal, asked: dict[str, Any]
) -> None:
    shown = await refused(job_portal, asked)
    answer = await job_portal.ask("POST", "/jobs", {"script": "#!/bin/sh", "resources": asked})
    assert answer.status == 422
    assert {error["field"]: error["message"] for error in answer.body["errors"]} == shown


async def test_invalid_values_are_replaced_by_defaults(job_portal: JobPortal) -> None:
    (usual, found) = await completed(job_portal, {}, {"cpus": 0, "memory_gb": "much", "gpus": None})
    assert found == usual


async def test_valid_resources_have_no_errors(job_portal: JobPortal) -> None:
    assert await refused(job_portal, {}, environment="plain") == {}
    assert (await check(job_portal, {}))["errors"] == []


async def test_an_error_names_the_limit(job_portal: JobPortal) -> None:
    assert (await put(job_portal, "/admin/limits/default", gpus=1)).status == 200
    shown = await refused(job_portal, {"gpus": 2, "partition": "gpu"})
    assert "You may use 1 GPU at once" in shown["resources.gpus"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("s1", None),
        ("My session", "lowercase"),
        ("a" * 31, "1 to 30"),
        ("running", "already have"),
        ("stopping", "still stopping"),
    ],
)
async def test_a_session_name_is_checked(
    job_portal: JobPortal, name: str, words: str | None
) -> None:
    async with job_portal.context.db.session() as db:
        owner = (await db.scalars(select(User).where(User.username == "alice"))).one()
        for state in (JobState.RUNNING, JobState.STOPPING):
            db.add(
                Session(
                    user_id=owner.id, owner_id=owner.id, name=str(state), environment="plain",
                    resources={}, cluster="c", logdir="/x", base_url=f"/user/alice/{state}/",
                    state=state,
                )
            )  # fmt: skip
        await db.commit()
    errors = (await check(job_portal, {}, session_name=name))["errors"]
    assert [error["field"] for error in errors] == ([] if words is None else ["name"])
    assert words is None or words in errors[0]["message"]
