"""Limits through the routes: set, obeyed, written to Slurm in its moods; use from accounting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from sqlalchemy import delete, select

from portal.directory.contract import Person
from portal.errors import DirectoryUnavailable
from portal.models import (
    Association,
    AuditEvent,
    GroupLeader,
    GroupMembership,
    Job,
    Limit,
    UsageDay,
    UsageRead,
    User,
)
from portal.services.limits import use
from portal.services.limits.limited_people import LimitedPeople
from spawner.parse_accounting import InUse, JobTime
from tests.portal.accounting_world import BUSY, FakeAccounting
from tests.portal.conftest import Answer
from tests.portal.job_world import World, job_world
from tests.portal.slapd import Slapd

pytestmark = pytest.mark.anyio

ALICE = "/admin/limits/person/alice"
BASE = ("research", "alice", "")


@pytest.fixture(scope="module")
async def shared(slapd: Slapd, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with job_world(slapd, tmp_path_factory.mktemp("limits")) as made:
        yield made


@pytest.fixture
async def world(shared: World) -> AsyncIterator[World]:
    """Without limits, and with Slurm's accounting as it was at first."""
    yield shared
    first = FakeAccounting()
    accounting = shared.accounting
    accounting.go_on.set()
    slurm = shared.portal.app.state.slurm_limits
    async with slurm.between_rounds(), shared.parts.db.session() as db:
        for table in (Limit, Association, GroupLeader):
            await db.execute(delete(table))
        await db.commit()
        for name in ("rows", "told", "mood", "busy", "times", "used"):
            setattr(accounting, name, getattr(first, name))
        accounting.go_on = asyncio.Event()
    for job in [*shared.slurm.shown]:
        del shared.slurm.shown[job]
    async with shared.parts.db.session() as db:
        for name in ("batch_jobs", "sessions", "jobs"):
            await db.execute(delete(Job.metadata.tables[name]))
        await db.commit()


async def put(world: World, path: str, who: str = "carol", **body: Any) -> Answer:
    """Over whatever is there."""
    found = await world.ask("GET", path, who="carol")
    version = found.body["version"] if found.status == 200 else None
    return await world.ask("PUT", path, {"version": version, **body}, who)


async def start(world: World, who: str = "alice", **resources: Any) -> Answer:
    return await world.ask(
        "POST", "/sessions", {"environment": "plain", "resources": resources}, who
    )


# --- setting ------------------------------------------------------------------------------------


async def test_a_limit_is_kept_written_and_recorded_with_what_changed(world: World) -> None:
    answer = await put(world, ALICE, gpus=2, cpus=8)
    assert (answer.status, answer.body["slurm"]["state"]) == (200, "written"), answer
    assert world.accounting.rows[BASE] == {"gres/gpu": 2, "cpu": 8}
    assert world.accounting.rows["teaching", "alice", ""] == {"gres/gpu": 2, "cpu": 8}
    assert "Slurm counts each account by itself" in answer.body["slurm"]["message"]
    await put(world, ALICE, gpus=1)
    assert world.accounting.rows[BASE] == {"gres/gpu": 1}
    async with world.parts.db.session() as db:
        query = select(AuditEvent).where(AuditEvent.action == "limit.set")
        event = (await db.scalars(query.order_by(AuditEvent.at.desc()).limit(1))).one()
    assert (event.actor, event.target) == ("carol", "alice")
    assert event.detail == {"gpus": {"old": 2, "new": 1}, "cpus": {"old": 8, "new": None}}
    assert (await world.ask("DELETE", ALICE, who="carol")).status == 204
    assert (await world.ask("DELETE", ALICE, who="carol")).status == 404
    await world.portal.app.state.slurm_limits.settle(30)
    assert world.accounting.rows[BASE] == {}


