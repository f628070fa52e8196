"""Routes of resource suggestions, from the measured usage of the caller's last similar jobs."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from portal.services.jobs import jobs, sizing
from portal.services.jobs.sizing_rules import Sizing
from portal.web.dependencies import ContextDep, CurrentUser

router = APIRouter(tags=["sizing"])
EnvironmentQuery = Annotated[str | None, Query(min_length=1, max_length=100)]


class FigureOut(BaseModel):
    """One resource: the most that a job `used`, what the present request has (`asked`), and a
    suggestion.

    `suggested` is null if the present request is close enough. `exceeded`: a job ended because its
    resources were not enough.
    """

    used: float
    asked: float | None
    suggested: float | None
    exceeded: bool


class SizingOut(BaseModel):
    """The usage of the last `runs` similar jobs, per node: CPUs on average, GB of memory, minutes.

    Null: no data from any of them.
    """

    runs: int
    cpus: FigureOut | None
    memory_gb: FigureOut | None
    time_limit_minutes: FigureOut | None


@router.get("/templates/{name}/sizing")
async def size_template(
    name: str, user: CurrentUser, context: ContextDep, environment: EnvironmentQuery = None
) -> SizingOut:
    """Return suggestions for a job of this template with its default resources.

    They are based on the caller's last jobs in the same environment, with as many nodes and GPUs.
    """
    return _to_out(await sizing.size_template(context, user, name, environment))


@router.get("/scripts/sizing")
async def size_script(
    user: CurrentUser,
    context: ContextDep,
    name: Annotated[str, Query(min_length=1, max_length=100)],
    environment: EnvironmentQuery = None,
) -> SizingOut:
    """Return suggestions for a custom script of this name, compared with the request of the
    caller's last one of that name.
    """
    return _to_out(await sizing.size_script(context, user, name, environment))


@router.get("/jobs/{batch_job_id}/sizing")
async def size_job(batch_job_id: str, user: CurrentUser, context: ContextDep) -> SizingOut:
    """Return suggestions for repeating one of the caller's jobs."""
    return _to_out(
        await sizing.size_job(context, user, await jobs.get(context, user, batch_job_id))
    )


def _to_out(sizing: Sizing) -> SizingOut:
    return SizingOut.model_validate(asdict(sizing))
