"""Cluster-wide benchmark figures, aggregated over all users' runs.

The figures come from files of the jobs' owners, who could write anything into them. So the
cluster's figures use only the terms of the templates and name no user, and the median counts each
user once: with three users, none can move it alone. A user's runs cannot displace other users' runs
or make the computation long either: the number of runs per user and of figures per run is limited,
and figures that several users have measured come before those that only one has.
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

MAX_AGE = timedelta(days=365)
MAX_COUNTED = 1000  # newest runs
MAX_OF_ONE = 50  # runs of one user, of one template on the same hardware
MAX_OF_A_RUN = 280  # figures per run: there are 272 between 16 GPUs of a node and its processor
MAX_KINDS = 2000  # kinds of figures in an answer
ENOUGH_USERS = 3  # users: none of them can move a median alone

_Samples = list[tuple[Any, Mapping[str, Any]]]
"""Figures of one kind, each with its run."""


@dataclass(frozen=True)
class ClusterFigure:
    """The aggregated result of runs of one kind.

    `gpus` is the total over all `nodes`. `gpu_type` is None without GPUs. `better` is "higher" or
    "lower". `best` is the best of all runs, `median` the median of the users' own medians.
    """

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
    users: int
    last_at: datetime


class Benchmarks:
    """Cache of the cluster's figures, refreshed when there are new runs."""

    def __init__(self) -> None:
        self._key: object = None
        self._figures: list[ClusterFigure] = []
        self._lock = asyncio.Lock()

    async def figures(self, database: Database, templates: Collection[str]) -> list[ClusterFigure]:
        """Return the figures of these templates, sorted by template, hardware and labels."""
        recent = BenchmarkRun.ended_at > utcnow() - MAX_AGE
        newest = select(func.count(), func.max(BenchmarkRun.read_at)).where(recent)
        async with self._lock:
            async with database.session() as db:
                key = (*(await db.execute(newest)).one(), *sorted(templates))
                if key == self._key:
                    return self._figures
                rows = (await db.execute(_build_runs_query(templates, recent))).all()
            figures = await asyncio.to_thread(aggregate_figures, rows)
            self._key, self._figures = key, figures
            return figures


def _build_runs_query(templates: Collection[str], recent: ColumnElement[bool]) -> Select[Any]:
    """Build the query for the runs that count, newest first."""
    alike = (
        BenchmarkRun.user_id, BenchmarkRun.template, BenchmarkRun.gpu_type,
        BenchmarkRun.gpus, BenchmarkRun.nodes,
    )  # fmt: skip
    newest = BenchmarkRun.ended_at.desc()
    nth = func.row_number().over(partition_by=alike, order_by=newest).label("nth")
    of_one = select(BenchmarkRun.batch_job_id, nth).where(
        recent, BenchmarkRun.template.in_(templates)
    )
    some = of_one.subquery()
    query = select(*alike, BenchmarkRun.figures, BenchmarkRun.ended_at)
    query = query.join(some, some.c.batch_job_id == BenchmarkRun.batch_job_id).where(
        some.c.nth <= MAX_OF_ONE
    )
    return query.order_by(newest).limit(MAX_COUNTED)


def aggregate_figures(rows: Iterable[Any]) -> list[ClusterFigure]:
    """Aggregate figures of runs by kind.

    The rows, newest first, have the fields template, user_id, gpu_type, gpus, nodes, figures and
    ended_at. Runs with GPUs of unknown type are left out, because they describe no hardware.
    """
    samples_by_kind: dict[Any, _Samples] = defaultdict(list)
    for row in rows:
        if row.gpus and row.gpu_type is None:
            continue
        for figure in row.figures[:MAX_OF_A_RUN]:
            labels = tuple(sorted(figure["labels"].items()))
            what = (figure["measure"], figure["unit"], figure["better"], labels)
            samples_by_kind[row.template, row.gpu_type, row.gpus, row.nodes, *what].append(
                (row, figure)
            )
    figures = [_to_cluster_figure(samples) for samples in _select_kinds(samples_by_kind.values())]
    return sorted(figures, key=_to_sort_key)


def _select_kinds(samples_by_kind: Iterable[_Samples]) -> list[_Samples]:
    """Return the kinds that fit into an answer: those that most users have measured, then, of kinds
    that only one user has measured, the newest of each user in turn.
    """
    alone: Counter[str] = Counter()
    ranked = []
    for samples in samples_by_kind:
        users = {run.user_id for run, _ in samples}
        turn = 0
        if len(users) == 1:
            (user_id,) = users
            alone[user_id] += 1
            turn = alone[user_id]
        ranked.append((-min(len(users), ENOUGH_USERS), turn, samples))
    ranked.sort(key=itemgetter(0, 1))
    return [samples for _, _, samples in ranked[:MAX_KINDS]]


def _to_cluster_figure(samples: _Samples) -> ClusterFigure:
    row, figure = samples[0]
    by_user: dict[str, list[float]] = defaultdict(list)
    for run, sample in samples:
        by_user[run.user_id].append(sample["value"])
    values = [sample["value"] for _, sample in samples]
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
        median=median(median(own) for own in by_user.values()),
        runs=len({id(run) for run, _ in samples}),
        users=len(by_user),
        last_at=max(run.ended_at for run, _ in samples),
    )


def _to_sort_key(figure: ClusterFigure) -> tuple[Any, ...]:
    labels = [
        (name, isinstance(value, str), value if isinstance(value, str) else float(value))
        for name, value in figure.labels.items()
    ]
    hardware = (figure.gpu_type or "", figure.nodes, figure.gpus)
    return (figure.template, *hardware, figure.measure, labels)


def headlines(figures: Iterable[ClusterFigure]) -> dict[str, list[ClusterFigure]]:
    """Return, by GPU type, the performance of a single GPU.

    For each benchmark, unit, and combination of text labels (such as precision): the figure of the
    largest problem that most users have measured; of equal ones, the first. A size that only one
    user has measured does not replace one that several have measured. Figures for which lower is
    better are left out.
    """
    chosen: dict[tuple[str, ...], ClusterFigure] = {}
    for figure in figures:
        if figure.gpu_type is None or (figure.gpus, figure.nodes) != (1, 1):
            continue
        words = [str(value) for value in figure.labels.values() if isinstance(value, str)]
        key = (figure.gpu_type, figure.template, figure.unit, *words)
        if key not in chosen or _to_weight(figure) > _to_weight(chosen[key]):
            chosen[key] = figure
    by_type: dict[str, list[ClusterFigure]] = defaultdict(list)
    for figure in chosen.values():
        if figure.better == "higher":
            by_type[str(figure.gpu_type)].append(figure)
    return dict(sorted(by_type.items()))


def _to_weight(figure: ClusterFigure) -> tuple[int, list[float]]:
    numbers = figure.labels.values()
    size = [float(n) for n in numbers if isinstance(n, int | float) and not isinstance(n, bool)]
    return min(figure.users, ENOUGH_USERS), size
