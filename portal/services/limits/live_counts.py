"""Numbers of users' pending and running sessions and jobs: what limits on them count."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from portal.models import BatchJob, GroupMembership, JobState, Session, User
from spawner.slurm.model import Outcome

_ENDED = frozenset({JobState.ENDED, *Outcome})  # the words for ended tasks in `task_counts`


@dataclass(frozen=True)
class LiveCounts:
    """Numbers of pending and running sessions and jobs.

    Each task of an array counts as a job, as in Slurm. A session or job that is being stopped
    counts until it has ended.
    """

    sessions: int = 0
    jobs: int = 0


def build_members_query(group: str) -> Any:
    """Select the user names of the group members that the portal knows."""
    query = select(User.username).join(GroupMembership, GroupMembership.user_id == User.id)
    return query.where(GroupMembership.name == group)


async def count_live(db: AsyncSession, usernames: Any) -> LiveCounts:
    """Count what these users have together. `usernames` may be a query."""
    counts = (await count_live_by_user(db, usernames)).values()
    return LiveCounts(sum(one.sessions for one in counts), sum(one.jobs for one in counts))


async def count_live_kind(db: AsyncSession, kind: str, usernames: Any) -> int:
    """Count the `sessions` or the `jobs` that these users have together."""
    count = {"sessions": _count_sessions, "jobs": _count_jobs}[kind]
    return sum((await count(db, User.username.in_(usernames))).values())


async def count_live_by_user(db: AsyncSession, usernames: Any) -> dict[str, LiveCounts]:
    """Count what each of these users has; users without sessions and jobs are left out."""
    is_user = User.username.in_(usernames)
    sessions = await _count_sessions(db, is_user)
    jobs = await _count_jobs(db, is_user)
    return {
        name: LiveCounts(sessions.get(name, 0), jobs.get(name, 0)) for name in {*sessions, *jobs}
    }


async def _count_sessions(db: AsyncSession, is_user: ColumnElement[bool]) -> dict[str, int]:
    query = select(User.username, func.count()).join(Session, Session.user_id == User.id)
    query = query.where(is_user, Session.state != JobState.ENDED).group_by(User.username)
    # A removed session never became visible to its owner; its end isn't confirmed yet.
    query = query.where(Session.removed_at.is_(None))
    return dict((await db.execute(query)).all())


async def _count_jobs(db: AsyncSession, is_user: ColumnElement[bool]) -> dict[str, int]:
    live = is_user, BatchJob.state != JobState.ENDED
    single = select(User.username, func.count()).join(BatchJob, BatchJob.user_id == User.id)
    single = single.where(*live, BatchJob.array_size.is_(None)).group_by(User.username)
    counts = defaultdict(int, (await db.execute(single)).all())
    arrays = select(User.username, BatchJob.array_size, BatchJob.task_counts)
    arrays = arrays.join(BatchJob, BatchJob.user_id == User.id)
    arrays = arrays.where(*live, BatchJob.array_size.is_not(None))
    for username, size, by_state in await db.execute(arrays):
        counts[username] += _count_live_tasks(size or 0, by_state)
    return counts


def _count_live_tasks(size: int, by_state: Mapping[str, int] | None) -> int:
    if not by_state:
        return size
    return sum(number for state, number in by_state.items() if state not in _ENDED)
