"""How much a job should ask for, from what its owner's last jobs of the kind really used."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from portal.api.deps import CurrentUser, PartsDep
from portal.services.jobs import jobs, sizing
from portal.services.jobs.sizing_rules import Sizing

router = APIRouter(tags=["sizing"])
EnvironmentQuery = Annotated[str | None, Query(min_length=1, max_length=100)]


class FigureOut(BaseModel):
    """The most that one of the runs used, what such a job asks for as it stands, and what would do:
    null where that is near enough. `exceeded`: a run ended because what it had wasn't enough."""

    used: float
    asked: float | None
    suggested: float | None
    exceeded: bool


class SizingOut(BaseModel):
    """What the last `runs` jobs of the kind used, on each node: CPUs on the average, GB of memory,
    minutes. Null: none of them says anything about it."""

    runs: int
    cpus: FigureOut | None
    memory_gb: FigureOut | None
    time_limit_minutes: FigureOut | None


@router.get("/templates/{name}/sizing")
async def size_template(
    name: str, user: CurrentUser, parts: PartsDep, environment: EnvironmentQuery = None
) -> SizingOut:
    """For a job of this template with its default resources: from the caller's last ones in the
    same environment, with as many nodes and GPUs."""
    return _out(await sizing.of_template(parts, user, name, environment))


@router.get("/scripts/sizing")
async def size_script(
    user: CurrentUser,
    parts: PartsDep,
    name: Annotated[str, Query(min_length=1, max_length=100)],
    environment: EnvironmentQuery = None,
) -> SizingOut:
    """For a free script of this name, against what the caller's last one of that name asked for."""
    return _out(await sizing.of_script(parts, user, name, environment))


@router.get("/jobs/{job_id}/sizing")
async def size_job(job_id: str, user: CurrentUser, parts: PartsDep) -> SizingOut:
    """For running one of the caller's jobs once more."""
    return _out(await sizing.of_job(parts, user, await jobs.get(parts, user, job_id)))


def _out(found: Sizing) -> SizingOut:
    return SizingOut.model_validate(asdict(found))
