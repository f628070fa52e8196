"""Slurm's output for one short history, recorded per version by tests/recording.

Each test runs on every recorded version: one parser supports them all.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from portal.services.cluster.conditions import Condition, accepts_jobs, get_condition
from spawner.errors import JobNotFound, Unreachable
from spawner.slurm import parse, parse_accounting, parse_bounds, parse_nodes, parse_usage
from spawner.slurm.client import Slurm
from spawner.slurm.model import JobInfo, JobPaths, JobPhase, JobUsage, Outcome, WallLimit
from spawner.slurm.parse_accounting import InUse
from spawner.slurm.reasons.outcomes import explain_outcome
from spawner.slurm.reasons.pending import explain_reason
from spawner.slurm.reasons.rejections import explain_rejection
from tests.paths import TESTS
from tests.polling import PATIENCE_S

VERSIONS = TESTS / "data/slurm/versions"
MARK = "Mk7_recorded"
OURS = "0a0a0a0a-1111-2222-3333-444444444444"


class Recorded:
    """The responses of one version."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ids: Mapping[str, int] = json.loads(self.text("jobs.json"))
        self.stderr: Mapping[str, Any] = json.loads(self.text("stderr.json"))
        squeue = parse.parse_squeue(self.text("squeue.txt"), MARK)
        sacct = parse.parse_sacct(self.text("sacct.txt"), MARK)
        self.squeue: Mapping[int, JobInfo] = {job.job_id: job for job in squeue}
        self.sacct: Mapping[int, JobInfo] = {job.job_id: job for job in sacct}

    def text(self, name: str) -> str:
        return (self.folder / name).read_bytes().decode()

    def queued(self, name: str) -> JobInfo:
        return self.squeue[self.ids[name]]

    def usage(self) -> Mapping[int, JobUsage]:
        found = parse_usage.parse_usage(self.text("usage.txt"))
        return {usage.info.job_id: usage for usage in found}


FOLDERS = sorted(folder for folder in VERSIONS.iterdir() if folder.is_dir())


@pytest.fixture(scope="module", params=FOLDERS, ids=lambda folder: folder.name)
def slurm(request: pytest.FixtureRequest) -> Recorded:
    return Recorded(request.param)


def test_versions_from_20_11_on_are_there() -> None:
    assert [folder.name[:5] for folder in FOLDERS] == ["20.11", "22.05", "24.11", "26.05"]


