"""Sessions as their owner knows them: start, list, stop, remove, read the log.

A session's row is written before Slurm hears of it, so that no crash loses one; what Slurm refuses
leaves no row behind.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from portal.db import utcnow
from portal.errors import Conflict, FieldError, NotFound, PortalError, invalid_input
from portal.models import Job, JobState, Session, User, Wanted, new_id
from portal.parts import Parts
from portal.services import once
from portal.services.audit import audit
from portal.services.catalog.available import availability
from portal.services.changes import RECONCILE
from portal.services.jobs.logs import CHUNK, LogPlace, read_piece
from portal.services.limits import allowances
from portal.services.limits.limit_rules import Allowance
from portal.services.once import Once
from portal.services.sessions import starters
from portal.services.slurm import launch
from portal.services.store import change
from portal.settings import Settings
from spawner.catalog import Environment
from spawner.errors import LauncherUnavailable, SpawnerError, Unreachable
from spawner.model import Resources

NAME = re.compile(r"^[a-z](?:[a-z0-9]|-(?=[a-z0-9])){0,29}$")
NAME_RULE = "Use 1 to 30 lowercase letters, digits and single hyphens, beginning with a letter."
PAGE = 50
NO_KEY = Once()


async def create(
    parts: Parts,
    user: User,
    *,
    environment: str,
    wanted: dict[str, Any],
    name: str | None = None,
    starter: str | None = None,
    asked: Once = NO_KEY,
    ip: str = "",
) -> Session:
    """Start a session; `wanted` are the resources that were named, the rest is filled in. `starter`
    is a notebook of the environment's for JupyterLab to open with. The same wish that is `asked`
    under the same key is the same session.

    Raises InvalidInput with the fields, Conflict for a name in use, LimitReached, and what
    launching raises.
    """
    if (found := await asked.settled(parts, Session, user)) is not None:
        return found
    if name is not None and not NAME.match(name):
        raise invalid_input([FieldError("name", NAME_RULE)])
    launch.check_slurm_answers(parts)
    chosen = usable_environment(parts, environment)
    if starter is not None:
        starters.check(parts, chosen.name, starter)
    resources = complete(wanted, chosen, parts.settings)
    resources, allowed = await allowances.fit(parts, user, resources, named(wanted))
    home = await _home(parts, user)
    opens = await starters.lay_out(parts, user, chosen.name, starter) if starter else None

    session_id = new_id()

    def row(given: str) -> Session:
        return Session(
            id=session_id,
            user_id=user.id,
            owner_id=user.id,
            name=given,
            environment=chosen.name,
            resources=launch.kept(resources),
            cluster=parts.settings.cluster_name,
            logdir=launch.session_logdir(home, given, session_id),
            base_url=f"/user/{user.username}/{given}/",
            opens=opens,
            body_hash=asked.digest,
            idempotency_key=asked.key,
        )

    with once.submission(parts, session_id, partial(_first_try, parts)) as written:
        insert = partial(_insert, parts, user, allowed, name, row, asked, ip)
        session, new = await asked.insert(parts, Session, user, insert)
        if not new:
            return session
        parts.changes.notify(user.id)
        written.set_result(session)
        await once.wait(parts, session_id)
    return await get(parts, user, session_id)


async def _first_try(parts: Parts, session: Session) -> PortalError | None:
    """Submit a new row; returns what it was refused with."""
    try:
        await launch.submit_session(parts, session)
    except SpawnerError as error:
        await _undo(parts, session, error)
        return launch.explained(error)
    finally:
        parts.submitting.pop(session.id, None)
        parts.changes.notify(session.user_id, session.id, RECONCILE)
    return None


def usable_environment(parts: Parts, name: str) -> Environment:
    """The environment of that name, if it can be used here; raises InvalidInput."""
    found = parts.catalog.environments.get(name)
    if found is None:
        known = ", ".join(sorted(parts.catalog.environments))
        raise invalid_input(
            [
                FieldError(
                    "environment", f"There is no environment of this name. There are: {known}."
                )
            ]
        )
    available, reason = availability(parts, found)
    if not available:
        raise invalid_input(
            [FieldError("environment", reason or "This environment can't be used here.")]
        )
    return found


def named(wanted: Mapping[str, Any]) -> set[str]:
    """The resources that somebody asked for themselves."""
    return {key for key, value in wanted.items() if value is not None}


def complete(
    wanted: Mapping[str, Any], environment: Environment | None, settings: Settings
) -> Resources:
    """What was asked for, then the environment's defaults, then the site's."""
    asked = {key: value for key, value in wanted.items() if value is not None}
    resources = Resources(**{**(environment.default_resources if environment else {}), **asked})
    if environment and environment.gpu == "required" and resources.gpus == 0:
        raise invalid_input(
            [FieldError("resources.gpus", f"{environment.title} needs at least one GPU.")]
        )
    if resources.partition is None:
        gpu = settings.default_gpu_partition if resources.gpus else None
        resources = replace(resources, partition=gpu or settings.default_partition)
    return replace(
        resources,
        gpu_type=resources.gpu_type if resources.gpus else None,
        time_limit_minutes=resources.time_limit_minutes or settings.default_time_limit_minutes,
        account=resources.account or settings.default_account,
        qos=resources.qos or settings.default_qos,
    )


async def get(parts: Parts, user: User, session_id: str) -> Session:
    """One's own session; raises NotFound for everyone else's too."""
    async with parts.db.session() as db:
        session = await db.get(Session, session_id)
    if session is None or session.user_id != user.id or session.removed_at is not None:
        raise NotFound("There is no such session of yours.")
    return session


async def page(
    parts: Parts, *, user: User | None, live: bool, before: datetime | None = None
) -> list[Session]:
    """One user's sessions, or everyone's, newest first; at most one more than PAGE."""
    query = select(Session).where(Session.removed_at.is_(None))
    if user is not None:
        query = query.where(Session.user_id == user.id)
    if live:
        query = query.where(Session.state != JobState.ENDED)
    if before is not None:
        query = query.where(Session.created_at < before)
    query = query.order_by(Session.created_at.desc()).limit(PAGE + 1)
    async with parts.db.session() as db:
        return list((await db.scalars(query)).all())


async def stop(parts: Parts, session: Session, *, by: User, ip: str = "") -> Session:
    """Ask for a session's end; the reconcile loop brings it about. Asking twice is no mistake."""
    action = audit.Action.SESSION_STOP
    if by.id != session.user_id:
        action = audit.Action.SESSION_STOP_BY_ADMIN

    def apply(row: Session) -> None:
        if row.state is JobState.ENDED:
            return
        row.wanted = Wanted.STOP
        row.state = JobState.STOPPING
        row.stop_requested_at = row.stop_requested_at or utcnow()

    event = audit.of_job(action, session, by, ip)
    changed = await change(parts.db, Session, session.id, apply, event)
    parts.changes.notify(session.user_id, session.id)
    parts.changes.notify(RECONCILE)
    return changed or session


