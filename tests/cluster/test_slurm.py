"""The Slurm client and the watcher against a real Slurm, as the portal's own account."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from spawner.errors import JobNotFound, Rejected, Unreachable
from spawner.slurm.call_budget import Pace
from spawner.slurm.client import Slurm
from spawner.slurm.model import JobInfo, JobPhase, Outcome, WallLimit
from spawner.slurm.watcher import Watcher
from tests.cluster.slurm_tools import make_bin, quickly, slurm_conf, stopped, until
from tests.live import Live

pytestmark = pytest.mark.anyio
BRIEFLY = 3.0
FORGED = "999999\nalice|x\n4000000000|bob|RUNNING|gpu|research|normal|node01|portal:"


@pytest.fixture(scope="module")
def slurm(portal: Live, tmp_path_factory: pytest.TempPathFactory) -> Slurm:
    return Slurm(make_bin(tmp_path_factory.mktemp("bin"), portal), slurm_conf(portal))


@pytest.fixture
def submitted(portal: Live) -> Iterator[list[int]]:
    """Ids of jobs that are cancelled afterwards."""
    jobs: list[int] = []
    yield jobs
    if jobs:
        portal.exec_as("root", ["scancel", *map(str, jobs)])


def submit(portal: Live, jobs: list[int], user: str, script: str, *options: str) -> int:
    command = quickly(script)
    jobs.append(int(portal.exec_as(user, [*command[:1], *options, *command[1:]])))
    return jobs[-1]


async def find(slurm: Slurm, job_id: int) -> JobInfo:
    (job,) = [job for job in await slurm.jobs() if job.job_id == job_id]
    return job


async def in_state(slurm: Slurm, job_id: int, *states: JobPhase) -> JobInfo:
    found: list[JobInfo] = []

    async def there() -> bool:
        found[:] = [await find(slurm, job_id)]
        return found[0].phase in states

    await until(there)
    return found[0]


async def test_a_hostile_name_is_only_a_name(
    slurm: Slurm, portal: Live, submitted: list[int]
) -> None:
    uuid = str(uuid4())
    began = datetime.now(UTC).replace(microsecond=0)
    job_id = submit(
        portal, submitted, "alice", "sleep 60",
        f"--job-name=x{FORGED}{uuid}", f"--comment=portal:{uuid}",
    )  # fmt: skip
    jobs = await slurm.jobs()
    assert 4_000_000_000 not in {job.job_id for job in jobs}
    (job,) = [job for job in jobs if job.uuid == uuid]
    assert (job.job_id, job.user) == (job_id, "alice")
    assert job.name.startswith("x999999\nalice|x")
    assert job.submit_time is not None
    assert began <= job.submit_time <= datetime.now(UTC)
    assert job.time_limit_minutes == 5


async def test_hostile_job_comment_matches_no_session(
    slurm: Slurm, portal: Live, submitted: list[int]
) -> None:
    uuid = str(uuid4())
    job_id = submit(portal, submitted, "bob", "exit 3", f"--comment=portal:{uuid}\n4000000000")
    await in_state(slurm, job_id, JobPhase.ENDED)
    began = datetime.now(UTC) - timedelta(minutes=5)

    async def recorded() -> bool:
        jobs = {job.job_id: job for job in await slurm.accounting(began)}
        assert 4_000_000_000 not in jobs
        assert all(job.uuid != uuid for job in jobs.values())
        return job_id in jobs and jobs[job_id].phase is JobPhase.ENDED

    await until(recorded)


async def test_the_life_of_a_job(slurm: Slurm, portal: Live, submitted: list[int]) -> None:
    uuid = str(uuid4())
    job_id = submit(
        portal, submitted, "alice", "sleep 2; exit 3",
        "--partition=gpu", "--gres=gpu:v100:1", f"--comment=portal:{uuid}",
    )  # fmt: skip
    running = await in_state(slurm, job_id, JobPhase.RUNNING)
    (node,) = [node for node in (await slurm.cluster()).nodes if node.name in running.nodes]
    assert dict(node.gpus) == {"v100": 4}
    assert node.gpus_allocated["v100"] >= 1
    assert node.address.count(".") == 3
    ended = await in_state(slurm, job_id, JobPhase.ENDED)
    assert (ended.outcome, ended.reason) == (Outcome.FAILED, "NonZeroExitCode")

    async def recorded() -> bool:
        since = datetime.now(UTC) - timedelta(minutes=5)
        jobs = await slurm.accounting(since, [job_id])
        return [(j.uuid, j.exit_code, j.user) for j in jobs if j.end_time] == [(uuid, 3, "alice")]

    await until(recorded)


async def test_the_gpus_that_jobs_named_for_each_node(
    slurm: Slurm, portal: Live, submitted: list[int]
) -> None:
    asked = (("--gres=gpu:v100:2",), ("--gres=gpu:1",), ("--gpus-per-node=v100:1",),
             ("--gpus=2",), ("--ntasks=2", "--gpus-per-task=1"), ())  # fmt: skip
    for options in asked:
        submit(portal, submitted, "alice", "exit", "--hold", "--partition=gpu", *options)
    gpus_by_job = {job.job_id: job.gpus for job in await slurm.jobs()}
    assert [gpus_by_job[job_id] for job_id in submitted] == [
        (("v100", 2),), (("gpu", 1),), (("v100", 1),), (), (), (),
    ]  # fmt: skip


async def test_the_cluster(slurm: Slurm) -> None:
    cluster = await slurm.cluster()
    assert [node.name for node in cluster.nodes] == ["node01", "node02", "node03"]
    assert [dict(node.gpus) for node in cluster.nodes] == [{"v100": 4}, {"v100": 4}, {}]
    assert sum(partition.default for partition in cluster.partitions) == 1
    assert all(partition.nodes for partition in cluster.partitions)


async def test_the_portal_may_end_and_extend_anyones_job(
    slurm: Slurm, portal: Live, submitted: list[int]
) -> None:
    job_id = submit(portal, submitted, "bob", "sleep 60")
    await in_state(slurm, job_id, JobPhase.RUNNING)
    await slurm.set_time_limit(job_id, 20)
    assert (await find(slurm, job_id)).time_limit_minutes == 20
    await slurm.cancel(job_id, "bob")
    ended = await in_state(slurm, job_id, JobPhase.ENDED)
    assert ended.outcome is Outcome.CANCELLED
    with contextlib.suppress(JobNotFound):  # no error until Slurm has forgotten it
        await slurm.cancel(job_id, "bob")


async def test_what_bounds_a_jobs_time_though_not_the_portals_changes(
    slurm: Slurm, portal: Live, submitted: list[int]
) -> None:
    """The portal must check these limits itself before it extends a job."""
    job_id = submit(portal, submitted, "bob", "sleep 60")
    job = await in_state(slurm, job_id, JobPhase.RUNNING)
    name = f"bounds-{job_id}"
    kept = ["StartTime=now+3days", "Duration=10", "Users=root", "Flags=MAINT"]
    bob = ["sacctmgr", "-i", "modify", "user", "bob", "set"]
    portal.exec_as(
        "root",
        ["scontrol", "create", f"reservation={name}", *kept, f"Nodes={job.nodes[0]}"],
    )
    portal.exec_as("root", [*bob, "MaxWallDurationPerJob=90"])
    try:
        (ahead,) = [found for found in await slurm.reservations() if found.name == name]
        assert (ahead.nodes, ahead.maintenance, ahead.users) == (job.nodes, True, ("root",))

        async def bounded() -> bool:
            return WallLimit(90, "account", job.account or "") in await slurm.find_wall_limits(job)

        await until(bounded)
        await slurm.set_time_limit(job_id, 5 * 24 * 60)
        assert (await find(slurm, job_id)).time_limit_minutes == 5 * 24 * 60
    finally:
        portal.exec_as("root", [*bob, "MaxWallDurationPerJob=-1"])
        portal.exec_as("root", ["scontrol", "delete", f"ReservationName={name}"])
        await slurm.cancel(job_id, "bob")


async def test_what_is_not_there(slurm: Slurm) -> None:
    with pytest.raises(JobNotFound):
        await slurm.cancel(4_000_000, "bob")
    with pytest.raises((JobNotFound, Rejected)):
        await slurm.set_time_limit(4_000_000, 5)


async def test_slurmctld_down(slurm: Slurm, portal: Live, tmp_path: Path) -> None:
    brief = Slurm(make_bin(tmp_path, portal), slurm_conf(portal), timeout_s=BRIEFLY)
    watcher = Watcher(slurm)
    await watcher.refresh()
    known = watcher.at
    impatient = Watcher(brief)
    with stopped(portal, "slurmctld"):
        for act in (
            brief.jobs(),
            brief.nodes(),
            brief.cancel(1, "bob"),
            brief.set_time_limit(1, 5),
        ):
            with pytest.raises(Unreachable):
                await act
        await impatient.refresh()
        assert impatient.stale_since is not None
    assert known is not None

    async def back() -> bool:
        await impatient.refresh()
        return impatient.stale_since is None

    await until(back)


class Forgetful(Slurm):
    """A Slurm whose controller has forgotten a job, while its accounting has not."""

    forgotten: frozenset[int] = frozenset()

    async def jobs(self) -> list[JobInfo]:
        return [job for job in await super().jobs() if job.job_id not in self.forgotten]


async def test_a_job_that_vanishes_ends_by_accounting_alone(
    portal: Live, tmp_path: Path, submitted: list[int]
) -> None:
    uuid = str(uuid4())
    slurm = Forgetful(make_bin(tmp_path, portal), slurm_conf(portal))
    watcher = Watcher(slurm, Pace(rest_s=0.3, rest_per_minute=600))
    loop = asyncio.create_task(watcher.run())
    job_id = submit(portal, submitted, "alice", "sleep 60", f"--comment=portal:{uuid}")

    def state() -> JobPhase | None:
        found = watcher.find_or_request(uuid, "alice", job_id)
        return found.phase if found else None

    async def is_in(wanted: JobPhase) -> bool:
        return state() is wanted

    await until(lambda: is_in(JobPhase.RUNNING))
    slurm.forgotten = frozenset({job_id})
    looked = watcher.at

    async def looked_again() -> bool:
        return watcher.at is not None and looked is not None and watcher.at > looked

    await until(looked_again)
    assert state() is JobPhase.RUNNING, "accounting has not reported the end"
    await slurm.cancel(job_id, "alice")
    await until(lambda: is_in(JobPhase.ENDED))
    found = watcher.find_or_request(uuid, "alice", job_id)
    assert found is not None
    assert (found.outcome, found.uuid) == (Outcome.CANCELLED, uuid)
    loop.cancel()
    await asyncio.gather(loop, return_exceptions=True)
