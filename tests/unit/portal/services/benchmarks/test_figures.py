"""Benchmark results, validated against their template and aggregated over all users."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.services.benchmarks import figures
from portal.services.benchmarks.figures import aggregate_figures, headlines
from spawner.catalog.benchmarks import MAX_FIGURES, Benchmark, Results, problems, read_results
from spawner.catalog.template import load_templates

MATMUL = Benchmark(
    {"precision": ("fp32", "fp16"), "size": ()}, {"GFLOPS": "GFLOPS", "ms": "ms"}, ("tf32",)
)
HEADINGS = ["precision", "size", "GFLOPS", "ms"]


def left(rows: Any, headings: Any = HEADINGS, **more: Any) -> bytes:
    return json.dumps({"headings": headings, "rows": rows, **more}).encode()


def test_figures_with_labels_units_and_what_is_better() -> None:
    data = left([["fp32", 64, 12.5, 0.25]], about={"device": "NVIDIA H200"})
    found = read_results(data, MATMUL, {"tf32": True, "seconds": 2})
    first, second = found.figures
    assert first.labels == {"precision": "fp32", "size": 64, "tf32": True}
    assert (first.heading, first.unit, first.value, first.better) == (
        "GFLOPS", "GFLOPS", 12.5, "higher",
    )  # fmt: skip
    assert (second.heading, second.better) == ("ms", "lower")
    assert found.device == "NVIDIA H200"


@pytest.mark.parametrize(
    "row",
    [
        ["<b>fp32</b>", 64, 1.0, 1.0],  # not a name from the template
        ["fp32", "alice was here", 1.0, 1.0],
        ["fp32", True, 1.0, 1.0],
        ["fp32", None, 1.0, 1.0],
        [["fp32"], 64, 1.0, 1.0],
        ["fp32", 64, 1.0],  # incomplete row
        {"precision": "fp32"},
        "fp32",
        ["fp32", 64, None, None],  # unsupported by the GPU
        ["fp32", 64, "1.0", False],
        ["fp32", 64, -1.0, float("nan")],
        ["fp32", 64, 0.0, 0],  # no measurement
        ["fp32", 64, float("inf"), 10**400],
        ["fp32", 2**70, 1.0, 1.0],
    ],
)
def test_a_row_that_is_none_is_left_out(row: Any) -> None:
    good = ["fp16", 64, 2.0, 3.0]
    found = read_results(left([row, good]), MATMUL, {})
    assert [figure.value for figure in found.figures] == [2.0, 3.0]


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"{}", b"[" * 200_000,
        left("rows"), left([], "headings"), left([["fp32", 1]], ["precision", 7]),
    ],
)  # fmt: skip
def test_what_is_no_table_has_no_figures(data: bytes) -> None:
    assert read_results(data, MATMUL, {}) == Results()


@given(st.binary(max_size=200) | st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(["headings", "rows", "about", "device"]), inner, max_size=4),
    max_leaves=20,
).map(lambda value: json.dumps(value).encode()))  # fmt: skip
def test_nothing_that_a_user_writes_raises(data: bytes) -> None:
    read_results(data, MATMUL, {})


def test_so_many_figures_and_no_more() -> None:
    found = read_results(left([["fp32", n, 1.0, 1.0] for n in range(10_000)]), MATMUL, {})
    assert len(found.figures) == MAX_FIGURES


def test_a_devices_name_is_short_and_can_be_shown() -> None:
    for output, shown in (("A\x1b[31m\0", "A\ufffd[31m\ufffd"), ("x" * 999, "x" * 100), (7, None)):
        data = left([], about={"device": output})
        assert read_results(data, MATMUL, {}).device == shown
    assert read_results(left([], about=["device"]), MATMUL, {}).device is None


def test_benchmark_rejects_unsuitable_parameters() -> None:
    bad = Benchmark({"size": ()}, {"size": "MB"}, ("folder", "none", "words", "tf32"))
    rules = {
        "folder": {"type": "string"}, "words": {"type": "array"}, "tf32": {"type": "boolean"},
    }  # fmt: skip
    assert sorted(problems(bad, rules)) == [
        "benchmark.parameters: folder is neither a number, a flag nor a choice",
        "benchmark.parameters: there is no parameter none",
        "benchmark.parameters: words is neither a number, a flag nor a choice",
        "benchmark: size is a label and a figure",
    ]


def test_every_shipped_benchmark_declares_what_it_measures() -> None:
    found = load_templates().values()
    tagged = {template.name for template in found if "benchmark" in template.tags}
    assert tagged == {template.name for template in found if template.benchmark}


# --- all users --------------------------------------------------------------------------------


@dataclass
class Run:
    """A row, as it is aggregated."""

    value: float
    user_id: str = "alice"
    gpu_type: str | None = "v100"
    gpus: int = 1
    nodes: int = 1
    size: int = 64
    unit: str = "GFLOPS"
    better: str = "higher"
    template: str = "bench-matmul"
    ended_at: datetime = field(default_factory=lambda: datetime(2026, 1, 1, tzinfo=UTC))

    @property
    def figures(self) -> list[dict[str, Any]]:
        labels = {"precision": "fp32", "size": self.size}
        return [
            {
                "labels": labels, "measure": self.unit, "unit": self.unit, "better": self.better,
                "value": self.value,
            }
        ]  # fmt: skip


def test_median_counts_each_user_once() -> None:
    forged = [Run(1e30, "mallory") for _ in range(50)]
    (one,) = aggregate_figures([Run(10, "alice"), Run(12, "alice"), Run(13, "bob"), *forged])
    assert (one.median, one.best, one.runs, one.users) == (13, 1e30, 53, 3)


def test_of_a_time_the_shortest_is_the_best() -> None:
    (one,) = aggregate_figures(
        [Run(3, unit="ms", better="lower"), Run(5, unit="ms", better="lower")]
    )
    assert (one.best, one.median) == (3, 4)


def test_only_what_is_alike_is_put_together() -> None:
    runs = [
        Run(1), Run(2, gpus=2), Run(3, nodes=2, gpus=2), Run(4, gpu_type="a100"), Run(5, size=128),
        Run(6, gpu_type=None, gpus=0), Run(7, gpu_type=None, gpus=1),  # of unknown type: omitted
    ]  # fmt: skip
    assert sorted(figure.median for figure in aggregate_figures(runs)) == [1, 2, 3, 4, 5, 6]


def test_many_results_of_one_user_displace_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results under ever new parameters of one user leave other users' results in place."""
    monkeypatch.setattr(figures, "MAX_KINDS", 4)
    forged = [Run(1, "mallory", size=1000 + n) for n in range(50)]
    honest = [Run(2, "alice", size=8), Run(3, "bob", size=8), Run(4, "carol", size=16)]
    found = aggregate_figures([*forged, *honest])
    assert [one.labels["size"] for one in found] == [8, 16, 1000, 1001]
    monkeypatch.setattr(figures, "MAX_OF_A_RUN", 0)
    assert aggregate_figures(honest) == []


def test_a_gpu_type_is_known_by_one_gpu_and_the_largest_problem() -> None:
    runs = [
        Run(1), Run(2, size=8192), Run(9, gpus=2, size=9999), Run(3, gpu_type=None, gpus=0),
        Run(4, gpu_type="a100"), Run(5, unit="ms", better="lower", size=8192),
    ]  # fmt: skip
    found = headlines(aggregate_figures(runs))
    assert {kind: [one.median for one in figures] for kind, figures in found.items()} == {
        "a100": [4],
        "v100": [2],
    }


def test_a_size_that_one_user_made_up_is_no_gpu_types_figure() -> None:
    forged = [Run(1e30, "mallory", size=10**15) for _ in range(9)]
    (only,) = headlines(aggregate_figures([Run(10, "alice"), Run(12, "bob"), *forged]))["v100"]
    assert (only.labels["size"], only.median) == (64, 11)
    four = [Run(20, who, size=32) for who in ("dan", "eve", "fay", "guy")]
    three = [Run(30, who, size=64) for who in ("dan", "eve", "fay")]
    (only,) = headlines(aggregate_figures([*four, *three]))["v100"]
    assert only.median == 30, "among what enough have measured the size decides"
