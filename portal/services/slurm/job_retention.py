"""Deletion of sessions and jobs that ended long ago, with their folders in their owners' homes.

Off unless `job_retention_days` is set. What they wrote elsewhere stays, and so do jobs whose
benchmark results are shown.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import structlog
from sqlalchemy import delete, or_, select, tuple_

from portal.context import AppContext
from portal.models import (
    JOBS_TABLE,
    SESSIONS_TABLE,
    BenchmarkRun,
    Job,
    JobState,
    Tensorboard,
    User,
)
from spawner.errors import SpawnerError

log = structlog.get_logger(__name__)

EVERY_S = 6 * 3600.0
MAX_JOBS_PER_QUERY = 200
PAUSE_S = 0.05


async def delete_expired(context: AppContext, now: datetime) -> int:
    """Delete the sessions and jobs that ended before the retention time; return their number.

    Those whose folder can't be deleted now stay until the next time, without delaying the others.
    """
    days = context.settings.job_retention_days
    if days is None:
        return 0
    total, unreachable = 0, set[str]()
    after: tuple[datetime, str] | None = None
    while rows := await _load_expired(context, now - timedelta(days=days), after):
        ids = [row.id for row in rows if await _delete_folders(context, row, unreachable)]
        async with context.db.session() as db:
            ended = JOBS_TABLE.c.state == JobState.ENDED
            await db.execute(delete(JOBS_TABLE).where(JOBS_TABLE.c.id.in_(ids), ended))
            await db.commit()
        total += len(ids)
        after = rows[-1].created_at, rows[-1].id
        await asyncio.sleep(PAUSE_S)
    if total:
        log.info("deleted expired sessions and jobs", count=total, days=days)
    return total


async def _load_expired(
    context: AppContext, before: datetime, after: tuple[datetime, str] | None
) -> Sequence[Any]:
    """Return the next rows to delete, oldest first, with the names that locate their folders.

    Nothing acts as a disabled user, so theirs stay until they are enabled or deleted.
    """
    # Sessions whose servers the hub has not closed yet.
    at_hub = select(SESSIONS_TABLE.c.id).where(SESSIONS_TABLE.c.server_env.is_not(None))
    results = select(BenchmarkRun.batch_job_id).where(BenchmarkRun.batch_job_id == Job.id)
    query = (
        select(Job.id, Job.created_at, User.username, User.deleted_at, Tensorboard.run_id)
        .join(User, User.id == Job.user_id)
        .outerjoin(Tensorboard, Tensorboard.parent_id == Job.id)
        .where(
            Job.created_at < before,  # implied by the next condition, and has an index
            Job.ended_at < before,
            Job.state == JobState.ENDED,
            or_(User.disabled_at.is_(None), User.deleted_at.is_not(None)),
            or_(Tensorboard.id.is_(None), Tensorboard.wanted.is_(False)),
            Job.id.not_in(at_hub),
            ~results.exists(),
        )
        .order_by(Job.created_at, Job.id)
        .limit(MAX_JOBS_PER_QUERY)
    )
    if after is not None:
        query = query.where(tuple_(Job.created_at, Job.id) > after)
    async with context.db.session() as db:
        return (await db.execute(query)).all()


async def _delete_folders(context: AppContext, row: Any, unreachable: set[str]) -> bool:
    """Delete the folders of a row and of its TensorBoard; return whether they are gone.

    `unreachable` are the users whose folders can't be deleted now. A deleted user's home is not the
    portal's concern.
    """
    if row.deleted_at is not None:
        return True
    if row.username in unreachable:
        return False
    try:
        for folder in filter(None, (row.id, row.run_id)):
            await context.launchers.delete_job_folder(row.username, folder)
    except SpawnerError as error:
        unreachable.add(row.username)
        log.info("an expired job's folder stays", job=row.id, error=error.message)
        return False
    return True
