"""Usage over time: by user, group and Slurm account, for those who may see it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import delete, insert, select

from portal.models import GroupManager, GroupMembership, UsageDay, UsageRead, User
from portal.services.limits.usage_history import MAX_SERIES
from tests.portal.job_portal import JobPortal, run_job_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio

HOUR_S = 3600
SPAN = "from=2020-01-30&to=2020-02-02"
DAYS = [date(2020, 1, 30), date(2020, 1, 31), date(2020, 2, 1)]  # 2 February was not read
AT = datetime(2020, 2, 2, tzinfo=UTC)


@pytest.fixture(scope="module")
async def shared(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobPortal]:
    async with run_job_portal(slapd, tmp_path_factory.mktemp("usage")) as made:
        yield made


def used(day: date, user: str, hours: int, account: str = "research") -> dict[str, Any]:
    seconds = {"gpu_seconds": hours * HOUR_S, "cpu_seconds": 4 * hours * HOUR_S}
    return {"day": day, "username": user, "account": account, "jobs": 1, **seconds}


@pytest.fixture
async def job_portal(shared: JobPortal) -> AsyncIterator[JobPortal]:
    """Three days of usage; bob is in the group `vision`, whose manager is alice."""
    first, second, third = DAYS
    rows = [
        used(first, "alice", 2),
        used(first, "bob", 3),
        used(third, "bob", 1, "teaching"),
        used(second, "gone", 4, ""),
        used(third, "carol", 0),
        used(date(2020, 1, 29), "alice", 100),
        used(date(2020, 2, 3), "alice", 100),
    ]
    async with shared.context.db.session() as db:
        ids = {row.username: row.id for row in await db.scalars(select(User))}
        db.add(GroupMembership(user_id=ids["bob"], name="vision"))
        db.add(GroupManager(group_name="vision", user_id=ids["alice"], created_by="carol"))
        await db.execute(insert(UsageDay), rows)
        await db.execute(insert(UsageRead), [{"day": day, "read_at": AT} for day in DAYS])
        await db.commit()
    yield shared
    async with shared.context.db.session() as db:
        for table in (UsageDay, UsageRead, GroupManager):
            await db.execute(delete(table))
        await db.execute(delete(GroupMembership).where(GroupMembership.name == "vision"))
        await db.commit()


async def load(job_portal: JobPortal, path: str, who: str = "carol") -> Any:
    answer = await job_portal.ask("GET", path, who=who)
    assert answer.status == 200, answer
    return answer.body


def hours(history: Any) -> dict[str, list[float | None]]:
    return {row["name"]: row["hours"] for row in history["series"]}


async def test_hours_by_day_and_user_largest_first_and_unknown_where_nothing_was_read(
    job_portal: JobPortal,
) -> None:
    found = await load(job_portal, f"/admin/usage/history?{SPAN}")
    assert found["periods"] == ["2020-01-30", "2020-01-31", "2020-02-01", "2020-02-02"]
    assert hours(found) == {
        "bob": [3, 0, 1, None],
        "gone": [0, 4, 0, None],
        "alice": [2, 0, 0, None],
    }
    assert [row["name"] for row in found["series"]] == ["bob", "gone", "alice"]
    assert (found["others"], found["counted_from"]) == (None, "2020-01-30")


async def test_hours_by_month_and_account_of_cpus(job_portal: JobPortal) -> None:
    query = f"/admin/usage/history?{SPAN}&by=account&step=month&measure=cpu_hours"
    found = await load(job_portal, query)
    assert found["periods"] == ["2020-01", "2020-02"]
    assert hours(found) == {"research": [20, 0], "": [16, 0], "teaching": [0, 4]}


async def test_hours_by_group_are_those_of_members(job_portal: JobPortal) -> None:
    found = await load(job_portal, f"/admin/usage/history?{SPAN}&by=group")
    assert hours(found)["vision"] == [3, 0, 1, None]


async def test_names_beyond_the_largest_are_added_up(job_portal: JobPortal) -> None:
    rows = [used(DAYS[0], f"user{n}", 10 + n) for n in range(MAX_SERIES)]
    async with job_portal.context.db.session() as db:
        await db.execute(insert(UsageDay), rows)
        await db.commit()
    found = await load(job_portal, f"/admin/usage/history?{SPAN}")
    assert [*hours(found)] == [f"user{n}" for n in reversed(range(MAX_SERIES))]
    assert found["others"] == [5, 4, 1, None]


async def test_users_see_their_own_by_account(job_portal: JobPortal) -> None:
    found = await load(job_portal, f"/me/usage/history?{SPAN}", "bob")
    assert hours(found) == {"research": [3, 0, 0, None], "teaching": [0, 0, 1, None]}
    totals = await load(job_portal, f"/me/usage?{SPAN}&by=account", "bob")
    assert [(row["name"], row["gpu_hours"]) for row in totals["items"]] == [
        ("research", 3),
        ("teaching", 1),
    ]


async def test_managers_see_their_group_and_no_other(job_portal: JobPortal) -> None:
    found = await load(job_portal, f"/groups/vision/usage/history?{SPAN}", "alice")
    assert hours(found) == {"bob": [3, 0, 1, None]}
    for who, path, status in (
        ("alice", "/groups/physics/usage/history", 403),
        ("bob", "/groups/vision/usage/history", 403),
        ("alice", "/admin/usage/history", 403),
    ):
        assert (await job_portal.ask("GET", path, who=who)).status == status, path


async def test_totals_of_days_and_by_account_agree_with_the_history(job_portal: JobPortal) -> None:
    days = await load(job_portal, f"/admin/usage?{SPAN}&by=day")
    assert (days["first"], days["last"]) == ("2020-01-30", "2020-02-02")
    assert [(row["name"], row["gpu_hours"]) for row in days["items"]] == [
        ("2020-01-30", 5),
        ("2020-01-31", 4),
        ("2020-02-01", 1),
    ]
    accounts = await load(job_portal, f"/admin/usage?{SPAN}&by=account")
    assert [row["name"] for row in accounts["items"]] == ["research", "", "teaching"]
    csv = await load(job_portal, f"/admin/usage?{SPAN}&by=account&format=csv")
    assert csv.splitlines()[:2] == ["account,gpu_hours,cpu_hours,jobs", "research,5.0,20.0,3"]


async def test_a_history_ends_today(job_portal: JobPortal) -> None:
    today = datetime.now(UTC).date()
    found = await load(job_portal, f"/me/usage/history?from={today - timedelta(days=2)}")
    assert found["periods"][-1] == today.isoformat()
    assert len(found["periods"]) == 3


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("from=2020-02-30", "from"),
        ("from=2020-1-1", "from"),
        ("to=0000-01", "to"),
        ("from=2020-02-02&to=2020-02-01", "from"),
        ("from=2019-01&to=2020-12&step=day", "step"),
        ("step=week", "step"),
        ("measure=hours", "measure"),
    ],
)
async def test_a_bad_request_names_the_field(job_portal: JobPortal, query: str, field: str) -> None:
    answer = await job_portal.ask("GET", f"/me/usage/history?{query}")
    assert answer.status == 422
    assert [error["field"] for error in answer.body["errors"]] == [field]
