"""Several jobs at once: cancelled, removed from the list, compared; and benchmark results."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm.exc import StaleDataError

from portal.db import utcnow
from portal.models import AuditEvent, BatchJob, BenchmarkRun, Wanted, new_id
from portal.services.benchmarks import figures
from portal.services.jobs import bulk
from spawner.errors import LauncherUnavailable, PathRefused
from spawner.slurm.model import Outcome
from tests.polling import PATIENCE_S, until
from tests.portal.job_portal import JobPortal, run_job_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def job_portal(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobPortal]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("portal.services.benchmarks.reading.ROUND_S", 0.1)
        async with run_job_portal(slapd, tmp_path_factory.mktemp("jobs")) as made:
            yield made


async def many(job_portal: JobPortal, act: str, who: str = "alice", **body: Any) -> Any:
    answer = await job_portal.ask("POST", f"/jobs/{act}-many", body, who=who)
    assert answer.status == {"cancel": 202, "remove": 200}[act], answer
    return answer.body


async def row(job_portal: JobPortal, batch_job_id: str) -> BatchJob:
    async with job_portal.context.db.session() as db:
        found = await db.get(BatchJob, batch_job_id)
    assert isinstance(found, BatchJob)
    return found


async def last_event(job_portal: JobPortal, action: str) -> AuditEvent:
    query = select(AuditEvent).where(AuditEvent.action == action).order_by(AuditEvent.id.desc())
    async with job_portal.context.db.session() as db:
        found: AuditEvent = (await db.scalars(query.limit(1))).one()
    return found


# --- bulk operations ------------------------------------------------------------------------------


async def test_several_are_cancelled_and_the_others_named(job_portal: JobPortal) -> None:
    one, two = [await job_portal.job(name=f"cancelled {n}") for n in "12"]
    theirs = await job_portal.job(who="bob")
    (ended,) = await job_portal.rows(1, "alice", outcome=Outcome.TIMEOUT)
    asked = [one["id"], two["id"], one["id"], ended, theirs["id"], "none"]
    done = await many(job_portal, "cancel", ids=asked)
    assert sorted(done["done"]) == sorted([one["id"], two["id"]])
    assert {left["id"]: left["message"] for left in done["refused"]} == {
        ended: "This job has already ended: it reached its time limit.",
        theirs["id"]: bulk.JOB_NOT_FOUND,
        "none": bulk.JOB_NOT_FOUND,
    }
    assert done["left"] is None
    assert (await row(job_portal, theirs["id"])).wanted is Wanted.RUN
    event = await last_event(job_portal, "job.cancel_many")
    (bundle,) = event.detail["jobs"]
    assert (event.detail["count"], sorted(bundle)) == (2, sorted([one["id"], two["id"]]))
    assert (event.actor, event.target) == ("alice", "alice/2 jobs")
    await until(
        lambda: {one["job_id"], two["job_id"]} <= set(job_portal.slurm.cancelled),
        "the cancellation reaches Slurm",
    )
    again = await many(job_portal, "cancel", ids=[one["id"]])
    assert again["done"] == [one["id"]], "asking twice is no mistake"


async def test_several_are_taken_off_the_list_and_the_others_named(job_portal: JobPortal) -> None:
    ended = await job_portal.rows(3, "alice")
    live = await job_portal.job()
    done = await many(job_portal, "remove", ids=[*ended[:2], live["id"]])
    assert sorted(done["done"]) == sorted(ended[:2])
    assert [left["message"] for left in done["refused"]] == [
        "This job has not ended yet. Cancel it first."
    ]
    listed = {job["id"] for job in (await job_portal.ask("GET", "/jobs")).body["items"]}
    assert listed & {*ended, live["id"]} == {ended[2], live["id"]}


async def test_all_that_match_go_in_bundles_until_none_is_left(
    job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "MAX_JOBS_PER_REQUEST", 4)
    await job_portal.rows(10, "carol", name="sweep")
    kept = await job_portal.rows(1, "carol", name="other")
    live = await job_portal.job(who="carol", name="sweep goes on")
    lefts = []
    while True:
        done = await many(job_portal, "remove", "carol", matching={"q": "sweep"})
        lefts.append(done["left"])
        assert len(done["done"]) <= 4
        if not done["left"]:
            break
    assert lefts == [6, 2, 0]
    listed = {
        job["id"] for job in (await job_portal.ask("GET", "/jobs", who="carol")).body["items"]
    }
    assert listed >= {*kept, live["id"]}
    count = (await job_portal.ask("GET", "/jobs/count?q=sweep", who="carol")).body["count"]
    assert count == 1


async def test_what_came_after_the_question_is_not_meant(job_portal: JobPortal) -> None:
    before = await job_portal.job(who="carol", name="until")
    moment = utcnow()
    after = await job_portal.job(who="carol", name="until")
    wanted = {"q": "until", "until": moment.isoformat()}
    done = await many(job_portal, "cancel", "carol", matching=wanted)
    assert (done["done"], done["left"]) == ([before["id"]], 0)
    assert (await row(job_portal, after["id"])).wanted is Wanted.RUN


async def test_who_holds_an_older_row_reads_it_again(job_portal: JobPortal) -> None:
    made = await job_portal.job()
    async with job_portal.context.db.session() as db:
        held = await db.get(BatchJob, made["id"])
        await many(job_portal, "cancel", ids=[made["id"]])
        held.reason = "written by someone slower"
        with pytest.raises(StaleDataError):
            await db.commit()
    assert (await row(job_portal, made["id"])).wanted is Wanted.STOP


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body"), ({"ids": []}, "ids"), ({"ids": ["a"], "matching": {}}, "body"),
        ({"ids": "all"}, "ids"), ({"ids": ["x" * 37]}, "ids.0"), ({"ids": ["a"] * 501}, "ids"),
        ({"matching": {"state": "gone"}}, "matching.state"),
        ({"matching": {"owner": "bob"}}, "matching.owner"),
    ],
)  # fmt: skip
async def test_what_can_not_be_asked(job_portal: JobPortal, body: Any, field: str) -> None:
    answer = await job_portal.ask("POST", "/jobs/cancel-many", body)
    assert answer.status == 422
    assert [error["field"] for error in answer.body["errors"]] == [field]


# --- comparison -----------------------------------------------------------------------------------


async def test_runs_beside_each_other_with_what_they_logged_last(job_portal: JobPortal) -> None:
    columns = {"logdir": "/logs/a", "started_at": utcnow()}
    (one,) = await job_portal.rows(1, "alice", parameters={"lr": 0.1}, **columns)
    (two,) = await job_portal.rows(1, "alice", **columns | {"logdir": "/logs/b"})
    (never,) = await job_portal.rows(1, "alice")
    job_portal.launchers.logged.update({"/logs/a": {"loss": 0.5, "worst": None}})
    answer = await job_portal.ask("GET", f"/jobs/compare?id={two}&id={one}&id={never}&id={one}")
    found = answer.body["items"]
    assert [item["job"]["id"] for item in found] == [two, one, never]
    assert [item["metrics"] for item in found] == [{}, {"loss": 0.5, "worst": None}, None]
    assert [item["metrics_problem"] for item in found] == [None, None, None]
    assert found[1]["job"]["parameters"] == {"lr": 0.1}


async def test_unreadable_metrics_are_reported_beside_known_ones(
    job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = await job_portal.rows(1, "alice", logdir="/logs/a", started_at=utcnow())
    (never,) = await job_portal.rows(1, "alice")
    monkeypatch.setattr(job_portal.launchers, "trouble_reading", LauncherUnavailable("It is away."))
    answer = await job_portal.ask("GET", f"/jobs/compare?id={one}&id={never}")
    first, second = answer.body["items"]
    assert first["metrics"] is None
    assert "It is away." in first["metrics_problem"]
    assert second["metrics_problem"] is None


async def test_runs_of_other_users_are_not_compared(job_portal: JobPortal) -> None:
    (mine,) = await job_portal.rows(1, "alice")
    (theirs,) = await job_portal.rows(1, "bob", logdir="/logs/bob")
    answer = await job_portal.ask("GET", f"/jobs/compare?id={mine}&id={theirs}")
    assert [item["job"]["id"] for item in answer.body["items"]] == [mine]
    assert answer.body["missing"] == [theirs]
    nine = "&".join(["id=x"] * 9)
    assert (await job_portal.ask("GET", f"/jobs/compare?{nine}")).status == 422
    assert (await job_portal.ask("GET", "/jobs/compare")).status == 422


# --- benchmarks ---------------------------------------------------------------------------------


async def measured(job_portal: JobPortal, who: str, figures: Any, **columns: Any) -> str:
    """Add a benchmark job that has just ended with these results."""
    resources = {"nodes": 1, "gpus": 1, "gpu_type": None, "partition": "gpu"}
    given: dict[str, Any] = {
        "template": "bench-matmul", "name": "It's fast", "workdir": f"/home/{who}",
        "parameters": {"tf32": False}, "outcome": Outcome.COMPLETED, "resources": resources,
        "ended_at": utcnow(), "nodes": ["node01"], **columns,
    }  # fmt: skip
    ready = {"headings": ["precision", "size", "GFLOPS"], "rows": figures,
             "about": {"device": given.pop("device", "Tesla V100")}}  # fmt: skip
    made = new_id()
    folder = f"/home/{who}/portal/runs/it-s-fast-{made[:8]}"
    if figures is not None:
        job_portal.launchers.files[f"{folder}/results.json"] = json.dumps(ready).encode()
    await job_portal.rows(1, who, id=made, **given)
    return made


async def runs(job_portal: JobPortal, who: str, *ids: str) -> list[Any]:
    """Return a user's runs, once these are among them."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = (await job_portal.ask("GET", "/benchmarks", who=who)).body["items"]
            if {run["id"] for run in found} >= set(ids):
                return list(found)
            await asyncio.sleep(0.1)


