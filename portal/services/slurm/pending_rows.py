"""Selection of the rows that the reconcile loop has to process: those that may need an action.

On a busy site most jobs wait in Slurm's queue, or run, and nothing changes. Such rows *wait for a
change*: they are not even read. A row is *due*, and processed,

- if it was written by any writer since it was last processed, as shown by `changed_at` and
  `version`;
- if squeue shows its job differently than before, or no longer;
- in every round, while it is between two states, or unknown to Slurm;
- with all others after a start, when Slurm answers again after an outage, and every few minutes.

The last is done in portions, so that new changes are not delayed by it.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import chain, islice

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import with_polymorphic

from portal.context import AppContext
from portal.models import SESSIONS_TABLE, BatchJob, Job, JobState, Session
from spawner.slurm.model import JobInfo, JobPhase

# A full pass finds changes that were hidden by a clock that was set back.
FULL_PASS_EVERY = timedelta(minutes=5)
OVERLAP = timedelta(seconds=10)  # the longest delay from a row's `changed_at` to its commit
MAX_PER_ROUND = 1_000  # per category, in a round
TRANSITIONAL = (JobState.SUBMITTING, JobState.STARTING, JobState.STOPPING)
LIVE = tuple(state for state in JobState if state is not JobState.ENDED)


class PendingRows:
    """The rows to process, and the version in which each was last processed. The rows returned by
    `next_batch` remain due until `note` is called for them, so a failed round loses nothing.
    """

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._versions: dict[str, int] = {}  # of ended rows too, until the next full pass
        self._in_transition: set[str] = set()
        self._external: dict[int, str] = {}  # IDs of external jobs' rows, by Slurm's job ID
        # Dictionaries used as ordered sets.
        self._written: dict[str, None] = {}
        self._active: dict[str, None] = {}
        self._changed: dict[str, None] = {}
        self._remaining: dict[str, None] = {}
        self._read_at: datetime | None = None
        self._late_check_at: datetime | None = None
        self._full_pass_at: datetime | None = None
        self._answered = False

    @property
    def has_more(self) -> bool:
        """Return whether more rows are due than one round processes."""
        return bool(self._written or self._changed or self._remaining)

    @property
    def has_rows_in_transition(self) -> bool:
        """Return whether a job is being submitted, starts or stops, or a session is queued, so that
        Slurm should be polled more often. A queued batch job is no reason: a busy site always has
        some.
        """
        return bool(self._in_transition)

    def __contains__(self, row_id: object) -> bool:
        return row_id in self._versions

    def __len__(self) -> int:
        return len(self._versions)

    async def next_batch(self, now: datetime) -> list[str]:
        """Return the IDs of the rows to process in this round."""
        self._changed |= dict.fromkeys(self._find_changed())
        await self._find_written(now)
        await self._find_all(now)
        due = (self._written, self._active, self._changed, self._remaining)
        return list(dict.fromkeys(chain.from_iterable(islice(ids, MAX_PER_ROUND) for ids in due)))

    def note(self, row: Job, *, needs_no_more_actions: bool, waits_for_change: bool) -> None:
        """Record that a row has been processed. With `waits_for_change`, it is due again once it is
        written or squeue shows a change; otherwise in every round.
        """
        self.discard([row.id])
        self._versions[row.id] = row.version
        if needs_no_more_actions:
            return
        if not waits_for_change:
            self._active[row.id] = None
        if row.state in TRANSITIONAL or (isinstance(row, Session) and row.state is JobState.QUEUED):
            self._in_transition.add(row.id)
        if isinstance(row, BatchJob) and row.external and row.job_id is not None:
            self._external[row.job_id] = row.id

    def discard(self, ids: Iterable[str]) -> None:
        """Record that nothing is due for these rows."""
        for row_id in ids:
            for due in (self._written, self._active, self._changed, self._remaining):
                due.pop(row_id, None)
            self._in_transition.discard(row_id)

    def set_aside(self, row_id: str, version: int) -> None:
        """Record that a row in this version can't be processed."""
        self.discard([row_id])
        self._versions[row_id] = version

    def _find_changed(self) -> Iterator[str]:
        """Yield the rows whose jobs changed in squeue, also ended rows whose jobs are alive."""
        watcher = self._context.watcher
        for key in watcher.take_changed():
            if isinstance(key, int):
                if key in self._external:
                    yield self._external[key]
            elif key[0] in self._versions or any(map(_is_alive, watcher.list_copies(*key, None))):
                yield key[0]

    async def _find_written(self, now: datetime) -> None:
        """Find rows written since the last round, and periodically those that were committed
        late.
        """
        if self._read_at is None or self._late_check_at is None:
            self._read_at = self._late_check_at = now
            return
        since = self._read_at
        if now - self._late_check_at >= OVERLAP:
            since, self._late_check_at = self._late_check_at - OVERLAP, now
        written = select(Job.id, Job.version).where(Job.changed_at >= since)
        async with self._context.db.session() as db:
            rows = (await db.execute(written)).all()
        changed = (row_id for row_id, version in rows if self._versions.get(row_id) != version)
        self._written |= dict.fromkeys(changed)
        self._read_at = now

    async def _find_all(self, now: datetime) -> None:
        """Find all rows after a start, after an outage of Slurm, and every few minutes."""
        answers = self._context.watcher.stale_since is None
        answers_again = answers and not self._answered
        last_pass_at = self._full_pass_at
        if last_pass_at is None or answers_again or now - last_pass_at >= FULL_PASS_EVERY:
            live = select(Job.id).where(Job.state.in_(LIVE))
            # With ended sessions whose servers the hub has not closed yet.
            at_hub = select(SESSIONS_TABLE.c.id).where(SESSIONS_TABLE.c.server_env.is_not(None))
            async with self._context.db.session() as db:
                rows = [*(await db.scalars(live)), *(await db.scalars(at_hub))]
            self._remaining = dict.fromkeys(rows)
            self._versions = {key: self._versions.get(key, 0) for key in rows}
            self._in_transition.intersection_update(rows)
            self._external = {n: key for n, key in self._external.items() if key in self._versions}
            self._full_pass_at = now
        self._answered = answers


def _is_alive(info: JobInfo) -> bool:
    return info.phase is not JobPhase.ENDED


async def load(db: AsyncSession, ids: Iterable[str]) -> list[Job]:
    """Load these rows, each with all columns of its kind.

    In one query: a row whose submission is refused may be deleted at any time.
    """
    rows = with_polymorphic(Job, [Session, BatchJob])
    query = select(rows).where(rows.id.in_(list(ids)))
    return list((await db.scalars(query)).unique())
