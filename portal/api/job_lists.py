"""Routes of several jobs: lists with filters, counts, bulk operations and comparison."""

from dataclasses import replace
from typing import Annotated, Self

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator

from portal.api.job_schemas import JobOut, jobs_out
from portal.context import AppContext
from portal.errors import FieldError, invalid_input
from portal.services.jobs import bulk, listing
from portal.services.jobs.column_order import COLUMN_PATTERN
from portal.services.jobs.listing import JobOrder, StateFilter
from portal.web.dependencies import ByDep, ContextDep, CurrentUser, JobsUser
from portal.web.fields import DateTime
from portal.web.pages import Page
from spawner.slurm.model import Outcome

router = APIRouter(tags=["jobs"])
JobUuid = Annotated[str, Field(min_length=1, max_length=36)]
MAX_IDS = 100  # more would not fit in a URL


class JobFilter(BaseModel):
    """A filter for the caller's jobs.

    `q` matches names and Slurm's ids; an empty `template` selects jobs without a template; `since`
    and `until` bound the submission time.
    """

    model_config = ConfigDict(extra="forbid")

    state: StateFilter = "all"
    outcome: Annotated[list[Outcome], Field(max_length=len(Outcome))] = []
    template: Annotated[str, Field(max_length=100)] | None = None
    q: Annotated[str, Field(max_length=200)] | None = None
    external: bool | None = None
    since: DateTime | None = None
    until: DateTime | None = None

    def selection(self) -> listing.JobSelection:
        return listing.JobSelection(
            state=self.state,
            outcomes=tuple(self.outcome),
            template=self.template,
            q=self.q,
            external=self.external,
            since=self.since,
            until=self.until,
        )


class JobQuery(JobFilter):
    """A filter with a page.

    `order`: `ended` and `started` list only jobs that have ended or started, the most recent
    first; with `_up`, the earliest first. `value` lists only jobs that have a value of `by`, the
    highest first; with `_up`, the lowest first. `by` is a parameter ("param:NAME") or a metric of
    ended jobs ("metric:TAG"). `id` selects these jobs only.
    """

    id: Annotated[list[JobUuid], Field(max_length=MAX_IDS)] = []
    order: JobOrder = JobOrder.NEWEST
    by: Annotated[str, Field(max_length=120, pattern=COLUMN_PATTERN)] | None = None
    limit: Annotated[int, Field(ge=1, le=listing.MAX_PAGE)] = listing.PAGE
    cursor: Annotated[str, Field(max_length=300)] | None = None

    def selection(self) -> listing.JobSelection:
        return replace(super().selection(), ids=tuple(self.id))

    def column(self) -> str | None:
        """Return the column of an order by value. Raises InvalidInput if one is set alone."""
        if (self.by is None) == (self.order in listing.BY_VALUE):
            problem = "Set `by` with the orders value and value_up, and with no other."
            raise invalid_input([FieldError("by", problem)])
        return self.by


class JobFilterIn(JobFilter):
    """The same filter in a JSON body, where booleans are strict."""

    external: StrictBool | None = None


class JobCount(BaseModel):
    """How many jobs match a filter.

    `by_state` ignores the filter's `state` and `outcome`: the number of jobs by state, or by
    outcome for ended ones; absent ones are 0.
    """

    count: int
    by_state: dict[str, int]


class JobChoice(BaseModel):
    """Jobs by their ids, or all that match a filter; exactly one of the two."""

    model_config = ConfigDict(extra="forbid")

    ids: (
        Annotated[list[JobUuid], Field(min_length=1, max_length=bulk.MAX_JOBS_PER_REQUEST)] | None
    ) = None
    matching: JobFilterIn | None = None

    @model_validator(mode="after")
    def one_of_two(self) -> Self:
        if (self.ids is None) == (self.matching is None):
            raise ValueError("Set either ids or matching, not both.")
        return self

    def selection(self) -> list[str] | listing.JobSelection:
        if self.matching is not None:
            return self.matching.selection()
        return self.ids or []