async def test_figures_are_kept_shown_to_their_owner_and_summed_without_names(
    job_portal: JobPortal,
) -> None:
    first = await measured(job_portal, "alice", [["fp16", 64, 10.0], ["fp16", 4096, 90.0]])
    hidden = await measured(job_portal, "alice", [["fp16", 64, 1.0]], removed_at=utcnow())
    slow = await measured(job_portal, "bob", [["fp16", 64, 20.0], ["<i>alice</i>", 64, 7.0]])
    await measured(job_portal, "bob", [["fp16", 64, 5.0]], device="CPU")
    (mine,) = await runs(job_portal, "alice", first)
    figure = mine["figures"][0]
    assert (mine["gpu_type"], mine["gpus"], mine["device"]) == ("v100", 1, "Tesla V100")
    assert figure["labels"] == {"precision": "fp16", "size": 64, "tf32": False}
    assert (figure["value"], figure["unit"], figure["better"]) == (10.0, "GFLOPS", "higher")
    theirs = await runs(job_portal, "bob", slow)
    assert hidden not in {run["id"] for run in [mine, *theirs]}
    async with asyncio.timeout(PATIENCE_S):
        while True:
            answer = await job_portal.ask("GET", "/benchmarks/cluster", who="carol")
            one = [f for f in answer.body["items"] if f["gpu_type"] and f["labels"]["size"] == 64]
            rest = [f for f in answer.body["items"] if f["gpu_type"] is None]
            if rest and one[0]["runs"] == 3:
                break
            await asyncio.sleep(0.1)
    assert [(f["users"], f["best"], f["median"]) for f in one] == [(2, 20.0, 12.75)]
    assert [f["median"] for f in rest] == [5.0]
    assert not any(name in str(answer.body) for name in ("alice", "bob", "It's fast", "Tesla"))
    types = (await job_portal.ask("GET", "/benchmarks/gpu-types", who="carol")).body["items"]
    assert [(t["gpu_type"], [f["median"] for f in t["figures"]]) for t in types] == [
        ("v100", [12.75])  # results of two users come before a larger size of one user
    ]


