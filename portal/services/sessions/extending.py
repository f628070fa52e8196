"""Extension of a running session's time limit: policy, and the change in Slurm.

Slurm lets only an operator lengthen a running job, and does not check an operator's change
against any bound: not the partition's maximum time, not that of an account or a QOS, and not a
reservation that begins before the new end. So all of these are checked here before the portal's
account asks Slurm.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from weakref import WeakValueDictionary

from portal.background.notifier import RECONCILE
from portal.config.settings import Settings
from portal.context import AppContext
from portal.db import utcnow
from portal.errors import Conflict, FieldError, SlurmRejected, SlurmUnreachable, invalid_input
from portal.models import JobState, Session, User, Wanted
from portal.services.audit import audit
from portal.services.cluster.reservations import is_for
from portal.services.slurm import launch
from portal.services.slurm.job_identity import find_job
from portal.services.slurm.placement import find_last_state
from portal.services.store import update_row
from spawner.durations import format_minutes
from spawner.errors import JobNotFound, Rejected, SlurmError
from spawner.slurm.model import ClusterInfo, JobInfo, JobPhase, ReservationInfo, WallLimit

NOT_RUNNING = "Only a running session can be extended."
NO_LIMIT = "This session has no time limit."
OFF = "Sessions can't be extended on this portal."
ENDED = "This session has already ended."
NO_ANSWER = "Slurm doesn't answer. Check the remaining time in a minute before you try again."
_MINUTE = timedelta(minutes=1)
_MINUTES_PER_HOUR = 60
_LOCKS: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
"""By session: each extension reads the limit that the previous one has set."""


@dataclass(frozen=True)
class Extension:
    """Maximum number of minutes that can be added at once; `reason` explains a maximum of 0."""

    minutes: int
    reason: str | None = None


@dataclass(frozen=True)
class Bound:
    """The longest total duration of a session in minutes from its start, and the reason for it."""

    minutes: int
    because: str


def compute_extension(
    session: Session, settings: Settings, cluster: ClusterInfo | None
) -> Extension:
    """Return what the site's policy and the partition allow. Pure. Slurm may have narrower bounds,
    which are queried only when the user extends the session.
    """
    if session.state not in {JobState.STARTING, JobState.RUNNING} or session.wanted is Wanted.STOP:
        return Extension(0, NOT_RUNNING)
    if session.started_at is None or session.expires_at is None:
        return Extension(0, NO_LIMIT)
    if settings.session_extend_minutes == 0:
        return Extension(0, OFF)
    limit = _to_minutes(session.expires_at - session.started_at)
    most = settings.session_extend_minutes
    for bound in _list_policy_bounds(session, settings, cluster):
        if bound.minutes <= limit:
            return Extension(0, f"{bound.because} This session already has that much.")
        most = min(most, bound.minutes - limit)
    return Extension(most)


async def extend(
    context: AppContext,
    user: User,
    session: Session,
    minutes: int,
    *,
    ip: str = "",
    by: str = "portal",
) -> Session:
    """Add time to a session of this user. `by` is the interface that they used, for the audit log.

    Raises Conflict if no time can be added, InvalidInput if it is too much, SlurmRejected and
    SlurmUnreachable.
    """
    async with _LOCKS.setdefault(session.id, asyncio.Lock()):
        async with context.db.session() as db:
            session = await db.get_one(Session, session.id)
        _check_offered(
            compute_extension(session, context.settings, context.watcher.cluster), minutes
        )
        launch.check_slurm_answers(context)
        info = find_last_state(context, session)
        if info is None or info.phase is not JobPhase.RUNNING:
            raise Conflict(NOT_RUNNING)
        limit = await _raise_slurm_limit(context, session, info, minutes)
        changed = await _save_new_end(context, session, info, limit + minutes)
    await _record_extension(context, user, session, limit, minutes, ip, by)
    context.notifier.notify(session.user_id, session.id, RECONCILE)
    return changed


def _check_offered(allowed: Extension, minutes: int) -> None:
    if allowed.minutes == 0:
        raise Conflict(allowed.reason or "")
    if minutes > allowed.minutes:
        text = f"You can add at most {format_minutes(allowed.minutes)} at a time."
        raise invalid_input([FieldError("minutes", text)])


async def _raise_slurm_limit(
    context: AppContext, session: Session, info: JobInfo, minutes: int
) -> int:
    """Change the limit in Slurm, unless a bound that Slurm knows forbids it; return the previous
    one. It is read right before, because an operator may have changed it.
    """
    try:
        bounds = [
            *map(_to_bound, await context.slurm.find_wall_limits(info)),
            *_list_reservation_bounds(info, await context.slurm.reservations(), utcnow()),
        ]
        limit = (await find_job(context, session, info.job_id)).time_limit_minutes
        if limit is None:
            raise Conflict(NO_LIMIT)
        _check_bounds(bounds, limit, minutes)
        await context.block_unless_leader()
        await context.slurm.set_time_limit(info.job_id, limit + minutes)
        return limit
    except JobNotFound as error:
        raise Conflict(ENDED) from error
    except Rejected as error:
        raise SlurmRejected(f"{error.message} {error.suggestion or ''}".strip()) from error
    except SlurmError as error:
        raise SlurmUnreachable(NO_ANSWER) from error


def _check_bounds(bounds: Sequence[Bound], limit: int, minutes: int) -> None:
    """Raise if the new limit exceeds the narrowest of these bounds."""
    narrowest = min(bounds, key=lambda bound: bound.minutes, default=None)
    if narrowest is None or limit + minutes <= narrowest.minutes:
        return
    spare = narrowest.minutes - limit
    if spare <= 0:
        raise Conflict(f"{narrowest.because} So this session can't be extended.")
    text = f"{narrowest.because} So at most {format_minutes(spare)} can be added."
    raise invalid_input([FieldError("minutes", text)])


def _list_policy_bounds(
    session: Session, settings: Settings, cluster: ClusterInfo | None
) -> Iterator[Bound]:
    """Yield the site's own bound and the partition's."""
    if settings.session_max_hours is not None:
        most = int(settings.session_max_hours * _MINUTES_PER_HOUR)
        yield Bound(most, f"Sessions can run for at most {format_minutes(most)}.")
    partition_name = session.resources.get("partition")
    for partition in cluster.partitions if cluster else ():
        chosen = partition.name == partition_name or (partition_name is None and partition.default)
        if chosen and partition.max_time_minutes is not None:
            most = partition.max_time_minutes
            yield Bound(most, f"Partition {partition.name} allows at most {format_minutes(most)}.")


def _to_bound(wall: WallLimit) -> Bound:
    label = "Your account" if wall.kind == "account" else "The QOS"
    return Bound(
        wall.minutes, f"{label} {wall.name} allows at most {format_minutes(wall.minutes)}."
    )


def _list_reservation_bounds(
    info: JobInfo, reservations: Sequence[ReservationInfo], now: datetime
) -> Iterator[Bound]:
    """Yield the bounds set by current and future reservations of the job's nodes: the job has to
    end before the reservation begins, or, if it runs inside it, when it ends.
    """
    for reservation in reservations:
        nodes = [node for node in info.nodes if node in reservation.nodes]
        if not nodes or reservation.end <= now or info.start_time is None:
            continue
        if _runs_inside(info, reservation):
            until = _format_time(reservation.end)
            yield Bound(
                _to_minutes(reservation.end - info.start_time),
                f"{nodes[0]} is reserved for you only until {until}.",
            )
            continue
        what = "kept for maintenance" if reservation.maintenance else "reserved for others"
        since = _format_time(reservation.start)
        yield Bound(
            _to_minutes(reservation.start - info.start_time), f"{nodes[0]} is {what} from {since}."
        )


def _runs_inside(info: JobInfo, reservation: ReservationInfo) -> bool:
    """Return whether a job runs inside a reservation: Slurm starts a job on reserved nodes only
    there, and only if its user or account may use it.
    """
    if info.start_time is None or info.start_time < reservation.start:
        return False
    accounts = [info.account] if info.account else []
    return is_for(reservation, info.user, accounts)


async def _save_new_end(
    context: AppContext, session: Session, info: JobInfo, limit: int
) -> Session:
    """Save the session's new end, as reported by Slurm or computed from the new limit; return the
    row.
    """
    await context.watcher.refresh()
    seen = find_last_state(context, session)
    started = info.start_time
    if seen is not None and seen != info and seen.time_limit_minutes is not None:
        started, limit = seen.start_time, seen.time_limit_minutes

    def modify(row: Session) -> None:
        if row.state is not JobState.ENDED and started is not None:
            row.expires_at = started + limit * _MINUTE

    return await update_row(context.db, Session, session.id, modify) or session


async def _record_extension(
    context: AppContext, user: User, session: Session, limit: int, minutes: int, ip: str, by: str
) -> None:
    times = {"time_limit_minutes": limit}, {"time_limit_minutes": limit + minutes}
    detail = {"minutes": minutes, "by": by, **audit.list_changes(*times)}
    target = f"{session.user.username}/{session.name}"
    async with context.db.session() as db:
        audit.record(
            db, audit.Action.SESSION_EXTEND, actor=user, target=target, detail=detail, ip=ip
        )
        await db.commit()


def _format_time(at: datetime) -> str:
    return f"{at:%d %B, %H:%M} UTC".lstrip("0")


def _to_minutes(span: timedelta) -> int:
    return int(span / _MINUTE)