class UnchangedJob(BaseModel):
    """A job that was not changed, and the reason."""

    id: str
    message: str


class BulkResultOut(BaseModel):
    """The result of a bulk operation.

    `left`: with a filter, how many jobs still match; repeat the request until there are none.
    """

    done: list[str]
    refused: list[UnchangedJob]
    left: int | None

    @classmethod
    def of(cls, done: bulk.BulkResult) -> Self:
        refused = [UnchangedJob(id=job.id, message=job.message) for job in done.refused]
        return cls(done=list(done.done), refused=refused, left=done.left)


class ComparedRun(BaseModel):
    """A job in a comparison.

    `metrics`: the last value of each logged scalar, null for a value that is no longer a number;
    null as a whole if nothing readable was logged, with `metrics_problem` if reading failed.
    """

    job: JobOut
    metrics: dict[str, float | None] | None
    metrics_problem: str | None


class Comparison(BaseModel):
    """Jobs in the requested order; `missing`: ids that are not in the caller's list."""

    items: list[ComparedRun]
    missing: list[str]


@router.get("/jobs")
async def list_jobs(
    user: CurrentUser, context: ContextDep, query: Annotated[JobQuery, Query()]
) -> Page[JobOut]:
    """Return the caller's jobs, in pages."""
    selection, cursor, column = query.selection(), query.cursor or None, query.column()
    if column is not None:
        ascending = query.order is JobOrder.VALUE_UP
        jobs, next_cursor = await listing.page_by_column(
            context, user, selection, column, ascending=ascending, limit=query.limit, cursor=cursor
        )
        return Page[JobOut](items=await jobs_out(context, jobs), next_cursor=next_cursor)
    jobs = await listing.page(context, user, selection, query.limit, query.order, cursor)
    shown = await jobs_out(context, jobs[: query.limit])
    return Page[JobOut](items=shown, next_cursor=listing.cursor_of(jobs, query.order, query.limit))


@router.get("/jobs/count")
async def count_jobs(
    user: CurrentUser, context: ContextDep, query: Annotated[JobFilter, Query()]
) -> JobCount:
    """Return how many of the caller's jobs match a filter, in the given state and in every
    other.
    """
    return JobCount(**vars(await listing.count(context, user, query.selection())))


@router.get("/jobs/compare")
async def compare_jobs(
    user: CurrentUser,
    context: ContextDep,
    id: Annotated[list[JobUuid], Query(min_length=1, max_length=bulk.MAX_COMPARED)],  # noqa: A002
) -> Comparison:
    """Return some of the caller's jobs for comparison, with the last values that each logged."""
    compared = await bulk.compare(context, user, id)
    known = {run.job.id for run in compared}
    return Comparison(
        items=[await _to_compared_run(context, run) for run in compared],
        missing=[key for key in dict.fromkeys(id) if key not in known],
    )


async def _to_compared_run(context: AppContext, run: bulk.ComparedJob) -> ComparedRun:
    (job,) = await jobs_out(context, [run.job])
    metrics = None if run.metrics is None else dict(run.metrics)
    return ComparedRun(job=job, metrics=metrics, metrics_problem=run.problem)


@router.post("/jobs/cancel-many", status_code=202)
async def cancel_jobs(
    body: JobChoice, user: JobsUser, context: ContextDep, by: ByDep
) -> BulkResultOut:
    """Cancel several jobs, at most 500 at once; ended ones are listed in `refused`."""
    return BulkResultOut.of(await bulk.cancel(context, user, body.selection(), by))


@router.post("/jobs/remove-many")
async def remove_jobs(
    body: JobChoice, user: JobsUser, context: ContextDep, by: ByDep
) -> BulkResultOut:
    """Remove several ended jobs from the list, at most 500 at once; their files stay."""
    return BulkResultOut.of(await bulk.remove(context, user, body.selection(), by))
