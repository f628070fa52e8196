"""Limits in Slurm's accounting, in all its states; and usage from accounting."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from sqlalchemy import delete, select

from portal.directory.contract import DirectoryUser
from portal.errors import DirectoryUnavailable
from portal.models import Association, UsageDay, UsageRead
from portal.services.limits import gpu_hours
from portal.services.limits.limited_users import LimitedUsers
from spawner.slurm.parse_accounting import JobTime
from tests.fakes.accounting import BUSY
from tests.portal.job_portal import JobPortal, run_job_portal
from tests.portal.limits_portal import ALICE, BASE, put, put_back
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


# --- states of Slurm's accounting -----------------------------------------------------------------


async def test_what_slurm_refuses_is_shown_in_its_own_words(job_portal: JobPortal) -> None:
    job_portal.accounting.mood = "refuses"
    answer = await put(job_portal, ALICE, gpus=1)
    assert answer.body["slurm"]["state"] == "refused"
    assert "Access/permission denied" in answer.body["slurm"]["message"]
    job_portal.accounting.mood = "shrugs"
    answer = await put(job_portal, ALICE, gpus=2)
    assert answer.body["slurm"]["state"] == "refused"
    job_portal.accounting.mood = "obeys"
    answer = await put(job_portal, ALICE, gpus=2)
    assert answer.body["slurm"]["state"] == "written"
    assert job_portal.accounting.rows[BASE]["gres/gpu"] == 2


async def test_while_accounting_is_away_a_limit_waits_and_holds_in_the_portal(
    job_portal: JobPortal,
) -> None:
    job_portal.accounting.mood = "away"
    answer = await put(job_portal, ALICE, gpus=1)
    assert (answer.status, answer.body["slurm"]["state"]) == (200, "pending")
    assert "doesn't answer" in answer.body["slurm"]["message"]
    payload = {"script": "true", "resources": {"partition": "gpu", "gpus": 2}}
    assert (await job_portal.ask("POST", "/jobs", payload)).status == 422
    assert (await job_portal.ask("GET", "/me/limits")).body["effective"]["gpus"]["value"] == 1
    assert (await job_portal.ask("GET", "/admin/drift", who="carol")).body["trouble"]
    job_portal.accounting.mood = "obeys"
    await job_portal.context.slurm_limits.wait_for_comparison(30)
    assert job_portal.accounting.rows[BASE] == {"gres/gpu": 1}


async def test_restart_before_the_row_is_written_applies_nothing_twice(
    job_portal: JobPortal,
) -> None:
    await put(job_portal, ALICE, gpus=1)
    slurm = job_portal.context.slurm_limits
    async with slurm.between_rounds(), job_portal.context.db.session() as db:
        await db.execute(delete(Association))
        await db.commit()
        job_portal.accounting.received.clear()
    await slurm.wait_for_comparison(30)
    assert job_portal.accounting.received == []
    assert (await job_portal.ask("GET", "/admin/drift", who="carol")).body["items"] == []


async def test_a_change_by_hand_is_shown_and_mended_or_accepted(job_portal: JobPortal) -> None:
    await put(job_portal, ALICE, gpus=1)
    rows, drift = job_portal.accounting.rows, "/admin/drift?fresh=true"
    rows[BASE] = {"gres/gpu": 4, "cpu": 9}
    await job_portal.context.slurm_limits.wait_for_comparison(30)
    (item,) = (await job_portal.ask("GET", drift, who="carol")).body["items"]
    assert (item["account"], item["field"], item["wanted"], item["found"]) == (
        "research", "GPUs at once", "1", "4",
    )  # fmt: skip
    assert (
        await job_portal.ask("POST", f"/admin/drift/{item['id']}/mend", who="alice")
    ).status == 403
    mended = await job_portal.ask("POST", f"/admin/drift/{item['id']}/mend", who="carol")
    assert mended.body["items"] == []
    assert rows[BASE] == {"gres/gpu": 1, "cpu": 9}  # an operator's own value stays
    gone = await job_portal.ask("POST", f"/admin/drift/{item['id']}/mend", who="carol")
    assert gone.status == 404

    rows[BASE] = {"gres/gpu": 3}
    await job_portal.context.slurm_limits.wait_for_comparison(30)
    answer = await job_portal.ask("POST", f"/admin/drift/{item['id']}/accept", who="carol")
    (kept,) = answer.body["items"]
    assert (kept["accepted"], kept["found"]) == (True, "3")
    await job_portal.context.slurm_limits.wait_for_comparison(30)
    assert rows[BASE] == {"gres/gpu": 3}


async def test_an_association_removed_by_hand_is_shown_and_mended_or_accepted(
    job_portal: JobPortal,
) -> None:
    await put(job_portal, "/admin/limits/user/bob", gpus=1)
    rows, drift = job_portal.accounting.rows, "/admin/drift"
    wait_for_comparison = job_portal.context.slurm_limits.wait_for_comparison
    del rows["research", "bob", ""]
    await wait_for_comparison(30)
    (item,) = (await job_portal.ask("GET", drift, who="carol")).body["items"]
    assert (item["username"], item["field"], item["wanted"], item["found"]) == (
        "bob", "Association", "there is one", "there is none",
    )  # fmt: skip
    mended = await job_portal.ask("POST", f"{drift}/{item['id']}/mend", who="carol")
    assert (mended.status, mended.body["items"]) == (200, []), mended
    assert rows["research", "bob", ""] == {"gres/gpu": 1}
    del rows["research", "bob", ""]
    await wait_for_comparison(30)
    accepted = await job_portal.ask("POST", f"{drift}/{item['id']}/accept", who="carol")
    assert [one["accepted"] for one in accepted.body["items"]] == [True]
    await put(job_portal, "/admin/limits/user/bob", gpus=2)
    assert ("research", "bob", "") not in rows


async def test_accounts_come_and_go_but_not_under_running_jobs(job_portal: JobPortal) -> None:
    await put(job_portal, ALICE, accounts=["research"])
    assert ("teaching", "alice", "") not in job_portal.accounting.rows
    await put(job_portal, ALICE, accounts=["research", "teaching"])
    assert ("teaching", "alice", "") in job_portal.accounting.rows
    job_portal.accounting.busy = {"alice"}
    answer = await put(job_portal, ALICE, accounts=["research"])
    assert answer.body["slurm"]["state"] == "refused"
    assert BUSY in answer.body["slurm"]["message"]
    payload = {"script": "true", "resources": {"account": "teaching"}}
    refused = await job_portal.ask("POST", "/jobs", payload)
    assert "these accounts: research" in refused.body["errors"][0]["message"]


async def test_slurms_users_who_were_never_here_have_the_default_but_not_its_own(
    job_portal: JobPortal,
) -> None:
    """`frank` is in the directory and has never logged in; root and portal are not users."""
    rows = job_portal.accounting.rows
    rows |= {("research", name, ""): {} for name in ("frank", "portal", "ghost")}
    await put(job_portal, "/admin/limits/default", gpus=1)
    assert rows["research", "bob", ""] == rows["research", "frank", ""] == {"gres/gpu": 1}
    limited = {user for (_, user, _), figures in rows.items() if figures}
    assert not limited & {"root", "portal", "ghost", ""}


class Silent:
    """A directory that does not answer."""

    can_look_up_users = True

    async def members(self, _name: str) -> frozenset[str]:
        raise DirectoryUnavailable("away")

    async def find_many(self, _usernames: Sequence[str]) -> dict[str, DirectoryUser]:
        raise DirectoryUnavailable("away")


@pytest.mark.parametrize("path", ["default", "member/scientists"])
async def test_limits_stay_after_restart_without_directory(
    job_portal: JobPortal, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Users who never logged in are known from the directory only: until it answers, their
    limits in Slurm stay. The portal's own users are known, and their changes are applied."""
    slurm, rows = job_portal.context.slurm_limits, job_portal.accounting.rows
    rows["research", "frank", ""] = {}
    directory = job_portal.context.directory
    with monkeypatch.context() as there:
        there.setattr(slurm.limited_users, "_members", {})
        there.setattr(type(directory), "members", visited_by_frank)
        await put(job_portal, f"/admin/limits/{path}", gpus=1)
        assert await slurm.wait_for_comparison(30)
        assert rows["research", "frank", ""] == {"gres/gpu": 1}
    users = job_portal.context.directory_users
    silent: Any = Silent()
    monkeypatch.setattr(
        slurm,
        "limited_users",
        LimitedUsers(job_portal.portal.settings, job_portal.context.db, silent, users),
    )
    await put(job_portal, ALICE, gpus=3)
    assert await slurm.wait_for_comparison(30)
    assert rows["research", "frank", ""] == {"gres/gpu": 1}
    assert rows[BASE] == {"gres/gpu": 3}


