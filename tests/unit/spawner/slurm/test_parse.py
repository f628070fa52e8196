"""Slurm's output: recorded real output, and synthetic hostile output of the same form."""

from dataclasses import asdict, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spawner.launcher.sbatch import sbatch_options
from spawner.slurm import parse, parse_nodes
from spawner.slurm.model import JobInfo, JobPhase, JobSpec, Outcome, Resources
from spawner.slurm.parse import BadOutput
from tests.paths import TESTS

RECORDED = TESTS / "data" / "slurm" / "22.05.8"
MARK = "Mk7_recorded"


def recorded(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def squeue() -> dict[int, JobInfo]:
    return {job.job_id: job for job in parse.parse_squeue(recorded("squeue.txt"), MARK)}


@pytest.fixture(scope="module")
def sacct() -> dict[int, JobInfo]:
    return {job.job_id: job for job in parse.parse_sacct(recorded("sacct.txt"), MARK)}


def by_name(jobs: dict[int, JobInfo], name: str) -> JobInfo:
    return next(job for job in jobs.values() if job.name.startswith(name))


class TestRecordedSqueue:
    def test_running(self, squeue: dict[int, JobInfo]) -> None:
        job = by_name(squeue, "plain name")
        assert (job.user, job.phase, job.slurm_state) == ("alice", JobPhase.RUNNING, "RUNNING")
        assert job.nodes == ("node01",)
        assert job.uuid == "0a0a0a0a-1111-2222-3333-444444444444"
        assert job.time_limit_minutes == 120
        assert job.start_time == datetime(2026, 11, 20, 17, 45, 23, tzinfo=UTC)
        assert (job.end_time, job.outcome, job.reason) == (None, None, None)
        assert (job.partition, job.account, job.qos) == ("gpu", "teama", "normal")

    def test_a_name_forges_no_record(self, squeue: dict[int, JobInfo]) -> None:
        assert 999 not in squeue
        job = by_name(squeue, "evil|x")
        assert job.user == "alice"
        assert job.uuid is None, "a comment that goes on after the UUID is not ours"

    def test_anyone_may_claim_a_uuid_so_the_user_is_kept(self, squeue: dict[int, JobInfo]) -> None:
        claims = [job for job in squeue.values() if job.uuid and job.uuid.startswith("0a0a0a0a")]
        assert {job.user for job in claims} == {"alice", "bob"}

    @pytest.mark.parametrize(
        ("name", "reason", "estimated"),
        [
            ("big", "Resources", True),
            ("later", "BeginTime", True),
            ("held", "JobHeldUser", False),
            ("depends", "Dependency", False),
        ],
    )
    def test_waiting(
        self, squeue: dict[int, JobInfo], name: str, reason: str, estimated: bool
    ) -> None:
        job = next(
            job for job in squeue.values() if job.name == name and job.phase is JobPhase.QUEUED
        )
        assert job.reason == reason
        assert (job.estimated_start is not None) is estimated
        assert job.start_time is None
        assert job.nodes == ()

    @pytest.mark.parametrize(
        ("name", "outcome"),
        [
            ("timeout", Outcome.TIMEOUT),
            ("oom", Outcome.OUT_OF_MEMORY),
            ("nodefail", Outcome.NODE_FAILED),
            ("cancelled", Outcome.CANCELLED),
            ("same uuid", Outcome.COMPLETED),
        ],
    )
    def test_ended(self, squeue: dict[int, JobInfo], name: str, outcome: Outcome) -> None:
        job = by_name(squeue, name)
        assert (job.phase, job.outcome) == (JobPhase.ENDED, outcome)
        assert job.end_time is not None

    def test_suspended(self, squeue: dict[int, JobInfo]) -> None:
        assert JobPhase.SUSPENDED in {job.phase for job in squeue.values()}

    def test_every_record_is_read(self, squeue: dict[int, JobInfo]) -> None:
        marks = recorded("squeue.txt").count(MARK)
        assert len(squeue) == marks / parse.squeue_format("M").count("M%") > 20


class TestRecordedSacct:
    def test_every_record_is_read(self, sacct: dict[int, JobInfo]) -> None:
        assert len(sacct) == recorded("sacct.txt").count(MARK) / 15 > 20

    def test_a_comment_forges_no_record(self, sacct: dict[int, JobInfo]) -> None:
        assert 999999 not in sacct
        assert "999999|bob|x" in recorded("sacct.txt")

    @pytest.mark.parametrize(
        ("job_id", "code", "signal"), [(32, 3, 0), (33, 0, 9), (7, 1, 0), (29, None, None)]
    )
    def test_exit_codes(
        self, sacct: dict[int, JobInfo], job_id: int, code: int | None, signal: int | None
    ) -> None:
        assert (sacct[job_id].exit_code, sacct[job_id].signal) == (code, signal)

    def test_cancelled_before_it_ran(self, sacct: dict[int, JobInfo]) -> None:
        job = sacct[37]
        assert (job.slurm_state, job.outcome) == ("CANCELLED", Outcome.CANCELLED)
        assert (job.start_time, job.nodes) == (None, ())

    def test_agrees_with_squeue(
        self, sacct: dict[int, JobInfo], squeue: dict[int, JobInfo]
    ) -> None:
        for job_id in sacct.keys() & squeue.keys():
            both = sacct[job_id], squeue[job_id]
            assert len({(j.user, j.outcome, j.submit_time, j.account) for j in both}) == 1


def test_a_job_with_an_unknown_state_is_alive() -> None:
    text = squeue_record("#MARK#", 1, "alice", "NOVEL_STATE", "", "x")
    (job,) = parse.parse_squeue(text, "#MARK#")
    assert job.phase in {JobPhase.QUEUED, JobPhase.RUNNING}
    assert (job.slurm_state, job.outcome) == ("NOVEL_STATE", None)


class TestHostile:
    """Names and comments chosen by users never change the number of records."""

    texts = st.text(st.characters(codec="utf-8"), max_size=80) | st.sampled_from(
        ["", "\n", "(null)", "portal:00000000-0000-0000-0000-000000000000", "%A|%u\n1|root|RUNNING"]
    )
    jobs = st.lists(
        st.tuples(
            st.integers(1, 2**32 - 1),
            st.sampled_from(["alice", "bob", "carol"]),
            st.sampled_from(["RUNNING", "PENDING", "COMPLETED", "NODE_FAIL", "NOVEL_STATE"]),
            texts,
            texts,
        ),
        max_size=6,
    )

    @given(jobs)
    def test_squeue(self, jobs: list[tuple[int, str, str, str, str]]) -> None:
        text = "".join(squeue_record("#MARK#", *job) for job in jobs)
        found = [(j.job_id, j.user, j.slurm_state) for j in parse.parse_squeue(text, "#MARK#")]
        assert found == [job[:3] for job in jobs]

    @given(jobs, jobs)
    def test_one_answer_after_another(
        self,
        first: list[tuple[int, str, str, str, str]],
        second: list[tuple[int, str, str, str, str]],
    ) -> None:
        """Parsing does not depend on earlier input; unchanged jobs are the same objects."""
        squeue = parse.SqueueParser()
        for mark, jobs in (("#ONE#", first), ("#TWO#", second)):
            text = "".join(squeue_record(mark, *job) for job in jobs)
            assert squeue.parse(text, mark) == parse.parse_squeue(text, mark)
        again = "".join(squeue_record("#THREE#", *job) for job in second)
        kept = squeue.parse(text, "#TWO#")
        assert all(a is b for a, b in zip(squeue.parse(again, "#THREE#"), kept, strict=True))

    @given(jobs)
    def test_sacct(self, jobs: list[tuple[int, str, str, str, str]]) -> None:
        text = "".join(
            "#MARK#".join([str(i), str(i), user, state, "x", "x", "", "node1", *["Unknown"] * 3,
                           "60", "None", "0:0", name, comment]) + "\n"
            for i, user, state, comment, name in jobs
        )  # fmt: skip
        found = [(j.job_id, j.user, j.slurm_state) for j in parse.parse_sacct(text, "#MARK#")]
        assert found == [job[:3] for job in jobs]

    @given(texts, texts)
    def test_our_own_comment_survives_any_name(self, name: str, other: str) -> None:
        uuid = "12345678-1234-1234-1234-123456789abc"
        text = squeue_record("#M#", 1, "bob", "RUNNING", other, other)
        text += squeue_record("#M#", 2, "alice", "RUNNING", f"portal:{uuid}", name)
        ours = [job for job in parse.parse_squeue(text, "#M#") if job.uuid == uuid]
        assert [(job.job_id, job.user) for job in ours] == [(2, "alice")]

    def test_a_known_mark_could_break_records_but_never_silently(self) -> None:
        text = squeue_record("#M#", 1, "bob", "RUNNING", "", "x#M#y")
        with pytest.raises(BadOutput):
            parse.parse_squeue(text, "#M#")

    @pytest.mark.parametrize(
        "text", ["squeue: error\n", "#M#1#M#alice", "\n#M#", "#M#1\x1falice#M#x#M#y\n"]
    )
    def test_nonsense_is_refused_as_a_whole(self, text: str) -> None:
        with pytest.raises(BadOutput):
            parse.parse_squeue(text, "#M#")

    @pytest.mark.parametrize("text", ["oops", "1#M#alice\n", "x" * 50 + "\n"])
    def test_nonsense_from_sacct(self, text: str) -> None:
        with pytest.raises(BadOutput):
            parse.parse_sacct(text, "#M#")

    def test_empty_answers(self) -> None:
        assert parse.parse_squeue("", "#M#") == []
        assert parse.parse_sacct("\n", "#M#") == []


@pytest.mark.parametrize(
    ("shown", "user"),
    [
        ("alice 20001", "alice"),
        ("nobody 20001", "20001"),  # the host no longer has the user
        ("20001 20001", "20001"),  # the same, in the output of newer versions
        ("nobody 65534", "nobody"),
        ("alice", "alice"),
    ],
)
def test_whose_job_it_is(shown: str, user: str) -> None:
    (found,) = parse.parse_squeue(squeue_record("#M#", 1, shown, "RUNNING", "", "x"), "#M#")
    assert found.user == user


def squeue_record(
    mark: str, job_id: int, user: str, state: str, comment: str, name: str, gres: str = "N/A"
) -> str:
    """Format a record as squeue does: the last three fields cut and padded by bytes."""
    time = "2026-11-20T17:19:27"
    own = [
        str(job_id),
        str(job_id),
        "N/A",
        user,
        state,
        "gpu",
        "lab",
        "normal",
        "node[01-02]",
        time,
        time,
        time,
        "1:00:00",
        "None",
    ]
    parts = ["\x1f".join(own), fixed(gres, 48), fixed(comment, 44), fixed(name, 64)]
    return "".join(mark + part for part in parts) + "\n"


@pytest.mark.parametrize(
    ("gres", "gpus"),
    [
        ("N/A", ()),
        ("gres:gpu:2", (("gpu", 2),)),
        ("gres:gpu:v100:2", (("v100", 2),)),
        ("gres/gpu:a100:1", (("a100", 1),)),
        ("gres/gpu:v100=1,gres/gpu:a100=3", (("v100", 1), ("a100", 3))),
        ("gres:shard:4", ()),
        ("gres:gpu:" + "x" * 36 + ":64", None),  # cut short: 64 may have had more digits
    ],
)
def test_the_gpus_that_a_job_asked_for(gres: str, gpus: object) -> None:
    text = squeue_record("#M#", 1, "bob", "RUNNING", "", "x", gres)
    (found,) = parse.parse_squeue(text, "#M#")
    assert found.gpus == gpus


def fixed(text: str, width: int) -> str:
    return text.encode()[:width].ljust(width).decode(errors="replace")


class TestNodes:
    def test_recorded(self) -> None:
        nodes = {node.name: node for node in parse_nodes.parse_nodes(recorded("nodes.txt"))}
        assert list(nodes) == ["node01", "node02", "node03"]
        first = nodes["node01"]
        assert (first.address, first.state) == ("10.79.0.11", "MIXED+DRAIN")
        assert (dict(first.gpus), dict(first.gpus_allocated)) == ({"v100": 4}, {"v100": 2})
        assert (first.cpus, first.cpus_allocated, first.memory_mb) == (32, 2, 131072)
        assert first.partitions == ("gpu", "debug")
        assert nodes["node02"].reason == "Not responding"
        assert nodes["node02"].reason_at == datetime(2026, 11, 20, 17, 45, 50, tzinfo=UTC)
        assert first.reason_at == datetime(2026, 11, 20, 17, 45, 47, tzinfo=UTC)
        assert nodes["node03"].reason_at is None
        assert nodes["node03"].gpus == {}
        assert first.cpu_load == 2.08

    @pytest.mark.parametrize("load", ["N/A", "", "-1.0", "1e9", "nan"])
    def test_no_load(self, load: str) -> None:
        (node,) = parse_nodes.parse_nodes(f"NodeName=n1 State=IDLE CPUTot=4 CPULoad={load}\n")
        assert node.cpu_load is None

    def test_a_reason_replaces_nothing(self) -> None:
        first = parse_nodes.parse_nodes(recorded("nodes.txt"))[0]
        assert "NodeName=evil" in (first.reason or "")
        assert (first.name, first.state) == ("node01", "MIXED+DRAIN")
        assert "x" not in first.gpus

    @pytest.mark.parametrize(
        ("reason", "shown"),
        [
            ("disk [root@2026-11-20T17:45:47] failed", "disk failed"),  # originally two lines
            ("\u202eksid\u2066 \x1b[1m [root@2026-11-20T17:45:47]", "ksid [1m"),
            ("a\u2028NodeName=evil State=IDLE [root@2026-11-20T17:45:47]", None),
            ("disk [root@2026-11-20T17:45:47] Comment=new", "disk"),
        ],
    )
    def test_a_reason_is_shown_without_what_slurm_and_terminals_add(
        self, reason: str, shown: str | None
    ) -> None:
        text = f"NodeName=n1 NodeAddr=a State=DOWN CPUTot=4 Reason={reason}\n"
        (found,) = parse_nodes.parse_nodes(text)
        assert (found.name, found.state) == ("n1", "DOWN")
        assert found.reason_at == datetime(2026, 11, 20, 17, 45, 47, tzinfo=UTC)
        assert shown is None or found.reason == shown

    def test_an_unchanged_node_is_the_same_object(self) -> None:
        line = "NodeName=n1 State=IDLE CPUTot=4 CPULoad=0.50 FreeMem=100 Reason=CPULoad=1 today"
        parser = parse_nodes.NodeParser()
        (first,) = parser.parse(line)
        for less_memory in ("FreeMem=90", "FreeMem=N/A"):
            (again,) = parser.parse(line.replace("FreeMem=100", less_memory))
            assert again is first
        changes = {
            "CPULoad=0.50": "CPULoad=1.25",
            "State=IDLE": "State=MIXED",
            "Reason=CPULoad=1": "Reason=CPULoad=2",
        }
        for before, after in changes.items():
            (changed,) = parser.parse(line.replace(before, after))
            (expected,) = parse_nodes.parse_nodes(line.replace(before, after))
            assert asdict(changed) == asdict(expected) != asdict(first)
        assert parser.parse("") == ()

    def test_partitions(self) -> None:
        parts = {p.name: p for p in parse_nodes.parse_partitions(recorded("partitions.txt"))}
        assert (parts["gpu"].max_time_minutes, parts["gpu"].default_time_minutes) == (2880, 60)
        assert parts["gpu"].nodes == ("node01", "node02")
        assert [p.name for p in parts.values() if p.default] == ["cpu"]

    @pytest.mark.parametrize(
        ("gres", "counts"),
        [
            ("gpu:v100:4(S:0-1),gpu:a100:2", {"v100": 4, "a100": 2}),
            ("gpu:4", {"gpu": 4}),
            ("gpu:v100:2(IDX:0,3),gpu:v100:1(IDX:4)", {"v100": 3}),
            ("(null)", {}),
            ("gpu:0", {}),
            ("shard:gpu:8,mps:v100:200", {}),
            ("gpu:v100:0(IDX:N/A)", {}),
        ],
    )
    def test_gpus(self, gres: str, counts: dict[str, int]) -> None:
        assert parse.count_gpus(gres) == counts

    @pytest.mark.parametrize(
        ("text", "names"),
        [
            ("node01", ["node01"]),
            ("node[01-03]", ["node01", "node02", "node03"]),
            ("a[1,3-4]b,c7", ["a1b", "a3b", "a4b", "c7"]),
            ("r[1-2]n[08-10]", ["r1n08", "r1n09", "r1n10", "r2n08", "r2n09", "r2n10"]),
            ("n[9-11]", ["n9", "n10", "n11"]),
            ("", []),
            ("(null)", []),
        ],
    )
    def test_expand(self, text: str, names: list[str]) -> None:
        assert list(parse.expand_nodes(text)) == names

    @pytest.mark.parametrize("text", ["n[1-", "n[1-9999999999]", "n[x]"])
    def test_nonsense_and_endless_ranges_are_refused(self, text: str) -> None:
        with pytest.raises(BadOutput):
            parse.expand_nodes(text)


class TestSbatch:
    spec = JobSpec("12345678-1234-1234-1234-123456789abc", "s1", Resources(), "#!/bin/sh\n")

    def options(self, **resources: object) -> list[str]:
        wanted = Resources(**resources)  # type: ignore[arg-type]
        return sbatch_options(JobSpec(self.spec.uuid, self.spec.name, wanted, self.spec.script))

    def test_all_that_can_be_asked_for(self) -> None:
        options = self.options(
            partition="gpu", nodes=2, gpus=2, gpu_type="v100", cpus=4, memory_gb=1.5,
            time_limit_minutes=90, account="lab", qos="high",
        )  # fmt: skip
        for option in (
            "--partition=gpu", "--nodes=2", "--gres=gpu:v100:2", "--cpus-per-task=4",
            "--mem=1536M", "--time=90", "--account=lab", "--qos=high",
        ):  # fmt: skip
            assert option in options

    def test_unset_options_are_left_to_slurm(self) -> None:
        names = {option.partition("=")[0] for option in self.options()}
        assert not names & {"--partition", "--gres", "--mem", "--time", "--account", "--qos"}

    def test_an_array_and_a_warning_that_come_back_to_the_queue(self) -> None:
        spec = replace(self.spec, array="0-9", signal="B:USR1@60", requeue=True)
        options = sbatch_options(spec)
        assert {"--array=0-9", "--signal=B:USR1@60", "--requeue"} <= set(options)
        assert not any(option.startswith("--array") for option in self.options())

    def test_a_gpu_of_any_type(self) -> None:
        assert "--gres=gpu:1" in self.options(gpus=1)

    def test_jobs_get_neither_limits_nor_the_trap_of_export(self) -> None:
        options = self.options()
        assert "--propagate=NONE" in options
        assert "--export=ALL" in options
        assert "--no-requeue" in options
        assert f"--comment=portal:{self.spec.uuid}" in options

    def test_logs_lie_in_the_jobs_own_folder(self) -> None:
        folder = f".local/share/portal/jobs/{self.spec.uuid}"
        assert f"--output={folder}/stdout.log" in self.options()

    @given(st.text(st.characters(codec="utf-8")))
    def test_any_name_is_one_harmless_argument(self, name: str) -> None:
        options = sbatch_options(JobSpec(self.spec.uuid, name, Resources(), ""))
        (argument,) = [o for o in options if o.startswith("--job-name=")]
        assert argument.isprintable()
        assert len(argument) > len("--job-name=")