class TestJobs:
    def test_every_record_is_read(self, slurm: Recorded) -> None:
        # the ids of the two running tasks were not printed
        assert set(slurm.ids.values()) < set(slurm.squeue)
        assert len(slurm.squeue) == len(slurm.ids) + 2
        assert len(slurm.sacct) == slurm.text("sacct.txt").count(MARK) / 15

    def test_running_on_gpus(self, slurm: Recorded) -> None:
        job = slurm.queued("running")
        assert (job.user, job.phase, job.name) == ("alice", JobPhase.RUNNING, "plain name")
        assert (job.uuid, job.nodes, job.gpus) == (OURS, ("node01",), (("v100", 2),))
        assert (job.partition, job.account, job.qos) == ("gpu", "research", "normal")
        assert (job.time_limit_minutes, job.reason, job.end_time) == (120, None, None)
        assert job.start_time is not None and job.submit_time is not None

    @pytest.mark.parametrize(
        ("name", "reason", "forecast"),
        [
            ("big", "Resources", True),
            ("any gpu", "BeginTime", True),
            ("requeued", "BeginTime", True),
            ("held", "JobHeldUser", False),
            ("depends", "Dependency", False),
            ("array", "JobArrayTaskLimit", False),
        ],
    )
    def test_waiting(self, slurm: Recorded, name: str, reason: str, forecast: bool) -> None:
        job = slurm.queued(name)
        assert (job.phase, job.reason, job.nodes) == (JobPhase.QUEUED, reason, ())
        assert (job.start_time, job.estimated_start is not None) == (None, forecast)
        why = explain_reason(reason)
        assert why is not None and reason not in why.text

    def test_gpus_asked_for(self, slurm: Recorded) -> None:
        assert slurm.queued("big").gpus == (("v100", 1),)
        assert slurm.queued("any gpu").gpus == (("gpu", 1),)
        assert slurm.queued("held").gpus == ()

    @pytest.mark.parametrize(
        ("name", "outcome", "code", "signal"),
        [
            ("ended", Outcome.COMPLETED, 0, 0),
            ("failed", Outcome.FAILED, 3, 0),
            ("killed", Outcome.FAILED, 0, 9),
            ("cancelled", Outcome.CANCELLED, 0, 0),
        ],
    )
    def test_ended(
        self, slurm: Recorded, name: str, outcome: Outcome, code: int, signal: int
    ) -> None:
        queued, counted = slurm.queued(name), slurm.sacct[slurm.ids[name]]
        assert queued.outcome is counted.outcome is outcome
        assert queued.end_time == counted.end_time is not None
        assert (counted.exit_code, counted.signal) == (code, signal)
        assert explain_outcome(queued) is not None or outcome is Outcome.COMPLETED

    def test_cancelled_before_it_ran(self, slurm: Recorded) -> None:
        for info in (slurm.queued("withdrawn"), slurm.usage()[slurm.ids["withdrawn"]].info):
            assert info.outcome is Outcome.CANCELLED
            assert (info.start_time, info.nodes) == (None, ())

    def test_accounting_says_who_cancelled(self, slurm: Recorded) -> None:
        bob = 20002
        assert slurm.sacct[slurm.ids["cancelled"]].cancelled_by == bob
        assert slurm.usage()[slurm.ids["withdrawn"]].info.cancelled_by == bob
        assert slurm.sacct[slurm.ids["ended"]].cancelled_by is None
        assert slurm.queued("cancelled").cancelled_by is None

    def test_a_name_forges_no_record(self, slurm: Recorded) -> None:
        assert not {999, 999_999} & (slurm.squeue.keys() | slurm.sacct.keys())
        for job in (slurm.queued("evil"), slurm.sacct[slurm.ids["evil"]]):
            assert job.name.startswith("evil|x\n999\x1f999\x1fN/A\x1fbob 20002\x1fRUNNING|")
            assert (job.user, job.phase) == ("alice", JobPhase.RUNNING)
            assert job.uuid is None, "a comment that goes on after the UUID is not ours"
        assert "naïve 数据" in slurm.queued("evil").name

    def test_a_uuid_is_found_again_in_accounting(self, slurm: Recorded) -> None:
        assert slurm.queued("claims").uuid == slurm.sacct[slurm.ids["claims"]].uuid == OURS
        assert slurm.queued("claims").user == "bob"

    def test_an_array(self, slurm: Recorded) -> None:
        array_id = slurm.ids["array"]
        tasks = [job for job in slurm.squeue.values() if job.array_job_id == array_id]
        assert sorted(job.tasks for job in tasks) == [(0,), (1,), (2, 3, 4, 5)]
        counted = [job for job in slurm.sacct.values() if job.array_job_id == array_id]
        assert sorted(job.tasks for job in counted) == [(0,), (1,)]

    def test_user_unknown_to_the_host_is_shown_by_number(self, slurm: Recorded) -> None:
        assert slurm.queued("array").user == "20003"
        assert slurm.usage()[slurm.ids["array"]].info.user == "carol"

    def test_use(self, slurm: Recorded) -> None:
        usage = slurm.usage()
        assert usage.keys() == slurm.squeue.keys()
        requeued = usage[slurm.ids["requeued"]]
        assert (requeued.restarts, requeued.complete) == (1, False)
        assert requeued.info.phase is JobPhase.QUEUED
        ended, runs = usage[slurm.ids["ended"]], usage[slurm.ids["running"]]
        assert (ended.complete, ended.cpus, ended.restarts) == (True, 1, 0)
        assert ended.cpu_s > 0
        assert (runs.complete, runs.cpus, runs.info.nodes) == (False, 1, ("node01",))


