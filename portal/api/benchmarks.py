"""What benchmark jobs have measured: one's own runs, and the cluster's figures by hardware."""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel

from portal.api.deps import CurrentUser, PartsDep
from portal.models import BenchmarkRun
from portal.parts import Parts
from portal.services.jobs import benchmark_figures, benchmarks
from portal.services.jobs.benchmark_figures import ClusterFigure

router = APIRouter(tags=["benchmarks"])
Label = str | int | float | bool
Better = Literal["higher", "lower"]


class BenchmarkFigure(BaseModel):
    """One figure: what it is of (`labels`), the column it stood in, and its unit."""

    labels: dict[str, Label]
    measure: str
    unit: str
    better: Better
    value: float


class BenchmarkRunOut(BaseModel):
    """A benchmark job that has ended, with its figures. `gpus` of all nodes together; `device` is
    what the job itself says it measured."""

    id: str
    name: str
    template: str
    title: str
    parameters: dict[str, Any]
    gpu_type: str | None
    gpus: int
    nodes: int
    node: str | None
    partition: str | None
    device: str | None
    ended_at: datetime
    figures: list[BenchmarkFigure]


class BenchmarkRuns(BaseModel):
    """The caller's runs, newest first; `next_cursor` asks for the older ones."""

    items: list[BenchmarkRunOut]
    next_cursor: str | None = None


class ClusterFigureOut(BaseModel):
    """What everybody's runs of one sort came to, by hardware. `gpu_type` is null without a GPU.
    `best` is of all runs, `median` the middle of people's own medians, `people` how many they are.
    """

    template: str
    title: str
    gpu_type: str | None
    gpus: int
    nodes: int
    labels: dict[str, Label]
    measure: str
    unit: str
    better: Better
    best: float
    median: float
    runs: int
    people: int
    last_at: datetime


class ClusterFigures(BaseModel):
    items: list[ClusterFigureOut]


class GpuTypeFigures(BaseModel):
    """What one GPU of this type does: of each benchmark and precision the largest problem of those
    that most people have measured."""

    gpu_type: str
    figures: list[ClusterFigureOut]


class GpuTypes(BaseModel):
    items: list[GpuTypeFigures]


@router.get("/benchmarks")
async def list_benchmark_runs(
    user: CurrentUser,
    parts: PartsDep,
    template: Annotated[str | None, Query(max_length=100)] = None,
    cursor: Annotated[str | None, Query(max_length=100)] = None,
) -> BenchmarkRuns:
    """The caller's finished benchmark jobs with what they measured."""
    found = await benchmarks.own(parts, user, template, cursor)
    shown = [_run(parts, run) for run in found[: benchmarks.PAGE]]
    return BenchmarkRuns(items=shown, next_cursor=benchmarks.cursor_of(found))


@router.get("/benchmarks/cluster")
async def cluster_figures(_user: CurrentUser, parts: PartsDep) -> ClusterFigures:
    """What everybody's benchmarks of the last year say of this cluster, without saying whose."""
    found = await benchmarks.cluster(parts)
    return ClusterFigures(items=[_figure(parts, figure) for figure in found])


@router.get("/benchmarks/gpu-types")
async def gpu_type_figures(_user: CurrentUser, parts: PartsDep) -> GpuTypes:
    """The few figures by which GPU types are compared; no types where nobody has measured."""
    found = benchmark_figures.headlines(await benchmarks.cluster(parts))
    return GpuTypes(
        items=[
            GpuTypeFigures(gpu_type=kind, figures=[_figure(parts, one) for one in figures])
            for kind, figures in found.items()
        ]
    )


def _title(parts: Parts, name: str) -> str:
    """A template's title; its name if it is gone."""
    template = parts.catalog.templates.get(name)
    return template.title if template else name


def _figure(parts: Parts, figure: ClusterFigure) -> ClusterFigureOut:
    own = {name: getattr(figure, name) for name in ClusterFigureOut.model_fields if name != "title"}
    return ClusterFigureOut(**own, title=_title(parts, figure.template))


def _run(parts: Parts, run: BenchmarkRun) -> BenchmarkRunOut:
    job = run.job
    return BenchmarkRunOut(
        id=run.job_id,
        name=job.name,
        template=run.template,
        title=_title(parts, run.template),
        parameters=job.parameters,
        gpu_type=run.gpu_type,
        gpus=run.gpus,
        nodes=run.nodes,
        node=job.node,
        partition=job.resources.get("partition"),
        device=run.device,
        ended_at=run.ended_at,
        figures=[BenchmarkFigure(**figure) for figure in run.figures],
    )
