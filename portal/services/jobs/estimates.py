"""Start time estimates: Slurm's own forecast, requested as the user, and cheaper alternatives.

Each request costs Slurm a job ID and work of its scheduler, so answers are cached for a while, and
requests are rate-limited, per user and in total. Limits of accounts and QOS, which the forecast
does not consider, are reported as far as the queue shows them.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from portal.context import AppContext
from portal.db import utcnow
from portal.errors import (
    LauncherProblem,
    PortalError,
    SlurmUnreachable,
    TooManyQuestions,
)
from portal.models import User
from portal.services.catalog.available import find_environment
from portal.services.catalog.feasible import find_impossible
from portal.services.catalog.resources import explicit_names
from portal.services.jobs import prepare
from portal.services.jobs.forecasts import RESERVED_FOR_FORM
from portal.services.jobs.prepare import PREVIEW_UUID
from portal.services.limits import allowances
from portal.services.slurm import launch
from spawner.durations import format_minutes
from spawner.errors import LauncherUnavailable, Rejected, SpawnerError, Unreachable
from spawner.slurm.model import JobInfo, JobPhase, JobSpec, Resources

MAX_ALTERNATIVES = 3
STARTS_NOW_WITHIN = timedelta(seconds=60)
MIN_GAIN = timedelta(minutes=1)  # an alternative must start earlier by more than this

STARTS_NOW = "Enough resources are free now."
FORECAST = (
    "Slurm's forecast, based on the time limits of running and waiting jobs. The job may start "
    "earlier if jobs end before their limit, or later if jobs with higher priority are submitted."
)
NO_NODE = "no-such-node"
NO_FORECAST = "Slurm can't estimate when this would start."
NO_ANSWER = "{why}, so no forecast is available. You can still submit this."
LIMITED = (
    "Jobs in your account are waiting because of a limit ({limits}). The forecast does not "
    "include such limits, so this may start later."
)


@dataclass(frozen=True)
class Alternative:
    """Other resources, and when a job with them would start. `title` is shown to the user."""

    title: str
    resources: dict[str, Any]
    start_at: datetime


@dataclass(frozen=True)
class Estimate:
    """A start time and the seconds until then, None if unknown, with a sentence about it.

    `certain`: enough resources are free now, and no limit is known to hold the job back.
    """

    start_at: datetime | None
    seconds: int | None
    certain: bool
    note: str
    alternatives: list[Alternative] = field(default_factory=list)


async def estimate(
    context: AppContext,
    user: User,
    requested: dict[str, Any],
    template: str | None,
    environment: str | None,
) -> Estimate:
    """Return the forecast for these resources. Raises InvalidInput for resources that can never
    run, SlurmRejected with Slurm's reason, TooManyQuestions.
    """
    resources = await _complete(context, user, requested, template, environment)
    try:
        start_at = await _get_forecast(context, user, resources)
    except SpawnerError as error:
        raise _to_error(context, user, resources, error) from error
    now = utcnow()
    limits = _find_limits(context, user, resources)
    soon = start_at is not None and start_at - now < STARTS_NOW_WITHIN
    first = NO_FORECAST if start_at is None else STARTS_NOW if soon else FORECAST
    note = " ".join([first, *([LIMITED.format(limits=", ".join(limits))] if limits else [])])
    alternatives = (
        []
        if soon or start_at is None
        else await _find_alternatives(context, user, resources, start_at)
    )
    seconds = max(0, round((start_at - now).total_seconds())) if start_at else None
    return Estimate(start_at, seconds, soon and not limits, note, alternatives)


async def estimate_choices(
    context: AppContext,
    user: User,
    choices: Sequence[dict[str, Any]],
    template: str | None,
    environment: str | None,
) -> list[datetime | None]:
    """Return the forecast for each of several requests; None if it is unknown.

    Refused requests and those beyond the rate limit have no forecast, so that a page shows the
    others. Equal requests are sent to Slurm once.
    """
    starts: list[datetime | None] = []
    for requested in choices:
        try:
            resources = await _complete(context, user, requested, template, environment)
            starts.append(await _get_forecast(context, user, resources, RESERVED_FOR_FORM))
        except (SpawnerError, PortalError):
            starts.append(None)
    return starts


async def _complete(
    context: AppContext,
    user: User,
    requested: dict[str, Any],
    template: str | None,
    environment: str | None,
) -> Resources:
    """Return the resources that a submission would request. Raises InvalidInput."""
    chosen = prepare.get_template(context, template) if template else None
    chosen_environment = context.catalog.environments.get(chosen.environment) if chosen else None
    if environment and (chosen is None or chosen.environments):
        chosen_environment = find_environment(context, environment)
    resources = prepare.complete_resources(context, requested, chosen, chosen_environment)
    resources, _ = await allowances.adjust_and_check(
        context, user, resources, explicit_names(requested)
    )
    return resources


def _to_error(
    context: AppContext, user: User, resources: Resources, error: SpawnerError
) -> PortalError:
    """Convert an error as for a submission, but with texts for a forecast."""
    match error:
        case Unreachable():
            return SlurmUnreachable(NO_ANSWER.format(why="Slurm doesn't answer"))
        case LauncherUnavailable():
            return LauncherProblem(NO_ANSWER.format(why="The portal could not query Slurm for you"))
    return launch.to_submission_error(context, user.username, resources, error)


async def _get_forecast(
    context: AppContext, user: User, resources: Resources, spare: int = 0
) -> datetime | None:
    """Return the cached forecast, or request it from Slurm. Raises the spawner's errors, and
    TooManyQuestions if the rate limit would leave fewer than `spare` requests.
    """
    forecasts = context.forecasts
    answer = forecasts.get(user.username, resources)
    if answer is None:
        if (wait_s := forecasts.wait_s(user.username, spare)) > 0:
            raise TooManyQuestions(int(wait_s) + 1)
        forecasts.count(user.username)
        spec = JobSpec(uuid=PREVIEW_UUID, name="estimate", resources=resources, script="")
        try:
            answer = (await context.launchers.forecast(user.username, spec),)
        except Rejected as error:
            # Slurm reports this also for a node that is reserved later on; resources that no node
            # has were refused above.
            answer = (None,) if error.code == NO_NODE and context.watcher.cluster else (error,)
        forecasts.put(user.username, resources, answer[0])
    if isinstance(answer[0], Rejected):
        raise answer[0]
    return answer[0]


def _find_limits(context: AppContext, user: User, resources: Resources) -> list[str]:
    """Return up to three of Slurm's codes for the limits that now hold back jobs of this user or
    account.
    """

    def concerns(info: JobInfo) -> bool:
        reason = info.reason or ""
        limited = reason.startswith(("Assoc", "QOS"))
        waits = info.phase is JobPhase.QUEUED
        same_account = resources.account in {None, info.account}
        is_own = info.user == user.username and same_account
        group = reason.startswith("AssocGrp") and info.account == resources.account
        return waits and limited and (is_own or group)

    return sorted({i.reason for i in context.watcher.jobs.values() if i.reason and concerns(i)})[:3]


async def _find_alternatives(
    context: AppContext, user: User, resources: Resources, start_at: datetime
) -> list[Alternative]:
    """Return up to three of `list_smaller_requests` that would start earlier, the earliest
    first.
    """
    alternatives: list[Alternative] = []
    for title, smaller_request in list_smaller_requests(context, resources):
        if context.forecasts.wait_s(user.username) > 0 and not context.forecasts.get(
            user.username, smaller_request
        ):
            break
        try:
            earlier = await _get_forecast(context, user, smaller_request)
        except SpawnerError:
            continue  # a request that Slurm refuses is no alternative
        if earlier is not None and start_at - earlier > MIN_GAIN:
            alternatives.append(Alternative(title, asdict(smaller_request), earlier))
    return sorted(alternatives, key=lambda a: a.start_at)[:MAX_ALTERNATIVES]


def list_smaller_requests(context: AppContext, resources: Resources) -> list[tuple[str, Resources]]:
    """Return up to four requests that may start earlier and can run at all: fewer GPUs or nodes,
    any type of GPU, a shorter time, another partition.
    """
    requests: list[tuple[str, Resources]] = []
    if resources.gpus > 1:
        half = resources.gpus // 2
        title = f"{half} GPU{'s' if half > 1 else ''} instead of {resources.gpus}"
        requests.append((title, replace(resources, gpus=half)))
    if resources.nodes > 1:
        half = resources.nodes // 2
        title = f"{half} node{'s' if half > 1 else ''} instead of {resources.nodes}"
        requests.append((title, replace(resources, nodes=half)))
    if resources.gpu_type:
        requests.append(("Any type of GPU", replace(resources, gpu_type=None)))
    if resources.time_limit_minutes and resources.time_limit_minutes > 30:
        minutes = max(30, resources.time_limit_minutes // 4)
        shorter = replace(resources, time_limit_minutes=minutes)
        requests.append((f"At most {format_minutes(minutes)}", shorter))
    cluster = context.watcher.cluster
    for partition in cluster.partitions if cluster else ():
        if partition.name != resources.partition and partition.state == "UP":
            most = partition.max_time_minutes
            limit = resources.time_limit_minutes
            short = min(limit, most) if limit and most else limit or most
            moved = replace(resources, partition=partition.name, time_limit_minutes=short)
            words = f", at most {format_minutes(short)}" if short and short != limit else ""
            requests.append((f"Partition {partition.name}{words}", moved))
    return [
        (title, request) for title, request in requests if not find_impossible(request, cluster)
    ][:4]
