"""Jobs that Slurm ended before their scripts began: submitted again, but never run twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from portal.db import utcnow
from portal.models import JobState, Wanted
from portal.services.jobs.claim_checks import AFTER_START, PATIENCE
from portal.services.slurm import accounting_totals
from portal.services.slurm.lifecycle import ACCOUNTING_PATIENCE, MAX_RESUBMISSIONS
from spawner.slurm.model import JobPhase, JobUsage, Outcome
from tests.portal.reconcile_loop import ReconcileHarness, stop

pytestmark = pytest.mark.anyio
SECOND = timedelta(seconds=1)


async def added(harness: ReconcileHarness, job_id: int = 7, **columns: Any) -> str:
    row_id = await harness.add(job_id=job_id, script="true", **columns)
    harness.show(job_id, row_id)
    await harness.look()
    await harness.round()
    return row_id


def end(
    harness: ReconcileHarness,
    row_id: str,
    outcome: Outcome = Outcome.NODE_FAILED,
    job_id: int = 7,
    **fields: Any,
) -> None:
    """Show a job as ended a while ago, so that accounting is not waited for."""
    harness.show(job_id, row_id, JobPhase.ENDED)
    ended_at = utcnow() - ACCOUNTING_PATIENCE - SECOND
    words = {Outcome.NODE_FAILED: "NODE_FAIL", Outcome.CANCELLED: "CANCELLED"}
    harness.slurm.shown[job_id] = replace(
        harness.slurm.shown[job_id], slurm_state=words[outcome], outcome=outcome,
        end_time=ended_at, **fields,
    )  # fmt: skip
    harness.watcher.answers_since = ended_at


async def settle(harness: ReconcileHarness, after: timedelta = timedelta(0)) -> None:
    """Run the rounds that write the end, act on it, and write the result."""
    await harness.look()
    for _ in range(2):
        await harness.round(after)
        await harness.acts()


async def test_a_job_that_never_began_is_submitted_again(harness: ReconcileHarness) -> None:
    job = await added(harness)
    end(harness, job)
    await settle(harness)
    row = await harness.row(job)
    assert harness.launchers.submitted == [job]
    assert (row.state, row.job_id, row.outcome) == (JobState.QUEUED, 100, None)
    assert [lost["job_id"] for lost in row.lost_jobs] == [7]


async def test_the_end_of_the_lost_job_is_not_that_of_the_next(harness: ReconcileHarness) -> None:
    """Slurm shows the first for a while; the second may run, and may itself be forgotten."""
    job = await added(harness)
    end(harness, job)
    await settle(harness)
    harness.show(100, job, JobPhase.RUNNING)
    await settle(harness)
    row = await harness.row(job)
    assert (row.state, row.job_id) == (JobState.RUNNING, 100)
    del harness.slurm.shown[100]
    await settle(harness)
    assert harness.watcher.missing_since(job, "alice") is None, "accounting is asked first"
    assert (await harness.row(job)).state is JobState.RUNNING
    del harness.slurm.shown[7]
    await settle(harness)
    assert (await harness.row(job)).state is JobState.RUNNING
    assert harness.launchers.submitted == [job]


async def test_the_lost_job_is_ignored_after_a_restart(harness: ReconcileHarness) -> None:
    job = await added(harness)
    end(harness, job)
    submitted = harness.slurm.shown[7].submit_time
    assert submitted is not None
    lost = {"job_id": 7, "submit_time": submitted.isoformat(), "outcome": "node_failed"}

    def resubmit(row: Any) -> None:
        row.state, row.job_id, row.submit_time = JobState.SUBMITTING, None, None
        row.lost_jobs = [lost]

    await harness.write(job, resubmit)  # as the process before did, before it was killed
    await settle(harness)
    row = await harness.row(job)
    assert (row.state, row.job_id) == (JobState.SUBMITTING, None)


async def test_a_reused_id_is_not_ignored(harness: ReconcileHarness) -> None:
    """A slurmctld that is killed again gives the next job the same id."""
    harness.launchers.next_id = 7
    job = await added(harness)
    end(harness, job)
    await settle(harness)
    harness.show(7, job, JobPhase.RUNNING)
    later = utcnow().replace(microsecond=0)
    harness.slurm.shown[7] = replace(harness.slurm.shown[7], submit_time=later)
    await settle(harness)
    assert (await harness.row(job)).state is JobState.RUNNING


async def test_a_job_that_began_ends_as_slurm_says(harness: ReconcileHarness) -> None:
    job = await added(harness)
    harness.launchers.claimed.add(job)
    end(harness, job)
    await settle(harness)
    row = await harness.row(job)
    assert (row.state, row.outcome, row.claim_check_since) == (
        JobState.ENDED, Outcome.NODE_FAILED, None,
    )  # fmt: skip
    assert harness.launchers.submitted == []


async def test_the_number_of_submissions_is_bounded(harness: ReconcileHarness) -> None:
    """Also over restarts of the portal: the row has the number."""
    job = await added(harness)
    for job_id in (7, *range(100, 100 + MAX_RESUBMISSIONS)):
        harness.launchers.next_id = max(100, job_id + 1)
        end(harness, job, job_id=job_id)
        await settle(harness, timedelta(minutes=1))
    row = await harness.row(job)
    assert len(harness.launchers.submitted) == MAX_RESUBMISSIONS
    assert (row.state, row.outcome) == (JobState.ENDED, Outcome.NODE_FAILED)


@pytest.mark.parametrize("uid", [None, 20001])
async def test_a_users_own_cancel_is_respected(harness: ReconcileHarness, uid: int | None) -> None:
    harness.slurm.started = utcnow()
    job = await added(harness)
    end(harness, job, Outcome.CANCELLED, cancelled_by=uid)
    await settle(harness)
    row = await harness.row(job)
    assert (row.state, row.outcome) == (JobState.ENDED, Outcome.CANCELLED)
    assert harness.launchers.submitted == []


async def test_a_cancel_in_the_portal_is_respected(harness: ReconcileHarness) -> None:
    """Also one that comes while the claim is looked up."""
    job = await added(harness)
    end(harness, job)
    harness.launchers.broken = True
    await settle(harness)
    assert (await harness.row(job)).claim_check_since is not None
    harness.launchers.broken = False
    await harness.write(job, stop)
    await settle(harness)
    row = await harness.row(job)
    assert (row.state, row.outcome, row.wanted) == (
        JobState.ENDED, Outcome.CANCELLED, Wanted.STOP,
    )  # fmt: skip
    assert harness.launchers.submitted == []


@pytest.mark.parametrize(
    ("started_before", "again"),
    [(SECOND, True), (AFTER_START + SECOND, False), (-2 * timedelta(minutes=1), False)],
    ids=["just started", "long ago", "since then"],
)
async def test_a_cancel_as_root_counts_unless_slurmctld_was_just_started(
    harness: ReconcileHarness, started_before: timedelta, again: bool
) -> None:
    job = await added(harness)
    end(harness, job, Outcome.CANCELLED, cancelled_by=0)
    ended_at = harness.slurm.shown[7].end_time
    assert ended_at is not None
    harness.slurm.started = ended_at - started_before
    await settle(harness)
    assert harness.launchers.submitted == [job] * again
    expected = JobState.QUEUED if again else JobState.ENDED
    assert (await harness.row(job)).state is expected


async def test_accounting_names_who_cancelled(harness: ReconcileHarness) -> None:
    """squeue doesn't: its report does not end the job once accounting has answered."""
    job = await added(harness)
    end(harness, job, Outcome.CANCELLED)
    shown = harness.slurm.shown[7]
    assert shown.end_time is not None
    harness.slurm.started = shown.end_time
    record = replace(shown, uuid=None, exit_code=0, cancelled_by=0)
    harness.slurm.measured = [JobUsage(record, 0, 0.0, 1, None, 0, complete=True)]
    await accounting_totals.collect(harness.context, [await harness.row(job)], utcnow())
    row = await harness.row(job)
    assert (row.state, row.outcome) == (JobState.STOPPING, None)
    await settle(harness)
    assert harness.launchers.submitted == [job]