@pytest.mark.parametrize(
    ("path", "body", "field", "words"),
    [
        (ALICE, {"gpus": -1}, "gpus", "at least 0"),
        (ALICE, {"gpus": 10**9}, "gpus", "at most"),
        (ALICE, {"partitions": ["nowhere"]}, "partitions", "There are: cpu, gpu."),
        (ALICE, {"accounts": ["nobodys"]}, "accounts", "There are: research, teaching."),
        (ALICE, {"qos": ["fast"]}, "qos", "There are: high, normal."),
        (ALICE, {"gpus_by_type": {"k80": 1}}, "gpus_by_type", "There are: v100."),
        (ALICE, {"partitions": []}, "partitions", "at least 1"),
        (ALICE, {"gpus": 1, "create_account": True}, "create_account", "Only what a group has"),
        (ALICE, {}, "gpus", "remove the limit"),
        ("/admin/limits/group/scientists", {"qos": ["high"]}, "qos", "each of its members"),
    ],
)
async def test_what_there_is_not_is_named(
    world: World, path: str, body: dict[str, Any], field: str, words: str
) -> None:
    answer = await put(world, path, **body)
    assert answer.status == 422, answer
    (error,) = answer.body["errors"]
    assert error["field"] == field
    assert words in error["message"]


async def test_nobody_has_no_limit_and_the_second_of_two_editors_is_told(world: World) -> None:
    for path in ("person/nobody", "member/nowhere"):
        answer = await put(world, f"/admin/limits/{path}", gpus=1)
        assert (answer.status, answer.slug) == (404, "not-found")
    assert (await put(world, ALICE, gpus=1)).status == 200
    seen = (await world.ask("GET", ALICE, who="carol")).body["version"]
    assert (await put(world, ALICE, gpus=2)).status == 200
    late = await put(world, ALICE, gpus=3, version=seen)
    assert (late.status, late.slug) == (409, "changed-meanwhile")
    assert late.body["changed_by"] == "carol"
    new = await put(world, ALICE, gpus=3, version=None)  # that there was none was seen
    assert new.status == 409


# --- obeyed -------------------------------------------------------------------------------------


async def test_more_than_the_limit_is_refused_with_the_field(world: World) -> None:
    world.accounting.used = {("research", "alice"): InUse(gpus=1)}
    assert (await put(world, "/admin/limits/default", gpus=1)).status == 200
    for path, body in (("/jobs", {"script": "true"}), ("/sessions", {"environment": "plain"})):
        wish = {**body, "resources": {"partition": "gpu", "gpus": 2}}
        answer = await world.ask("POST", path, wish)
        assert (answer.status, answer.slug) == (422, "invalid-input")
        (error,) = answer.body["errors"]
        assert error["field"] == "resources.gpus"
        assert error["message"].startswith("You may use 1 GPU at once (the limit for everybody);")
    estimate = await world.ask("POST", "/estimates", {"resources": {"partition": "gpu", "gpus": 2}})
    assert estimate.status == 422
    mine = (await world.ask("GET", "/me/limits")).body
    assert mine["effective"]["gpus"]["from"] == {"scope": "default", "name": ""}
    assert mine["slurm"] is None
    # asked for together they wait in Slurm, each by itself is no more than the limit
    for _ in range(2):
        await world.job(resources={"partition": "gpu", "gpus": 1})


async def test_where_no_environment_has_a_kernel_no_session_begins(world: World) -> None:
    refused = await start(world, who="bob")
    assert (refused.status, refused.slug) == (422, "slurm-rejected")
    assert refused.body["detail"].startswith("No environment with a kernel can be used here now.")
    assert (await world.ask("GET", "/sessions", who="bob")).body["items"] == []


async def test_of_two_sessions_at_once_one_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def submitted(_parts: Any, _session: Any) -> None:
        """What becomes of it in Slurm isn't what this is about."""

    monkeypatch.setattr("portal.services.slurm.launch.submit_session", submitted)
    await put(world, ALICE, sessions=1)
    answers = await asyncio.gather(*(start(world) for _ in range(4)))
    assert sorted(answer.status for answer in answers) == [201, 409, 409, 409]
    (refused, *_) = [answer for answer in answers if answer.status == 409]
    assert refused.slug == "limit-reached"
    assert "1 session at a time (a limit of your own)" in refused.body["detail"]
    assert (await start(world, who="bob")).status == 201
    await put(world, ALICE, sessions=0)  # fewer than there are: what runs goes on
    assert (await world.ask("GET", "/me/limits")).body["use"]["sessions"] == 1


