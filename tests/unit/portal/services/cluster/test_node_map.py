"""The map's records, and the changes between its versions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from portal.services.cluster.node_map import KEPT_VERSIONS, MapVersions
from portal.services.cluster.node_rows import NodeRow, build_rows
from portal.services.cluster.snapshot import build_snapshot
from spawner.slurm.model import ClusterInfo, JobInfo, JobPhase, NodeInfo

AT = datetime(2030, 1, 1, tzinfo=UTC)


def node(name: str, state: str = "MIXED", **values: Any) -> NodeInfo:
    sizes = {"cpus": 32, "cpus_allocated": 8, "memory_mb": 131072}
    return NodeInfo(name, "10.0.0.1", state, **{**sizes, **values})


def rows(*nodes: NodeInfo, jobs: tuple[JobInfo, ...] = ()) -> tuple[NodeRow, ...]:
    snapshot = build_snapshot({job.job_id: job for job in jobs})
    return build_rows(ClusterInfo(nodes, (), AT), snapshot)


def test_a_record_has_a_letter_for_each_gpu() -> None:
    job = JobInfo(1, "alice", "j", JobPhase.RUNNING, "RUNNING", nodes=("n1",), gpus=(("v100", 2),))
    version = MapVersions().add(
        rows(
            node("n1", gpus={"v100": 4}, gpus_allocated={"v100": 3}),
            node("n2", "IDLE+DRAIN", gpus={"v100": 4}, reason="broken"),
            node("n3"),
            jobs=(job,),
        )
    )
    assert [list(record) for record in version.records.values()] == [
        ["n1", 1, "partly", "oouf", 24, None],
        ["n2", 1, "drained", "xxxx", None, "broken"],
        ["n3", 0, "partly", "", 24, None],
    ]
    assert [list(hardware) for hardware in version.hardware] == [
        [(), 32, 128.0],
        [(("v100", 4),), 32, 128.0],
    ]


def test_the_same_nodes_are_the_same_version() -> None:
    versions = MapVersions()
    first = versions.add(rows(node("n1")))
    assert versions.add(rows(node("n1"))) is first
    assert versions.add(rows(node("n1", "IDLE"))) is not first


def test_changes_lead_from_one_version_to_another() -> None:
    versions = MapVersions()
    first = versions.add(rows(node("n1"), node("n2"), node("n3")))
    last = versions.add(rows(node("n1"), node("n2", "IDLE"), node("n4")))
    changes = versions.changes(first.version, last)
    assert changes is not None
    assert [record.name for record in changes.changed] == ["n2", "n4"]
    assert changes.gone == ["n3"]
    back = versions.changes(last.version, last)
    assert back is not None
    assert (back.changed, back.gone) == ([], [])


def test_changes_are_unknown_for_another_portals_version_and_for_other_hardware() -> None:
    versions, others = MapVersions(), MapVersions()
    first = versions.add(rows(node("n1")))
    theirs = others.add(rows(node("n1")))
    assert versions.changes(theirs.version, first) is None
    assert versions.changes("", first) is None
    assert versions.changes(first.version, versions.add(rows(node("n1", cpus=64)))) is None


def test_old_versions_are_forgotten() -> None:
    versions = MapVersions()
    first = versions.add(rows(node("n1", cpus_allocated=0)))
    for used in range(1, KEPT_VERSIONS):
        last = versions.add(rows(node("n1", cpus_allocated=used)))
        assert versions.changes(first.version, last) is not None
    last = versions.add(rows(node("n1", "IDLE")))
    assert versions.changes(first.version, last) is None
