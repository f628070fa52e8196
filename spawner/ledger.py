"""What is known of the portal's jobs, and how each answer of Slurm changes it. No I/O, no clock.

A job is named by its UUID **and its user**: anyone may write any UUID into a comment of a job of
their own, which must neither stand for another's job nor hide it.

A job has ended only when squeue shows it as ended or accounting says so. One that is gone from
squeue keeps its last known state, is asked for in accounting, and is given up as unknown only after
accounting has answered without it for `LOST_AFTER`. An answer in which at least a fifth of all jobs
(and five) have vanished at once is not believed until it has been repeated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
DOUBTS = 2  # how often an incredible answer is not believed

Key = tuple[str, str]  # UUID, user


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
        self._claims: dict[Key, list[JobInfo]] = {}
        self._outside: dict[int, list[JobInfo]] = {}  # arrays that are not ours
        self._absent: dict[Key, Absent] = {}
        self._ended: dict[Key, JobInfo] = {}
        self._doubts = 0

    # --- what is known --------------------------------------------------------------------------

    def find(self, key: Key, job_id: int | None, outside: bool = False) -> JobInfo | None:
        """A job as last known. Of several copies the one with this id, else one that has not
        ended, else the first. A job from `outside` the portal has no UUID: its id
        names it."""
        claims = self._claims.get(key, [])
        if claims:
            return min(claims, key=lambda j: (j.job_id != job_id, _is_ended(j), j.job_id))
        if key in self._ended:
            return self._ended[key]
        other = self.by_id.get(job_id) if outside and job_id is not None else None
        if other is not None and other.uuid is None and other.user == key[1]:
            return other
        absent = self._absent.get(key)
        return absent.last if absent else None

    def copies(self, key: Key, job_id: int | None) -> tuple[JobInfo, ...]:
        """All that squeue shows of this UUID and user; of an array from outside, of its id."""
        claims = self._claims.get(key)
        if claims is None and job_id is not None:
            claims = [job for job in self._outside.get(job_id, ()) if job.user == key[1]]
        return tuple(claims or ())

    def forget(self, key: Key) -> None:
        """What was asked about this job so far is void."""
        self._absent.pop(key, None)

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
        by_id = {job.job_id: job for job in jobs}
        if self._incredible(by_id) and self._doubts < DOUBTS:
            self._doubts += 1
            return False
        self._doubts = 0
        claims: dict[Key, list[JobInfo]] = {}
        outside: dict[int, list[JobInfo]] = {}
        for job in by_id.values():
            if job.uuid is not None:
                claims.setdefault((job.uuid, job.user), []).append(job)
            elif job.array_job_id is not None:
                outside.setdefault(job.array_job_id, []).append(job)
        for key in self._claims.keys() - claims.keys():
            self._vanished(key, now)
        for key in claims:
            self._absent.pop(key, None)
        self.version += claims != self._claims
        self.by_id, self._claims, self._outside = by_id, claims, outside
        return True

    def _incredible(self, by_id: Mapping[int, JobInfo]) -> bool:
        live = {job_id for job_id, job in self.by_id.items() if not _is_ended(job)}
        vanished = len(live - by_id.keys())
        return vanished >= 5 and vanished * 5 >= len(live)

    def _vanished(self, key: Key, now: datetime) -> None:
        last = self.find(key, None)
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
        known = list(jobs or ())
        for key, absent in asked.items():
            absent.next_ask = now + absent.pause
            absent.pause = min(2 * absent.pause, LONGEST_PAUSE)
            if jobs is None or self._absent.get(key) is not absent:
                continue
            ended = [job for job in known if _is_ended(job) and _is_it(key, absent, job)]
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


def _is_ended(job: JobInfo) -> bool:
    return job.state is SlurmState.ENDED


def _is_it(key: Key, absent: Absent, job: JobInfo) -> bool:
    """Accounting may have kept no comment: then id, user and a submit time not before ours do."""
    uuid, user = key
    if job.user != user:
        return False
    if job.uuid is not None:
        return job.uuid == uuid
    late = job.submit_time is not None and job.submit_time >= absent.since - CLOCK_SLACK
    return absent.job_id in {job.job_id, job.array_job_id} and late
