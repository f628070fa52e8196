"""The shipped benchmark templates as jobs of a real Slurm, at their smallest: their figures."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.job_runs import run_template
from tests.live import Live

BENCHMARK_S = 1500.0  # frameworks are imported, models built and changed
SMALL_BENCHMARKS: list[tuple[str, dict[str, Any], dict[str, Any], int]] = [
    (
        "bench-training",
        {"model": "resnet50", "precisions": ["fp32"], "batch_size": 2, "image_size": 64,
         "steps": 2, "warmup": 1, "processes": 2},
        {"nodes": 2},
        1,
    ),
    (
        "bench-inference",
        {"model": "resnet50", "precisions": ["fp32", "fp16", "int8"], "batch_sizes": [1, 2],
         "image_size": 64, "steps": 1},
        {},
        6,
    ),
    ("bench-matmul", {"sizes": [64, 256], "seconds": 0.1}, {}, 6),
    ("bench-storage", {"size_mb": 8, "seconds": 0.5}, {}, 4),
    ("bench-collectives", {"sizes_kb": [4, 256], "rounds": 2}, {"nodes": 2}, 6),
    ("bench-gpu-copy", {"size_mb": 4, "rounds": 2}, {}, 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "given", "resources", "rows"), SMALL_BENCHMARKS, ids=lambda value: str(value)[:20]
)
def test_a_benchmark_prints_and_keeps_its_figures(
    portal: Live,
    name: str,
    given: dict[str, Any],
    resources: dict[str, Any],
    rows: int,
) -> None:
    root = Path(os.environ["PORTAL_STATE_ROOT"])
    run = run_template(portal, root, name, given, gpus=0, **resources)
    output = run.completed(BENCHMARK_S)
    kept = json.loads((run.logdir / "results.json").read_text())
    assert len(kept["rows"]) == rows
    assert all(heading in output for heading in kept["headings"])
    figures = [value for row in kept["rows"] for value in row if isinstance(value, float)]
    assert figures
    assert all(figure > 0 for figure in figures)
    assert list(run.logdir.glob("events.out.tfevents.*"))
