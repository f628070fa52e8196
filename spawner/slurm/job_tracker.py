"""State of the portal's jobs, and how each answer of Slurm changes it.

No I/O, no clock.

A job is identified by its UUID **and its user**: any user can write any UUID into a job's comment,
which must neither replace another user's job nor hide it. A job whose comment was changed is
recognized by its Slurm id, user and submit time.

A job has ended only when squeue or accounting reports it as ended. A job that disappears from
squeue keeps its last known state and is looked up in accounting, with one of three results: it has
ended; it has not ended; it is unknown. The last two count only if slurmdbd was current when it was
asked, i.e. slurmctld had no undelivered messages for it. Then a job that is unknown is given up
after `LOST_AFTER`. So is, `RUNAWAY_AFTER` later, one that has not ended: slurmctld has lost it, and
its end will never be recorded.

A job is given up much earlier if slurmctld has certainly forgotten it, as it does when it is killed
before it saved the job. slurmctld keeps an ended job for MinJobAge. So a job that was submitted, or
seen live, more recently than that has neither ended nor does it run if slurmctld does not have it.
Several answers over `CONFIRMED_AFTER` must agree, and a recorded end takes precedence.

An answer in which at least a fifth of all jobs (and five) have vanished at once is ignored until it
has been repeated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from spawner.slurm.missing_jobs import (
    FIRST_PAUSE,
    Key,
    MissingJob,
    Name,
    group_by_name,
    is_same_job,
    is_submission,
    select_matching,
    to_key,
)
from spawner.slurm.model import JobInfo, SlurmState

LOST_AFTER = timedelta(minutes=5)
RUNAWAY_AFTER = timedelta(minutes=1)
CONFIRMED_AFTER = timedelta(seconds=10)
CONFIRMING_ANSWERS = 3  # at least
AGE_MARGIN = timedelta(seconds=30)  # for the duration of commands, and for clocks that differ
LIVE = frozenset({SlurmState.QUEUED, SlurmState.RUNNING, SlurmState.SUSPENDED})
NEW_JOB = timedelta(seconds=20)  # a job whose id is unknown may not be in squeue yet
FORGET_QUESTION = timedelta(minutes=10)
HISTORY = timedelta(days=2)  # how far back accounting is searched for a job that was never seen
LONGEST_PAUSE = timedelta(minutes=5)
MAX_ENDED = 10_000
MAX_UNKNOWN_UUIDS = 10_000
DOUBTS = 2  # how many implausible answers in a row are ignored


class JobTracker:
    """Table of jobs, filled only by the watcher; `version` grows whenever a portal job changes."""

    def __init__(self) -> None:
        self.by_id: Mapping[int, JobInfo] = {}
        self.version = 0
        self._claims: dict[Key, dict[int, JobInfo]] = {}  # by Slurm's job id
        self._external_arrays: dict[int, dict[int, JobInfo]] = {}  # by the array's job id
        self._absent: dict[Key, MissingJob] = {}
        self._ended: dict[Key, JobInfo] = {}
        self._unknown_uuids: dict[Key, None] = {}  # in the order of insertion
        self._changed: set[Name] = set()
        self._doubts = 0
        self._answered_at: datetime | None = None

    # --- queries --------------------------------------------------------------------------------

    def find(self, key: Key, job_id: int | None, external: bool = False) -> JobInfo | None:
        """Return a job as last known.

        Of several copies return the one with this id, else one that has not ended, else the first.
        An `external` job has no UUID and is identified by its id.
        """
        if claims := self._claims.get(key):
            return min(claims.values(), key=lambda j: (j.job_id != job_id, _is_ended(j), j.job_id))
        if key in self._ended:
            return self._ended[key]
        if external and (other := self._find_external(key[1], job_id)) is not None:
            return other
        absent = self._absent.get(key)
        return absent.last if absent else None

    def _find_external(self, user: str, job_id: int | None) -> JobInfo | None:
        job = self.by_id.get(job_id) if job_id is not None else None
        return job if job and job.uuid is None and job.user == user else None

    def records(self, key: Key, job_id: int | None, external: bool) -> tuple[JobInfo, ...]:
        """Return all records in squeue's last answer for a job: its copies and tasks."""
        other = self._find_external(key[1], job_id) if external else None
        return self.copies(key, job_id) or ((other,) if other else ())

    def copies(self, key: Key, job_id: int | None) -> tuple[JobInfo, ...]:
        """Return all records in squeue for this UUID and user, or for an external array's id."""
        if claims := self._claims.get(key):
            return tuple(claims.values())
        tasks = self._external_arrays.get(job_id, {}) if job_id is not None else {}
        return tuple(job for job in tasks.values() if job.user == key[1])

    def take_changed(self) -> set[Name]:
        """Return and reset the names of jobs changed in squeue, or gone, since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def discard_lookups(self, key: Key) -> None:
        """Discard the lookups of this job so far."""
        self._absent.pop(key, None)

    def mark_unknown_uuids(self, keys: Iterable[Key]) -> None:
        """Mark (UUID, user) pairs that belong to no job of the portal.

        From the next answer on, jobs whose comment contains such a UUID count as external jobs
        without a UUID.
        """
        self._unknown_uuids |= dict.fromkeys(keys)
        while len(self._unknown_uuids) > MAX_UNKNOWN_UUIDS:
            del self._unknown_uuids[next(iter(self._unknown_uuids))]

    def _strip_unknown_uuid(self, job: JobInfo) -> JobInfo:
        return replace(job, uuid=None) if to_key(job) in self._unknown_uuids else job

    def _restore_uuid(self, job: JobInfo, missing: Mapping[tuple[int, str], Key]) -> JobInfo:
        """Return a job whose comment was changed, or overwritten at its submission, with its UUID.

        It is recognized by what squeue showed before under its id, or an array's id, or by a lookup
        in `missing`.
        """
        if job.uuid is not None:
            return job
        ids = (job.job_id, job.array_job_id or job.job_id)
        wanted = [key for job_id in ids if (key := missing.get((job_id, job.user))) is not None]
        if not wanted and self.by_id.get(job.job_id) is job:
            return job  # as in the last answer
        for before in filter(None, map(self.by_id.get, ids)):
            if is_same_job(before, job) and to_key(before) not in self._unknown_uuids:
                return replace(job, uuid=before.uuid)
        for key in wanted:
            if is_submission(self._absent[key], job):
                return replace(job, uuid=key[0])
        return job

    def request_lookup(
        self,
        key: Key,
        job_id: int | None,
        since: datetime | None,
        now: datetime,
        *,
        external: bool = False,
        submit_time: datetime | None = None,
    ) -> None:
        """Request a lookup in accounting of a job that squeue does not show."""
        absent = self._absent.get(key)
        if absent is None:
            first = now if job_id is not None else now + NEW_JOB
            since = since or now - HISTORY
            absent = MissingJob(job_id, since, now, first, live_at=since, external=external)
            self._absent[key] = absent
        absent.asked_at = now
        absent.submit_time = absent.submit_time or submit_time
        if absent.job_id is None and job_id is not None:  # submitted since the last answers
            absent.job_id = job_id
            absent.absent_since, absent.answers = None, 0

    def unknown_since(self, key: Key) -> datetime | None:
        """Return since when both squeue and accounting answer, and neither knows the job."""
        absent = self._absent.get(key)
        return absent.unknown_since if absent and absent.last is None else None

    def missing_since(self, key: Key) -> datetime | None:
        """Return since when neither reports the job (as ended), whether or not it was ever seen."""
        absent = self._absent.get(key)
        return absent.unknown_since if absent else None

    def is_lost_by_slurmctld(self, key: Key) -> bool:
        """Return whether slurmctld has certainly forgotten the job."""
        absent = self._absent.get(key)
        return absent is not None and absent.forgotten

    # --- squeue's answers -----------------------------------------------------------------------

    def squeue(self, jobs: Iterable[JobInfo], now: datetime) -> bool:
        """Apply squeue's answer; return False if it is implausible and was ignored."""
        missing = {
            (absent.job_id, key[1]): key
            for key, absent in self._absent.items()
            if absent.job_id is not None and not absent.external
        }
        by_id = {
            job.job_id: self._restore_uuid(self._strip_unknown_uuid(job), missing) for job in jobs
        }
        vanished = self.by_id.keys() - by_id.keys()
        if self._is_implausible(vanished) and self._doubts < DOUBTS:
            self._doubts += 1
            return False
        self._doubts = 0
        before = self.by_id
        # Most records are the same objects as before (parse.Squeue), so 20,000 of them are cheap.
        changed = [job for job in by_id.values() if _differs(before.get(job.job_id), job)]
        outdated = [before[job_id] for job_id in vanished]
        outdated += [before[job.job_id] for job in changed if job.job_id in before]
        last = {key: self.find(key, None) for job in outdated if (key := to_key(job)) is not None}
        for job in outdated:
            self._same_name_records(job).pop(job.job_id, None)
        for job in changed:
            self._same_name_records(job)[job.job_id] = job
        for key, job_before in last.items():
            if not self._claims[key]:
                del self._claims[key]
                if key not in self._unknown_uuids:
                    self._record_vanished(key, job_before, now)
        for job in outdated:
            if job.uuid is None and not self._same_name_records(job):
                self._external_arrays.pop(job.array_job_id or 0, None)
        for job in changed:
            if (known_key := to_key(job)) is not None:
                self._absent.pop(known_key, None)
        self.version += any(job.uuid is not None for job in (*outdated, *changed))
        self._changed.update(name for job in (*outdated, *changed) for name in _job_names(job))
        self.by_id = by_id
        self._answered_at = now
        for absent in self._absent.values():
            self._count_answer(absent, now)
        return True

    def interrupt(self) -> None:
        """Note that squeue has not answered: answers without a job count from zero again."""
        for absent in self._absent.values():
            absent.absent_since, absent.answers = None, 0

    def _count_answer(self, absent: MissingJob, now: datetime) -> None:
        if absent.external and (
            absent.job_id in self.by_id or absent.job_id in self._external_arrays
        ):
            absent.absent_since, absent.answers = None, 0
            return
        absent.answers += 1
        if absent.absent_since is None:
            absent.absent_since = now
            if absent.job_id is not None:  # look it up at once, and often at first
                absent.pause, absent.next_ask = FIRST_PAUSE, min(absent.next_ask, now)

    def _same_name_records(self, job: JobInfo) -> dict[int, JobInfo]:
        """Return the records with the same name as this one, by Slurm's job id."""
        key = to_key(job)
        if key is not None:
            return self._claims.setdefault(key, {})
        if job.array_job_id is not None:
            return self._external_arrays.setdefault(job.array_job_id, {})
        return {}  # it is identified by its id only: `by_id`

    def _is_implausible(self, job_ids: Collection[int]) -> bool:
        """Return whether five jobs, and a fifth of those not ended, have vanished at once."""
        vanished = sum(not _is_ended(self.by_id[job_id]) for job_id in job_ids)
        if vanished < 5:
            return False
        return vanished * 5 >= sum(not _is_ended(job) for job in self.by_id.values())

    def _record_vanished(self, key: Key, last: JobInfo | None, now: datetime) -> None:
        if last is None:
            return
        if _is_ended(last):
            self._remember(key, last)
            return
        since = last.submit_time or now - HISTORY
        live_at = self._answered_at if last.state in LIVE else None
        self._absent[key] = MissingJob(
            last.job_id,
            since,
            now,
            now,
            live_at=live_at or since,
            last=last,
            submit_time=last.submit_time,
        )

    # --- accounting's answers -------------------------------------------------------------------

    def due_lookups(self, now: datetime) -> dict[Key, MissingJob]:
        """Return the jobs to look up in accounting now; drop lookups no longer requested."""
        self._absent = {
            key: absent
            for key, absent in self._absent.items()
            if absent.last is not None or now - absent.asked_at < FORGET_QUESTION
        }
        return {key: absent for key, absent in self._absent.items() if absent.next_ask <= now}

    def unconfirmed(self, lookups: Mapping[Key, MissingJob], now: datetime) -> list[Key]:
        """Return the jobs that squeue has lacked for long enough to be forgotten, if they did not
        end: confirm it with `select_forgotten`.
        """
        return [
            key
            for key, absent in lookups.items()
            if absent.job_id is not None
            and not absent.forgotten
            and absent.answers >= CONFIRMING_ANSWERS
            and absent.absent_since is not None
            and now - absent.absent_since >= CONFIRMED_AFTER
        ]

    def select_forgotten(
        self, keys: Iterable[Key], min_job_age: timedelta, found: Sequence[JobInfo], now: datetime
    ) -> set[Key]:
        """Return which of these `unconfirmed` jobs slurmctld has certainly forgotten.

        `min_job_age` is how long slurmctld keeps ended jobs, and `found` its answer to a question
        about these jobs by their ids, which it may have given to others.
        """
        by_name = group_by_name(map(self._strip_unknown_uuid, found))
        absents = [(key, absent) for key in keys if (absent := self._absent.get(key)) is not None]
        return {
            key
            for key, absent in absents
            if -AGE_MARGIN < now - absent.live_at < min_job_age - AGE_MARGIN
            and not select_matching(by_name, key, absent)
        }

    def accounting(
        self,
        lookups: Mapping[Key, MissingJob],
        jobs: Iterable[JobInfo] | None,
        now: datetime,
        *,
        current: bool,
        forgotten: Collection[Key] = (),
    ) -> None:
        """Apply accounting's answer to `lookups`; `jobs` is None if there was no answer.

        `current` means that slurmctld had no undelivered messages for slurmdbd when it was asked.
        `forgotten` are the jobs that it has certainly forgotten.
        """
        by_name = group_by_name(map(self._strip_unknown_uuid, jobs or ()))
        for key, absent in lookups.items():
            absent.next_ask = now + absent.pause
            absent.pause = min(2 * absent.pause, LONGEST_PAUSE)
            if self._absent.get(key) is not absent:
                continue
            matching = select_matching(by_name, key, absent)
            if ended := list(filter(_is_ended, matching)):
                last_ended = max(ended, key=lambda job: (job.job_id == absent.job_id, job.job_id))
                del self._absent[key]
                self._remember(key, replace(last_ended, uuid=key[0]))
                self.version += 1
            elif key in forgotten:
                self._handle_forgotten(absent, now)
            elif jobs is None or absent.forgotten:
                continue
            elif matching:
                self._handle_unended(absent, now, current=current)
            elif current:
                self._handle_unknown(absent, now)

    def _handle_forgotten(self, absent: MissingJob, now: datetime) -> None:
        absent.forgotten, absent.last = True, None
        absent.unknown_since = absent.unknown_since or now
        self.version += 1

    def _handle_unended(self, absent: MissingJob, now: datetime, *, current: bool) -> None:
        if not current:  # its end may not have been delivered yet
            absent.unknown_since = absent.runaway_since = None
            return
        absent.runaway_since = absent.runaway_since or now
        if now - absent.runaway_since >= RUNAWAY_AFTER:
            self._handle_unknown(absent, now)

    def _handle_unknown(self, absent: MissingJob, now: datetime) -> None:
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


def _job_names(job: JobInfo) -> tuple[Name, ...]:
    if (key := to_key(job)) is not None:
        return (key,)
    return (job.job_id,) if job.array_job_id is None else (job.job_id, job.array_job_id)


def _is_ended(job: JobInfo) -> bool:
    return job.state is SlurmState.ENDED
