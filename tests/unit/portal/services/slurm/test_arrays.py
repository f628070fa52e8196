"""Slurm's reports on batch jobs: their end, arrays, copies, usage; and logs read in chunks."""

from __future__ import annotations

import struct
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.models import BatchJob, JobState, User, Wanted
from portal.services.jobs import external_jobs
from portal.services.slurm import accounting_totals, arrays, failures, lifecycle, logs
from portal.services.slurm.logs import LogPlace, read_piece
from spawner.errors import Unreachable
from spawner.files.jobs.scalars import last_scalars
from spawner.slurm import parse, parse_usage
from spawner.slurm.model import JobInfo, JobPhase, JobUsage, Outcome
from spawner.slurm.reasons.explanation import Explanation
from tests.paths import TESTS

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
UUID = "5b1c0000-0000-4000-8000-000000000000"


def job(**columns: object) -> BatchJob:
    made: dict[str, object] = {
        "id": UUID, "name": "j", "wanted": Wanted.RUN, "state": JobState.QUEUED, "created_at": NOW,
        "user": User(username="alice"), "external": False, "job_id": 7, "nodes": [],
        "resources": {},
    }  # fmt: skip
    return BatchJob(**(made | columns))


def info(state: JobPhase, **fields: Any) -> JobInfo:
    base = JobInfo(
        job_id=7, user="alice", name="j", phase=state, slurm_state=state.upper(), uuid=UUID,
        submit_time=NOW, start_time=NOW, nodes=("node01",), time_limit_minutes=60,
    )  # fmt: skip
    return replace(base, **fields)


class TestEnd:
    def test_squeue_alone_does_not_end_it_at_once(self) -> None:
        ended = info(JobPhase.ENDED, outcome=Outcome.FAILED, end_time=NOW)
        found = lifecycle.build_observed_columns(job(), ended, NOW + SECOND)
        assert found["state"] is JobState.STOPPING
        assert found["usage_due"] == NOW + SECOND
        assert "outcome" not in found

    def test_without_accounting_it_ends_all_the_same(self) -> None:
        ended = info(JobPhase.ENDED, outcome=Outcome.FAILED, end_time=NOW)
        found = lifecycle.build_observed_columns(job(), ended, NOW + lifecycle.ACCOUNTING_PATIENCE)
        assert (found["state"], found["outcome"]) == (JobState.ENDED, Outcome.FAILED)

    def test_end_before_slurm_answered_waits_for_accounting_too(self) -> None:
        ended = info(JobPhase.ENDED, outcome=Outcome.FAILED, end_time=NOW)
        since = NOW + 10 * lifecycle.ACCOUNTING_PATIENCE
        found = lifecycle.build_observed_columns(job(), ended, since + SECOND, answers_since=since)
        assert found["state"] is JobState.STOPPING
        found = lifecycle.build_observed_columns(
            job(), ended, since + lifecycle.ACCOUNTING_PATIENCE, answers_since=since
        )
        assert found["state"] is JobState.ENDED

    def test_duplicate_copy_is_reported_as_such(self) -> None:
        ended = info(JobPhase.ENDED, outcome=Outcome.FAILED, exit_code=75, end_time=NOW)
        found = lifecycle.build_observed_columns(job(), ended, NOW)
        assert found["reason"] == lifecycle.TWICE

    def test_a_requeue_leads_back_to_the_queue(self) -> None:
        row = job(state=JobState.RUNNING, node="node01", started_at=NOW)
        found = lifecycle.build_observed_columns(
            row, info(JobPhase.QUEUED, nodes=(), start_time=None), NOW
        )
        assert (found["state"], found["node"], found["started_at"]) == (JobState.QUEUED, None, None)