async def visited_by_frank(_directory: Any, _name: str) -> frozenset[str]:
    return frozenset({"frank"})


# --- usage ----------------------------------------------------------------------------------------

HOUR = timedelta(hours=1)


async def forget_usage(job_portal: JobPortal) -> None:
    """Remove what the loop has read at its start."""
    async with job_portal.context.db.session() as db:
        await db.execute(delete(UsageDay))
        await db.execute(delete(UsageRead))
        await db.commit()


async def read_all(job_portal: JobPortal, now: datetime) -> None:
    """Read every day that is due: each round reads some days of the past."""
    for _ in range(2 * job_portal.context.settings.usage_months):
        if not await gpu_hours.read_next(job_portal.context, now):
            return
    pytest.fail("a part of the past is never read")


async def test_past_is_read_while_yesterday_is_unsettled(job_portal: JobPortal) -> None:
    """In the first hours of a day, yesterday stays due like today."""
    midnight = datetime.combine(datetime.now(UTC).date(), time(), UTC)
    job_portal.accounting.times = []
    await forget_usage(job_portal)
    await read_all(job_portal, midnight + HOUR / 2)
    async with job_portal.context.db.session() as db:
        read = set(await db.scalars(select(UsageRead.day)))
    months = job_portal.context.settings.usage_months
    oldest = gpu_hours.subtract_months(midnight.date(), months - 1)
    assert read == {oldest + timedelta(days=n) for n in range((midnight.date() - oldest).days + 1)}


