"""Route of a session's usage over time, as reported by its node program."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Self

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, model_validator

from portal.api.common_schemas import UsageOut
from portal.models import Session, SessionMeasurements
from portal.services.sessions import measurements, sessions
from portal.web.dependencies import ContextDep, CurrentUser

router = APIRouter(tags=["sessions"])

MAX_POINTS = 256
MAX_GPUS = 16
A_YEAR_S = 366 * 86_400
MAX_MB = 1 << 30
"""In MB: 1,024 terabytes."""

Megabytes = Annotated[float, Field(strict=True, ge=0, le=MAX_MB, allow_inf_nan=False)]
BusyCpus = Annotated[float, Field(strict=True, ge=0, le=65_536, allow_inf_nan=False)]
Percent = Annotated[float, Field(strict=True, ge=0, le=100, allow_inf_nan=False)]
Column = Field(max_length=MAX_POINTS)


class GpuUse(BaseModel):
    """The columns of one GPU; null for values that its driver did not report."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(max_length=100)]
    use_percent: list[Percent | None]
    memory_mb: list[Megabytes | None]
    memory_total_mb: Megabytes | None = None


class GpuUseIn(GpuUse):
    """The reported columns of one GPU."""

    use_percent: Annotated[list[Percent | None], Column]
    memory_mb: Annotated[list[Megabytes | None], Column]


class UseIn(BaseModel):
    """A report of usage, as columns of equal length with one value per point.

    `ages_s` is how many seconds ago each point began; the values cover the `step_s` seconds from
    there. Memory is the maximum, the rest are means; null is a failed measurement, `gpus` null: no
    data about GPUs. `idle_s` is for how long nothing has run; null if unknown. `killed_s` is how
    long ago a process was last killed because the session ran out of memory.
    """

    model_config = ConfigDict(extra="forbid")

    ages_s: Annotated[list[Annotated[int, Field(strict=True, ge=0, le=A_YEAR_S)]], Column]
    step_s: Annotated[int, Field(strict=True, ge=1, le=A_YEAR_S)]
    memory_mb: Annotated[list[Megabytes | None], Column]
    cpus: Annotated[list[BusyCpus | None], Column]
    memory_limit_mb: Megabytes | None = None
    gpus: Annotated[list[GpuUseIn], Field(max_length=MAX_GPUS)] | None = None
    idle_s: Annotated[int, Field(strict=True, ge=0, le=A_YEAR_S)] | None = None
    killed_s: Annotated[int, Field(strict=True, ge=0, le=A_YEAR_S)] | None = None

    @model_validator(mode="after")
    def _check_columns(self) -> Self:
        columns: list[list[Any]] = [self.memory_mb, self.cpus]
        for gpu in self.gpus or ():
            columns += [gpu.use_percent, gpu.memory_mb]
        if any(len(column) != len(self.ages_s) for column in columns):
            raise ValueError("the columns are not of equal length")
        if self.ages_s != sorted(self.ages_s, reverse=True):
            raise ValueError("the points are not in the order of time")
        return self


class SessionUseOut(BaseModel):
    """The usage of a session.

    `at` is when each point began, in seconds since 1970; `reported_at` the time of the last report,
    null: none yet. `total` is from Slurm's accounting after the end, null until then.
    `memory_killed_at`: when a process of the session, such as a notebook's kernel, was last killed
    because the session ran out of memory.
    """

    reported_at: datetime | None
    step_s: int | None
    at: list[int]
    memory_mb: list[float | None]
    cpus: list[float | None]
    memory_limit_mb: float | None
    gpus: list[GpuUse] | None
    memory_killed_at: datetime | None
    total: UsageOut | None


@router.get("/sessions/{session_id}/use")
async def session_use(session_id: str, user: CurrentUser, context: ContextDep) -> SessionUseOut:
    """Return the usage of one of the caller's sessions.

    While this is requested now and then, the node reports every ten seconds, otherwise every half
    minute.
    """
    session = await sessions.get(context, user, session_id)
    return measurements_out(session, await measurements.load_measurements(context, session))


def measurements_out(session: Session, report: SessionMeasurements | None) -> SessionUseOut:
    """Combine the node's report with Slurm's accounting."""
    total = UsageOut.of(session.usage) if session.usage else None
    if report is None:
        return SessionUseOut(
            reported_at=None, step_s=None, at=[], memory_mb=[], cpus=[], memory_limit_mb=None,
            gpus=None, memory_killed_at=None, total=total,
        )  # fmt: skip
    series = UseIn.model_validate(report.series)
    reported_at = report.reported_at.replace(microsecond=0)
    return SessionUseOut(
        reported_at=report.reported_at,
        step_s=series.step_s,
        at=[int(reported_at.timestamp()) - age for age in series.ages_s],
        memory_mb=series.memory_mb,
        cpus=series.cpus,
        memory_limit_mb=series.memory_limit_mb,
        gpus=None if series.gpus is None else [*series.gpus],
        memory_killed_at=(
            None if series.killed_s is None else reported_at - timedelta(seconds=series.killed_s)
        ),
        total=total,
    )