class TestCopies:
    def test_the_one_that_started_first_is_the_job(self) -> None:
        first = info(JobPhase.ENDED, job_id=9)
        second = info(JobPhase.RUNNING, job_id=8, start_time=NOW + SECOND)
        assert lifecycle.choose_copy([second, first]) is first

    def test_of_those_that_wait_the_first(self) -> None:
        waiting = [info(JobPhase.QUEUED, job_id=n, nodes=(), start_time=None) for n in (9, 8)]
        found = lifecycle.choose_copy(waiting)
        assert found is not None
        assert found.job_id == 8

    def test_none_of_none(self) -> None:
        assert lifecycle.choose_copy([]) is None


def task(index: int, state: JobPhase, **fields: Any) -> JobInfo:
    return info(state, **{"job_id": 100 + index, "array_job_id": 7, "tasks": (index,), **fields})


def measured(info: JobInfo) -> JobUsage:
    return JobUsage(info, 1, 1.0, 1, None, 0, complete=False)


class TestArrays:
    def test_a_waiting_array_is_explained_by_its_first_record(self) -> None:
        waiting = [task(n, JobPhase.QUEUED, nodes=(), reason="AssocGrpGRES") for n in (0, 1)]
        seen = []

        def explain(info: JobInfo) -> Explanation:
            seen.append(info)
            return Explanation("AssocGrpGRES", "Full.", "Wait.")

        found = arrays.build_observed_columns(self.row(2), waiting, NOW, explain)
        assert (found["reason"], found["suggestion"]) == ("Full.", "Wait.")
        assert seen == waiting[:1]

    def row(self, size: int = 3, **columns: object) -> BatchJob:
        tasks = [{"index": n, "state": "submitting", "parameters": {"lr": n}} for n in range(size)]
        return job(array_size=size, tasks=tasks, **columns)

    def test_tasks_that_wait_are_one_record(self) -> None:
        waiting = info(
            JobPhase.QUEUED, array_job_id=7, tasks=(0, 1, 2), nodes=(), reason="Priority"
        )
        found = arrays.build_observed_columns(self.row(), [waiting], NOW)
        assert (found["state"], found["job_id"]) == (JobState.QUEUED, 7)
        assert "ahead" in found["reason"]
        assert [t["parameters"] for t in found["tasks"]] == [{"lr": n} for n in range(3)]

    def test_one_that_runs_makes_it_run(self) -> None:
        infos = [
            task(0, JobPhase.RUNNING),
            info(JobPhase.QUEUED, array_job_id=7, tasks=(1, 2), nodes=()),
        ]
        found = arrays.build_observed_columns(self.row(), infos, NOW)
        assert (found["state"], found["node"]) == (JobState.RUNNING, "node01")

    def test_an_ended_task_stays_ended_when_squeue_forgets_it(self) -> None:
        row = self.row(2)
        ended = task(0, JobPhase.ENDED, outcome=Outcome.COMPLETED, exit_code=0, end_time=NOW)
        row.tasks = arrays.build_observed_columns(row, [ended, task(1, JobPhase.RUNNING)], NOW)[
            "tasks"
        ]
        found = arrays.build_observed_columns(row, [task(1, JobPhase.RUNNING)], NOW)
        assert [t["state"] for t in found["tasks"]] == ["ended", "running"]
        assert "usage_due" not in found

    def test_a_task_that_vanished_is_asked_for(self) -> None:
        row = self.row(2)
        row.tasks = arrays.merge_tasks(row.tasks or [], [task(0, JobPhase.RUNNING)], NOW)
        found = arrays.build_observed_columns(row, [task(1, JobPhase.RUNNING)], NOW)
        assert found["usage_due"] == NOW

    def test_array_ends_with_its_last_task_and_counts_failures(self) -> None:
        infos = [
            task(0, JobPhase.ENDED, outcome=Outcome.COMPLETED, exit_code=0, end_time=NOW),
            task(1, JobPhase.ENDED, outcome=Outcome.FAILED, exit_code=3, end_time=NOW),
            task(2, JobPhase.ENDED, outcome=Outcome.TIMEOUT, exit_code=0, end_time=NOW),
        ]
        found = arrays.build_observed_columns(self.row(), infos, NOW)
        assert (found["state"], found["outcome"]) == (JobState.ENDED, Outcome.FAILED)
        assert found["exit_code"] == 3
        assert found["reason"] == "1 of 3 tasks failed; 1 of 3 tasks reached their time limit."

    def test_accounting_that_lags_revives_no_ended_task(self) -> None:
        ended = [
            task(n, JobPhase.ENDED, outcome=Outcome.COMPLETED, exit_code=0, end_time=NOW)
            for n in (0, 1)
        ]
        columns = dict(arrays.build_observed_columns(self.row(2), ended, NOW))
        row = self.row(2)
        row.state, row.tasks = JobState.ENDED, columns["tasks"]
        lagging = [measured(task(n, JobPhase.RUNNING)) for n in (0, 1)]
        found = accounting_totals.build_total_columns(row, lagging, NOW)
        assert found.get("state", row.state) is JobState.ENDED
        assert found.get("tasks", row.tasks) == columns["tasks"]

    def test_an_earlier_run_is_not_the_end_of_a_requeued_task(self) -> None:
        """Slurm has shown the new run while slurmdbd only has the one on the failed node."""
        row = self.row(2)
        later = NOW + 60 * SECOND
        running = task(1, JobPhase.RUNNING)
        requeued = task(0, JobPhase.RUNNING, submit_time=later)
        row.tasks = arrays.build_observed_columns(row, [requeued, running], later)["tasks"]
        earlier = task(0, JobPhase.ENDED, outcome=Outcome.NODE_FAILED, exit_code=1, end_time=NOW)
        found = accounting_totals.build_total_columns(row, [measured(earlier)], later)
        assert found["tasks"] == row.tasks
        own = replace(earlier, outcome=Outcome.COMPLETED, exit_code=0, submit_time=later)
        (ended, _) = accounting_totals.build_total_columns(row, [measured(own)], later)["tasks"]
        assert (ended["state"], ended["outcome"]) == ("ended", "completed")

    def test_squeue_takes_no_exit_code_away(self) -> None:
        ended = task(0, JobPhase.ENDED, outcome=Outcome.FAILED, exit_code=3, end_time=NOW)
        tasks = arrays.merge_tasks([], [ended], NOW)
        for shown in (replace(ended, exit_code=None), task(0, JobPhase.COMPLETING)):
            assert arrays.merge_tasks(tasks, [shown], NOW + SECOND) == tasks
        requeued = arrays.merge_tasks(tasks, [task(0, JobPhase.QUEUED, nodes=())], NOW + SECOND)
        assert requeued[0]["state"] == JobState.QUEUED

    def ended_by_failure(self, size: int = 2) -> dict[str, Any]:
        infos = [
            task(n, JobPhase.ENDED, outcome=Outcome.FAILED, exit_code=1, end_time=NOW)
            for n in range(size)
        ]
        return dict(arrays.build_observed_columns(self.row(size), infos, NOW))

    def test_cause_that_failed_tasks_share_is_the_arrays(self) -> None:
        columns = self.ended_by_failure()
        cause = Explanation("port", "The port was taken.", "Use another port.")
        found = arrays.add_causes(columns, {0: cause, 1: cause})
        assert found["reason"] == "2 of 2 tasks failed. The port was taken."
        assert found["suggestion"] == "Use another port."
        other = Explanation("memory", "Memory ran out.", "Use less.")
        found = arrays.add_causes(columns, {0: cause, 1: other})
        assert found["reason"] == "2 of 2 tasks failed."
        assert [t["cause"]["reason"] for t in found["tasks"]] == [cause.text, other.text]

    def test_metrics_are_those_of_the_last_run(self) -> None:
        ended = {"index": 0, "state": "ended", "metrics": {"loss": 1.0}, "read": True}
        (kept,) = arrays.merge_tasks([ended], [task(0, JobPhase.COMPLETING)], NOW)
        assert kept["metrics"] == {"loss": 1.0}
        (again,) = arrays.merge_tasks([ended], [task(0, JobPhase.QUEUED, nodes=())], NOW)
        assert not {"metrics", "read"} & again.keys()

    def test_a_later_run_that_has_ended_has_nothing_of_the_one_before(self) -> None:
        cause = {"reason": "The port was taken."}
        ended = {"index": 0, "state": "ended", "submit_time": NOW.isoformat(), "cause": cause}
        later = task(0, JobPhase.ENDED, outcome=Outcome.COMPLETED, exit_code=0, end_time=NOW)
        later = replace(later, submit_time=NOW + 60 * SECOND)
        known = {**ended, "metrics": {"loss": 1.0}, "read": True}
        (found,) = arrays.merge_tasks([known], [later], NOW + 90 * SECOND)
        assert found["outcome"] == "completed"
        assert not {"cause", "metrics", "read"} & found.keys()

    def test_cause_is_kept_until_the_task_runs_again(self) -> None:
        columns = self.ended_by_failure()
        row = self.row(2)
        row.tasks = arrays.add_causes(columns, {0: Explanation("x", "X.", "Y.")})["tasks"]
        kept = arrays.build_observed_columns(row, [], NOW)
        assert kept["reason"] == "2 of 2 tasks failed. X."
        again = arrays.build_observed_columns(row, [task(0, JobPhase.RUNNING)], NOW)
        assert "cause" not in again["tasks"][0]

    def test_of_two_arrays_the_jobs_own(self) -> None:
        other = [replace(task(0, JobPhase.QUEUED), array_job_id=9, job_id=9)]
        mine = [task(0, JobPhase.RUNNING)]
        assert arrays.select_tasks(self.row(), [*other, *mine]) == mine


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        ("3", (3,)), ("N/A", ()), ("", ()), ("0-3", (0, 1, 2, 3)), ("1,4-5%2", (1, 4, 5)),
        ("0-6:3", (0, 3, 6)), ("1,2,...", (1, 2)), ("5-x", ()),
    ],
)  # fmt: skip
def test_lists_of_tasks(text: str, tasks: tuple[int, ...]) -> None:
    assert parse.expand_tasks(text) == tasks