async def test_a_home_that_cannot_be_read_delays_the_end_for_a_while(
    harness: ReconcileHarness,
) -> None:
    job = await added(harness)
    end(harness, job)
    harness.launchers.broken = True
    await settle(harness)
    assert (await harness.row(job)).state is JobState.STOPPING
    await settle(harness, PATIENCE + SECOND)
    row = await harness.row(job)
    assert (row.state, row.outcome) == (JobState.ENDED, Outcome.NODE_FAILED)


@pytest.mark.parametrize(
    "columns", [{"external": True}, {"array_size": 1, "tasks": []}], ids=["external", "array"]
)
async def test_others_end_as_slurm_says(harness: ReconcileHarness, columns: dict[str, Any]) -> None:
    job = await added(harness, **columns)
    end(harness, job)
    await settle(harness)
    row = await harness.row(job)
    assert row.claim_check_since is None
    assert harness.launchers.submitted == []


async def test_a_job_that_slurm_requeues_is_left_to_slurm(
    harness: ReconcileHarness,
) -> None:
    job = await added(harness)
    end(harness, job)
    harness.launchers.broken = True
    await settle(harness)
    harness.show(7, job, JobPhase.RUNNING)
    later: datetime = utcnow().replace(microsecond=0)
    harness.slurm.shown[7] = replace(harness.slurm.shown[7], submit_time=later)
    harness.launchers.broken = False
    await settle(harness)
    row = await harness.row(job)
    assert (row.state, row.job_id, row.claim_check_since) == (JobState.RUNNING, 7, None)
    assert harness.launchers.submitted == []
