"""The cluster as each role may see it: GPU owners, queue positions, upcoming events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from portal.services.cluster.node_table import TableAddresses
from spawner.slurm.model import JobInfo, JobPhase, ReservationInfo
from tests.portal.conftest import Browser
from tests.portal.job_portal import JobPortal, run_job_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio
NOW = datetime.now(UTC).replace(microsecond=0)
HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
async def shared(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobPortal]:
    async with run_job_portal(slapd, tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture
def job_portal(shared: JobPortal) -> Iterator[JobPortal]:
    yield shared
    shared.slurm.shown.clear()
    shared.slurm.away = False
    shared.slurm.reserved, shared.context.watcher.reservations = [], ()
    shared.context.watcher.reservations_stale_since = None
    shared.context.node_table.nodes = {}


def job(number: int, user: str, **values: Any) -> JobInfo:
    state = JobPhase.RUNNING if values.get("nodes") else JobPhase.QUEUED
    times = {"submit_time": NOW, "partition": "gpu", "slurm_state": state.value}
    return JobInfo(number, user, f"job\n{number}", state, **{**times, **values})


async def shows(job_portal: JobPortal, *jobs: JobInfo) -> None:
    """Set the jobs in Slurm, and let the portal poll them."""
    job_portal.slurm.shown = {job.job_id: job for job in jobs}
    await job_portal.context.watcher.refresh()


async def reserves(job_portal: JobPortal, *reserved: ReservationInfo) -> None:
    """Set the reservations in Slurm and in the portal."""
    job_portal.slurm.reserved = [*reserved]
    job_portal.context.watcher.reservations = reserved


async def seen(job_portal: JobPortal, path: str, who: str = "alice") -> Any:
    answer = await job_portal.ask("GET", f"/cluster/{path}", who=who)
    assert answer.status == 200, answer
    return answer.body


async def node01(job_portal: JobPortal, who: str) -> Any:
    return await seen(job_portal, "nodes/node01", who)


GPU_JOBS = (
    job(1, "alice", nodes=("node01",), gpus=(("v100", 1),)),
    job(2, "bob", nodes=("node01",), gpus=(("gpu", 2),)),
)


async def test_each_sees_their_own_gpus_and_that_others_are_in_use(job_portal: JobPortal) -> None:
    await shows(job_portal, *GPU_JOBS)
    split = {"type": "v100", "total": 4, "unclear": 0, "out": 0, "free": 1}
    alices, bobs = await node01(job_portal, "alice"), await node01(job_portal, "bob")
    assert alices["gpus"] == [{**split, "mine": 1, "others": 2}]
    assert bobs["gpus"] == [{**split, "mine": 2, "others": 1}]
    assert [(one["job_id"], one["name"]) for one in alices["mine"]] == [(1, "job1")]
    assert alices["jobs"] == 2
    cpu_only = (await seen(job_portal, "nodes"))["items"][1]
    assert (cpu_only["name"], cpu_only["gpus"], cpu_only["condition"]) == ("node03", [], "free")
    assert (await seen(job_portal, "gpus"))["items"] == alices["gpus"]
    assert (await seen(job_portal, "gpus", "bob"))["items"] == bobs["gpus"]


async def test_names_and_addresses_need_permission(job_portal: JobPortal) -> None:
    await shows(job_portal, *GPU_JOBS, job(3, "bob", nodes=("node01",)))
    job_portal.context.node_table.nodes = {"node01": TableAddresses(None, "10.1.0.11", "10.2.0.11")}
    plain = await seen(job_portal, "nodes")
    assert (plain["sees_users"], plain["sees_addresses"]) == (False, False)
    assert all(n["users"] is None and n["addresses"] is None for n in plain["items"])
    assert "bob" not in str(plain)
    admins = await node01(job_portal, "carol")
    assert admins["users"] == [
        {"username": "alice", "jobs": 1, "gpus": 1},
        {"username": "bob", "jobs": 2, "gpus": 2},
    ]
    assert admins["addresses"] == {
        "in_band": "127.0.0.1", "infiniband": "10.1.0.11", "management": "10.2.0.11",
    }  # fmt: skip


async def test_an_administrators_token_sees_more_with_that_scope_only(
    job_portal: JobPortal,
) -> None:
    await shows(job_portal, *GPU_JOBS)

    async def sees(*scopes: str) -> bool:
        body = {"name": "-".join(scopes), "scopes": scopes, "expires_in_days": 1}
        made = await job_portal.ask("POST", "/tokens", body, "carol")
        assert made.status == 201, made
        async with job_portal.portal.browser() as program:
            answer = await with_token(program, made.body["token"])
        assert answer.status == 200, answer
        return bool(answer.body["sees_users"])

    async def with_token(program: Browser, token: str) -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        return await program.send("GET", "/api/v1/cluster/nodes", headers=headers)

    assert not await sees("read")
    assert await sees("read", "admin")


async def test_a_place_in_the_queue(job_portal: JobPortal) -> None:
    await shows(
        job_portal,
        job(2, "bob", reason="Resources", tasks=(0, 1), array_job_id=2),
        job(3, "alice", reason="Priority"),
        job(4, "alice", reason="JobHeldUser"),
        job(5, "bob", nodes=("node01",)),
    )
    gpu = {one["name"]: one for one in (await seen(job_portal, "queue"))["partitions"]}["gpu"]
    counts = ("running", "in_line", "aside", "mine_running", "mine_waiting")
    assert [gpu[name] for name in counts] == [1, 3, 1, 0, 2]
    first, held = gpu["mine"]
    assert (first["job_id"], first["place"], first["reason"]) == (3, 3, None)
    assert (held["place"], held["reason"]) == (None, "Its owner put it on hold.")


async def test_what_lies_ahead(job_portal: JobPortal) -> None:
    kept = ReservationInfo("bobs", NOW + HOUR, NOW + 2 * HOUR, ("node01",), users=("bob",))
    works = ReservationInfo("works", NOW - HOUR, NOW + HOUR, ("node01", "node03"), True, ("root",))
    await reserves(job_portal, kept, works)
    plain = await seen(job_portal, "reservations")
    assert plain["known"]
    assert [(one["name"], one["mine"], one["all_nodes"]) for one in plain["items"]] == [
        ("works", False, True),
        (None, False, False),
    ]
    assert "bob" not in str(plain)
    assert [one["mine"] for one in (await seen(job_portal, "reservations", "bob"))["items"]] == [
        False,
        True,
    ]
    admins = (await seen(job_portal, "reservations", "carol"))["items"]
    assert [(one["name"], one["kept_for"]) for one in admins] == [
        ("works", ["root"]),
        ("bobs", ["bob"]),
    ]


async def test_reservations_are_unknown_before_slurm_answers(job_portal: JobPortal) -> None:
    job_portal.slurm.away = True
    job_portal.context.watcher.reservations = None
    nothing: dict[str, Any] = {"known": False, "stale_since": None, "items": []}
    assert await seen(job_portal, "reservations") == nothing


async def test_reservation_of_unknown_nodes_does_not_cover_all(
    job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    await reserves(job_portal, ReservationInfo("works", NOW, NOW + HOUR, ("node01",), True))
    monkeypatch.setattr(job_portal.context.watcher, "cluster", None)
    (shown,) = (await seen(job_portal, "reservations"))["items"]
    assert not shown["all_nodes"]


async def test_last_known_reservations_are_marked_stale(job_portal: JobPortal) -> None:
    await reserves(job_portal, ReservationInfo("works", NOW, NOW + HOUR, ("node01",), True))
    assert (await seen(job_portal, "reservations"))["stale_since"] is None
    job_portal.context.watcher.reservations_stale_since = NOW
    received = await seen(job_portal, "reservations")
    assert (datetime.fromisoformat(received["stale_since"]), len(received["items"])) == (NOW, 1)
