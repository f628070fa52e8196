"""Routes of benchmark results: the caller's runs, and the cluster's figures by hardware."""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel

from portal.context import AppContext
from portal.models import BenchmarkRun
from portal.services.benchmarks import figures, listing
from portal.services.benchmarks.figures import ClusterFigure
from portal.web.dependencies import ContextDep, CurrentUser
from portal.web.pages import Page

router = APIRouter(tags=["benchmarks"])
Label = str | int | float | bool
Better = Literal["higher", "lower"]


class BenchmarkFigure(BaseModel):
    """A figure of a run. `labels` identify its row in the job's output, `measure` is the column;
    `better`: whether a higher or a lower value is better.
    """

    labels: dict[str, Label]
    measure: str
    unit: str
    better: Better
    value: float


class BenchmarkRunOut(BaseModel):
    """An ended benchmark job with its figures.

    `gpus` is the total over all nodes; `device` is the hardware that the job reported.
    """

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


class ClusterFigureOut(BaseModel):
    """The results of all users' runs of one kind, by hardware. `gpu_type` is null without a GPU.

    `best` is over all runs, `median` is the median of the users' own medians, `users` is the
    number of users.
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
    users: int
    last_at: datetime


class ClusterFigures(BaseModel):
    items: list[ClusterFigureOut]


class GpuTypeFigures(BaseModel):
    """The performance of one GPU of this type: for each benchmark and precision, the largest
    problem size among those that most users have measured.
    """

    gpu_type: str
    figures: list[ClusterFigureOut]


class GpuTypes(BaseModel):
    items: list[GpuTypeFigures]


@router.get("/benchmarks")
async def list_benchmark_runs(
    user: CurrentUser,
    context: ContextDep,
    template: Annotated[str | None, Query(max_length=100)] = None,
    cursor: Annotated[str | None, Query(max_length=100)] = None,
) -> Page[BenchmarkRunOut]:
    """Return the caller's finished benchmark jobs with their figures, newest first."""
    runs = await listing.list_own_runs(context, user, template, cursor)
    shown = [_to_run_out(context, run) for run in runs[: listing.PAGE]]
    return Page[BenchmarkRunOut](items=shown, next_cursor=listing.cursor_of(runs))


@router.get("/benchmarks/cluster")
async def cluster_figures(_user: CurrentUser, context: ContextDep) -> ClusterFigures:
    """Return the results of all users' benchmarks of the last year, without usernames."""
    rows = await listing.load_cluster_figures(context)
    return ClusterFigures(items=[_to_figure_out(context, figure) for figure in rows])


@router.get("/benchmarks/gpu-types")
async def gpu_type_figures(_user: CurrentUser, context: ContextDep) -> GpuTypes:
    """Return the few figures for comparing GPU types; empty without any measurements."""
    by_type = figures.headlines(await listing.load_cluster_figures(context))
    return GpuTypes(
        items=[
            GpuTypeFigures(
                gpu_type=kind, figures=[_to_figure_out(context, figure) for figure in shown]
            )
            for kind, shown in by_type.items()
        ]
    )


def _get_title(context: AppContext, name: str) -> str:
    """Return a template's title; its name if the template is gone."""
    template = context.catalog.templates.get(name)
    return template.title if template else name


def _to_figure_out(context: AppContext, figure: ClusterFigure) -> ClusterFigureOut:
    own = {name: getattr(figure, name) for name in ClusterFigureOut.model_fields if name != "title"}
    return ClusterFigureOut(**own, title=_get_title(context, figure.template))


def _to_run_out(context: AppContext, run: BenchmarkRun) -> BenchmarkRunOut:
    job = run.job
    return BenchmarkRunOut(
        id=run.batch_job_id,
        name=job.name,
        template=run.template,
        title=_get_title(context, run.template),
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
