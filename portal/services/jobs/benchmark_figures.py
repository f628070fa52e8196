"""What everybody's benchmarks together say of the cluster.

Figures come from files of the jobs' owners, who could write what they like into them. So the
cluster's are of the templates' own words only, name nobody, and their median takes each person
once: no one can move it alone where three have measured.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from sqlalchemy import func, select

from portal.db import Database, utcnow
from portal.models import BenchmarkRun

COUNTED_FOR = timedelta(days=365)
MOST_COUNTED = 2000  # runs, the newest ones


@dataclass(frozen=True)
class ClusterFigure:
    """What runs of one sort came to. `gpus` of all `nodes` together; `gpu_type` is None without
    GPUs, and where a job had several types. `better` is "higher" or "lower"; `best` is the best of
    all runs, `median` the middle of people's own medians."""

    template: str
    gpu_type: str | None
    gpus: int
    nodes: int
    labels: Mapping[str, Any]
    measure: str
    unit: str
    better: str
    best: float
    median: float
    runs: int
    people: int
    last_at: datetime


class Benchmarks:
    """The cluster's figures, kept until there are others."""

    def __init__(self) -> None:
        self._key: object = None
        self._figures: list[ClusterFigure] = []

    async def figures(self, database: Database, templates: Collection[str]) -> list[ClusterFigure]:
        """Those of these templates, sorted by template, hardware and labels."""
        recent = BenchmarkRun.ended_at > utcnow() - COUNTED_FOR
        newest = select(func.count(), func.max(BenchmarkRun.read_at)).where(recent)
        async with database.session() as db:
            key = (*(await db.execute(newest)).one(), *sorted(templates))
            if key == self._key:
                return self._figures
            columns = select(
                BenchmarkRun.template, BenchmarkRun.user_id, BenchmarkRun.gpu_type,
                BenchmarkRun.gpus, BenchmarkRun.nodes, BenchmarkRun.figures, BenchmarkRun.ended_at,
            )  # fmt: skip
            query = columns.where(recent, BenchmarkRun.template.in_(templates))
            query = query.order_by(BenchmarkRun.ended_at.desc()).limit(MOST_COUNTED)
            rows = (await db.execute(query)).all()
        self._key, self._figures = key, summed(rows)
        return self._figures


def summed(rows: Iterable[Any]) -> list[ClusterFigure]:
    """The figures of runs, put together where they are of the same sort. Of a row: template,
    user_id, gpu_type, gpus, nodes, figures, ended_at. Runs with GPUs of unknown type are left out:
    they say nothing of any."""
    sorts: dict[Any, list[tuple[Any, Mapping[str, Any]]]] = defaultdict(list)
    for row in rows:
        if row.gpus and row.gpu_type is None:
            continue
        for figure in row.figures:
            labels = tuple(sorted(figure["labels"].items()))
            what = (figure["measure"], figure["unit"], figure["better"], labels)
            sorts[row.template, row.gpu_type, row.gpus, row.nodes, *what].append((row, figure))
    found = [_figure(same) for same in sorts.values()]
    return sorted(found, key=_place)


def _figure(same: Sequence[tuple[Any, Mapping[str, Any]]]) -> ClusterFigure:
    row, figure = same[0]
    of_people: dict[str, list[float]] = defaultdict(list)
    for run, one in same:
        of_people[run.user_id].append(one["value"])
    values = [one["value"] for _, one in same]
    return ClusterFigure(
        template=row.template,
        gpu_type=row.gpu_type,
        gpus=row.gpus,
        nodes=row.nodes,
        labels=figure["labels"],
        measure=figure["measure"],
        unit=figure["unit"],
        better=figure["better"],
        best=min(values) if figure["better"] == "lower" else max(values),
        median=median(median(own) for own in of_people.values()),
        runs=len({id(run) for run, _ in same}),
        people=len(of_people),
        last_at=max(run.ended_at for run, _ in same),
    )


def _place(figure: ClusterFigure) -> tuple[Any, ...]:
    labels = [
        (name, isinstance(value, str), value if isinstance(value, str) else float(value))
        for name, value in figure.labels.items()
    ]
    hardware = (figure.gpu_type or "", figure.nodes, figure.gpus)
    return (figure.template, *hardware, figure.measure, labels)


def headlines(figures: Iterable[ClusterFigure]) -> dict[str, list[ClusterFigure]]:
    """By GPU type what a single GPU does: of each benchmark, network and precision the figure of
    the largest problem, the first measure only."""
    chosen: dict[tuple[str, ...], ClusterFigure] = {}
    for figure in figures:
        if figure.gpu_type is None or (figure.gpus, figure.nodes) != (1, 1):
            continue
        words = [str(value) for value in figure.labels.values() if isinstance(value, str)]
        key = (figure.gpu_type, figure.template, figure.unit, *words)
        if key not in chosen or _size(figure) > _size(chosen[key]):
            chosen[key] = figure
    found: dict[str, list[ClusterFigure]] = defaultdict(list)
    for figure in chosen.values():
        if figure.better == "higher":
            found[str(figure.gpu_type)].append(figure)
    return dict(sorted(found.items()))


def _size(figure: ClusterFigure) -> list[float]:
    numbers = figure.labels.values()
    return [float(n) for n in numbers if isinstance(n, int | float) and not isinstance(n, bool)]
