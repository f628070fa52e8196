"""What everybody's benchmarks together say of the cluster.

Figures come from files of the jobs' owners, who could write what they like into them. So the
cluster's are of the templates' own words only, name nobody, and their median takes each person
once: no one can move it alone where three have measured. Nor can one person's runs crowd out those
of others, or make the work long: so many of one's runs count, so many figures of a run, and what
only one person has measured gives way to what several have.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from statistics import median
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select

from portal.db import Database, utcnow
from portal.models import BenchmarkRun

COUNTED_FOR = timedelta(days=365)
MOST_COUNTED = 1000  # runs, the newest ones
MOST_OF_ONE = 50  # of these runs of one person's, of one template on the same hardware
MOST_OF_A_RUN = 280  # figures: between 16 GPUs of a node and its processor there are 272
MOST_SORTS = 2000
ENOUGH = 3  # people: none of them can move a median alone

_Same = list[tuple[Any, Mapping[str, Any]]]
"""Figures of one sort, each with its run."""


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
        self._one_at_a_time = asyncio.Lock()

    async def figures(self, database: Database, templates: Collection[str]) -> list[ClusterFigure]:
        """Those of these templates, sorted by template, hardware and labels."""
        recent = BenchmarkRun.ended_at > utcnow() - COUNTED_FOR
        newest = select(func.count(), func.max(BenchmarkRun.read_at)).where(recent)
        async with self._one_at_a_time:
            async with database.session() as db:
                key = (*(await db.execute(newest)).one(), *sorted(templates))
                if key == self._key:
                    return self._figures
                rows = (await db.execute(_counted(templates, recent))).all()
            found = await asyncio.to_thread(summed, rows)
            self._key, self._figures = key, found
            return found


def _counted(templates: Collection[str], recent: ColumnElement[bool]) -> Select[Any]:
    """The runs that count, the newest first."""
    alike = (
        BenchmarkRun.user_id, BenchmarkRun.template, BenchmarkRun.gpu_type,
        BenchmarkRun.gpus, BenchmarkRun.nodes,
    )  # fmt: skip
    newest = BenchmarkRun.ended_at.desc()
    nth = func.row_number().over(partition_by=alike, order_by=newest).label("nth")
    of_one = select(BenchmarkRun.job_id, nth).where(recent, BenchmarkRun.template.in_(templates))
    some = of_one.subquery()
    query = select(*alike, BenchmarkRun.figures, BenchmarkRun.ended_at)
    query = query.join(some, some.c.job_id == BenchmarkRun.job_id).where(some.c.nth <= MOST_OF_ONE)
    return query.order_by(newest).limit(MOST_COUNTED)


def summed(rows: Iterable[Any]) -> list[ClusterFigure]:
    """The figures of runs, the newest first, put together where they are of the same sort. Of a
    row: template, user_id, gpu_type, gpus, nodes, figures, ended_at. Runs with GPUs of unknown type
    are left out: they say nothing of any."""
    sorts: dict[Any, _Same] = defaultdict(list)
    for row in rows:
        if row.gpus and row.gpu_type is None:
            continue
        for figure in row.figures[:MOST_OF_A_RUN]:
            labels = tuple(sorted(figure["labels"].items()))
            what = (figure["measure"], figure["unit"], figure["better"], labels)
            sorts[row.template, row.gpu_type, row.gpus, row.nodes, *what].append((row, figure))
    found = [_figure(same) for same in _shown(sorts.values())]
    return sorted(found, key=_place)


def _shown(sorts: Iterable[_Same]) -> list[_Same]:
    """Those that fit into an answer: what most people have measured, and of what only one has the
    newest of each in turn."""
    alone: Counter[str] = Counter()
    ranked = []
    for same in sorts:
        people = {run.user_id for run, _ in same}
        turn = 0
        if len(people) == 1:
            (person,) = people
            alone[person] += 1
            turn = alone[person]
        ranked.append((-min(len(people), ENOUGH), turn, same))
    ranked.sort(key=itemgetter(0, 1))
    return [same for _, _, same in ranked[:MOST_SORTS]]


def _figure(same: _Same) -> ClusterFigure:
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
    the largest problem that most people have measured, the first measure only: a size that one
    person made up doesn't take the place of what several have measured."""
    chosen: dict[tuple[str, ...], ClusterFigure] = {}
    for figure in figures:
        if figure.gpu_type is None or (figure.gpus, figure.nodes) != (1, 1):
            continue
        words = [str(value) for value in figure.labels.values() if isinstance(value, str)]
        key = (figure.gpu_type, figure.template, figure.unit, *words)
        if key not in chosen or _weight(figure) > _weight(chosen[key]):
            chosen[key] = figure
    found: dict[str, list[ClusterFigure]] = defaultdict(list)
    for figure in chosen.values():
        if figure.better == "higher":
            found[str(figure.gpu_type)].append(figure)
    return dict(sorted(found.items()))


def _weight(figure: ClusterFigure) -> tuple[int, list[float]]:
    numbers = figure.labels.values()
    size = [float(n) for n in numbers if isinstance(n, int | float) and not isinstance(n, bool)]
    return min(figure.people, ENOUGH), size