async def test_so_many_of_ones_runs_count_and_no_more(
    job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest of each user and kind of hardware."""
    monkeypatch.setattr(figures, "MAX_OF_ONE", 2)
    monkeypatch.setattr(figures, "MAX_COUNTED", 4)
    sort: dict[str, Any] = {"labels": {}, "measure": "m", "unit": "u", "better": "higher"}
    database = job_portal.context.db
    left = [("alice", 1, 9.0), *(("bob", 1, value) for value in (1.0, 2.0, 3.0, 4.0))]
    for who, gpus, value in [*left, ("bob", 2, 5.0)]:
        (job,) = await job_portal.rows(1, who, removed_at=utcnow())
        async with database.session() as db:
            kept: dict[str, Any] = {"template": "ours", "gpu_type": "a100", "nodes": 1}
            kept["user_id"] = (await db.get_one(BatchJob, job)).user_id
            kept["figures"] = [{**sort, "value": value}]
            db.add(BenchmarkRun(batch_job_id=job, gpus=gpus, ended_at=utcnow(), **kept))
            await db.commit()
    found = await figures.Benchmarks().figures(database, ["ours"])
    assert [(f.gpus, f.runs, f.users, f.median) for f in found] == [(1, 3, 2, 6.25), (2, 1, 1, 5)]


async def test_a_run_that_left_nothing_is_done_with_and_one_that_cant_be_read_is_tried_again(
    job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = await measured(job_portal, "carol", None)
    (done,) = await runs(job_portal, "carol", empty)
    assert done["figures"] == []
    monkeypatch.setattr("portal.services.benchmarks.reading.RETRY_S", 0.1)
    monkeypatch.setattr(job_portal.launchers, "trouble_reading", LauncherUnavailable("It is away."))
    late = await measured(job_portal, "carol", [["fp32", 64, 3.0]])
    await asyncio.sleep(0)
    monkeypatch.setattr(job_portal.launchers, "trouble_reading", None)
    assert (await runs(job_portal, "carol", late))[0]["figures"][0]["value"] == 3.0
    monkeypatch.setattr(job_portal.launchers, "trouble_reading", PathRefused("This is not a file."))
    refused = await measured(job_portal, "carol", [["fp32", 64, 3.0]])
    assert (await runs(job_portal, "carol", refused))[0]["figures"] == []


async def test_pages_of_runs_and_what_is_not_one(job_portal: JobPortal) -> None:
    old = await measured(job_portal, "alice", [], ended_at=utcnow() - timedelta(days=2))
    failed = await measured(job_portal, "alice", [["fp32", 64, 3.0]], outcome=Outcome.FAILED)
    mark = await measured(job_portal, "alice", [["fp32", 64, 3.0]])
    found = await runs(job_portal, "alice", mark)
    assert not {old, failed} & {run["id"] for run in found}
    assert (await job_portal.ask("GET", "/benchmarks?cursor=x")).status == 422
    none = await job_portal.ask("GET", "/benchmarks?template=bench-storage")
    assert none.body == {"items": [], "next_cursor": None}
