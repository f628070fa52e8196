"""Routes of the curves of scalars that jobs and sessions have logged for TensorBoard."""

from typing import Annotated, Self

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel

from portal.api.job_lists import JobUuid
from portal.api.logs import task_in_query
from portal.services.jobs import bulk, curves, jobs
from portal.services.jobs.curves import JobCurves
from portal.services.sessions import sessions
from portal.web.dependencies import ContextDep, CurrentUser
from spawner.launcher.file_answers import CurveColumns

router = APIRouter(tags=["jobs"])


class CurveOut(BaseModel):
    """The values of one tag in one run, as columns of equal length, in the order of logging.

    `run` is the folder of the event files below the job's, such as "train"; empty for the job's
    own. `at` is in seconds since 1970. `count` is the number of logged values. A curve with more
    values than the response may have points is reduced: consecutive values share a bucket, of which
    the smallest and the largest are kept, and the last value of all. `values` is null where a value
    was not finite (NaN or infinite); `not_finite` is the number of such values.
    """

    run: str
    tag: str
    count: int
    not_finite: int
    steps: list[int]
    at: list[float]
    values: list[float | None]

    @classmethod
    def of(cls, curve: CurveColumns) -> Self:
        return cls(**vars(curve))


class JobCurvesOut(BaseModel):
    """The curves of one job, session or task of an array: at most 32, with at most 1000 points
    each.

    Empty if nothing was logged, and in a comparison for an array. `curves_left_out` is the number
    of further curves. `complete` is false if the event files are too large to be read whole.
    `problem`: why they could not be read; only in a comparison. Wait `refresh_s` before the next
    request.
    """

    id: str
    curves: list[CurveOut]
    curves_left_out: int
    complete: bool
    problem: str | None
    refresh_s: float

    @classmethod
    def of(cls, found: JobCurves) -> Self:
        return cls(
            id=found.job.id,
            curves=[CurveOut.of(curve) for curve in found.read.curves],
            curves_left_out=found.read.left_out,
            complete=found.read.complete,
            problem=found.problem,
            refresh_s=found.refresh_s,
        )


class ComparedCurves(BaseModel):
    """The curves of several jobs in the requested order, with at most 300 points each."""

    items: list[JobCurvesOut]


@router.get("/jobs/compare/curves")
async def compare_curves(
    user: CurrentUser,
    context: ContextDep,
    id: Annotated[list[JobUuid], Query(min_length=1, max_length=bulk.MAX_COMPARED)],  # noqa: A002
) -> ComparedCurves:
    """Return the curves of some of the caller's jobs, as far as they are on the list."""
    chosen = await bulk.load_listed(context, user, id)
    found = await curves.load_compared(context, chosen)
    return ComparedCurves(items=[JobCurvesOut.of(each) for each in found])


@router.get("/jobs/{batch_job_id}/curves")
async def job_curves(
    batch_job_id: str,
    user: CurrentUser,
    context: ContextDep,
    task: Annotated[int | None, Depends(task_in_query)],
) -> JobCurvesOut:
    """Return the curves of one of the caller's jobs; for an array, of one task."""
    job = await jobs.get(context, user, batch_job_id)
    return JobCurvesOut.of(await curves.load_curves(context, job, task))


@router.get("/sessions/{session_id}/curves", tags=["sessions"])
async def session_curves(session_id: str, user: CurrentUser, context: ContextDep) -> JobCurvesOut:
    """Return the curves of one of the caller's sessions."""
    session = await sessions.get(context, user, session_id)
    return JobCurvesOut.of(await curves.load_session_curves(context, session))