async def test_each_task_of_an_array_is_a_job_and_the_same_key_the_same_job(world: World) -> None:
    await put(world, ALICE, jobs=1)
    job = await world.submit(key="once")
    assert job.status == 201
    again = await world.submit(key="once")
    assert (again.status, again.body["id"]) == (job.status, job.body["id"])
    refused = await world.submit(key="twice")
    assert (refused.status, refused.slug) == (409, "limit-reached")


async def test_a_group_has_for_each_member_and_for_all_together(world: World) -> None:
    await put(world, "/admin/limits/member/scientists", jobs=2, gpus=2)
    await put(world, "/admin/limits/group/scientists", jobs=3, gpus=4)
    for who in ("alice", "alice", "carol"):
        await world.job(who=who)
    own = await world.submit()
    assert "the limit of your group scientists" in own.body["detail"]
    shared = await world.submit(who="carol")
    assert "All members of scientists together may have 3 jobs" in shared.body["detail"]
    assert (await world.submit(who="bob")).status == 201
    mine = (await world.ask("GET", "/me/limits")).body
    assert [(one["group"], one["account"]) for one in mine["together"]] == [
        ("scientists", "scientists")
    ]
    limits = (await world.ask("GET", "/admin/limits", who="carol")).body["items"]
    by_scope = {one["scope"]: one["slurm"] for one in limits}
    assert by_scope["member"]["state"] == "written"
    assert by_scope["group"] == {
        "state": "nothing",
        "message": "Slurm counts sessions and jobs together, and hears of neither alone."
        " Slurm has no account scientists: the portal alone minds this.",
    }
    made = await put(world, "/admin/limits/group/scientists", gpus=4, create_account=True)
    assert made.body["slurm"]["state"] == "written", made
    assert "Nobody has Slurm's account scientists yet" in made.body["slurm"]["message"]
    assert world.accounting.rows["scientists", "", ""] == {"gres/gpu": 4}
    world.accounting.rows["scientists", "alice", ""] = {}
    again = await put(world, "/admin/limits/group/scientists", gpus=4)
    assert again.body["slurm"] == {"state": "written", "message": ""}


async def test_a_leader_limits_members_within_what_the_group_has(world: World) -> None:
    async with world.parts.db.session() as db:
        alice = await db.scalar(select(User.id).where(User.username == "alice"))
        db.add(GroupLeader(group_name="scientists", user_id=alice, created_by="carol"))
        await db.commit()
    await put(world, "/admin/limits/group/scientists", gpus=4)
    path = "/groups/scientists/limits"
    assert (await world.ask("GET", path, who="bob")).status == 403
    found = (await world.ask("GET", path)).body
    assert found["ceiling"]["gpus"] == {
        "value": 4,
        "from": {"scope": "group", "name": "scientists"},
    }
    assert [one["username"] for one in found["people"]] == ["alice", "carol"]

    given = await world.ask("PUT", f"{path}/carol", {"gpus": 4})
    assert given.status == 200, given
    too_much = await world.ask("PUT", f"{path}/carol", {"gpus": 5, "version": 1})
    assert too_much.status == 422
    assert too_much.body["errors"][0]["field"] == "gpus"
    assert (await world.ask("PUT", f"{path}/bob", {"gpus": 1})).status == 404
    await put(world, "/admin/limits/person/carol", gpus=1)
    version = (await world.ask("GET", "/admin/limits/person/carol", who="carol")).body["version"]
    raised = await world.ask("PUT", f"{path}/carol", {"gpus": 2, "version": version})
    assert raised.body["errors"][0]["message"].endswith("set this: at most 1.")


async def leading(world: World, **groups: str) -> None:
    """Who leads which group."""
    async with world.parts.db.session() as db:
        for username, group in groups.items():
            found = await db.scalar(select(User.id).where(User.username == username))
            db.add(GroupLeader(group_name=group, user_id=found, created_by="carol"))
        await db.commit()


