"""Which rows the reconcile loop has to look at: those for which there may be something to do.

On a busy site most jobs wait in Slurm's queue, or run, and nothing changes. Such rows are *quiet*:
they are not even read. A row is looked at

- when it was written, by whomever, since it was last looked at: `changed_at` and `version` tell;
- when squeue shows its job differently than before, or no longer;
- at every round, while it is on its way from one state to another, or unknown to Slurm;
- with all others after a start, when Slurm answers again after a silence, and every few minutes.

The last is done little by little, so that what is new doesn't wait behind it.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import chain, islice

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import selectin_polymorphic

from portal.models import BatchJob, Job, JobState, Session
from portal.parts import Parts
from spawner.model import JobInfo, SlurmState

EVERYTHING_EVERY = timedelta(minutes=5)  # finds what a clock that was set back has hidden
OVERLAP = timedelta(seconds=10)  # how late a row may be committed, seen from its `changed_at`
MOST = 1_000  # of each sort, in a round
LIVE = tuple(state for state in JobState if state is not JobState.ENDED)


class Unsettled:
    """Remembers of each unsettled row's id in which version it was looked at. What `next` has named
    stays due until it was noted, so a round that fails loses nothing."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._versions: dict[str, int] = {}  # of ended rows too, until everything is looked at
        self._on_the_way: set[str] = set()  # neither running nor ended
        self._outside: dict[int, str] = {}  # ids of rows from outside the portal, by Slurm's number
        # Dictionaries as sets that keep their order.
        self._written: dict[str, None] = {}
        self._restless: dict[str, None] = {}
        self._shown: dict[str, None] = {}
        self._others: dict[str, None] = {}
        self._read_at: datetime | None = None
        self._again_at: datetime | None = None
        self._everything_at: datetime | None = None
        self._answered = False

    @property
    def more(self) -> bool:
        """Whether a round was not enough for all that is due."""
        return bool(self._written or self._shown or self._others)

    @property
    def on_the_way(self) -> bool:
        """Whether anything waits, starts or stops, so that Slurm is to be asked more often."""
        return bool(self._on_the_way)

    def __contains__(self, row_id: object) -> bool:
        return row_id in self._versions

    def __len__(self) -> int:
        return len(self._versions)

    async def next(self, now: datetime) -> list[str]:
        """The ids of the rows to look at in this round."""
        self._shown |= dict.fromkeys(self._shown_differently())
        await self._find_written(now)
        await self._find_all(now)
        due = (self._written, self._restless, self._shown, self._others)
        return list(dict.fromkeys(chain.from_iterable(islice(ids, MOST) for ids in due)))

    def note(self, row: Job, *, settled: bool, quiet: bool) -> None:
        """A row has been looked at. `settled`: there will never be anything to do; `quiet`: not
        before something changes."""
        self.gone([row.id])
        self._versions[row.id] = row.version
        if settled:
            return
        if not quiet:
            self._restless[row.id] = None
        if row.state not in {JobState.RUNNING, JobState.ENDED}:
            self._on_the_way.add(row.id)
        if isinstance(row, BatchJob) and row.external and row.job_id is not None:
            self._outside[row.job_id] = row.id

    def gone(self, ids: Iterable[str]) -> None:
        """Nothing is due of these (any more)."""
        for row_id in ids:
            for due in (self._written, self._restless, self._shown, self._others):
                due.pop(row_id, None)
            self._on_the_way.discard(row_id)

    def _shown_differently(self) -> Iterator[str]:
        """Rows, by what is new in squeue. A row may have ended while Slurm still has the job."""
        watcher = self._parts.watcher
        for name in watcher.take_changed():
            if isinstance(name, int):
                if name in self._outside:
                    yield self._outside[name]
            elif name[0] in self._versions or any(map(_lives, watcher.copies(*name, None))):
                yield name[0]

    async def _find_written(self, now: datetime) -> None:
        """Since the last round; and now and then once more, for one that was committed late."""
        if self._read_at is None or self._again_at is None:
            self._read_at = self._again_at = now
            return
        since = self._read_at
        if now - self._again_at >= OVERLAP:
            since, self._again_at = self._again_at - OVERLAP, now
        written = select(Job.id, Job.version).where(Job.changed_at >= since)
        async with self._parts.db.session() as db:
            found = (await db.execute(written)).all()
        news = (row_id for row_id, version in found if self._versions.get(row_id) != version)
        self._written |= dict.fromkeys(news)
        self._read_at = now

    async def _find_all(self, now: datetime) -> None:
        """After a start, a silence of Slurm's, and every few minutes."""
        answers = self._parts.watcher.stale_since is None
        spoke_again = answers and not self._answered
        at = self._everything_at
        if at is None or spoke_again or now - at >= EVERYTHING_EVERY:
            live = select(Job.id).where(Job.state.in_(LIVE))
            closing = select(Session.id).where(
                Session.state == JobState.ENDED, Session.server_env.is_not(None)
            )
            async with self._parts.db.session() as db:
                found = [*(await db.scalars(live)), *(await db.scalars(closing))]
            self._others = dict.fromkeys(found)
            self._versions = {key: self._versions.get(key, 0) for key in found}
            self._on_the_way.intersection_update(found)
            self._outside = {n: key for n, key in self._outside.items() if key in self._versions}
            self._everything_at = now
        self._answered = answers


def _lives(info: JobInfo) -> bool:
    return info.state is not SlurmState.ENDED


async def load(db: AsyncSession, ids: Iterable[str]) -> list[Job]:
    """These rows, each with all its kind's columns, in three queries."""
    query = select(Job).where(Job.id.in_(list(ids)))
    query = query.options(selectin_polymorphic(Job, [Session, BatchJob]))
    return list((await db.scalars(query)).unique())
