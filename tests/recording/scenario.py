"""The same short history on each version, followed by every query of the product.

The queries are made by the product's own code (spawner/slurm/client.py,
spawner/slurm/accounting.py), so that their arguments are the real ones. Only the launcher's
commands are repeated here, because it must be a separate process.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

from spawner.errors import SpawnerError
from spawner.launcher.sbatch import sbatch_options
from spawner.slurm import parse_accounting
from spawner.slurm.accounting import Accounting
from spawner.slurm.client import CommandResult
from spawner.slurm.model import JobInfo, JobPhase, JobSpec, Resources
from tests.polling import wait_until
from tests.recording.ground import CLUSTER, Ground

MARK = "Mk7_recorded"
ALICE, BOB, CAROL = "alice", "bob", "carol"
OURS = "0a0a0a0a-1111-2222-3333-444444444444"
EVIL = (
    'evil|x\n999\x1f999\x1fN/A\x1fbob 20002\x1fRUNNING|"quoted"\' naïve 数据\n999999|bob|x|RUNNING'
    "\n   WorkDir=/forged\n   StdErr=/forged\n   StdOut=/forged"
)
EVIL_REASON = "fan's broken NodeName=evil Gres=gpu:x:9 [root@2001-01-01T00:00:00]"

# before slurmctld has registered, and after: then accounting has gres/gpu
ACCOUNTS = (
    f"add cluster {CLUSTER}",
    f"add account research,teaching cluster={CLUSTER}",
    f"add user alice,bob,carol account=research cluster={CLUSTER}",
    f"add user bob account=teaching cluster={CLUSTER}",
    "add user portal account=research AdminLevel=Operator",
    "add qos high set MaxWall=05:00:00",
)
LIMITS = (
    parse_accounting.modify(CLUSTER, "teaching", [], "", {"gres/gpu": 2, "GrpSubmitJobs": 50}),
    parse_accounting.modify(
        CLUSTER, "research", ["carol"], "",
        {"cpu": 8, "gres/gpu": 1, "gres/gpu:v100": 1, "mem": 5632, "MaxSubmitJobs": 12,
         "MaxWall": 1530, "QOS": ["high", "normal"], "DefaultQOS": "normal"},
    ),
    parse_accounting.modify(CLUSTER, "research", ["alice"], "", {"MaxWall": 2880}),
    parse_accounting.add(CLUSTER, "teaching", ["bob"], "cpu"),
    parse_accounting.modify(CLUSTER, "teaching", ["bob"], "cpu", {"MaxSubmitJobs": 0}),
)  # fmt: skip
REFUSED = (
    parse_accounting.modify(CLUSTER, "teaching", [], "", {"gres/gpu:k80": 2}),
    parse_accounting.add(CLUSTER, "nosuch", ["bob"]),
    parse_accounting.remove(CLUSTER, "research", "alice"),
)
BAD_REQUESTS: tuple[tuple[str, ...], ...] = (
    ("--account=nosuch",),
    ("--partition=nosuch",),
    ("--qos=nosuch",),
    ("--qos=high",),
    ("--partition=gpu", "--gres=gpu:v100:5"),
    ("--partition=gpu", "--gres=gpu:a100:1"),
    ("--partition=gpu", "--nodes=3"),
    ("--mem=1000G",),
    ("--cpus-per-task=64",),
    ("--time=30-00:00:00",),
    ("--dependency=afterok:99999",),
)


class Recorder(Accounting):
    """The product's own queries, with each response stored unchanged."""

    def __init__(self, ground: Ground, folder: Path) -> None:
        super().__init__(ground.bin_dir, "/etc/slurm/slurm.conf", timeout_s=60)
        self.folder = folder
        self.file = ""
        self.failures: dict[str, Any] = {}

    async def _run(
        self,
        arguments: list[str],
        extra: Mapping[str, str] | None = None,
        stdin: IO[bytes] | None = None,
        timeout_s: float | None = None,
    ) -> CommandResult:
        answer = await super()._run(arguments, extra, stdin, timeout_s)
        if self.file:
            self._keep(arguments, answer, (extra or {}).get("SQUEUE_FORMAT", ""))
        return answer

    def _keep(self, arguments: list[str], answer: CommandResult, squeue_format: str) -> None:
        given = [a.partition("=")[2] for a in arguments if a.startswith("--delimiter=")]
        marks = given + [squeue_format.partition("%")[0]] * bool(squeue_format)
        stdout = answer.stdout
        for mark in marks:
            stdout = stdout.replace(mark, MARK)
        if stdout and answer.code == 0:
            name = {"tres": "tres", "qos": "qos"}.get(arguments[3] if len(arguments) > 3 else "")
            (self.folder / f"{name or self.file}.txt").write_bytes(stdout.encode())
        if answer.stderr or answer.code:
            self.failures[self.file] = {"arguments": arguments, **asdict(answer)}

    async def ask(self, file: str, question: Any) -> Any:
        """Store a response even if its parser fails: the tests repeat the parsing."""
        self.file = file
        try:
            return await question
        except SpawnerError as error:
            print(f"{file}: {error} {getattr(error, 'detail', '')}")
            return None
        finally:
            self.file = ""