async def test_use_is_counted_by_user_group_and_month_and_reading_again_changes_nothing(
    job_portal: JobPortal,
) -> None:
    """Two hours across the end of a month; the loop may read concurrently, with the same result."""
    first = datetime.combine(gpu_hours.subtract_months(datetime.now(UTC).date(), 1), time(), UTC)
    job_portal.accounting.times = [
        JobTime(1, "alice", "research", first - HOUR, first + HOUR, gpus=2, cpus=4),
        JobTime(2, "bob", "research", first + HOUR, first + 2 * HOUR, gpus=1, cpus=1),
    ]
    await forget_usage(job_portal)
    for _ in range(2):
        await read_all(job_portal, datetime.now(UTC))
    before, last = f"{first - HOUR:%Y-%m}", f"{first:%Y-%m}"
    query = f"/admin/usage?from={before}&to={last}"
    months = (await job_portal.ask("GET", f"{query}&by=month", who="carol")).body
    assert [(row["name"], row["gpu_hours"], row["jobs"]) for row in months["items"]] == [
        (before, 2, 1),
        (last, 3, 1),
    ]
    users = (await job_portal.ask("GET", query, who="carol")).body
    hours = [(row["name"], row["gpu_hours"]) for row in users["items"]]
    assert hours == [("alice", 4), ("bob", 1)]
    assert users["total"]["cpu_hours"] == 9
    groups = (await job_portal.ask("GET", f"{query}&by=group", who="carol")).body
    assert ("scientists", 4) in [(row["name"], row["gpu_hours"]) for row in groups["items"]]
    mine = (await job_portal.ask("GET", f"/me/usage?from={before}", who="bob")).body
    assert [row["gpu_hours"] for row in mine["items"]] == [1]
    csv = await job_portal.ask("GET", f"{query}&format=csv", who="carol")
    assert csv.body.splitlines()[:2] == ["user,gpu_hours,cpu_hours,jobs", "alice,4.0,8.0,1"]
    assert (await job_portal.ask("GET", "/admin/usage", who="bob")).status == 403
    wrong = await job_portal.ask("GET", "/admin/usage?from=2026-13", who="carol")
    assert wrong.body["errors"] == [
        {"field": "from", "message": "Enter a month such as 2026-10, or a day such as 2026-10-31."}
    ]
