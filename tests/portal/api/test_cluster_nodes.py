"""A cluster of 5,000 nodes, made of recorded Slurm output: sizes of answers, pages, changes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest

from bench.many_nodes import NODES, OUT, PARTITIONS, render_nodes, render_partitions
from portal.services.cluster.node_rows import NO_GPU
from spawner.slurm.model import JobInfo, JobPhase
from spawner.slurm.parse_nodes import parse_nodes, parse_partitions
from tests.paths import TESTS
from tests.polling import until
from tests.portal.job_portal import FakeSlurm, JobPortal, run_job_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio
RECORDED = TESTS / "data" / "slurm" / "22.05.8"
CLUSTER = "/api/v1/cluster"

# Bytes before compression. nginx reduces these answers to a fifth or less.
SUMMARY_BYTES = 20_000
PAGE_BYTES = 60_000
MAP_BYTES = 250_000
CHANGES_BYTES = 2_000


@pytest.fixture(scope="module")
async def shared(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobPortal]:
    nodes = render_nodes((RECORDED / "nodes.txt").read_text("utf-8"))
    partitions = render_partitions((RECORDED / "partitions.txt").read_text("utf-8"))
    jobs = {
        number: JobInfo(
            number, f"user{number % 300}", f"job {number}", JobPhase.RUNNING, "RUNNING",
            nodes=(f"node{number:04}",), partition="all", gpus=(("gpu", 1),),
        )
        for number in range(1, NODES, 2)
    }  # fmt: skip
    jobs[9999] = JobInfo(
        9999, "alice", "mine", JobPhase.RUNNING, "RUNNING", nodes=("node0042",),
        submit_time=datetime.now(UTC), partition="all", gpus=(("v100", 1),),
    )  # fmt: skip
    slurm = FakeSlurm(
        jobs, all_nodes=parse_nodes(nodes), all_partitions=parse_partitions(partitions)
    )
    async with run_job_portal(slapd, tmp_path_factory.mktemp("nodes"), slurm) as made:
        yield made


@pytest.fixture(autouse=True)
async def nodes_are_known(shared: JobPortal) -> None:
    await until(
        lambda: shared.context.watcher.cluster.nodes is shared.slurm.all_nodes,
        "the portal knows the nodes",
    )


async def fetch(job_portal: JobPortal, path: str, who: str = "alice", **query: Any) -> Any:
    """Return the body of an answer and its size."""
    address = f"{CLUSTER}{path}?{urlencode(query)}"
    async with job_portal.users[who].http.get(address) as answer:
        body = await answer.read()
    assert answer.status == 200, body
    return json.loads(body), len(body)


async def test_the_summary_is_small(shared: JobPortal) -> None:
    summary, size = await fetch(shared, "")
    assert size <= SUMMARY_BYTES
    assert summary["nodes"] == NODES == sum(summary["states"].values())
    assert {"free", "partly", "full", "drained", "draining", "down"} == set(summary["states"])
    assert 0 < summary["nodes_out"] < NODES / 10
    assert summary["partitions"][0]["nodes"] == NODES
    assert len(summary["partitions"]) == PARTITIONS
    for total in (summary, *summary["partitions"]):
        assert 0 < total["cpus"]["free"] < total["cpus"]["total"]
        assert 0 < total["memory"]["free_gb"] < total["memory"]["total_gb"]
        assert {gpus["type"] for gpus in total["gpus"]} == {"v100", "a100", "h100"}


async def test_an_event_of_the_stream_is_as_small_as_the_summary(shared: JobPortal) -> None:
    async with shared.users["bob"].http.get("/api/v1/events/snapshot") as answer:
        assert len(await answer.read()) <= SUMMARY_BYTES


async def test_pages_together_have_every_node_once(shared: JobPortal) -> None:
    names: list[str] = []
    query: dict[str, Any] = {"limit": 200, "order": "gpus"}
    for _ in range(NODES):
        page, size = await fetch(shared, "/nodes", **query)
        assert size <= 4 * PAGE_BYTES
        assert page["matching"] == NODES
        names += [node["name"] for node in page["items"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert len(names) == len(set(names)) == NODES


@pytest.mark.parametrize("who", ["alice", "carol"])
async def test_a_page_of_nodes_is_small(shared: JobPortal, who: str) -> None:
    page, size = await fetch(shared, "/nodes", who)
    assert len(page["items"]) == 50
    assert size <= PAGE_BYTES
    assert page["sees_users"] is (who == "carol")


@pytest.mark.parametrize(
    ("query", "check"),
    [
        ({"state": "down"}, lambda node: node["condition"] == "down"),
        ({"show": "out"}, lambda node: not node["takes_work"]),
        ({"partition": "part03"}, lambda node: "part03" in node["partitions"]),
        ({"gpu": "a100"}, lambda node: node["gpus"][0]["type"] == "a100"),
        ({"gpu": NO_GPU}, lambda node: node["gpus"] == []),
        ({"gpu": "h100", "gpus_free": 8}, lambda node: node["gpus"][0]["free"] == 8),
        ({"q": "FAN broken"}, lambda node: node["reason"] == "fan 2 broken"),
        ({"q": "node0042"}, lambda node: node["mine"][0]["name"] == "mine"),
        ({"show": "mine"}, lambda node: node["name"] == "node0042"),
    ],
)
async def test_the_portal_filters(shared: JobPortal, query: dict[str, Any], check: Any) -> None:
    page, _ = await fetch(shared, "/nodes", **query)
    assert 0 < page["matching"] < NODES
    assert all(check(node) for node in page["items"])
    drawn, _ = await fetch(shared, "/map", **query)
    assert len(drawn["nodes"]) == page["matching"]


async def test_no_match_is_an_empty_page(shared: JobPortal) -> None:
    page, _ = await fetch(shared, "/nodes", q="nothing like this")
    assert (page["items"], page["next_cursor"], page["matching"]) == ([], None, 0)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("state=exploded", "state"),
        ("gpus_free=-1", "gpus_free"),
        ("order=color", "order"),
        ("limit=5000", "limit"),
        ("cursor=5", "cursor"),
        ("size=5", "size"),
    ],
)
async def test_an_unknown_filter_is_refused_by_its_name(
    shared: JobPortal, query: str, field: str
) -> None:
    answer = await shared.ask("GET", f"/cluster/nodes?{query}")
    assert answer.status == 422
    assert [error["field"] for error in answer.body["errors"]] == [field]


async def test_users_are_found_only_by_those_who_see_them(shared: JobPortal) -> None:
    assert (await fetch(shared, "/nodes", q="user41"))[0]["matching"] == 0
    assert (await fetch(shared, "/nodes", "carol", q="user41"))[0]["matching"] > 0
    assert (await fetch(shared, "/nodes", q="10.80.0.1"))[0]["matching"] == 0


async def test_a_missing_node_is_not_found(shared: JobPortal) -> None:
    assert (await shared.ask("GET", "/cluster/nodes/node0042")).body["name"] == "node0042"
    assert (await shared.ask("GET", "/cluster/nodes/node9999")).slug == "not-found"


async def test_the_map_is_sent_once_and_then_its_changes(shared: JobPortal) -> None:
    whole, size = await fetch(shared, "/map")
    assert size <= MAP_BYTES
    assert whole["complete"]
    assert len(whole["nodes"]) == NODES
    assert [record[0] for record in whole["own"]] == ["node0042"]
    assert "m" in whole["own"][0][3]
    assert {reason for *_, reason in whole["nodes"] if reason} == {
        text.partition(" [")[0] for _, text in OUT
    }
    changes, size = await fetch(shared, "/map", since=whole["version"])
    assert size <= CHANGES_BYTES
    assert (changes["complete"], changes["nodes"], changes["gone"]) == (False, [], [])

    recorded = first, second, *others = shared.slurm.all_nodes
    down = replace(first, state="DOWN", reason="power supply")
    shared.slurm.all_nodes = (down, *others)
    try:
        changed, size = await until(
            lambda: fetch(shared, "/map", since=whole["version"]),
            "the map has changed",
            done=lambda answer: answer[0]["nodes"],
        )
        assert size <= CHANGES_BYTES
        assert [(name, why) for name, _, _, _, _, why in changed["nodes"]] == [
            (first.name, "power supply")
        ]
        assert changed["gone"] == [second.name]
    finally:
        shared.slurm.all_nodes = recorded


async def test_a_change_of_any_node_is_an_event(shared: JobPortal) -> None:
    before, _ = await fetch(shared, "")
    recorded = first, *others = shared.slurm.all_nodes
    shared.slurm.all_nodes = (replace(first, reason="noise"), *others)
    try:
        after, _ = await until(
            lambda: fetch(shared, ""),
            "the summary has another time of change",
            done=lambda answer: answer[0]["changed_at"] != before["changed_at"],
        )
    finally:
        shared.slurm.all_nodes = recorded
    same = {name for name in before if before[name] == after[name]}
    assert set(before) - same <= {"at", "changed_at"}