@pytest.mark.parametrize("admin_leads", [False, True])
async def test_what_an_administrator_set_holds_however_often_a_leader_saves(
    world: World, admin_leads: bool
) -> None:
    await leading(world, alice="scientists", **({"carol": "scientists"} if admin_leads else {}))
    await put(world, "/admin/limits/member/scientists", gpus=4, cpus=8)
    await put(world, "/admin/limits/person/carol", gpus=2)
    path = "/groups/scientists/limits/carol"

    async def save(**body: Any) -> int:
        found = await world.ask("GET", "/admin/limits/person/carol", who="carol")
        return (await world.ask("PUT", path, {"version": found.body["version"], **body})).status

    assert await save(gpus=4) == 422
    assert await save(gpus=2) == 200
    assert await save(gpus=4) == 422
    assert await save(gpus=1, cpus=4) == 200
    assert await save(gpus=3) == 422
    assert await save() == 422
    assert await save(gpus=2, cpus=9) == 422
    assert await save(gpus=2, cpus=8) == 200  # one's own, and lowered ones, up to what was said
    await put(world, "/admin/limits/person/carol", gpus=3)
    assert await save(gpus=3) == 200
    assert await save(gpus=4) == 422


async def test_a_group_without_limits_lends_its_leader_no_more_than_members_have(
    world: World,
) -> None:
    await leading(world, alice="visitors")
    async with world.parts.db.session() as db:
        carol = await db.scalar(select(User.id).where(User.username == "carol"))
        db.add(GroupMembership(user_id=carol, name="visitors"))
        await db.commit()
    await put(world, "/admin/limits/member/scientists", gpus=2)
    path = "/groups/visitors/limits/carol"
    assert (await world.ask("PUT", path, {"gpus": 3})).status == 422
    assert (await world.ask("PUT", path, {"gpus": 1})).status == 200


# --- Slurm in its moods -------------------------------------------------------------------------


async def test_what_slurm_refuses_is_shown_in_its_own_words(world: World) -> None:
    world.accounting.mood = "refuses"
    answer = await put(world, ALICE, gpus=1)
    assert answer.body["slurm"]["state"] == "refused"
    assert "Access/permission denied" in answer.body["slurm"]["message"]
    world.accounting.mood = "shrugs"
    answer = await put(world, ALICE, gpus=2)
    assert answer.body["slurm"]["state"] == "refused"
    world.accounting.mood = "obeys"
    answer = await put(world, ALICE, gpus=2)
    assert answer.body["slurm"]["state"] == "written"
    assert world.accounting.rows[BASE]["gres/gpu"] == 2


async def test_while_accounting_is_away_a_limit_waits_and_holds_in_the_portal(world: World) -> None:
    world.accounting.mood = "away"
    answer = await put(world, ALICE, gpus=1)
    assert (answer.status, answer.body["slurm"]["state"]) == (200, "pending")
    assert "doesn't answer" in answer.body["slurm"]["message"]
    wish = {"script": "true", "resources": {"partition": "gpu", "gpus": 2}}
    assert (await world.ask("POST", "/jobs", wish)).status == 422
    assert (await world.ask("GET", "/me/limits")).body["effective"]["gpus"]["value"] == 1
    assert (await world.ask("GET", "/admin/drift", who="carol")).body["trouble"]
    world.accounting.mood = "obeys"
    await world.portal.app.state.slurm_limits.settle(30)
    assert world.accounting.rows[BASE] == {"gres/gpu": 1}


async def test_killed_between_slurm_and_the_table_nothing_is_told_twice(world: World) -> None:
    await put(world, ALICE, gpus=1)
    slurm = world.portal.app.state.slurm_limits
    async with slurm.between_rounds(), world.parts.db.session() as db:
        await db.execute(delete(Association))
        await db.commit()
        world.accounting.told.clear()
    await slurm.settle(30)
    assert world.accounting.told == []
    assert (await world.ask("GET", "/admin/drift", who="carol")).body["items"] == []


