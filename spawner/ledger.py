"""What is known of the portal's jobs, and how each answer of Slurm changes it. No I/O, no clock.

A job is named by its UUID **and its user**: anyone may write any UUID into a comment of a job of
their own, which must neither stand for another's job nor hide it.

A job has ended only when squeue shows it as ended or accounting says so. One that is gone from
squeue keeps its last known state, is asked for in accounting, and is given up as unknown only after
accounting has answered without it for `LOST_AFTER`. An answer in which at least a fifth of all jobs
(and five) have vanished at once is not believed until it has been repeated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from spawner.model import JobInfo, SlurmState

LOST_AFTER = timedelta(minutes=5)
NEW_JOB = timedelta(seconds=20)  # a job whose id isn't known may be on its way into squeue
FORGET_QUESTION = timedelta(minutes=10)
HISTORY = timedelta(days=2)  # how far back accounting is searched for a job never seen
CLOCK_SLACK = timedelta(seconds=30)
FIRST_PAUSE = timedelta(seconds=4)
LONGEST_PAUSE = timedelta(minutes=5)
MAX_ENDED = 10_000
MAX_FOREIGN = 10_000
DOUBTS = 2  # how often an incredible answer is not believed

Key = tuple[str, str]  # UUID, user
Name = Key | int  # a job of ours, or Slurm's number of one that is not (of an array: that one's)


@dataclass
class Absent:
    """A job that squeue doesn't show: it was there (`last`), or someone has asked for it."""

    job_id: int | None
    since: datetime
    asked_at: datetime
    next_ask: datetime
    last: JobInfo | None = None
    gone_at: datetime | None = None
    pause: timedelta = FIRST_PAUSE
    unknown_since: datetime | None = None