def record(ground: Ground, folder: Path) -> None:
    """Run the history and store Slurm's output in the folder, which is created again."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    jobs = _play(ground)
    asyncio.run(_ask_everything(ground, folder, jobs))


def _sbatch(ground: Ground, user: str, *options: str, script: str = "sleep 900") -> int:
    done = ground.as_user(user, "sbatch", "--parsable", *options, stdin=f"#!/bin/sh\n{script}\n")
    if done.returncode != 0:
        raise RuntimeError(f"{options}: {done.stderr}")
    return int(done.stdout.strip())


def _play(ground: Ground) -> dict[str, int]:
    """Submit the jobs and return their ids by kind."""
    ground.inside("sacctmgr", "-i", stdin="\n".join([*LIMITS, "exit", ""]))
    ours = JobSpec(
        OURS, "plain name",
        Resources(partition="gpu", gpus=2, gpu_type="v100", cpus=1, memory_gb=0.125,
                  time_limit_minutes=120, account="research"), "",
    )  # fmt: skip
    ground.inside("scontrol", "update", "nodename=node02", "state=drain", f"reason={EVIL_REASON}")
    step = "srun --overlap --gres=none --mpi=none --ntasks=1 --job-name=portal-step sleep 900"
    jobs = {"ended": _sbatch(ground, ALICE, "--job-name=ended", script="exit 0")}
    # its log folder does not exist; Slurm does not start such a job, so its logs are elsewhere
    logs = ["--output=/home/alice/out-%j.log", "--error=/home/alice/err-%j.log"]
    options = [o for o in sbatch_options(ours) if not o.startswith(("--output", "--error"))]
    jobs["running"] = _sbatch(ground, ALICE, *options, *logs, script=step)
    jobs["big"] = _sbatch(ground, BOB, "--job-name=big", "--partition=gpu", "--gres=gpu:v100:1")
    jobs["any gpu"] = _sbatch(
        ground, CAROL, "--job-name=any gpu", "-p", "gpu", "--gres=gpu:1", "--begin=now+1day"
    )
    jobs["evil"] = _sbatch(
        ground, ALICE, f"--job-name={EVIL}", f"--comment=portal:{OURS}\n999999|bob|x"
    )
    jobs["held"] = _sbatch(ground, BOB, "--job-name=held", "--hold")
    jobs["depends"] = _sbatch(
        ground, BOB, "--job-name=depends", f"--dependency=afterok:{jobs['held']}"
    )
    jobs["array"] = _sbatch(ground, CAROL, "--job-name=array", "--array=0-5%2", "--qos=high")
    jobs["failed"] = _sbatch(ground, BOB, "--job-name=failed", script="exit 3")
    jobs["killed"] = _sbatch(ground, BOB, "--job-name=killed", script="kill -9 $$")
    jobs["cancelled"] = _sbatch(ground, BOB, "--job-name=cancelled")
    jobs["withdrawn"] = _sbatch(ground, BOB, "--job-name=withdrawn", "--hold")
    jobs["requeued"] = _sbatch(
        ground, CAROL, "--job-name=requeued", "--requeue", "--begin=now", "--chdir=/tmp"
    )
    jobs["claims"] = _sbatch(ground, BOB, "--job-name=", f"--comment=portal:{OURS}", script="true")
    _settle(ground, jobs)
    return jobs


def _settle(ground: Ground, jobs: dict[str, int]) -> None:
    def states(*names: str) -> set[str]:
        ids = ",".join(str(jobs[name]) for name in names)
        return set(ground.inside("squeue", "-h", "-t", "all", f"--jobs={ids}", "-o", "%T").split())

    wait_until(
        lambda: states("running", "evil", "cancelled", "requeued") == {"RUNNING"},
        "jobs to run",
        pause_s=0.3,
    )
    ground.as_user(BOB, "scancel", str(jobs["cancelled"]), str(jobs["withdrawn"]))
    time.sleep(1.1)  # accounting counts whole seconds, and omits runs of zero length
    ground.inside("scontrol", "requeue", str(jobs["requeued"]))
    ended = {"COMPLETED", "FAILED", "CANCELLED"}
    gone = ("ended", "failed", "killed", "cancelled", "withdrawn", "claims")
    wait_until(lambda: states(*gone) == ended, "jobs to end", pause_s=0.3)
    wait_until(lambda: states("requeued") == {"PENDING"}, "the requeue", pause_s=0.3)
    steps = ("squeue", "-h", "--steps", f"--jobs={jobs['running']}", "-o", "%j")
    wait_until(lambda: "portal-step" in ground.inside(*steps), "the step", pause_s=0.3)
    wait_until(lambda: states("array") == {"RUNNING", "PENDING"}, "two tasks", pause_s=0.3)
    reason = ("squeue", "-h", f"--jobs={jobs['big']}", "-o", "%r|%S")
    wait_until(
        lambda: "Resources|20" in ground.inside(*reason), "the queue's forecast", pause_s=0.3
    )
    # Accounting is updated within seconds. By id, because sacct does not list held jobs by default.
    ids = ",".join(str(job_id) for job_id in jobs.values())
    known = ("sacct", "-n", "-P", "-X", "-a", "-D", f"--jobs={ids}", "--format=jobidraw,state")
    expected = {f"{jobs[name]}|PENDING" for name in ("big", "held", "depends", "array", "requeued")}
    wait_until(
        lambda: expected <= set(ground.inside(*known).splitlines()), "accounting", pause_s=0.3
    )
    for words in (
        ("reservation=m2", "nodes=node01", "users=alice,bob"),
        ("reservation=m3", "nodecnt=1", "partition=cpu", "accounts=teaching"),
        ("reservation=m1", "flags=maint,ignore_jobs", "nodes=ALL", "users=root"),
    ):
        ground.inside("scontrol", "create", *words, "starttime=now+2days", "duration=60")
    lines = (ground.root / "etc/passwd").read_text(encoding="utf-8").splitlines(keepends=True)
    gone_user = [line for line in lines if not line.startswith("carol:")]
    (ground.root / "etc/passwd").write_text("".join(gone_user), encoding="utf-8")


async def _ask_everything(ground: Ground, folder: Path, jobs: dict[str, int]) -> None:
    slurm, now = Recorder(ground, folder), datetime.now(UTC)
    asked = JobInfo(
        jobs["running"], "alice", "", JobPhase.RUNNING, "RUNNING", None,
        account="research", qos="high",
    )  # fmt: skip
    await slurm.ask("squeue", slurm.jobs())
    await slurm.ask("sacct", slurm.accounting(now - timedelta(hours=1)))
    await slurm.ask(
        "usage", slurm.usage(dict.fromkeys(sorted(jobs.values()), now - timedelta(hours=1)))
    )
    await slurm.ask("nodes", slurm.nodes())
    await slurm.ask("partitions", slurm.partitions())
    await slurm.ask("reservations", slurm.reservations())
    await slurm.ask("version", slurm.version())
    await slurm.ask("clusters", slurm.check_accounting())
    await slurm.ask("admin_level", slurm.admin_level("portal"))
    await slurm.ask("assoc_mgr", slurm.find_wall_limits(asked))
    await slurm.ask("config", slurm.facts())
    await slurm.ask("associations", slurm.associations(CLUSTER))
    await slurm.ask("default_accounts", slurm.default_accounts())
    await slurm.ask("in_use", slurm.in_use())
    await slurm.ask("job_times", slurm.job_times(now - timedelta(hours=1), now))
    await slurm.ask("tell_refused", slurm.update(REFUSED))
    await slurm.ask("cancel_ended", slurm.cancel(jobs["ended"], BOB))
    await slurm.ask("cancel_unknown", slurm.cancel(99_999, BOB))
    await slurm.ask("limit_of_ended", slurm.set_time_limit(jobs["ended"], 30))
    await slurm.ask("limit_of_unknown", slurm.set_time_limit(99_999, 30))
    await slurm.ask("limit", slurm.set_time_limit(jobs["running"], 130))
    _ask_as_users(ground, folder, slurm.failures, jobs)
    await slurm.ask("kill", slurm.kill(jobs["evil"], ALICE))
    ids = json.dumps(jobs, indent=1) + "\n"
    (folder / "jobs.json").write_text(ids, encoding="utf-8")
    text = json.dumps(slurm.failures, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    (folder / "stderr.json").write_text(text, encoding="utf-8")


def _ask_as_users(
    ground: Ground, folder: Path, failures: dict[str, Any], jobs: dict[str, int]
) -> None:
    """Run the launcher's commands (spawner/launcher/program.py)."""
    running, ended = str(jobs["running"]), str(jobs["ended"])
    fields = ("--noheader", "--parsable2", "--allocations", "--format=WorkDir%4096")
    steps = ("squeue", "--noheader", "--steps", f"--jobs={running}", "--format=%i|%j")
    questions = {
        "job": ("scontrol", "show", "job", running),
        "job_evil": ("scontrol", "show", "job", str(jobs["evil"])),
        "job_array": ("scontrol", "show", "job", f"{jobs['array']}_1"),
        "job_unknown": ("scontrol", "show", "job", "99999"),
        "work_dir": ("sacct", f"--jobs={ended}", *fields),
        "steps": steps,
        "scancel_ended": ("scancel", "--verbose", ended),
        "scancel_unknown": ("scancel", "--verbose", "99999"),
        "scancel_others": ("scancel", "--verbose", str(jobs["held"])),
        "scancel_step": ("scancel", "--verbose", f"{running}.0"),
        "forecast": ("sbatch", "--test-only", "--partition=gpu", "--gres=gpu:v100:1"),
    }
    for number, options in enumerate(BAD_REQUESTS):
        questions[f"sbatch_{number}"] = ("sbatch", "--parsable", *options)
    for name, command in questions.items():
        done = ground.as_user(ALICE, *command, stdin="#!/bin/sh\n")
        if done.stdout and done.returncode == 0:
            (folder / f"{name}.txt").write_bytes(done.stdout.encode())
        if done.stderr or done.returncode:
            failures[name] = {"arguments": command, **asdict(_answer(done))}


def ask_from_elsewhere(ground: Ground, folder: Path, others: Iterable[Ground]) -> None:
    """Record the failures of other versions' commands with these daemons."""
    questions = (
        ("squeue", "--noheader", "--all"),
        ("scontrol", "--all", "--oneliner", "show", "node"),
        ("scontrol", "show", "config"),
        ("scontrol", "update", "JobId=99999", "TimeLimit=30"),
        ("sacct", "--noheader", "--allusers"),
        ("sacctmgr", "-nP", "show", "qos", "format=name"),
        ("scancel", "--verbose", "99999"),
        ("sbatch", "--parsable", "--wrap=true"),
    )
    failures: dict[str, list[Any]] = {}
    for other in others:
        answers = [(words, ground.from_elsewhere(other.root, *words)) for words in questions]
        failures[other.version] = [
            {"arguments": words, **asdict(_answer(done))}
            for words, done in answers
            if done.stderr and "Invalid job id" not in done.stderr
        ]
    text = json.dumps(failures, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    (folder / "other_clients.json").write_text(text, encoding="utf-8")


def _answer(done: Any) -> CommandResult:
    return CommandResult(done.returncode, done.stdout, done.stderr)