class TestCluster:
    def test_nodes(self, slurm: Recorded) -> None:
        nodes = {node.name: node for node in parse_nodes.parse_nodes(slurm.text("nodes.txt"))}
        first, second, third = (nodes[name] for name in ("node01", "node02", "node03"))
        assert (dict(first.gpus), dict(first.gpus_allocated)) == ({"v100": 2}, {"v100": 2})
        assert (first.cpus, first.cpus_allocated) == (8, 1)
        assert (first.memory_mb, first.memory_allocated_mb) == (4096, 128)
        assert (first.address, first.partitions) == ("127.0.0.1", ("gpu", "debug"))
        assert (dict(second.gpus), dict(second.gpus_allocated)) == ({"v100": 2}, {})
        assert (dict(third.gpus), third.reason) == ({}, None)
        assert [get_condition(n.state) for n in (first, second, third)] == [
            Condition.PARTLY, Condition.DRAINED, Condition.PARTLY,
        ]  # fmt: skip
        assert [accepts_jobs(n.state) for n in (first, second)] == [True, False]

    def test_a_reason_replaces_nothing(self, slurm: Recorded) -> None:
        second = parse_nodes.parse_nodes(slurm.text("nodes.txt"))[1]
        assert second.reason is not None
        assert second.reason.startswith("fan's broken NodeName=evil Gres=gpu:x:9")
        assert second.reason_at is not None and second.reason_at.year > 2001

    def test_partitions(self, slurm: Recorded) -> None:
        found = parse_nodes.parse_partitions(slurm.text("partitions.txt"))
        assert [(p.name, p.default, p.state, p.max_time_minutes) for p in found] == [
            ("gpu", False, "UP", 2880), ("cpu", True, "UP", 1440), ("debug", False, "UP", None),
        ]  # fmt: skip
        assert [p.default_time_minutes for p in found] == [60, 60, 10]
        assert found[0].nodes == ("node01", "node02")

    def test_reservations(self, slurm: Recorded) -> None:
        found = {r.name: r for r in parse_bounds.parse_reservations(slurm.text("reservations.txt"))}
        assert {name: r.maintenance for name, r in found.items()} == {
            "m1": True, "m2": False, "m3": False,
        }  # fmt: skip
        assert found["m1"].nodes == ("node01", "node02", "node03")
        assert (found["m2"].users, found["m2"].nodes) == (("alice", "bob"), ("node01",))
        assert (found["m3"].users, found["m3"].accounts) == ((), ("teaching",))
        assert all(r.end - r.start == timedelta(hours=1) for r in found.values())

    def test_what_bounds_a_jobs_time(self, slurm: Recorded) -> None:
        text = slurm.text("assoc_mgr.txt")
        found = parse_bounds.parse_wall_limits(
            text, user="alice", account="research", qos="high", partition="gpu"
        )
        assert set(found) == {WallLimit(2880, "account", "research"), WallLimit(300, "qos", "high")}


class TestAccounting:
    def test_associations(self, slurm: Recorded) -> None:
        found = parse_accounting.parse_associations(slurm.text("associations.txt"))
        assert found["research", "carol", ""] == {
            "QOS": ["high", "normal"], "DefaultQOS": "normal", "cpu": 8, "gres/gpu": 1,
            "gres/gpu:v100": 1, "mem": 5632, "MaxSubmitJobs": 12, "MaxWall": 1530,
        }  # fmt: skip
        assert found["teaching", "", ""] == {"QOS": ["normal"], "gres/gpu": 2, "GrpSubmitJobs": 50}
        assert found["teaching", "bob", "cpu"]["MaxSubmitJobs"] == 0

    def test_default_accounts(self, slurm: Recorded) -> None:
        found = parse_accounting.parse_default_accounts(slurm.text("default_accounts.txt"))
        assert (found["alice"], found["portal"]) == ("research", "research")

    def test_how_the_cluster_is_set_up(self, slurm: Recorded) -> None:
        texts = (slurm.text(f"{name}.txt") for name in ("config", "tres", "qos"))
        facts = parse_accounting.parse_facts(*texts)
        assert facts.cluster == "demo"
        assert facts.enforces == {"associations", "limits", "qos"}
        assert {"cpu", "mem", "gres/gpu", "gres/gpu:v100"} <= facts.tres
        assert facts.qos == {"normal", "high"}

    def test_what_running_jobs_hold(self, slurm: Recorded) -> None:
        found = parse_accounting.parse_in_use(slurm.text("in_use.txt"))
        assert found["research", "alice"] == InUse(2, {"v100": 2}, 2, 192, 2)
        assert found["research", ""] == InUse(2, {"v100": 2}, 4, 320, 13)
        assert found["teaching", ""] == InUse()

    def test_each_run_of_a_job_that_began(self, slurm: Recorded) -> None:
        found = parse_accounting.parse_job_times(slurm.text("job_times.txt"))
        assert [(t.user, t.cpus) for t in found if t.gpus] == [("alice", 1)]
        assert all(t.gpus == 2 and t.end is None for t in found if t.gpus)
        # the ended jobs, the run before the requeue, and the running jobs
        assert len(found) == 5 + 1 + 4

    def test_what_was_refused(self, slurm: Recorded) -> None:
        text = parse_accounting.refusal(slurm.stderr["tell_refused"]["stderr"])
        assert "gres/gpu:k80" in text
        assert "Job(s) active, cancel job(s) before remove" in text
        assert "Use keyword" not in text and "\n" not in text

    def test_short_answers(self, slurm: Recorded) -> None:
        assert slurm.text("version.txt").rpartition(" ")[2].strip() == slurm.folder.name
        assert slurm.text("admin_level.txt").strip() == "Operator"
        assert slurm.text("clusters.txt") == "demo\n"


