"""Schemas that sessions and jobs have in common: resources, usage, and their TensorBoard."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from portal.models import Tensorboard, TensorboardState
from portal.services.jobs.sizing_rules import MEASURED_S
from portal.web.fields import Line

Name = Annotated[Line, Field(max_length=64, pattern=r"^[A-Za-z0-9_.+@-]*$")]
"""A name in Slurm.

Commas, colons and the like are excluded because they would end the value of sbatch's option.
"""
Memory = Annotated[float, Field(strict=True, gt=0, le=65536, allow_inf_nan=False)]
MAX_MINUTES = 525_600


def _check_minutes(minutes: int) -> int:
    """Refuse a time limit in terms that also fit a form with hours."""
    if not 1 <= minutes <= MAX_MINUTES:
        raise ValueError("The time limit must be between 1 minute and 365 days.")
    return minutes


Minutes = Annotated[
    int,
    Field(strict=True, json_schema_extra={"minimum": 1, "maximum": MAX_MINUTES}),
    AfterValidator(_check_minutes),
]


class ResourcesIn(BaseModel):
    """The requested resources; omitted ones come from the environment's defaults, then the
    site's.
    """

    model_config = ConfigDict(extra="forbid")

    partition: Name | None = None
    nodes: Annotated[int, Field(strict=True, ge=1, le=1)] | None = None
    gpus: Annotated[int, Field(strict=True, ge=0, le=1024)] | None = None
    gpu_type: Name | None = None
    cpus: Annotated[int, Field(strict=True, ge=1, le=4096)] | None = None
    memory_gb: Memory | None = None
    time_limit_minutes: Minutes | None = None
    account: Name | None = None
    qos: Name | None = None


class JobResourcesIn(ResourcesIn):
    """The requested resources of a job, which may have several nodes, each with these GPUs, CPUs
    and memory.
    """

    nodes: Annotated[int, Field(strict=True, ge=1, le=1024)] | None = None


class ResourcesOut(BaseModel):
    """The resources that a session or job requests from Slurm."""

    partition: str | None
    nodes: int
    gpus: int
    gpu_type: str | None
    cpus: int
    memory_gb: float | None
    time_limit_minutes: int | None
    account: str | None
    qos: str | None


class UsageOut(BaseModel):
    """Usage according to Slurm's accounting.

    For an array: the total of all its tasks, the memory of the largest task and, as `longest_s`,
    the time of the longest task. `max_rss_gb` is null if `memory_too_short` is true: the job ended
    too soon to be measured.
    """

    elapsed_s: int | None = None
    longest_s: int | None = None
    cpu_s: float | None = None
    cpu_efficiency: float | None = None
    max_rss_gb: float | None = None
    memory_too_short: bool = False
    restarts: int = 0

    @classmethod
    def of(cls, used: Mapping[str, Any]) -> Self:
        """Convert a row's usage, without memory that was not measured."""
        longest = used.get("longest_s") or used.get("elapsed_s")
        short = longest is not None and longest < MEASURED_S
        fields = {**used, "max_rss_gb": None} if short else dict(used)
        return cls(**fields, memory_too_short=short)


class TensorboardOut(BaseModel):
    """A TensorBoard; `url`, the portal's page that opens it, is present while it runs."""

    id: str
    state: TensorboardState
    url: str | None
    reason: str | None
    logdir: str

    @classmethod
    def of(cls, board: Tensorboard) -> "TensorboardOut":
        running = board.state is TensorboardState.RUNNING
        return cls(
            id=board.id,
            state=board.state,
            url=f"/tensorboards/{board.id}" if running else None,
            reason=board.reason,
            logdir=board.logdir,
        )
