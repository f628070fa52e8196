"""When a job would start: Slurm's own forecast, asked as the user, and what would be cheaper.

Each question costs Slurm a job id and a turn of its scheduler, so answers are kept for a while and
questions are counted, for each user and for all. What the forecast can't see, limits of accounts
and QOS, is said as far as the queue shows them.
"""

from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from portal.db import utcnow
from portal.errors import (
    LauncherProblem,
    PortalError,
    SlurmUnreachable,
    TooManyQuestions,
)
from portal.models import User
from portal.parts import Parts
from portal.services.jobs import recipes
from portal.services.jobs.recipes import PREVIEW
from portal.services.limits import allowances
from portal.services.sessions.sessions import named, usable_environment
from portal.services.slurm import launch
from portal.services.slurm.feasible import impossible
from spawner.errors import LauncherUnavailable, Rejected, SpawnerError, Unreachable
from spawner.model import JobInfo, JobSpec, Resources, SlurmState

MOST_ALTERNATIVES = 3
NOW = timedelta(seconds=60)
MEANINGFUL = timedelta(minutes=1)  # an alternative must start earlier by more than this

STARTS_NOW = "There is room for this now."
FORECAST = (
    "Slurm's forecast, from the time limits of what runs and waits. It comes true earlier when "
    "jobs end before their limit, and later when jobs of higher priority come."
)
NO_NODE = "no-such-node"
NO_FORECAST = "Slurm can't say when this would start."
AWAY = "{why}, so there is no forecast at the moment. You can try to start this all the same."
LIMITED = (
    "Jobs of your account are waiting because of a limit ({limits}). The forecast doesn't know "
    "such limits: this may start later."
)


@dataclass(frozen=True)
class Alternative:
    title: str
    resources: dict[str, Any]
    start_at: datetime


@dataclass(frozen=True)
class Estimate:
    start_at: datetime | None
    seconds: int | None
    certain: bool
    note: str
    alternatives: list[Alternative] = field(default_factory=list)


async def estimate(
    parts: Parts, user: User, asked: dict[str, Any], template: str | None, environment: str | None
) -> Estimate:
    """The forecast for these resources; raises InvalidInput for what can never run, SlurmRejected
    with Slurm's reason, TooManyQuestions."""
    chosen = recipes.template(parts, template) if template else None
    known = parts.catalog.environments.get(chosen.environment) if chosen else None
    if environment and (chosen is None or chosen.environments):
        known = usable_environment(parts, environment)
    resources = recipes.resources_for(parts, asked, chosen, known)
    resources, _ = await allowances.fit(parts, user, resources, named(asked))
    try:
        start_at = await _forecast(parts, user, resources)
    except SpawnerError as error:
        raise _explained(error) from error
    now = utcnow()
    limits = _limits(parts, user, resources)
    soon = start_at is not None and start_at - now < NOW
    first = NO_FORECAST if start_at is None else STARTS_NOW if soon else FORECAST
    note = " ".join([first, *([LIMITED.format(limits=", ".join(limits))] if limits else [])])
    others = [] if soon or start_at is None else await _cheaper(parts, user, resources, start_at)
    seconds = max(0, round((start_at - now).total_seconds())) if start_at else None
    return Estimate(start_at, seconds, soon and not limits, note, others)


def _explained(error: SpawnerError) -> PortalError:
    """As for a start, but that nothing was to be started."""
    match error:
        case Unreachable():
            return SlurmUnreachable(AWAY.format(why="Slurm does not answer"))
        case LauncherUnavailable():
            return LauncherProblem(AWAY.format(why="The portal could not ask Slurm for you"))
    return launch.explained(error)


async def _forecast(parts: Parts, user: User, resources: Resources) -> datetime | None:
    """From what is kept, or from Slurm. Raises the spawner's errors, and TooManyQuestions."""
    forecasts = parts.forecasts
    found = forecasts.kept(user.username, resources)
    if found is None:
        if (wait_s := forecasts.wait_s(user.username)) > 0:
            raise TooManyQuestions(int(wait_s) + 1)
        forecasts.count(user.username)
        spec = JobSpec(uuid=PREVIEW, name="estimate", resources=resources, script="")
        try:
            found = (await parts.agents.forecast(user.username, spec),)
        except Rejected as error:
            # Also said of a node that is reserved later on; what no node has was told above.
            found = (None,) if error.code == NO_NODE and parts.watcher.cluster else (error,)
        forecasts.keep(user.username, resources, found[0])
    if isinstance(found[0], Rejected):
        raise found[0]
    return found[0]


def _limits(parts: Parts, user: User, resources: Resources) -> list[str]:
    """Slurm's codes for limits that hold jobs of this user or account at this moment."""

    def concerns(info: JobInfo) -> bool:
        reason = info.reason or ""
        limited = reason.startswith(("Assoc", "QOS"))
        waits = info.state is SlurmState.QUEUED
        same_account = resources.account in {None, info.account}
        mine = info.user == user.username and same_account
        group = reason.startswith("AssocGrp") and info.account == resources.account
        return waits and limited and (mine or group)

    return sorted({i.reason for i in parts.watcher.jobs.values() if i.reason and concerns(i)})[:3]


async def _cheaper(
    parts: Parts, user: User, resources: Resources, start_at: datetime
) -> list[Alternative]:
    """Up to three smaller wishes that would start earlier, the earliest first."""
    found: list[Alternative] = []
    for title, other in smaller(parts, resources):
        if parts.forecasts.wait_s(user.username) > 0 and not parts.forecasts.kept(
            user.username, other
        ):
            break
        try:
            at = await _forecast(parts, user, other)
        except SpawnerError:
            continue  # what Slurm refuses is no alternative
        if at is not None and start_at - at > MEANINGFUL:
            found.append(Alternative(title, asdict(other), at))
    return sorted(found, key=lambda a: a.start_at)[:MOST_ALTERNATIVES]


def smaller(parts: Parts, resources: Resources) -> list[tuple[str, Resources]]:
    """Cheaper wishes that can run at all: fewer GPUs, a shorter time, another partition."""
    wishes: list[tuple[str, Resources]] = []
    if resources.gpus > 1:
        half = resources.gpus // 2
        title = f"{half} GPU{'s' if half > 1 else ''} instead of {resources.gpus}"
        wishes.append((title, replace(resources, gpus=half)))
    if resources.nodes > 1:
        half = resources.nodes // 2
        title = f"{half} node{'s' if half > 1 else ''} instead of {resources.nodes}"
        wishes.append((title, replace(resources, nodes=half)))
    if resources.gpu_type:
        wishes.append(("Any type of GPU", replace(resources, gpu_type=None)))
    if resources.time_limit_minutes and resources.time_limit_minutes > 30:
        minutes = max(30, resources.time_limit_minutes // 4)
        shorter = replace(resources, time_limit_minutes=minutes)
        wishes.append((f"{minutes} minutes at most", shorter))
    cluster = parts.watcher.cluster
    for partition in cluster.partitions if cluster else ():
        if partition.name != resources.partition and partition.state == "UP":
            most = partition.max_time_minutes
            limit = resources.time_limit_minutes
            short = min(limit, most) if limit and most else limit or most
            other = replace(resources, partition=partition.name, time_limit_minutes=short)
            words = f", for {short} minutes at most" if short != limit else ""
            wishes.append((f"Partition {partition.name}{words}", other))
    return [(title, wish) for title, wish in wishes if not impossible(wish, cluster)][:4]