async def test_a_change_by_hand_is_shown_and_mended_or_accepted(world: World) -> None:
    await put(world, ALICE, gpus=1)
    rows, drift = world.accounting.rows, "/admin/drift?fresh=true"
    rows[BASE] = {"gres/gpu": 4, "cpu": 9}
    await world.portal.app.state.slurm_limits.settle(30)
    (item,) = (await world.ask("GET", drift, who="carol")).body["items"]
    assert (item["account"], item["field"], item["wanted"], item["found"]) == (
        "research", "GPUs at once", "1", "4",
    )  # fmt: skip
    assert (await world.ask("POST", f"/admin/drift/{item['id']}/mend", who="alice")).status == 403
    mended = await world.ask("POST", f"/admin/drift/{item['id']}/mend", who="carol")
    assert mended.body["items"] == []
    assert rows[BASE] == {"gres/gpu": 1, "cpu": 9}  # an operator's own stays
    gone = await world.ask("POST", f"/admin/drift/{item['id']}/mend", who="carol")
    assert gone.status == 404

    rows[BASE] = {"gres/gpu": 3}
    await world.portal.app.state.slurm_limits.settle(30)
    answer = await world.ask("POST", f"/admin/drift/{item['id']}/accept", who="carol")
    (kept,) = answer.body["items"]
    assert (kept["accepted"], kept["found"]) == (True, "3")
    await world.portal.app.state.slurm_limits.settle(30)
    assert rows[BASE] == {"gres/gpu": 3}


async def test_an_association_removed_by_hand_is_shown_and_mended_or_accepted(world: World) -> None:
    await put(world, "/admin/limits/person/bob", gpus=1)
    rows, drift = world.accounting.rows, "/admin/drift"
    settle = world.portal.app.state.slurm_limits.settle
    del rows["research", "bob", ""]
    await settle(30)
    (item,) = (await world.ask("GET", drift, who="carol")).body["items"]
    assert (item["username"], item["field"], item["wanted"], item["found"]) == (
        "bob", "Association", "there is one", "there is none",
    )  # fmt: skip
    mended = await world.ask("POST", f"{drift}/{item['id']}/mend", who="carol")
    assert (mended.status, mended.body["items"]) == (200, []), mended
    assert rows["research", "bob", ""] == {"gres/gpu": 1}
    del rows["research", "bob", ""]
    await settle(30)
    accepted = await world.ask("POST", f"{drift}/{item['id']}/accept", who="carol")
    assert [one["accepted"] for one in accepted.body["items"]] == [True]
    await put(world, "/admin/limits/person/bob", gpus=2)
    assert ("research", "bob", "") not in rows


async def test_accounts_come_and_go_but_not_under_running_jobs(world: World) -> None:
    await put(world, ALICE, accounts=["research"])
    assert ("teaching", "alice", "") not in world.accounting.rows
    await put(world, ALICE, accounts=["research", "teaching"])
    assert ("teaching", "alice", "") in world.accounting.rows
    world.accounting.busy = {"alice"}
    answer = await put(world, ALICE, accounts=["research"])
    assert answer.body["slurm"]["state"] == "refused"
    assert BUSY in answer.body["slurm"]["message"]
    wish = {"script": "true", "resources": {"account": "teaching"}}
    refused = await world.ask("POST", "/jobs", wish)
    assert "these accounts: research" in refused.body["errors"][0]["message"]


async def test_slurms_users_who_were_never_here_have_the_default_but_not_its_own(
    world: World,
) -> None:
    """`frank` is in the directory and has never logged in; root and the portal aren't people."""
    rows = world.accounting.rows
    rows |= {("research", name, ""): {} for name in ("frank", "portal", "ghost")}
    await put(world, "/admin/limits/default", gpus=1)
    assert rows["research", "bob", ""] == rows["research", "frank", ""] == {"gres/gpu": 1}
    limited = {user for (_, user, _), figures in rows.items() if figures}
    assert not limited & {"root", "portal", "ghost", ""}


