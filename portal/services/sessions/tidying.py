"""Deletion of the folders of removed sessions: log, script and configuration, in the owner's home.

Files of batch jobs stay, as the API promises (unless the site sets `job_retention_days`, see
services/slurm/job_retention.py), and so does everything that a session wrote elsewhere. A session
whose `secret_hash` is empty has been tidied: its configuration, with the secret, is gone.
"""

from datetime import datetime, timedelta

import structlog
from sqlalchemy import func, select

from portal.context import AppContext
from portal.models import JobState, Session, User
from portal.services.store import update_row
from spawner.errors import SpawnerError

log = structlog.get_logger(__name__)

EVERY_S = 3600.0
KEPT = timedelta(days=7)  # after the removal from the list
MAX_SESSIONS_PER_ROUND = 200


async def tidy_removed(context: AppContext, now: datetime) -> None:
    """Delete the folders of sessions that their owners removed from the list a while ago.

    The order is random, so that homes and folders that fail again and again do not block others.
    """
    query = (
        select(Session)
        .join(User, Session.user_id == User.id)
        .where(
            Session.state == JobState.ENDED,
            Session.removed_at < now - KEPT,
            Session.secret_hash != "",
            User.disabled_at.is_(None),
        )
        .order_by(func.random())
        .limit(MAX_SESSIONS_PER_ROUND)
    )
    async with context.db.session() as db:
        sessions = (await db.scalars(query)).all()
    unreachable: set[str] = set()
    for session in sessions:
        username = session.user.username
        if username in unreachable:
            continue
        try:
            await context.launchers.delete_job_folder(username, session.id)
        except SpawnerError as error:
            unreachable.add(username)
            log.info("a removed session's folder stays", session=session.id, error=error.message)
            continue
        await update_row(context.db, Session, session.id, _mark_tidied)


def _mark_tidied(session: Session) -> None:
    session.secret_hash = ""