def test_a_list_of_tasks_is_bounded() -> None:
    assert len(parse.expand_tasks("0-4000000000")) == 100_000


class Accounting:
    """A database of one row, and accounting with given records; None: it does not answer."""

    def __init__(self, records: list[JobUsage] | None) -> None:
        self.records = records
        self.watcher = self.notifier = self.db = self
        self.notified: list[str] = []

    async def fetch_usage(self, _since: object) -> list[JobUsage]:
        if self.records is None:
            raise Unreachable("slurmdbd does not answer")
        return self.records

    def notify(self, *topics: str) -> None:
        self.notified += topics


@pytest.mark.anyio
class TestCollecting:
    @pytest.fixture(autouse=True)
    def one_row(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def update_row(_db: object, _kind: object, _id: str, modify: Any) -> None:
            modify(self.row)

        async def no_causes(*_: object) -> dict[Any, Any]:
            return {}

        self.row = job(state=JobState.STOPPING, usage_due=NOW, submit_time=NOW, user_id="u")
        monkeypatch.setattr(accounting_totals, "update_row", update_row)
        monkeypatch.setattr(failures, "read_causes", no_causes)

    async def collect(self, records: list[JobUsage] | None, now: datetime = NOW) -> None:
        context: Any = Accounting(records)
        await accounting_totals.collect(context, [self.row], now)

    async def test_an_earlier_run_is_not_the_end_of_a_requeued_job(self) -> None:
        self.row.created_at = NOW - timedelta(hours=2)
        first = info(
            JobPhase.ENDED, outcome=Outcome.NODE_FAILED, submit_time=NOW - timedelta(hours=1)
        )
        await self.collect([replace(measured(first), complete=True)])
        assert (self.row.state, self.row.outcome) == (JobState.STOPPING, None)
        assert self.row.usage_due is not None, "it is asked for again"

        last = info(JobPhase.ENDED, outcome=Outcome.COMPLETED, exit_code=0, end_time=NOW)
        await self.collect([replace(measured(last), complete=True)])
        assert (self.row.state, self.row.outcome) == (JobState.ENDED, Outcome.COMPLETED)
        assert self.row.usage_due is None

    @pytest.mark.parametrize(("exit_code", "is_due"), [(0, False), (None, True)])
    async def test_a_running_array_is_due_until_its_ended_tasks_have_exit_codes(
        self, exit_code: int | None, is_due: bool
    ) -> None:
        self.row.state, self.row.array_size = JobState.RUNNING, 2
        self.row.tasks = [
            {"index": 0, "state": "stopping", "submit_time": NOW.isoformat()},
            {"index": 1, "state": "running", "submit_time": NOW.isoformat()},
        ]
        ended = info(
            JobPhase.ENDED, job_id=8, array_job_id=7, tasks=(0,), outcome=Outcome.COMPLETED,
            exit_code=exit_code, end_time=NOW - timedelta(hours=1),
        )  # fmt: skip
        running = info(JobPhase.RUNNING, array_job_id=7, tasks=(1,))
        await self.collect([measured(ended), measured(running)])
        assert [task["state"] for task in self.row.tasks] == ["ended", "running"]
        assert (self.row.usage_due is not None) is is_due

    async def test_usage_is_not_given_up_while_accounting_does_not_answer(self) -> None:
        self.row.state, self.row.ended_at = JobState.ENDED, NOW
        later = NOW + 2 * accounting_totals.GIVE_UP
        await self.collect(None, later)
        assert self.row.usage_due == later + accounting_totals.LONGEST_PAUSE
        await self.collect([], later)
        assert self.row.usage_due is None


USAGE = TESTS / "data/slurm/22.05.8/usage.txt"


class TestUsage:
    @pytest.fixture
    def found(self) -> dict[int, JobUsage]:
        return {one.info.job_id: one for one in parse_usage.parse_usage(USAGE.read_text())}

    def test_a_job(self, found: dict[int, JobUsage]) -> None:
        one = found[7]
        assert (one.info.exit_code, one.info.outcome) == (3, Outcome.FAILED)
        assert (one.elapsed_s, one.cpu_s, one.max_rss_bytes) == (60, 90.5, 2 << 30)
        assert one.complete
        assert accounting_totals.sum_totals([one]) == {
            "elapsed_s": 60, "longest_s": 60, "cpu_s": 90.5, "cpu_efficiency": 0.7542,
            "max_rss_gb": 2.0, "restarts": 0,
        }  # fmt: skip

    def test_a_requeued_job_is_one_with_its_last_run(self, found: dict[int, JobUsage]) -> None:
        assert (found[8].restarts, found[8].info.phase) == (1, JobPhase.RUNNING)
        assert found[8].elapsed_s == 15
        longest_s = found[8].longest_run_s
        assert longest_s is not None
        assert 0 < longest_s < 15, "its time limit applies to each run"
        assert accounting_totals.sum_totals([found[8]])["longest_s"] == found[8].longest_run_s
        assert not found[8].complete

    def test_a_number_that_was_used_before_is_another_job(self) -> None:
        common = "node01|gpu|lab|60|None||1"
        text = (
            "9|9|bob|COMPLETED|2025-03-01T12:00:00|2025-03-01T12:00:00|2025-03-03T12:00:00|0:0"
            f"|172800|00:01.000|1||{common}\n"
            "9.batch|9.batch||COMPLETED|2025-03-01T12:00:00|2025-03-01T12:00:00"
            f"|2025-03-03T12:00:00|0:0|172800|00:01.000|1|500G|{common}\n"
        )
        earlier = text.replace("bob", "alice")
        own = (
            "9|9|alice|COMPLETED|2026-03-01T12:00:00|2026-03-01T12:00:00|2026-03-01T12:10:00|0:0"
            f"|600|00:01.000|1||{common}\n"
            "9.batch|9.batch||COMPLETED|2026-03-01T12:00:00|2026-03-01T12:00:00"
            f"|2026-03-01T12:10:00|0:0|600|00:01.000|1|1G|{common}\n"
        )
        for before in (text, earlier):
            usages = parse_usage.parse_usage(before + own, {9: NOW - timedelta(minutes=1)})
            mine = [one for one in usages if one.info.user == "alice"]
            assert [(u.elapsed_s, u.max_rss_bytes, u.restarts) for u in mine] == [(600, 1 << 30, 0)]

    def test_an_arrays_tasks(self, found: dict[int, JobUsage]) -> None:
        assert (found[11].info.array_job_id, found[11].info.tasks) == (9, (0,))
        assert (found[9].info.array_job_id, found[9].info.tasks) == (9, (1, 2))

    def test_memory_is_of_all_that_a_node_holds(self, found: dict[int, JobUsage]) -> None:
        """On each of two nodes: first four tasks of 10 GB beside the script's 1 GB. Afterwards
        two concurrent steps of one task on the first node, and one on the second."""
        assert found[12].max_rss_bytes == 41 << 30

    def test_nonsense_is_refused(self) -> None:
        with pytest.raises(parse.BadOutput):
            parse_usage.parse_usage("oops\n")

    def test_it_is_asked_for_ever_more_seldom_and_not_for_ever(self) -> None:
        row = job(state=JobState.ENDED, ended_at=NOW)
        now, asked = NOW, 0
        while (due := accounting_totals.compute_next_due(row, False, False, now)) is not None:
            assert due > now
            now, asked = due, asked + 1
        assert now - NOW >= accounting_totals.GIVE_UP
        assert asked < 50
        assert accounting_totals.compute_next_due(row, True, True, NOW) is None


def test_a_forecast() -> None:
    printed = (
        "sbatch: Job 7 to start at 2026-03-01T12:00:00 using 1 processors on nodes node03 in cpu\n"
    )
    assert parse_usage.parse_forecast(printed) == NOW
    assert parse_usage.parse_forecast("sbatch: error") is None


def test_a_jobs_name_forges_no_path() -> None:
    text = "JobId=7 JobName=x\n   StdOut=/etc/passwd\n   WorkDir=/w\n"
    text += "   StdOut=/w/out\n   StdErr=/w/err\n"
    found = parse_usage.parse_paths(text)
    assert (found.workdir, found.stdout, found.stderr) == ("/w", "/w/out", "/w/err")


def test_the_same_job_from_outside_has_the_same_id() -> None:
    context: Any = SimpleNamespace(settings=SimpleNamespace(cluster_name="c"))
    one = info(JobPhase.QUEUED, uuid=None)
    assert external_jobs.derive_row_id(context, one) == external_jobs.derive_row_id(
        context, replace(one, phase=JobPhase.ENDED)
    )
    assert external_jobs.derive_row_id(context, one) != external_jobs.derive_row_id(
        context, replace(one, submit_time=NOW + SECOND)
    )
    assert lifecycle.is_external(job(id=external_jobs.derive_row_id(context, one)))
    assert not lifecycle.is_external(job())


# --- logs ---------------------------------------------------------------------------------------


class File:
    """A launcher that reads one file and counts the bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.launchers = self

    async def read(
        self, _username: str, _path: str, offset: int, limit: int
    ) -> tuple[bytes, int, int]:
        assert limit <= logs.CHUNK
        size = len(self.data)
        start = max(0, size + offset) if offset < 0 else min(offset, size)
        piece = self.data[start : start + limit]
        return piece, size, start + len(piece)


@pytest.mark.anyio
class TestLogs:
    @given(st.text(st.characters(codec="utf-8"), max_size=40), st.integers(1, 9))
    async def test_no_character_is_cut_in_two(self, text: str, chunk: int) -> None:
        file: Any = File(text.encode())
        read, offset = "", 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(logs, "CHUNK", chunk + 3)
            while True:
                piece = await read_piece(file, "alice", LogPlace("x"), offset, ended=True)
                read, offset = read + piece["text"], piece["next_offset"]
                if piece["end"]:
                    break
        assert read == text

    async def test_the_tail_of_a_long_log_is_a_bounded_piece(self) -> None:
        file: Any = File("é".encode() * logs.CHUNK)
        piece = await read_piece(file, "alice", LogPlace("x"), -(1 << 30), ended=False)
        assert len(piece["text"].encode()) <= logs.CHUNK
        assert piece["next_offset"] == piece["size"]
        assert "\ufffd" not in piece["text"]

    async def test_what_is_no_text_is_shown_all_the_same(self) -> None:
        file: Any = File(bytes(range(256)) * 4)
        piece = await read_piece(file, "alice", LogPlace("x"), 0, ended=True)
        assert piece["end"]
        assert piece["next_offset"] == 1024

    async def test_a_character_still_being_written_is_waited_for(self) -> None:
        file: Any = File("aé".encode()[:-1])
        piece = await read_piece(file, "alice", LogPlace("x"), 0, ended=False)
        assert (piece["text"], piece["next_offset"], piece["end"]) == ("a", 1, False)


# --- event files --------------------------------------------------------------------------------


def varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def event(step: int, tag: str, value: float, tensor: bool = False) -> bytes:
    if tensor:
        proto = varint(1 << 3) + varint(1) + field(4, struct.pack("<f", value))
        body = field(1, tag.encode()) + field(8, proto)
    else:
        body = field(1, tag.encode()) + varint(2 << 3 | 5) + struct.pack("<f", value)
    data = varint(2 << 3) + varint(step) + field(5, field(1, body))
    return struct.pack("<Q", len(data)) + b"crc!" + data + b"crc!"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


class TestEvents:
    def read(self, folder: Path) -> dict[str, float | None]:
        return last_scalars(str(folder), float("inf"))

    def test_the_last_value_by_step(self, folder: Path) -> None:
        data = event(1, "loss", 0.5) + event(9, "loss", 0.25) + event(3, "acc", 2, tensor=True)
        (folder / "run").mkdir()
        (folder / "run/events.out.tfevents.1").write_bytes(data)
        assert self.read(folder) == {"loss": 0.25, "acc": 2.0}

    def test_what_is_no_number_any_more_is_null(self, folder: Path) -> None:
        (folder / "events.out.tfevents.1").write_bytes(event(1, "loss", float("nan")))
        assert self.read(folder) == {"loss": None}

    @pytest.mark.parametrize(
        "data",
        [b"", b"short", b"\xff" * 64, event(1, "x", 1)[:-3], struct.pack("<Q", 1 << 60) + b"crc!"],
    )
    def test_damaged_event_file_yields_nothing(self, folder: Path, data: bytes) -> None:
        (folder / "events.out.tfevents.1").write_bytes(data)
        assert self.read(folder) == {}

    @given(st.binary(max_size=200))
    def test_any_record_is_borne(self, data: bytes) -> None:
        record = struct.pack("<Q", len(data)) + b"crc!" + data + b"crc!"
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "events.out.tfevents.1").write_bytes(record + event(1, "x", 1))
            assert self.read(Path(folder))["x"] == 1.0

    def test_records_of_nothing_take_no_longer_than_there_is(self, folder: Path) -> None:
        """Records without a scalar, which are 16 bytes of zeros each."""
        (folder / "events.out.tfevents.1").write_bytes(bytes(16 << 20))

        def seconds(given: float) -> float:
            began = time.monotonic()
            last_scalars(str(folder), began + given)
            return time.monotonic() - began

        all_of_it = seconds(float("inf"))
        assert seconds(all_of_it / 100) < all_of_it / 3

    def test_there_is_no_such_folder(self, folder: Path) -> None:
        assert self.read(folder / "none") == {}

    def test_pictures_are_passed_over(self, folder: Path) -> None:
        big = struct.pack("<Q", 1 << 20) + b"crc!" + bytes(1 << 20) + b"crc!"
        (folder / "events.out.tfevents.1").write_bytes(big + event(2, "loss", 1))
        assert self.read(folder) == {"loss": 1.0}
