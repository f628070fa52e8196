"""Operations of owners on their sessions: start, list, stop, remove.

A session's row is written before Slurm gets the job, so that a crash loses no session. A job that
Slurm refuses leaves no row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from portal.background.notifier import RECONCILE
from portal.context import AppContext
from portal.db import utcnow
from portal.errors import Conflict, FieldError, NotFound, PortalError, invalid_input
from portal.models import JobState, Session, User, Wanted, new_id
from portal.services import idempotency, paging
from portal.services.audit import audit
from portal.services.catalog.available import find_environment
from portal.services.catalog.resources import check_gpus, complete, explicit_names
from portal.services.idempotency import IdempotentRequest
from portal.services.limits import allowances
from portal.services.limits.limit_rules import Allowance
from portal.services.sessions import starters
from portal.services.slurm import launch
from portal.services.store import update_row
from spawner import names
from spawner.errors import LauncherUnavailable, SpawnerError, Unreachable
from spawner.slurm.model import Outcome, Resources

STOPPED_BY_ADMIN = "An administrator stopped it."
NAME_RULE = "Use 1 to 30 lowercase letters, digits and single hyphens, starting with a letter."
PAGE = 50
NO_KEY = IdempotentRequest()


async def create(
    context: AppContext,
    user: User,
    *,
    environment: str,
    requested: dict[str, Any],
    name: str | None = None,
    starter: str | None = None,
    idempotent: IdempotentRequest = NO_KEY,
    ip: str = "",
) -> Session:
    """Start a session.

    `requested` are the resources given in the request; the rest is filled in. `starter` is a
    notebook of the environment that JupyterLab opens with. The same request under the same
    idempotency key (`idempotent`) gives the same session.

    Raises InvalidInput with the fields, Conflict for a name in use, LimitReached, and the errors of
    launching.
    """

    async def submit_new() -> Session:
        prepared = await _prepare(context, user, environment, requested, name, starter)
        submission = _insert_and_submit(context, user, prepared, name, idempotent, ip)
        return await idempotency.submit(context, Session, prepared.session_id, user, submission)

    return await idempotent.run_once(context, Session, user, submit_new)


@dataclass(frozen=True)
class PreparedSession:
    """A session to be written and submitted: validated, with all values filled in but the name.

    `opens` is the path that JupyterLab opens with, None for its own choice.
    """

    session_id: str
    environment: str
    resources: Resources
    allowance: Allowance
    home: str
    opens: str | None


async def _prepare(
    context: AppContext,
    user: User,
    environment: str,
    requested: dict[str, Any],
    name: str | None,
    starter: str | None,
) -> PreparedSession:
    if name is not None and not _is_name(name):
        raise invalid_input([FieldError("name", NAME_RULE)])
    launch.check_slurm_answers(context)
    chosen = find_environment(context, environment)
    if starter is not None:
        starters.check(context, chosen.name, starter)
    resources = complete(requested, None, chosen, context.settings, context.watcher.cluster)
    check_gpus(resources, chosen)
    resources, allowed = await allowances.adjust_and_check(
        context, user, resources, explicit_names(requested)
    )
    home = await _find_home(context, user)
    opens = await starters.copy_starter(context, user, chosen.name, starter) if starter else None
    return PreparedSession(new_id(), chosen.name, resources, allowed, home, opens)


async def _insert_and_submit(
    context: AppContext,
    user: User,
    prepared: PreparedSession,
    name: str | None,
    idempotent: IdempotentRequest,
    ip: str,
) -> PortalError | None:
    """Write a row and submit it; return the error if it was refused."""
    session = await _insert(context, user, prepared, name, idempotent, ip)
    context.notifier.notify(user.id)
    try:
        await launch.submit_session(context, session)
    except SpawnerError as error:
        await _undo_insert(context, session, error)
        return launch.to_submission_error(context, user.username, prepared.resources, error)
    return None


def _to_row(
    context: AppContext,
    user: User,
    prepared: PreparedSession,
    name: str,
    idempotent: IdempotentRequest,
) -> Session:
    return Session(
        id=prepared.session_id,
        user_id=user.id,
        owner_id=user.id,
        name=name,
        environment=prepared.environment,
        resources=launch.resources_to_json(prepared.resources),
        cluster=context.settings.cluster_name,
        logdir=launch.build_logdir(prepared.home, name, prepared.session_id),
        base_url=f"/user/{user.username}/{name}/",
        opens=prepared.opens,
        body_hash=idempotent.digest,
        idempotency_key=idempotent.key,
    )


async def get(context: AppContext, user: User, session_id: str) -> Session:
    """Return a session of this user. Raises NotFound, also for sessions of other users."""
    async with context.db.session() as db:
        session = await db.get(Session, session_id)
    if session is None or session.user_id != user.id or session.removed_at is not None:
        raise NotFound("Session not found.")
    return session


async def page(
    context: AppContext, *, user: User | None, live: bool, cursor: str | None = None
) -> list[Session]:
    """Return the sessions of one user, or of all, newest first; at most PAGE + 1 rows.

    Raises InvalidInput for an invalid cursor.
    """
    query = select(Session).where(Session.removed_at.is_(None))
    if user is not None:
        query = query.where(Session.user_id == user.id)
    if live:
        query = query.where(Session.state != JobState.ENDED)
    if cursor:
        query = query.where(paging.build_after_condition(Session.created_at, Session.id, cursor))
    query = query.order_by(Session.created_at.desc(), Session.id.desc()).limit(PAGE + 1)
    async with context.db.session() as db:
        return list((await db.scalars(query)).all())


def cursor_of(sessions: Sequence[Session]) -> str | None:
    """Return the cursor of the next page, or None if this is the last one."""
    if len(sessions) <= PAGE:
        return None
    return paging.cursor(sessions[PAGE - 1].created_at, sessions[PAGE - 1].id)


async def stop(context: AppContext, session: Session, *, by: User, ip: str = "") -> Session:
    """Request the end of a session; the reconcile loop carries it out. Idempotent."""
    action = audit.Action.SESSION_STOP
    if by.id != session.user_id:
        action = audit.Action.SESSION_STOP_BY_ADMIN

    def modify(row: Session) -> None:
        if row.state is JobState.ENDED:
            return
        row.wanted = Wanted.STOP
        row.state = JobState.STOPPING
        row.stop_requested_at = row.stop_requested_at or utcnow()
        if by.id != row.user_id and row.outcome is None:
            row.outcome, row.reason, row.suggestion = Outcome.CANCELLED, STOPPED_BY_ADMIN, None

    event = audit.prepare_job_event(action, session, by, ip)
    changed = await update_row(context.db, Session, session.id, modify, event)
    context.notifier.notify(session.user_id, session.id)
    context.notifier.notify(RECONCILE)
    return changed or session


async def remove(context: AppContext, session: Session, *, by: User, ip: str = "") -> None:
    """Remove an ended session from its owner's list."""

    def modify(row: Session) -> None:
        if row.state is not JobState.ENDED:
            raise Conflict("This session has not ended yet. Stop it first.")
        row.removed_at = utcnow()

    event = audit.prepare_job_event(audit.Action.SESSION_REMOVE, session, by, ip)
    await update_row(context.db, Session, session.id, modify, event)
    context.notifier.notify(session.user_id)


