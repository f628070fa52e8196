"""More time for a running session: how much its owner may add, and the adding.

Slurm lets nobody but an operator lengthen a running job, and holds an operator to nothing: neither
to the partition's longest time, nor to that of an account or a QOS, nor to a reservation that
begins meanwhile. So all of these are looked at here, before the portal's account asks Slurm.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from portal.db import utcnow
from portal.errors import Conflict, FieldError, SlurmRejected, SlurmUnreachable, invalid_input
from portal.models import JobState, Session, User, Wanted
from portal.parts import Parts
from portal.services.audit import audit
from portal.services.changes import RECONCILE
from portal.services.sessions.nodes import known
from portal.services.slurm import launch
from portal.services.store import change
from portal.settings import Settings
from spawner.errors import NotFound, Rejected, SlurmError
from spawner.model import ClusterInfo, JobInfo, ReservationInfo, SlurmState, WallLimit

NOT_RUNNING = "Only a running session can be given more time."
NO_LIMIT = "This session has no time limit."
OFF = "Sessions can't be given more time here."
ENDED = "This session has ended meanwhile."
NO_ANSWER = "Slurm does not answer. Look at the time left in a minute, before you try again."
_MINUTE = timedelta(minutes=1)
_HOUR = 60


@dataclass(frozen=True)
class Extension:
    """How many minutes can be added at once at most; where that is 0, `reason` says why."""

    minutes: int
    reason: str | None = None


@dataclass(frozen=True)
class Bound:
    """The longest that a session can be in all, in minutes from its start, and whose word it is."""

    minutes: int
    because: str


def offered(session: Session, settings: Settings, cluster: ClusterInfo | None) -> Extension:
    """What the site's policy and the partition allow. Pure; Slurm may know of more that bounds it,
    which is asked only when somebody wants to extend."""
    if session.state not in {JobState.STARTING, JobState.RUNNING} or session.wanted is Wanted.STOP:
        return Extension(0, NOT_RUNNING)
    if session.started_at is None or session.expires_at is None:
        return Extension(0, NO_LIMIT)
    if settings.session_extend_minutes == 0:
        return Extension(0, OFF)
    limit = _minutes(session.expires_at - session.started_at)
    most = settings.session_extend_minutes
    for bound in _policy(session, settings, cluster):
        if bound.minutes <= limit:
            return Extension(0, f"{bound.because} This session has that already.")
        most = min(most, bound.minutes - limit)
    return Extension(most)


async def extend(
    parts: Parts, user: User, session: Session, minutes: int, *, ip: str = "", by: str = "portal"
) -> Session:
    """Add time to a session of this user's; `by` is where they asked, for the audit.

    Raises Conflict when no time can be added, InvalidInput for too much of it, SlurmRejected and
    SlurmUnreachable.
    """
    allowed = offered(session, parts.settings, parts.watcher.cluster)
    if allowed.minutes == 0:
        raise Conflict(allowed.reason or "")
    if minutes > allowed.minutes:
        text = f"At most {spoken(allowed.minutes)} can be added at once."
        raise invalid_input([FieldError("minutes", text)])
    launch.check_slurm_answers(parts)
    info = known(parts, session)
    if info is None or info.state is not SlurmState.RUNNING:
        raise Conflict(NOT_RUNNING)
    if info.time_limit_minutes is None:
        raise Conflict(NO_LIMIT)
    await _ask_slurm(parts, info, info.time_limit_minutes, minutes)
    changed = await _written(parts, session, info, info.time_limit_minutes + minutes)
    await _record(parts, user, session, info.time_limit_minutes, minutes, ip, by)
    parts.changes.notify(session.user_id, session.id, RECONCILE)
    return changed


async def _ask_slurm(parts: Parts, info: JobInfo, limit: int, minutes: int) -> None:
    """Change the limit, unless something that Slurm knows stands in the way."""
    try:
        bounds = [
            *map(_wall, await parts.slurm.walls(info)),
            *_reserved(info, await parts.slurm.reservations(), utcnow()),
        ]
        _keep_to(bounds, limit, minutes)
        await parts.slurm.set_time_limit(info.job_id, limit + minutes)
    except NotFound as error:
        raise Conflict(ENDED) from error
    except Rejected as error:
        raise SlurmRejected(f"{error.message} {error.advice or ''}".strip()) from error
    except SlurmError as error:
        raise SlurmUnreachable(NO_ANSWER) from error


def _keep_to(bounds: Sequence[Bound], limit: int, minutes: int) -> None:
    """Raises for what would be longer than the narrowest of these allows."""
    narrowest = min(bounds, key=lambda bound: bound.minutes, default=None)
    if narrowest is None or limit + minutes <= narrowest.minutes:
        return
    spare = narrowest.minutes - limit
    if spare <= 0:
        raise Conflict(f"{narrowest.because} So this session can't be given more time.")
    text = f"{narrowest.because} So at most {spoken(spare)} can be added."
    raise invalid_input([FieldError("minutes", text)])


def _policy(session: Session, settings: Settings, cluster: ClusterInfo | None) -> Iterator[Bound]:
    """The site's own bound, and the partition's."""
    if settings.session_max_hours is not None:
        most = int(settings.session_max_hours * _HOUR)
        yield Bound(most, f"Sessions last at most {spoken(most)} here.")
    wanted = session.resources.get("partition")
    for partition in cluster.partitions if cluster else ():
        chosen = partition.name == wanted or (wanted is None and partition.default)
        if chosen and partition.max_time_minutes is not None:
            most = partition.max_time_minutes
            yield Bound(most, f"Partition {partition.name} allows at most {spoken(most)}.")


def _wall(wall: WallLimit) -> Bound:
    whose = "Your account" if wall.kind == "account" else "The QOS"
    return Bound(wall.minutes, f"{whose} {wall.name} allows at most {spoken(wall.minutes)}.")


def _reserved(
    info: JobInfo, reservations: Sequence[ReservationInfo], now: datetime
) -> Iterator[Bound]:
    """Reservations of the job's nodes that are not over: the job should have ended when one
    begins."""
    for kept in reservations:
        nodes = [node for node in info.nodes if node in kept.nodes]
        if not nodes or kept.end <= now or info.start_time is None:
            continue
        what = "kept for maintenance" if kept.maintenance else "reserved for others"
        since = f"{kept.start:%d %B, %H:%M} UTC".lstrip("0")
        yield Bound(_minutes(kept.start - info.start_time), f"{nodes[0]} is {what} from {since}.")


async def _written(parts: Parts, session: Session, info: JobInfo, limit: int) -> Session:
    """The row with its new end: as Slurm shows it now, or as it has just taken it."""
    await parts.watcher.look()
    seen = known(parts, session)
    started = info.start_time
    if seen is not None and seen != info and seen.time_limit_minutes is not None:
        started, limit = seen.start_time, seen.time_limit_minutes

    def apply(row: Session) -> None:
        if row.state is not JobState.ENDED and started is not None:
            row.expires_at = started + limit * _MINUTE

    return await change(parts.db, Session, session.id, apply) or session


async def _record(
    parts: Parts, user: User, session: Session, limit: int, minutes: int, ip: str, by: str
) -> None:
    times = {"time_limit_minutes": limit}, {"time_limit_minutes": limit + minutes}
    detail = {"minutes": minutes, "by": by, **audit.changed(*times)}
    target = f"{session.user.username}/{session.name}"
    async with parts.db.session() as db:
        audit.record(
            db, audit.Action.SESSION_EXTEND, actor=user, target=target, detail=detail, ip=ip
        )
        await db.commit()


def _minutes(span: timedelta) -> int:
    return int(span / _MINUTE)


def spoken(minutes: int) -> str:
    """`1 hour 30 minutes`."""
    hours, rest = divmod(minutes, _HOUR)
    parts = [(hours, "hour"), (rest, "minute")]
    said = [f"{count} {unit}{'' if count == 1 else 's'}" for count, unit in parts if count]
    return " ".join(said) or "0 minutes"
