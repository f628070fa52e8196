"""Many jobs: one's list with its filters, its length, several at once, and runs side by side."""

from typing import Annotated, Self

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from portal.api.deps import ByDep, CurrentUser, JobsUser, PartsDep
from portal.api.job_views import JobOut, jobs_out
from portal.parts import Parts
from portal.services.jobs import listing, together
from portal.services.jobs.listing import Order, Which
from spawner.model import Outcome

router = APIRouter(tags=["jobs"])
JobId = Annotated[str, Field(min_length=1, max_length=36)]


class JobFilter(BaseModel):
    """Which of the caller's jobs. `q` is found in names and Slurm's ids; an empty `template` stands
    for those of no template; `since` and `until` bound when they were submitted."""

    model_config = ConfigDict(extra="forbid")

    state: Which = "all"
    outcome: Annotated[list[Outcome], Field(max_length=len(Outcome))] = []
    template: Annotated[str, Field(max_length=100)] | None = None
    q: Annotated[str, Field(max_length=200)] | None = None
    external: bool | None = None
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None

    def wanted(self) -> listing.Filter:
        return listing.Filter(
            state=self.state,
            outcomes=tuple(self.outcome),
            template=self.template,
            q=self.q,
            external=self.external,
            since=self.since,
            until=self.until,
        )


class JobQuery(JobFilter):
    """A page of them; `order` `ended`: those that have ended, the last one first."""

    order: Order = Order.NEWEST
    cursor: Annotated[str, Field(max_length=300)] | None = None


class JobPage(BaseModel):
    """Jobs in the order that was asked for; `next_cursor` asks for those that follow."""

    items: list[JobOut]
    next_cursor: str | None = None


class JobCount(BaseModel):
    count: int


class Chosen(BaseModel):
    """Jobs by their ids, or all that a filter lets through; one of the two."""

    model_config = ConfigDict(extra="forbid")

    ids: Annotated[list[JobId], Field(min_length=1, max_length=together.AT_ONCE)] | None = None
    matching: JobFilter | None = None

    @model_validator(mode="after")
    def one_of_two(self) -> Self:
        if (self.ids is None) == (self.matching is None):
            raise ValueError("Say either which jobs (ids) or what they have in common (matching).")
        return self

    def wanted(self) -> list[str] | listing.Filter:
        if self.matching is not None:
            return self.matching.wanted()
        return self.ids or []


class LeftAlone(BaseModel):
    """A job that stayed as it is, and why."""

    id: str
    message: str


class ManyDone(BaseModel):
    """What became of several jobs. `left`: of a filter, how many it would still reach; ask again
    until there is none."""

    done: list[str]
    refused: list[LeftAlone]
    left: int | None

    @classmethod
    def of(cls, done: together.Done) -> Self:
        refused = [LeftAlone(id=left.id, message=left.message) for left in done.refused]
        return cls(done=list(done.done), refused=refused, left=done.left)


class ComparedRun(BaseModel):
    """A job beside others. `metrics`: the last value of each scalar it has logged, null for what
    is no number any more; null altogether where it has logged nothing that could be read, with
    `metrics_problem` where that failed."""

    job: JobOut
    metrics: dict[str, float | None] | None
    metrics_problem: str | None


class Comparison(BaseModel):
    """Runs in the order in which they were asked for; `missing`: ids that are not on the caller's
    list."""

    items: list[ComparedRun]
    missing: list[str]


@router.get("/jobs")
async def list_jobs(
    user: CurrentUser, parts: PartsDep, asked: Annotated[JobQuery, Query()]
) -> JobPage:
    """The caller's jobs, page by page."""
    found = await listing.page(
        parts, user, asked.wanted(), order=asked.order, cursor=asked.cursor or None
    )
    shown = await jobs_out(parts, found[: listing.PAGE])
    return JobPage(items=shown, next_cursor=listing.cursor_of(found, asked.order))


@router.get("/jobs/count")
async def count_jobs(
    user: CurrentUser, parts: PartsDep, asked: Annotated[JobFilter, Query()]
) -> JobCount:
    """How many of the caller's jobs a filter lets through."""
    return JobCount(count=await listing.count(parts, user, asked.wanted()))


@router.get("/jobs/compare")
async def compare_jobs(
    user: CurrentUser,
    parts: PartsDep,
    id: Annotated[list[JobId], Query(min_length=1, max_length=together.MOST_COMPARED)],  # noqa: A002
) -> Comparison:
    """Some of the caller's jobs side by side, with what each has logged last."""
    found = await together.compare(parts, user, id)
    known = {one.job.id for one in found}
    return Comparison(
        items=[await _compared(parts, one) for one in found],
        missing=[key for key in dict.fromkeys(id) if key not in known],
    )


async def _compared(parts: Parts, one: together.Compared) -> ComparedRun:
    (job,) = await jobs_out(parts, [one.job])
    metrics = None if one.metrics is None else dict(one.metrics)
    return ComparedRun(job=job, metrics=metrics, metrics_problem=one.problem)


@router.post("/jobs/cancel-many", status_code=202)
async def cancel_jobs(body: Chosen, user: JobsUser, parts: PartsDep, by: ByDep) -> ManyDone:
    """End several jobs, 500 at once at most; those that have ended are named in `refused`."""
    return ManyDone.of(await together.cancel(parts, user, body.wanted(), by))


@router.post("/jobs/remove-many")
async def remove_jobs(body: Chosen, user: JobsUser, parts: PartsDep, by: ByDep) -> ManyDone:
    """Take several ended jobs off the list, 500 at once at most; their files stay."""
    return ManyDone.of(await together.remove(parts, user, body.wanted(), by))