async def remove(parts: Parts, session: Session, *, by: User, ip: str = "") -> None:
    """Take an ended session off its owner's list."""

    def apply(row: Session) -> None:
        if row.state is not JobState.ENDED:
            raise Conflict("This session has not ended yet. Stop it first.")
        row.removed_at = utcnow()

    event = audit.of_job(audit.Action.SESSION_REMOVE, session, by, ip)
    await change(parts.db, Session, session.id, apply, event)
    parts.changes.notify(session.user_id)


def log_place(job: Job, stream: str) -> LogPlace:
    """Where a session's job prints to."""
    return LogPlace(f"{job.id}/{stream}.log")


async def read_log(
    parts: Parts, job: Job, stream: str, offset: int, limit: int = CHUNK
) -> dict[str, Any]:
    """A piece of what a session's job printed; see logs.py."""
    place, ended = log_place(job, stream), job.state is JobState.ENDED
    return await read_piece(parts, job.user.username, place, offset, ended=ended, limit=limit)


async def _home(parts: Parts, user: User) -> str:
    try:
        return (await parts.agents.info(user.username)).home
    except SpawnerError as error:
        raise launch.explained(error) from error


async def _insert(
    parts: Parts,
    user: User,
    allowed: Allowance,
    name: str | None,
    make: Callable[[str], Session],
    asked: Once,
    ip: str,
) -> Session:
    """Write the row that `make` makes of a name; picks a free one unless one was given. Raises
    Conflict, LimitReached, and IntegrityError for a key that is there already."""
    while True:
        given = name or await _free_name(parts, user)
        row = make(given)
        async with parts.db.session() as db:
            await allowances.check_room(db, user, allowed, sessions=1)
            db.add(row)
            detail = {"environment": row.environment, "resources": row.resources}
            audit.record(
                db, audit.Action.SESSION_START, actor=user,
                target=f"{user.username}/{given}", detail=detail, ip=ip,
            )  # fmt: skip
            try:
                await db.commit()
            except IntegrityError as error:
                await db.rollback()
                twin = await asked.earlier(parts, Session, user)
                if twin is not None or given not in await _names_in_use(parts, user):
                    raise
                if name is None:
                    continue  # another tab took the free name in between
                text = (
                    f"You already have a session called “{name}”."
                    " Stop it first, or choose another name."
                )
                raise Conflict(text, errors=[FieldError("name", text)]) from error
            await db.refresh(row)
            return row


async def _free_name(parts: Parts, user: User) -> str:
    taken = await _names_in_use(parts, user)
    return next(name for number in range(1, len(taken) + 2) if (name := f"s{number}") not in taken)


async def _names_in_use(parts: Parts, user: User) -> set[str]:
    query = select(Session.name).where(Session.user_id == user.id, Session.state != JobState.ENDED)
    async with parts.db.session() as db:
        return set((await db.scalars(query)).all())


async def _undo(parts: Parts, session: Session, error: SpawnerError) -> None:
    """Leave nothing half-made: no row if Slurm surely has no job, else one that is to be stopped.

    Without an answer the job may exist; the loop looks for it by its id and cancels it. Nobody
    sees that row, so it gives its name back.
    """
    if isinstance(error, Unreachable | LauncherUnavailable):

        def apply(row: Session) -> None:
            row.wanted = Wanted.STOP
            row.state = JobState.STOPPING
            row.stop_requested_at = row.removed_at = utcnow()
            row.name, row.reason = row.id, error.message
            row.idempotency_key = None  # asked for again, it is to be tried again

        await change(parts.db, Session, session.id, apply)
    else:
        async with parts.db.session() as db:
            row = await db.get(Session, session.id)
            if row is not None:
                await db.delete(row)
                await db.commit()
    parts.changes.notify(session.user_id)
