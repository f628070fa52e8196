"""What a session uses over time: told by its node program, shown to its owner."""

from datetime import UTC, datetime
from typing import Annotated, Any, Self

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, model_validator

from portal.api.deps import CurrentUser, PartsDep
from portal.api.job_views import UsageOut
from portal.models import Session, SessionUse
from portal.services.sessions import sessions, uses

router = APIRouter(tags=["sessions"])

MOST_POINTS = 256
MOST_GPUS = 16
A_YEAR_S = 366 * 86_400
MOST_MB = 1 << 30
"""A thousand terabytes."""

Megabytes = Annotated[float, Field(ge=0, le=MOST_MB, allow_inf_nan=False)]
Busy = Annotated[float, Field(ge=0, le=65_536, allow_inf_nan=False)]
Percent = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
Column = Field(max_length=MOST_POINTS)


class GpuUse(BaseModel):
    """One GPU's columns; null is what its driver didn't tell."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(max_length=100)]
    use_percent: Annotated[list[Percent | None], Column]
    memory_mb: Annotated[list[Megabytes | None], Column]
    memory_total_mb: Megabytes | None = None


class UseIn(BaseModel):
    """Columns of equal length, a place for each point: how many seconds ago it began, and what was
    used from there on for `step_s` seconds. Memory is the most that was held, the rest are means;
    null is what couldn't be measured, `gpus` null: nothing tells of them. `idle_s` is for how long
    nothing has run; null where that isn't known."""

    model_config = ConfigDict(extra="forbid")

    ages_s: Annotated[list[Annotated[int, Field(ge=0, le=A_YEAR_S)]], Column]
    step_s: Annotated[int, Field(ge=1, le=A_YEAR_S)]
    memory_mb: Annotated[list[Megabytes | None], Column]
    cpus: Annotated[list[Busy | None], Column]
    memory_limit_mb: Megabytes | None = None
    gpus: Annotated[list[GpuUse], Field(max_length=MOST_GPUS)] | None = None
    idle_s: Annotated[int, Field(ge=0, le=A_YEAR_S)] | None = None

    @model_validator(mode="after")
    def _even(self) -> Self:
        columns: list[list[Any]] = [self.memory_mb, self.cpus]
        for gpu in self.gpus or ():
            columns += [gpu.use_percent, gpu.memory_mb]
        if any(len(column) != len(self.ages_s) for column in columns):
            raise ValueError("the columns are not of equal length")
        if self.ages_s != sorted(self.ages_s, reverse=True):
            raise ValueError("the points are not in the order of time")
        return self


class SessionUseOut(BaseModel):
    """What a session has used. `at` is when each point began, in seconds since 1970; `told_at` when
    its node told it last, null: it hasn't yet. `total` is what Slurm's accounting says after the
    end, null until it does."""

    told_at: datetime | None
    step_s: int | None
    at: list[int]
    memory_mb: list[float | None]
    cpus: list[float | None]
    memory_limit_mb: float | None
    gpus: list[GpuUse] | None
    total: UsageOut | None


@router.get("/sessions/{session_id}/use")
async def session_use(session_id: str, user: CurrentUser, parts: PartsDep) -> SessionUseOut:
    """What one of the caller's sessions uses, and has used; while somebody asks for it now and
    then, its node tells it every ten seconds, else every half minute."""
    session = await sessions.get(parts, user, session_id)
    return use_out(session, await uses.look(parts, session))


def use_out(session: Session, told: SessionUse | None) -> SessionUseOut:
    """Both sources side by side."""
    total = UsageOut(**session.usage) if session.usage else None
    if told is None:
        return SessionUseOut(
            told_at=None, step_s=None, at=[], memory_mb=[], cpus=[], memory_limit_mb=None,
            gpus=None, total=total,
        )  # fmt: skip
    series = UseIn.model_validate(told.series)
    now = told.told_at.replace(microsecond=0).astimezone(UTC).timestamp()
    return SessionUseOut(
        told_at=told.told_at,
        step_s=series.step_s,
        at=[int(now) - age for age in series.ages_s],
        memory_mb=series.memory_mb,
        cpus=series.cpus,
        memory_limit_mb=series.memory_limit_mb,
        gpus=series.gpus,
        total=total,
    )