async def _find_home(context: AppContext, user: User) -> str:
    try:
        return (await context.launchers.info(user.username)).home
    except SpawnerError as error:
        raise launch.to_launch_error(error) from error


async def _insert(
    context: AppContext,
    user: User,
    prepared: PreparedSession,
    name: str | None,
    idempotent: IdempotentRequest,
    ip: str,
) -> Session:
    """Write the row; pick a free name unless one was given. Raises Conflict, LimitReached, and
    IntegrityError for an idempotency key that exists already.
    """
    while True:
        row_name = name or await _find_free_name(context, user)
        row = _to_row(context, user, prepared, row_name, idempotent)
        async with context.db.session() as db:
            await allowances.check_room(db, user, prepared.allowance, sessions=1)
            db.add(row)
            detail = {"environment": row.environment, "resources": row.resources}
            audit.record(
                db, audit.Action.SESSION_START, actor=user,
                target=f"{user.username}/{row_name}", detail=detail, ip=ip,
            )  # fmt: skip
            try:
                await db.commit()
            except IntegrityError as error:
                await db.rollback()
                earlier = await idempotent.find_earlier(context, Session, user)
                text = await _explain_name_in_use(context, user, row_name)
                if earlier is not None or text is None:
                    raise
                if name is None:
                    continue  # another request took the free name concurrently
                raise Conflict(text, errors=[FieldError("name", text)]) from error
            await db.refresh(row)
            return row


async def find_name_problem(context: AppContext, user: User, name: str) -> str | None:
    """Return why a new session of this user can't have this name, or None."""
    if not _is_name(name):
        return NAME_RULE
    return await _explain_name_in_use(context, user, name)


def _is_name(name: str) -> bool:
    return names.SESSION.fullmatch(name) is not None


async def _explain_name_in_use(context: AppContext, user: User, name: str) -> str | None:
    """Return what to do about the session of this user that has the name; None if it is free."""
    state = (await _load_names_in_use(context, user)).get(name)
    if state is None:
        return None
    if state == JobState.STOPPING:
        return (
            f"Your session called “{name}” is still stopping."
            " Try again in a moment, or choose another name."
        )
    return f"You already have a session called “{name}”. Stop it first, or choose another name."


async def _find_free_name(context: AppContext, user: User) -> str:
    taken = await _load_names_in_use(context, user)
    return next(name for number in range(1, len(taken) + 2) if (name := f"s{number}") not in taken)


async def _load_names_in_use(context: AppContext, user: User) -> dict[str, str]:
    """Return the states of this user's sessions that have not ended, by name."""
    query = select(Session.name, Session.state).where(
        Session.user_id == user.id, Session.state != JobState.ENDED
    )
    async with context.db.session() as db:
        return dict((await db.execute(query)).all())


async def _undo_insert(context: AppContext, session: Session, error: SpawnerError) -> None:
    """Delete the row if Slurm certainly has no job, else request its stop.

    Without an answer from Slurm the job may exist; the reconcile loop looks for it by the row's ID
    and cancels it. That row is hidden from its owner, so it gives up its name.
    """
    if isinstance(error, Unreachable | LauncherUnavailable):

        def modify(row: Session) -> None:
            row.wanted = Wanted.STOP
            row.state = JobState.STOPPING
            row.stop_requested_at = row.removed_at = utcnow()
            row.name, row.reason = row.id, error.message
            row.idempotency_key = None  # the same request is to be tried again

        await update_row(context.db, Session, session.id, modify)
    else:
        async with context.db.session() as db:
            row = await db.get(Session, session.id)
            if row is not None:
                await db.delete(row)
                await db.commit()
    context.notifier.notify(session.user_id)
