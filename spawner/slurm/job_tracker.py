"""State of the portal's jobs, and how each answer of Slurm changes it.

No I/O, no clock.

A job is identified by its UUID **and its user**: any user can write any UUID into a job's comment,
which must neither replace another user's job nor hide it. A job whose comment was changed is
recognized by its Slurm id, user and submit time. Slurm may hold several jobs with the same UUID and
user (*copies*): after a crash of slurmctld the portal submits a job again.

A job has ended only when squeue or accounting reports it as ended. A job that disappears from
squeue keeps its last known state and is looked up in accounting:

  accounting reports   the job
  an end               has ended
  no such job          is given up after `LOST_AFTER`
  the job, no end      is given up after `RUNAWAY_AFTER` and `LOST_AFTER`: slurmctld has lost it

The last two count only if slurmdbd was current when it was asked, i.e. slurmctld had no undelivered
messages for it.

A job is given up much earlier if slurmctld has certainly forgotten it, which happens when slurmctld
is killed before it has saved the job. slurmctld keeps jobs that have ended for MinJobAge. So if a
job was submitted or seen live less than MinJobAge ago, and slurmctld does not have it now, then it
has been forgotten: it has not ended, and it does not run. Several answers over `CONFIRMED_AFTER`
must agree, and a recorded end takes precedence.

If at least five jobs, and a fifth of those that have not ended, vanish at once, the answer is
ignored, at most `MAX_IGNORED_ANSWERS` times in a row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from spawner.slurm.missing_jobs import (
    FIRST_PAUSE,
    JobRef,
    MissingJob,
    PortalJobKey,
    group_by_ref,
    is_missing_job,
    is_same_job,
    select_matching,
    to_key,
)
from spawner.slurm.model import JobInfo, JobPhase

LOST_AFTER = timedelta(minutes=5)
RUNAWAY_AFTER = timedelta(minutes=1)
CONFIRMED_AFTER = timedelta(seconds=10)
CONFIRMING_ANSWERS = 3  # at least
AGE_MARGIN = timedelta(seconds=30)  # for the duration of commands, and for clocks that differ
LIVE = frozenset({JobPhase.QUEUED, JobPhase.RUNNING, JobPhase.SUSPENDED})
# A job whose id is unknown may not be in squeue yet: its sbatch may run until its timeout.
NEW_JOB = timedelta(seconds=12)
REQUEST_KEPT = timedelta(minutes=10)
HISTORY = timedelta(days=2)  # how far back accounting is searched for a job that was never seen
LONGEST_PAUSE = timedelta(minutes=5)
MAX_ENDED = 10_000
MAX_UNKNOWN_UUIDS = 10_000
MAX_IGNORED = 10_000
MAX_IGNORED_ANSWERS = 2  # how many implausible answers in a row are ignored


class JobTracker:
    """Table of jobs, filled only by the watcher; `version` grows whenever a portal job changes."""

    def __init__(self, new_job: timedelta = NEW_JOB) -> None:
        self._new_job = new_job
        self.by_id: Mapping[int, JobInfo] = {}
        self.version = 0
        self._portal_records: dict[PortalJobKey, dict[int, JobInfo]] = {}  # by Slurm's job id
        self._external_arrays: dict[int, dict[int, JobInfo]] = {}  # by the array's job id
        self._missing: dict[PortalJobKey, MissingJob] = {}
        self._ended: dict[PortalJobKey, JobInfo] = {}
        # Both in the order of insertion. An ignored job's key has its Slurm id and submit time.
        self._unknown_uuids: dict[PortalJobKey, None] = {}
        self._ignored: dict[tuple[PortalJobKey, int, datetime], None] = {}
        self._changed: set[JobRef] = set()
        self._ignored_answers = 0
        self._answered_at: datetime | None = None

    # --- queries --------------------------------------------------------------------------------

    def find(self, key: PortalJobKey, job_id: int | None, external: bool = False) -> JobInfo | None:
        """Return a job as last known.

        Of several copies return the one with this id, else one that has not ended, else the first.
        An `external` job has no UUID and is identified by its id.
        """
        if records := self._portal_records.get(key):
            return min(records.values(), key=lambda j: (j.job_id != job_id, _is_ended(j), j.job_id))
        if key in self._ended:
            return self._ended[key]
        if external and (other := self._find_external(key[1], job_id)) is not None:
            return other
        missing = self._missing.get(key)
        return missing.last if missing else None

    def _find_external(self, user: str, job_id: int | None) -> JobInfo | None:
        job = self.by_id.get(job_id) if job_id is not None else None
        return job if job and job.uuid is None and job.user == user else None

    def list_records(
        self, key: PortalJobKey, job_id: int | None, external: bool
    ) -> tuple[JobInfo, ...]:
        """Return all records in squeue's last answer for a job: its copies and tasks."""
        other = self._find_external(key[1], job_id) if external else None
        return self.list_copies(key, job_id) or ((other,) if other else ())

    def list_copies(self, key: PortalJobKey, job_id: int | None) -> tuple[JobInfo, ...]:
        """Return all records in squeue for this UUID and user, or for an external array's id."""
        if records := self._portal_records.get(key):
            return tuple(records.values())
        tasks = self._external_arrays.get(job_id, {}) if job_id is not None else {}
        return tuple(job for job in tasks.values() if job.user == key[1])

    def take_changed(self) -> set[JobRef]:
        """Return and reset the keys of jobs changed in squeue, or gone, since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def discard_lookups(self, key: PortalJobKey) -> None:
        """Discard the lookups of this job so far."""
        self._missing.pop(key, None)

    def ignore(self, key: PortalJobKey, job_id: int, submit_time: datetime) -> None:
        """Ignore a Slurm job of this UUID: it ended before its script began, and was submitted
        again, maybe under the same id.
        """
        if (key, job_id, submit_time) in self._ignored:
            return
        self._ignored[key, job_id, submit_time] = None
        if len(self._ignored) > MAX_IGNORED:
            del self._ignored[next(iter(self._ignored))]
        records = self._portal_records.get(key, {})
        if (shown := records.get(job_id)) is not None and self._is_ignored(shown):
            del records[job_id]
            if not records:
                del self._portal_records[key]
            self.by_id = {id_: job for id_, job in self.by_id.items() if job is not shown}
        if (ended := self._ended.get(key)) is not None and self._is_ignored(ended):
            del self._ended[key]

    def _is_ignored(self, job: JobInfo) -> bool:
        if not self._ignored or job.submit_time is None or (key := to_key(job)) is None:
            return False
        return (key, job.job_id, job.submit_time) in self._ignored

    def mark_unknown_uuids(self, keys: Iterable[PortalJobKey]) -> None:
        """Mark (UUID, user) pairs that belong to no job of the portal.

        From the next answer on, jobs whose comment contains such a UUID count as external jobs
        without a UUID.
        """
        self._unknown_uuids |= dict.fromkeys(keys)
        while len(self._unknown_uuids) > MAX_UNKNOWN_UUIDS:
            del self._unknown_uuids[next(iter(self._unknown_uuids))]

    def _strip_unknown_uuid(self, job: JobInfo) -> JobInfo:
        return replace(job, uuid=None) if to_key(job) in self._unknown_uuids else job

    def _select_known(self, jobs: Iterable[JobInfo]) -> Iterator[JobInfo]:
        """Yield Slurm's jobs without the ignored ones, and without UUIDs that are not ours."""
        return (self._strip_unknown_uuid(job) for job in jobs if not self._is_ignored(job))

    def _restore_uuid(
        self, job: JobInfo, lookup_keys: Mapping[tuple[int, str], PortalJobKey]
    ) -> JobInfo:
        """Return a job whose comment was changed, or overwritten at its submission, with its UUID.

        It is recognized by what squeue showed before under its id, or an array's id, or by a lookup
        in `lookup_keys`.
        """
        if job.uuid is not None:
            return job
        ids = (job.job_id, job.array_job_id or job.job_id)
        wanted = [key for job_id in ids if (key := lookup_keys.get((job_id, job.user))) is not None]
        if not wanted and self.by_id.get(job.job_id) is job:
            return job  # as in the last answer
        for before in filter(None, map(self.by_id.get, ids)):
            if is_same_job(before, job) and to_key(before) not in self._unknown_uuids:
                return replace(job, uuid=before.uuid)
        for key in wanted:
            if is_missing_job(self._missing[key], job):
                return replace(job, uuid=key[0])
        return job

    def request_lookup(
        self,
        key: PortalJobKey,
        job_id: int | None,
        since: datetime | None,
        now: datetime,
        *,
        external: bool = False,
        submit_time: datetime | None = None,
    ) -> None:
        """Request a lookup in accounting of a job that squeue does not show."""
        missing = self._missing.get(key)
        if missing is None:
            first = now if job_id is not None else now + self._new_job
            since = since or now - HISTORY
            missing = MissingJob(job_id, since, now, first, live_at=since, external=external)
            self._missing[key] = missing
        missing.requested_at = now
        missing.submit_time = missing.submit_time or submit_time
        if missing.job_id is None and job_id is not None:  # submitted since the last answers
            missing.job_id = job_id
            missing.unseen_since, missing.answers = None, 0

    def unknown_since(self, key: PortalJobKey) -> datetime | None:
        """Return the time from which squeue and accounting answer, and neither knows the job."""
        missing = self._missing.get(key)
        return missing.missing_since if missing and missing.last is None else None

    def missing_since(self, key: PortalJobKey) -> datetime | None:
        """Return the time from which neither reports the job as live or ended, even if its last
        state is known.
        """
        missing = self._missing.get(key)
        return missing.missing_since if missing else None

    def is_lost_by_slurmctld(self, key: PortalJobKey) -> bool:
        """Return whether slurmctld has certainly forgotten the job."""
        missing = self._missing.get(key)
        return missing is not None and missing.forgotten

    # --- squeue's answers -----------------------------------------------------------------------

    def apply_squeue(self, jobs: Iterable[JobInfo], now: datetime) -> bool:
        """Apply squeue's answer; return False if it is implausible and was ignored."""
        lookup_keys = {
            (missing.job_id, key[1]): key
            for key, missing in self._missing.items()
            if missing.job_id is not None and not missing.external
        }
        by_id = {
            job.job_id: self._restore_uuid(job, lookup_keys) for job in self._select_known(jobs)
        }
        vanished = self.by_id.keys() - by_id.keys()
        if self._is_implausible(vanished) and self._ignored_answers < MAX_IGNORED_ANSWERS:
            self._ignored_answers += 1
            return False
        self._ignored_answers = 0
        before = self.by_id
        # Most records are the same objects as before (SqueueParser), so 20,000 of them are cheap.
        changed = [job for job in by_id.values() if _differs(before.get(job.job_id), job)]
        outdated = [before[job_id] for job_id in vanished]
        outdated += [before[job.job_id] for job in changed if job.job_id in before]
        last = {key: self.find(key, None) for job in outdated if (key := to_key(job)) is not None}
        for job in outdated:
            self._records_of_same_key(job).pop(job.job_id, None)
        for job in changed:
            self._records_of_same_key(job)[job.job_id] = job
        for key, job_before in last.items():
            if not self._portal_records[key]:
                del self._portal_records[key]
                if key not in self._unknown_uuids:
                    self._record_vanished(key, job_before, now)
        for job in outdated:
            if job.uuid is None and not self._records_of_same_key(job):
                self._external_arrays.pop(job.array_job_id or 0, None)
        for job in changed:
            if (known_key := to_key(job)) is not None:
                self._missing.pop(known_key, None)
        self.version += any(job.uuid is not None for job in (*outdated, *changed))
        self._changed.update(ref for job in (*outdated, *changed) for ref in _job_refs(job))
        # Otherwise the same object stays, with all that is cached for it. Its order is the queue's.
        if changed or list(by_id) != list(before):
            self.by_id = by_id
        self._answered_at = now
        for missing in self._missing.values():
            self._count_answer(missing, now)
        return True

    def note_outage(self) -> None:
        """Note that squeue has not answered: answers without a job count from zero again."""
        for missing in self._missing.values():
            missing.unseen_since, missing.answers = None, 0

    def _count_answer(self, missing: MissingJob, now: datetime) -> None:
        if missing.external and (
            missing.job_id in self.by_id or missing.job_id in self._external_arrays
        ):
            missing.unseen_since, missing.answers = None, 0
            return
        missing.answers += 1
        if missing.unseen_since is None:
            missing.unseen_since = now
            if missing.job_id is not None:  # look it up at once, and often at first
                missing.pause, missing.next_lookup_at = (
                    FIRST_PAUSE,
                    min(missing.next_lookup_at, now),
                )

    def _records_of_same_key(self, job: JobInfo) -> dict[int, JobInfo]:
        """Return the records of this one's key, or of its external array, by Slurm's job id."""
        key = to_key(job)
        if key is not None:
            return self._portal_records.setdefault(key, {})
        if job.array_job_id is not None:
            return self._external_arrays.setdefault(job.array_job_id, {})
        return {}  # it is identified by its id only: `by_id`

    def _is_implausible(self, job_ids: Collection[int]) -> bool:
        """Return whether five jobs, and a fifth of those not ended, have vanished at once."""
        vanished = sum(not _is_ended(self.by_id[job_id]) for job_id in job_ids)
        if vanished < 5:
            return False
        return vanished * 5 >= sum(not _is_ended(job) for job in self.by_id.values())

    def _record_vanished(self, key: PortalJobKey, last: JobInfo | None, now: datetime) -> None:
        if last is None:
            return
        if _is_ended(last):
            self._remember(key, last)
            return
        since = last.submit_time or now - HISTORY
        live_at = self._answered_at if last.phase in LIVE else None
        self._missing[key] = MissingJob(
            last.job_id,
            since,
            now,
            now,
            live_at=live_at or since,
            last=last,
            submit_time=last.submit_time,
        )

    # --- accounting's answers -------------------------------------------------------------------

    def due_lookups(self, now: datetime) -> dict[PortalJobKey, MissingJob]:
        """Return the jobs to look up in accounting now; drop lookups no longer requested."""
        self._missing = {
            key: missing
            for key, missing in self._missing.items()
            if missing.last is not None or now - missing.requested_at < REQUEST_KEPT
        }
        return {
            key: missing for key, missing in self._missing.items() if missing.next_lookup_at <= now
        }

    def list_unconfirmed(
        self, lookups: Mapping[PortalJobKey, MissingJob], now: datetime
    ) -> list[PortalJobKey]:
        """Return the jobs that squeue has lacked for long enough to be forgotten, if they did not
        end: confirm it with `select_forgotten`.
        """
        return [
            key
            for key, missing in lookups.items()
            if missing.job_id is not None
            and not missing.forgotten
            and missing.answers >= CONFIRMING_ANSWERS
            and missing.unseen_since is not None
            and now - missing.unseen_since >= CONFIRMED_AFTER
        ]

    def select_forgotten(
        self,
        keys: Iterable[PortalJobKey],
        min_job_age: timedelta,
        found: Sequence[JobInfo],
        now: datetime,
    ) -> set[PortalJobKey]:
        """Return which of these `list_unconfirmed` jobs slurmctld has certainly forgotten.

        `min_job_age` is how long slurmctld keeps ended jobs, and `found` its answer to a question
        about these jobs by their ids, which it may have given to others.
        """
        by_ref = group_by_ref(self._select_known(found))
        candidates = [
            (key, missing) for key in keys if (missing := self._missing.get(key)) is not None
        ]
        return {
            key
            for key, missing in candidates
            if -AGE_MARGIN < now - missing.live_at < min_job_age - AGE_MARGIN
            and not select_matching(by_ref, key, missing)
        }

    def apply_accounting(
        self,
        lookups: Mapping[PortalJobKey, MissingJob],
        jobs: Iterable[JobInfo] | None,
        now: datetime,
        *,
        current: bool,
        forgotten: Collection[PortalJobKey] = (),
    ) -> None:
        """Apply accounting's answer to `lookups`; `jobs` is None if there was no answer.

        `current` means that slurmctld had no undelivered messages for slurmdbd when it was asked.
        `forgotten` are the jobs that it has certainly forgotten.
        """
        by_ref = group_by_ref(self._select_known(jobs or ()))
        for key, missing in lookups.items():
            missing.next_lookup_at = _choose_next_lookup(missing, now)
            missing.pause = min(2 * missing.pause, LONGEST_PAUSE)
            if self._missing.get(key) is not missing:
                continue
            matching = select_matching(by_ref, key, missing)
            if ended := list(filter(_is_ended, matching)):
                last_ended = max(ended, key=lambda job: (job.job_id == missing.job_id, job.job_id))
                del self._missing[key]
                self._remember(key, replace(last_ended, uuid=key[0]))
                self.version += 1
            elif key in forgotten:
                self._handle_forgotten(missing, now)
            elif jobs is None or missing.forgotten:
                continue
            elif matching:
                self._handle_unended(missing, now, current=current)
            elif current:
                self._handle_unknown(missing, now)

    def _handle_forgotten(self, missing: MissingJob, now: datetime) -> None:
        missing.forgotten, missing.last = True, None
        missing.missing_since = missing.missing_since or now
        self.version += 1

    def _handle_unended(self, missing: MissingJob, now: datetime, *, current: bool) -> None:
        if not current:  # its end may not have been delivered yet
            missing.missing_since = missing.runaway_since = None
            return
        missing.runaway_since = missing.runaway_since or now
        if now - missing.runaway_since >= RUNAWAY_AFTER:
            self._handle_unknown(missing, now)

    def _handle_unknown(self, missing: MissingJob, now: datetime) -> None:
        if missing.missing_since is None:
            missing.missing_since = now
            self.version += 1
        if missing.last is not None and now - missing.missing_since >= LOST_AFTER:
            missing.last = None
            self.version += 1

    def _remember(self, key: PortalJobKey, job: JobInfo) -> None:
        self._ended.pop(key, None)
        self._ended[key] = job
        if len(self._ended) > MAX_ENDED:
            del self._ended[next(iter(self._ended))]


def _choose_next_lookup(missing: MissingJob, now: datetime) -> datetime:
    """Return when to look a job up again: after its pause, or once it may be confirmed as
    forgotten.
    """
    after_pause = now + missing.pause
    if missing.unseen_since is None or missing.job_id is None:
        return after_pause
    confirmable_at = missing.unseen_since + CONFIRMED_AFTER
    return (
        min(after_pause, confirmable_at) if missing.next_lookup_at < confirmable_at else after_pause
    )


def _differs(old: JobInfo | None, new: JobInfo) -> bool:
    return old is not new and old != new


def _job_refs(job: JobInfo) -> tuple[JobRef, ...]:
    if (key := to_key(job)) is not None:
        return (key,)
    return (job.job_id,) if job.array_job_id is None else (job.job_id, job.array_job_id)


def _is_ended(job: JobInfo) -> bool:
    return job.phase is JobPhase.ENDED