class TestWhatUsersAsk:
    def test_paths(self, slurm: Recorded) -> None:
        paths = parse_usage.parse_paths(slurm.text("job.txt"))
        running = slurm.ids["running"]
        home = "/home/alice"
        assert paths == JobPaths(home, f"{home}/out-{running}.log", f"{home}/err-{running}.log")

    def test_paths_that_a_name_claims(self, slurm: Recorded) -> None:
        assert "   StdErr=/forged\n" in slurm.text("job_evil.txt")
        paths = parse_usage.parse_paths(slurm.text("job_evil.txt"))
        log = f"/home/alice/slurm-{slurm.ids['evil']}.out"
        assert paths == JobPaths("/home/alice", log, log)

    def test_paths_of_a_task(self, slurm: Recorded) -> None:
        paths = parse_usage.parse_paths(slurm.text("job_array.txt"))
        log = f"/home/carol/slurm-{slurm.ids['array']}_1.out"
        assert paths == JobPaths("/home/carol", log, log)

    def test_steps_and_a_folder_from_accounting(self, slurm: Recorded) -> None:
        assert f"{slurm.ids['running']}.0|portal-step\n" in slurm.text("steps.txt")
        assert slurm.text("work_dir.txt") == "/home/alice\n"

    def test_forecast(self, slurm: Recorded) -> None:
        found = parse_usage.parse_forecast(slurm.stderr["forecast"]["stderr"])
        assert found is not None and found > datetime(2026, 1, 1, tzinfo=UTC)

    def test_refusals_are_explained(self, slurm: Recorded) -> None:
        found = {
            " ".join(printed["arguments"][2:]): explain_rejection(printed["stderr"]).code
            for name, printed in slurm.stderr.items()
            if name.startswith("sbatch_")
        }
        # 24.11 was the first to refuse to wait for a job that does not exist
        found.pop("--dependency=afterok:99999", None)
        assert found == {
            "--account=nosuch": "invalid-account",
            "--partition=nosuch": "invalid-partition",
            "--qos=nosuch": "invalid-qos",
            "--qos=high": "invalid-qos",
            "--partition=gpu --gres=gpu:v100:5": "no-such-node",
            "--partition=gpu --gres=gpu:a100:1": "no-such-node",
            "--partition=gpu --nodes=3": "too-many-nodes",
            "--mem=1000G": "too-much-memory",
            "--cpus-per-task=64": "too-many-cpus",
            "--time=30-00:00:00": "time-limit",
        }


@pytest.mark.anyio
class TestActs:
    """The product's own operations, on fake commands with the version's recorded responses."""

    @staticmethod
    def slurm_printing(folder: Path, printed: Mapping[str, Any]) -> Slurm:
        program = folder / printed["arguments"][0]
        (folder / "stderr").write_text(printed["stderr"], encoding="utf-8")
        program.write_text(
            f"#!/bin/sh\nwhile read -r line; do echo \"$line\" >&2; done <'{folder}/stderr'\n"
            f"exit {printed['code']}\n",
            encoding="utf-8",
        )
        program.chmod(0o755)
        return Slurm(folder, timeout_s=PATIENCE_S)

    async def test_cancelling_what_has_ended_is_well(self, slurm: Recorded, tmp_path: Path) -> None:
        printed = slurm.stderr["cancel_ended"]
        assert "error" in printed["stderr"]
        await self.slurm_printing(tmp_path, printed).cancel(1, "bob")

    async def test_cancelling_what_is_not_there(self, slurm: Recorded, tmp_path: Path) -> None:
        with pytest.raises(JobNotFound):
            await self.slurm_printing(tmp_path, slurm.stderr["cancel_unknown"]).cancel(
                99_999, "bob"
            )

    async def test_daemons_too_far_from_the_commands(self, slurm: Recorded, tmp_path: Path) -> None:
        """Commands of any other version either work, or report clearly that nothing is known."""
        printed = json.loads(slurm.text("other_clients.json"))
        assert printed.keys() == {folder.name for folder in FOLDERS} - {slurm.folder.name}
        for each in itertools.chain(*printed.values()):
            with pytest.raises(Unreachable):
                await self.slurm_printing(tmp_path, each)._query(each["arguments"])

    async def test_incompatible_commands_are_recognized(self, tmp_path: Path) -> None:
        printed = json.loads((VERSIONS / "26.05.5/other_clients.json").read_text(encoding="utf-8"))
        squeue = printed["22.05.8"][0]
        assert squeue["arguments"][0] == "squeue"
        with pytest.raises(Unreachable, match="may be incompatible"):
            await self.slurm_printing(tmp_path, squeue)._query(squeue["arguments"])

    @pytest.mark.parametrize("name", ["limit_of_ended", "limit_of_unknown"])
    async def test_more_time_for_what_is_gone(
        self, slurm: Recorded, tmp_path: Path, name: str
    ) -> None:
        with pytest.raises(JobNotFound):
            await self.slurm_printing(tmp_path, slurm.stderr[name]).set_time_limit(1, 30)
