"""A made-up cluster in scontrol's words: what the parsers of real output read in it."""

from __future__ import annotations

from bench.many_nodes import PARTITIONS, render_nodes, render_partitions
from spawner.slurm.parse_nodes import parse_nodes, parse_partitions
from tests.paths import TESTS

RECORDED = TESTS / "data" / "slurm" / "22.05.8"
COUNT = 1_000


def test_nodes_and_partitions_fit_together() -> None:
    text = (RECORDED / "nodes.txt").read_text("utf-8")
    nodes = parse_nodes(render_nodes(text, COUNT))
    partitions = parse_partitions(
        render_partitions((RECORDED / "partitions.txt").read_text("utf-8"), COUNT)
    )
    assert len({node.name for node in nodes}) == COUNT
    assert len({partition.name for partition in partitions}) == PARTITIONS
    for partition in partitions:
        members = {node.name for node in nodes if partition.name in node.partitions}
        assert members == set(partition.nodes)
    assert [partition.name for partition in partitions if partition.default] == ["all"]
    assert {kind for node in nodes for kind in node.gpus} == {"v100", "a100", "h100"}
    for node in nodes:
        assert 0 <= node.cpus_allocated <= node.cpus
        assert all(used <= node.gpus[kind] for kind, used in node.gpus_allocated.items())
    assert render_nodes(text, COUNT) == render_nodes(text, COUNT)