class Ledger:
    """Filled by the watcher alone; `version` grows whenever one of our jobs changes."""

    def __init__(self) -> None:
        self.by_id: Mapping[int, JobInfo] = {}
        self.version = 0
        self._claims: dict[Key, dict[int, JobInfo]] = {}  # by Slurm's number
        self._outside: dict[int, dict[int, JobInfo]] = {}  # arrays that are not ours
        self._absent: dict[Key, Absent] = {}
        self._ended: dict[Key, JobInfo] = {}
        self._foreign: dict[Key, None] = {}  # in their order
        self._changed: set[Name] = set()
        self._doubts = 0

    # --- what is known --------------------------------------------------------------------------

    def find(self, key: Key, job_id: int | None, outside: bool = False) -> JobInfo | None:
        """A job as last known. Of several copies the one with this id, else one that has not
        ended, else the first. A job from `outside` the portal has no UUID: its id
        names it."""
        if claims := self._claims.get(key):
            return min(claims.values(), key=lambda j: (j.job_id != job_id, _is_ended(j), j.job_id))
        if key in self._ended:
            return self._ended[key]
        if outside and (other := self._from_outside(key[1], job_id)) is not None:
            return other
        absent = self._absent.get(key)
        return absent.last if absent else None

    def _from_outside(self, user: str, job_id: int | None) -> JobInfo | None:
        found = self.by_id.get(job_id) if job_id is not None else None
        return found if found and found.uuid is None and found.user == user else None

    def shown(self, key: Key, job_id: int | None, outside: bool) -> tuple[JobInfo, ...]:
        """All that squeue shows of a job at this moment, its copies and tasks."""
        one = self._from_outside(key[1], job_id) if outside else None
        return self.copies(key, job_id) or ((one,) if one else ())

    def copies(self, key: Key, job_id: int | None) -> tuple[JobInfo, ...]:
        """All that squeue shows of this UUID and user; of an array from outside, of its id."""
        if claims := self._claims.get(key):
            return tuple(claims.values())
        tasks = self._outside.get(job_id, {}) if job_id is not None else {}
        return tuple(job for job in tasks.values() if job.user == key[1])

    def take_changed(self) -> set[Name]:
        """What squeue has shown differently, or no longer, since this was last asked."""
        changed, self._changed = self._changed, set()
        return changed

    def forget(self, key: Key) -> None:
        """What was asked about this job so far is void."""
        self._absent.pop(key, None)

    def disown(self, keys: Iterable[Key]) -> None:
        """Jobs whose comment names a UUID of which we have no job: from the next answer on, they
        are jobs like any other from outside, without one."""
        self._foreign |= dict.fromkeys(keys)
        while len(self._foreign) > MAX_FOREIGN:
            del self._foreign[next(iter(self._foreign))]

    def _named(self, job: JobInfo) -> JobInfo:
        return replace(job, uuid=None) if _key(job) in self._foreign else job

    def wonder(self, key: Key, job_id: int | None, since: datetime | None, now: datetime) -> None:
        """Someone wants to know of a job that isn't there: accounting will be asked."""
        absent = self._absent.get(key)
        if absent is None:
            first = now if job_id is not None else now + NEW_JOB
            absent = Absent(job_id, since or now - HISTORY, now, first)
            self._absent[key] = absent
        absent.asked_at = now
        absent.job_id = absent.job_id or job_id

    def unknown_since(self, key: Key) -> datetime | None:
        """Since when squeue and accounting both answer and neither can tell what became of it."""
        absent = self._absent.get(key)
        return absent.unknown_since if absent and absent.last is None else None

    def missing_since(self, key: Key) -> datetime | None:
        """Since when neither of them shows it (as ended), whether or not it was ever seen."""
        absent = self._absent.get(key)
        return absent.unknown_since if absent else None

    # --- squeue's answers -----------------------------------------------------------------------

    def squeue(self, jobs: Iterable[JobInfo], now: datetime) -> bool:
        """Take an answer in; False when it isn't to be believed (yet)."""
        by_id = {job.job_id: self._named(job) for job in jobs}
        gone = self.by_id.keys() - by_id.keys()
        if self._incredible(gone) and self._doubts < DOUBTS:
            self._doubts += 1
            return False
        self._doubts = 0
        before = self.by_id
        # Most records are the very same objects as before (parse.Squeue): 20,000 cost little.
        changed = [job for job in by_id.values() if _differs(before.get(job.job_id), job)]
        left = [before[job_id] for job_id in gone]
        left += [before[job.job_id] for job in changed if job.job_id in before]
        last = {key: self.find(key, None) for job in left if (key := _key(job)) is not None}
        for job in left:
            self._group(job).pop(job.job_id, None)
        for job in changed:
            self._group(job)[job.job_id] = job
        for key, job_before in last.items():
            if not self._claims[key]:
                del self._claims[key]
                if key not in self._foreign:
                    self._vanished(key, job_before, now)
        for job in left:
            if job.uuid is None and not self._group(job):
                self._outside.pop(job.array_job_id or 0, None)
        for job in changed:
            if (found := _key(job)) is not None:
                self._absent.pop(found, None)
        self.version += any(job.uuid is not None for job in (*left, *changed))
        self._changed.update(name for job in (*left, *changed) for name in _names(job))
        self.by_id = by_id
        return True

    def _group(self, job: JobInfo) -> dict[int, JobInfo]:
        """The records of the same name as this one's, by Slurm's number."""
        key = _key(job)
        if key is not None:
            return self._claims.setdefault(key, {})
        if job.array_job_id is not None:
            return self._outside.setdefault(job.array_job_id, {})
        return {}  # its number is all it has: `by_id`

    def _incredible(self, gone: Collection[int]) -> bool:
        """Whether at least a fifth of all that lived, and five, have vanished at once."""
        vanished = sum(not _is_ended(self.by_id[job_id]) for job_id in gone)
        if vanished < 5:
            return False
        return vanished * 5 >= sum(not _is_ended(job) for job in self.by_id.values())

    def _vanished(self, key: Key, last: JobInfo | None, now: datetime) -> None:
        if last is None:
            return
        if _is_ended(last):
            self._remember(key, last)
            return
        since = last.submit_time or now - HISTORY
        self._absent[key] = Absent(last.job_id, since, now, now, last=last, gone_at=now)

    # --- accounting's answers -------------------------------------------------------------------

    def due(self, now: datetime) -> dict[Key, Absent]:
        """What accounting is to be asked for now; questions nobody repeats are dropped."""
        self._absent = {
            key: absent
            for key, absent in self._absent.items()
            if absent.last is not None or now - absent.asked_at < FORGET_QUESTION
        }
        return {key: absent for key, absent in self._absent.items() if absent.next_ask <= now}

    def accounting(
        self, asked: Mapping[Key, Absent], jobs: Iterable[JobInfo] | None, now: datetime
    ) -> None:
        """Take in the answer to `asked`; None when there was none."""
        known = _by_name(map(self._named, jobs or ()))
        for key, absent in asked.items():
            absent.next_ask = now + absent.pause
            absent.pause = min(2 * absent.pause, LONGEST_PAUSE)
            if jobs is None or self._absent.get(key) is not absent:
                continue
            named = (*known.get(key, ()), *known.get(absent.job_id or 0, ()))
            ended = [job for job in named if _is_it(key, absent, job)]
            if ended:
                found = max(ended, key=lambda job: (job.job_id == absent.job_id, job.job_id))
                del self._absent[key]
                self._remember(key, replace(found, uuid=key[0]))
                self.version += 1
            else:
                self._still_unknown(absent, now)

    def _still_unknown(self, absent: Absent, now: datetime) -> None:
        absent.unknown_since = absent.unknown_since or now
        if absent.last is not None and now - absent.unknown_since >= LOST_AFTER:
            absent.last = None
            self.version += 1

    def _remember(self, key: Key, job: JobInfo) -> None:
        self._ended.pop(key, None)
        self._ended[key] = job
        if len(self._ended) > MAX_ENDED:
            del self._ended[next(iter(self._ended))]


def _differs(old: JobInfo | None, new: JobInfo) -> bool:
    return old is not new and old != new


def _key(job: JobInfo) -> Key | None:
    return None if job.uuid is None else (job.uuid, job.user)


def _names(job: JobInfo) -> tuple[Name, ...]:
    if (key := _key(job)) is not None:
        return (key,)
    return (job.job_id,) if job.array_job_id is None else (job.job_id, job.array_job_id)


def _is_ended(job: JobInfo) -> bool:
    return job.state is SlurmState.ENDED


def _by_name(jobs: Iterable[JobInfo]) -> dict[Name, list[JobInfo]]:
    """Those that have ended, by our name and by Slurm's numbers."""
    found: dict[Name, list[JobInfo]] = {}
    for job in filter(_is_ended, jobs):
        key = _key(job)
        for name in {job.job_id, job.array_job_id or job.job_id, *((key,) if key else ())}:
            found.setdefault(name, []).append(job)
    return found


def _is_it(key: Key, absent: Absent, job: JobInfo) -> bool:
    """Accounting may have kept no comment: then id, user and a submit time not before ours do."""
    uuid, user = key
    if job.user != user:
        return False
    if job.uuid is not None:
        return job.uuid == uuid
    late = job.submit_time is not None and job.submit_time >= absent.since - CLOCK_SLACK
    return absent.job_id in {job.job_id, job.array_job_id} and late
