"""Limits through the API: setting and enforcement."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from portal.db import utcnow
from portal.models import (
    AuditEvent,
    BatchJob,
    GroupManager,
    GroupMembership,
    JobState,
    Session,
    User,
)
from portal.services.limits import accounting_cache
from spawner.slurm.model import Resources
from spawner.slurm.parse_accounting import InUse
from tests.portal.conftest import Answer
from tests.portal.job_portal import JobPortal, run_job_portal
from tests.portal.limits_portal import ALICE, BASE, load_version, put, put_back
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def shared(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobPortal]:
    async with run_job_portal(slapd, tmp_path_factory.mktemp("limits")) as made:
        yield made


@pytest.fixture
async def job_portal(shared: JobPortal) -> AsyncIterator[JobPortal]:
    async with put_back(shared) as made:
        yield made


async def start(job_portal: JobPortal, who: str = "alice", **resources: Any) -> Answer:
    return await job_portal.ask(
        "POST", "/sessions", {"environment": "plain", "resources": resources}, who
    )


# --- setting ------------------------------------------------------------------------------------


async def test_a_limit_is_kept_written_and_recorded_with_what_changed(
    job_portal: JobPortal,
) -> None:
    answer = await put(job_portal, ALICE, gpus=2, cpus=8)
    assert (answer.status, answer.body["slurm"]["state"]) == (200, "written"), answer
    assert job_portal.accounting.rows[BASE] == {"gres/gpu": 2, "cpu": 8}
    assert job_portal.accounting.rows["teaching", "alice", ""] == {"gres/gpu": 2, "cpu": 8}
    assert "Slurm counts each account separately" in answer.body["slurm"]["message"]
    await put(job_portal, ALICE, gpus=1)
    assert job_portal.accounting.rows[BASE] == {"gres/gpu": 1}
    async with job_portal.context.db.session() as db:
        query = select(AuditEvent).where(AuditEvent.action == "limit.set")
        event = (await db.scalars(query.order_by(AuditEvent.at.desc()).limit(1))).one()
    assert (event.actor, event.target) == ("carol", "alice")
    assert event.detail == {"gpus": {"old": 2, "new": 1}, "cpus": {"old": 8, "new": None}}
    assert (await job_portal.ask("DELETE", ALICE, who="carol")).status == 204
    assert (await job_portal.ask("DELETE", ALICE, who="carol")).status == 404
    await job_portal.context.slurm_limits.wait_for_comparison(30)
    assert job_portal.accounting.rows[BASE] == {}


@pytest.mark.parametrize(
    ("path", "body", "field", "words"),
    [
        (ALICE, {"gpus": -1}, "gpus", "at least 0"),
        (ALICE, {"gpus": 10**9}, "gpus", "at most"),
        (ALICE, {"partitions": ["nowhere"]}, "partitions", "Available: cpu, gpu."),
        (ALICE, {"accounts": ["unknown"]}, "accounts", "Available: research, teaching."),
        (ALICE, {"qos": ["fast"]}, "qos", "Available: high, normal."),
        (ALICE, {"gpus_by_type": {"k80": 1}}, "gpus_by_type", "Available: v100."),
        (ALICE, {"partitions": []}, "partitions", "at least 1"),
        (ALICE, {"gpus": 1, "create_account": True}, "create_account", "Only a group total"),
        (ALICE, {}, "gpus", "delete the limit"),
        ("/admin/limits/group/scientists", {"qos": ["high"]}, "qos", "the per-member limit"),
    ],
)
async def test_what_there_is_not_is_named(
    job_portal: JobPortal, path: str, body: dict[str, Any], field: str, words: str
) -> None:
    answer = await put(job_portal, path, **body)
    assert answer.status == 422, answer
    (error,) = answer.body["errors"]
    assert error["field"] == field
    assert words in error["message"]


async def test_unknown_user_is_refused_and_second_editor_gets_conflict(
    job_portal: JobPortal,
) -> None:
    for path in ("user/unknown", "member/nowhere"):
        answer = await put(job_portal, f"/admin/limits/{path}", gpus=1)
        assert (answer.status, answer.slug) == (404, "not-found")
    assert (await put(job_portal, ALICE, gpus=1)).status == 200
    seen = await load_version(job_portal, ALICE)
    assert (await put(job_portal, ALICE, gpus=2)).status == 200
    late = await put(job_portal, ALICE, gpus=3, version=seen)
    assert (late.status, late.slug) == (409, "edit-conflict")
    assert late.body["changed_by"] == "carol"
    # version None: the client saw that there was none
    new = await put(job_portal, ALICE, gpus=3, version=None)
    assert new.status == 409


# --- enforcement --------------------------------------------------------------------------------


async def test_more_than_the_limit_is_refused_with_the_field(job_portal: JobPortal) -> None:
    job_portal.accounting.used = {("research", "alice"): InUse(gpus=1)}
    assert (await put(job_portal, "/admin/limits/default", gpus=1)).status == 200
    for path, body in (("/jobs", {"script": "true"}), ("/sessions", {"environment": "plain"})):
        payload = {**body, "resources": {"partition": "gpu", "gpus": 2}}
        answer = await job_portal.ask("POST", path, payload)
        assert (answer.status, answer.slug) == (422, "invalid-input")
        (error,) = answer.body["errors"]
        assert error["field"] == "resources.gpus"
        assert error["message"].startswith("You may use 1 GPU at once (the default limit);")
    estimate = await job_portal.ask(
        "POST", "/estimates", {"resources": {"partition": "gpu", "gpus": 2}}
    )
    assert estimate.status == 422
    mine = (await job_portal.ask("GET", "/me/limits")).body
    assert mine["effective"]["gpus"]["from"] == {"scope": "default", "name": ""}
    assert mine["slurm"] is None
    # submitted together they wait in Slurm, because each alone is within the limit
    for _ in range(2):
        await job_portal.job(resources={"partition": "gpu", "gpus": 1})


async def test_where_no_environment_has_a_kernel_no_session_begins(job_portal: JobPortal) -> None:
    refused = await start(job_portal, who="bob")
    assert (refused.status, refused.slug) == (422, "slurm-rejected")
    assert refused.body["detail"].startswith("No environment with a kernel is available now.")
    assert (await job_portal.ask("GET", "/sessions", who="bob")).body["items"] == []


async def test_of_two_sessions_at_once_one_is_refused(
    job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def submitted(_parts: Any, _session: Any) -> None:
        """The result in Slurm does not matter here."""

    monkeypatch.setattr("portal.services.slurm.launch.submit_session", submitted)
    await put(job_portal, ALICE, sessions=1)
    answers = await asyncio.gather(*(start(job_portal) for _ in range(4)))
    assert sorted(answer.status for answer in answers) == [201, 409, 409, 409]
    (refused, *_) = [answer for answer in answers if answer.status == 409]
    assert refused.slug == "limit-reached"
    assert "1 session at a time (a limit of your own)" in refused.body["detail"]
    shown = (await job_portal.ask("GET", "/me/limits")).body["no_session"]
    assert shown == refused.body["detail"]
    assert (await job_portal.ask("GET", "/me/limits", who="bob")).body["no_session"] is None
    assert (await start(job_portal, who="bob")).status == 201
    await put(job_portal, ALICE, sessions=0)  # fewer than running: running sessions continue
    assert (await job_portal.ask("GET", "/me/limits")).body["use"]["sessions"] == 1


async def test_each_task_of_an_array_is_a_job_and_the_same_key_the_same_job(
    job_portal: JobPortal,
) -> None:
    await put(job_portal, ALICE, jobs=1)
    job = await job_portal.submit(key="once")
    assert job.status == 201
    again = await job_portal.submit(key="once")
    assert (again.status, again.body["id"]) == (job.status, job.body["id"])
    refused = await job_portal.submit(key="twice")
    assert (refused.status, refused.slug) == (409, "limit-reached")


async def test_usage_of_a_group_is_shown_with_and_without_a_total(
    job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounting_cache, "IN_USE_AGE", timedelta(0))
    job_portal.accounting.rows["scientists", "", ""] = {}
    await job_portal.context.accounting.refresh()
    job_portal.accounting.used = {("scientists", "carol"): InUse(gpus=3)}
    mine = (await job_portal.ask("GET", "/me/limits")).body
    assert [(one["group"], one["use"]["gpus"]) for one in mine["group_use"]] == [("scientists", 3)]
    assert (await job_portal.ask("GET", "/me/limits", who="bob")).body["group_use"] == []
    await put(job_portal, "/admin/limits/group/scientists", gpus=4)
    mine = (await job_portal.ask("GET", "/me/limits")).body
    assert mine["group_use"] == []
    assert [one["use"]["gpus"] for one in mine["together"]] == [3]


async def test_a_group_has_for_each_member_and_for_all_together(job_portal: JobPortal) -> None:
    await put(job_portal, "/admin/limits/member/scientists", jobs=2, gpus=2)
    await put(job_portal, "/admin/limits/group/scientists", jobs=3, gpus=4)
    for who in ("alice", "alice", "carol"):
        await job_portal.job(who=who)
    own = await job_portal.submit()
    assert "the limit of your group scientists" in own.body["detail"]
    shared = await job_portal.submit(who="carol")
    assert "All members of scientists together may have 3 jobs" in shared.body["detail"]
    assert (await job_portal.submit(who="bob")).status == 201
    mine = (await job_portal.ask("GET", "/me/limits")).body
    assert [(one["group"], one["account"]) for one in mine["together"]] == [
        ("scientists", "scientists")
    ]
    limits = (await job_portal.ask("GET", "/admin/limits", who="carol")).body["items"]
    by_scope = {one["scope"]: one["slurm"] for one in limits}
    assert by_scope["member"]["state"] == "written"
    assert by_scope["group"] == {
        "state": "nothing",
        "message": "Slurm counts sessions and jobs together, so only the portal enforces a limit"
        " for one of them. Slurm has no account scientists, so only the portal enforces this.",
    }
    made = await put(job_portal, "/admin/limits/group/scientists", gpus=4, create_account=True)
    assert made.body["slurm"]["state"] == "written", made
    assert "No user has the Slurm account scientists yet" in made.body["slurm"]["message"]
    assert job_portal.accounting.rows["scientists", "", ""] == {"gres/gpu": 4}
    job_portal.accounting.rows["scientists", "alice", ""] = {}
    again = await put(job_portal, "/admin/limits/group/scientists", gpus=4)
    assert again.body["slurm"] == {"state": "written", "message": ""}


async def test_pages_count_sessions_and_jobs_like_the_limits(job_portal: JobPortal) -> None:
    """The tasks of an array count each; a session that was removed does not."""
    async with job_portal.context.db.session() as db:
        owner = await db.scalar(select(User.id).where(User.username == "alice"))
        common: dict[str, Any] = {
            "user_id": owner, "owner_id": owner, "state": JobState.RUNNING,
            "resources": asdict(Resources()),
        }  # fmt: skip
        db.add(BatchJob(name="array", array_size=4, **common))
        db.add(BatchJob(name="single", **common))
        db.add(Session(name="s1", environment="plain", **common))
        db.add(Session(name="s2", environment="plain", removed_at=utcnow(), **common))
        await db.commit()
    counts = {"sessions": 1, "jobs": 5}
    group = (await job_portal.ask("GET", "/groups/scientists/limits", who="carol")).body
    own = (await job_portal.ask("GET", "/me/limits")).body
    shown = (await job_portal.ask("GET", "/admin/users/alice", who="carol")).body
    members = {one["username"]: one["use"] for one in group["members"]}
    for use in (group["use"], members["alice"], own["use"], shown["live"]):
        assert {name: use[name] for name in counts} == counts


async def test_a_manager_limits_members_within_what_the_group_has(job_portal: JobPortal) -> None:
    async with job_portal.context.db.session() as db:
        alice = await db.scalar(select(User.id).where(User.username == "alice"))
        db.add(GroupManager(group_name="scientists", user_id=alice, created_by="carol"))
        await db.commit()
    await put(job_portal, "/admin/limits/group/scientists", gpus=4)
    path = "/groups/scientists/limits"
    assert (await job_portal.ask("GET", path, who="bob")).status == 403
    found = (await job_portal.ask("GET", path)).body
    assert found["ceiling"]["gpus"] == {
        "value": 4,
        "from": {"scope": "group", "name": "scientists"},
    }
    assert [one["username"] for one in found["members"]] == ["alice", "carol"]

    given = await job_portal.ask("PUT", f"{path}/carol", {"gpus": 4})
    assert given.status == 200, given
    too_much = await job_portal.ask("PUT", f"{path}/carol", {"gpus": 5, "version": 1})
    assert too_much.status == 422
    assert too_much.body["errors"][0]["field"] == "gpus"
    assert (await job_portal.ask("PUT", f"{path}/bob", {"gpus": 1})).status == 404
    await put(job_portal, "/admin/limits/user/carol", gpus=1)
    version = await load_version(job_portal, "/admin/limits/user/carol")
    raised = await job_portal.ask("PUT", f"{path}/carol", {"gpus": 2, "version": version})
    assert raised.body["errors"][0]["message"].endswith("set this limit: at most 1.")


async def leading(job_portal: JobPortal, **groups: str) -> None:
    """Set the group managers."""
    async with job_portal.context.db.session() as db:
        for username, group in groups.items():
            found = await db.scalar(select(User.id).where(User.username == username))
            db.add(GroupManager(group_name=group, user_id=found, created_by="carol"))
        await db.commit()


@pytest.mark.parametrize("admin_leads", [False, True])
async def test_what_an_administrator_set_holds_however_often_a_manager_saves(
    job_portal: JobPortal, admin_leads: bool
) -> None:
    await leading(
        job_portal, alice="scientists", **({"carol": "scientists"} if admin_leads else {})
    )
    await put(job_portal, "/admin/limits/member/scientists", gpus=4, cpus=8)
    await put(job_portal, "/admin/limits/user/carol", gpus=2)
    path = "/groups/scientists/limits/carol"

    async def save(**body: Any) -> int:
        version = await load_version(job_portal, "/admin/limits/user/carol")
        return (await job_portal.ask("PUT", path, {"version": version, **body})).status

    assert await save(gpus=4) == 422
    assert await save(gpus=2) == 200
    assert await save(gpus=4) == 422
    assert await save(gpus=1, cpus=4) == 200
    assert await save(gpus=3) == 422
    assert await save() == 422
    assert await save(gpus=2, cpus=9) == 422
    # own limits, and lowered ones, up to the values set by an administrator
    assert await save(gpus=2, cpus=8) == 200
    await put(job_portal, "/admin/limits/user/carol", gpus=3)
    assert await save(gpus=3) == 200
    assert await save(gpus=4) == 422


async def test_a_group_without_limits_lends_its_manager_no_more_than_members_have(
    job_portal: JobPortal,
) -> None:
    await leading(job_portal, alice="visitors")
    async with job_portal.context.db.session() as db:
        carol = await db.scalar(select(User.id).where(User.username == "carol"))
        db.add(GroupMembership(user_id=carol, name="visitors"))
        await db.commit()
    await put(job_portal, "/admin/limits/member/scientists", gpus=2)
    path = "/groups/visitors/limits/carol"
    assert (await job_portal.ask("PUT", path, {"gpus": 3})).status == 422
    assert (await job_portal.ask("PUT", path, {"gpus": 1})).status == 200