class Silent:
    """A directory that doesn't answer."""

    finds = True

    async def members(self, _name: str) -> frozenset[str]:
        raise DirectoryUnavailable("away")

    async def find_many(self, _usernames: Sequence[str]) -> dict[str, Person]:
        raise DirectoryUnavailable("away")


@pytest.mark.parametrize("path", ["default", "member/scientists"])
async def test_after_a_restart_without_the_directory_nobody_is_let_off(
    world: World, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has never been here is known by the directory alone: until it answers, what Slurm was
    told of them stays. The portal's own users are known, and hear of changes."""
    slurm, rows = world.portal.app.state.slurm_limits, world.accounting.rows
    rows["research", "frank", ""] = {}
    directory = world.portal.app.state.directory
    with monkeypatch.context() as there:
        there.setattr(slurm.people, "_members", {})
        there.setattr(type(directory), "members", visited_by_frank)
        await put(world, f"/admin/limits/{path}", gpus=1)
        assert await slurm.settle(30)
        assert rows["research", "frank", ""] == {"gres/gpu": 1}
    people = world.portal.app.state.people
    silent: Any = Silent()
    monkeypatch.setattr(
        slurm, "people", LimitedPeople(world.portal.settings, world.parts.db, silent, people)
    )
    await put(world, ALICE, gpus=3)
    assert await slurm.settle(30)
    assert rows["research", "frank", ""] == {"gres/gpu": 1}
    assert rows[BASE] == {"gres/gpu": 3}


async def visited_by_frank(_directory: Any, _name: str) -> frozenset[str]:
    return frozenset({"frank"})


# --- use ----------------------------------------------------------------------------------------

HOUR = timedelta(hours=1)


async def test_use_is_counted_by_person_group_and_month_and_reading_again_changes_nothing(
    world: World,
) -> None:
    """Two hours over the end of a month; the loop may read at the same time, and finds the same."""
    first = datetime.combine(use.months_back(datetime.now(UTC).date(), 1), time(), UTC)
    world.accounting.times = [
        JobTime("alice", "research", first - HOUR, first + HOUR, gpus=2, cpus=4),
        JobTime("bob", "research", first + HOUR, first + 2 * HOUR, gpus=1, cpus=1),
    ]
    async with world.parts.db.session() as db:  # what the loop has read of them at the start
        await db.execute(delete(UsageDay))
        await db.execute(delete(UsageRead))
        await db.commit()
    for _ in range(2):
        while await use.read_next(world.parts, datetime.now(UTC)):
            pass
    before, last = f"{first - HOUR:%Y-%m}", f"{first:%Y-%m}"
    query = f"/admin/usage?from={before}&to={last}"
    months = (await world.ask("GET", f"{query}&by=month", who="carol")).body
    assert [(row["name"], row["gpu_hours"], row["jobs"]) for row in months["items"]] == [
        (before, 2, 1),
        (last, 3, 1),
    ]
    people = (await world.ask("GET", query, who="carol")).body
    hours = [(row["name"], row["gpu_hours"]) for row in people["items"]]
    assert hours == [("alice", 4), ("bob", 1)]
    assert people["total"]["cpu_hours"] == 9
    groups = (await world.ask("GET", f"{query}&by=group", who="carol")).body
    assert ("scientists", 4) in [(row["name"], row["gpu_hours"]) for row in groups["items"]]
    mine = (await world.ask("GET", f"/me/usage?from={before}", who="bob")).body
    assert [row["gpu_hours"] for row in mine["items"]] == [1]
    csv = await world.ask("GET", f"{query}&format=csv", who="carol")
    assert csv.body.splitlines()[:2] == ["person,gpu_hours,cpu_hours,jobs", "alice,4.0,8.0,1"]
    assert (await world.ask("GET", "/admin/usage", who="bob")).status == 403
    wrong = await world.ask("GET", "/admin/usage?from=2026-13", who="carol")
    assert wrong.body["errors"] == [{"field": "from", "message": "Write a month like 2026-10."}]
