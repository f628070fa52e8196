"""The launcher with real sudo from the portal's account, as installed, and a real Slurm."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from spawner.errors import (
    HomeUnavailable,
    JobNotFound,
    LauncherUnavailable,
    PathRefused,
    Rejected,
    Unreachable,
)
from spawner.launcher.pool import LauncherPool
from spawner.slurm.client import Slurm
from spawner.slurm.model import JobInfo, JobPhase, JobSpec, Resources
from tests.cluster.slurm_tools import (
    home_of,
    launcher_path,
    make_bin,
    slurm_conf,
    stopped,
    until,
)
from tests.live import Live
from tests.polling import PATIENCE_S

pytestmark = pytest.mark.anyio
GPU = Resources(partition="gpu", gpus=1, gpu_type="v100", memory_gb=0.25, time_limit_minutes=5)
SMALL = replace(GPU, gpus=0, gpu_type=None)
SLEEP = "#!/bin/sh\nsleep 120\n"
BRIEFLY_S, PATIENTLY_S = 4.0, 60.0  # the longest that the launcher accepts


@pytest.fixture(scope="module")
def commands(portal: Live, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bin(tmp_path_factory.mktemp("bin"), portal)


@pytest.fixture(scope="module")
def slurm(portal: Live, commands: Path) -> Slurm:
    return Slurm(commands, slurm_conf(portal))


@pytest.fixture
async def launcher_pool(portal: Live, commands: Path, slurm: Slurm) -> AsyncIterator[LauncherPool]:
    """A pool; jobs submitted through it are cancelled afterwards."""
    async with pool_of(portal, commands, PATIENTLY_S) as pool:
        yield pool
        for job in await slurm.jobs():
            if job.uuid and job.name == "launcher-test" and job.phase is not JobPhase.ENDED:
                with contextlib.suppress(JobNotFound):
                    await slurm.cancel(job.job_id, job.user)


@contextlib.asynccontextmanager
async def pool_of(
    portal: Live, commands: Path, slurm_timeout_s: float
) -> AsyncIterator[LauncherPool]:
    pool = LauncherPool(launcher_path(portal), commands / "sudo", slurm_timeout_s=slurm_timeout_s)
    try:
        yield pool
    finally:
        await pool.close()
        await asyncio.gather(*(left.wait() for left in pool._abandoned))


def spec(script: str = SLEEP, resources: Resources = SMALL) -> JobSpec:
    return JobSpec(str(uuid4()), "launcher-test", resources, script)


def folder(portal: Live, user: str, uuid: str) -> Path:
    return home_of(portal, user) / ".local/share/portal/jobs" / uuid


async def running(slurm: Slurm, job_id: int) -> JobInfo:
    return await in_state(slurm, job_id, JobPhase.RUNNING)


async def in_state(slurm: Slurm, job_id: int, state: JobPhase) -> JobInfo:
    found: list[JobInfo] = []

    async def there() -> bool:
        found[:] = [job for job in await slurm.jobs() if job.job_id == job_id]
        return found[0].phase is state

    await until(there)
    return found[0]


async def log_of(launcher_pool: LauncherPool, user: str, uuid: str, until_text: str) -> str:
    texts: list[str] = []

    async def there() -> bool:
        data, size, following = await launcher_pool.read(user, f"{uuid}/stdout.log", 0, 256 * 1024)
        assert len(data) == size == following
        texts[:] = [data.decode()]
        return until_text in texts[0]

    await until(there)
    return texts[0]


def launchers(portal: Live) -> set[int]:
    """Return the processes of this cluster's launcher, without their sudo parents."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            arguments = path.read_bytes().split(b"\0")
            if arguments[0].startswith(b"/usr/bin/python3") and arguments[-2:-1] == [
                os.fsencode(launcher_path(portal))
            ]:
                found.add(int(path.parent.name))
    return found


def parent_of(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("PPid:"))


async def test_a_job_as_alice(launcher_pool: LauncherPool, slurm: Slurm, portal: Live) -> None:
    empty = spec(resources=GPU)
    script = (
        "#!/bin/bash -l\numask; ulimit -c; env; echo GPU $CUDA_VISIBLE_DEVICES; pwd; id -un\n"
        "srun --overlap sh -c 'echo srun sees $PATH'\n"
        f"cat .local/share/portal/jobs/{empty.uuid}/config.json\necho; echo the end\n"
    )
    job = replace(empty, script=script)
    job_id = await launcher_pool.submit("alice", job, {"config.json": '{"secret": "s3cr3t"}'})
    log = await log_of(launcher_pool, "alice", job.uuid, "the end")
    info = next(found for found in await slurm.jobs() if found.job_id == job_id)
    assert (info.user, info.uuid, info.name) == ("alice", job.uuid, "launcher-test")
    home = str(home_of(portal, "alice"))
    lines = log.splitlines()
    assert lines[0] == "0022"
    assert lines[1] != "0", "the launcher's own limit is not the job's"
    mine = '{"secret": "s3cr3t"}'
    for line in (home, "alice", mine, f"SLURM_SUBMIT_DIR={home}", "USER=alice"):
        assert line in lines
    assert {f"GPU {number}" for number in range(4)} & set(lines)
    assert any(line.startswith("srun sees /") for line in lines), "srun in a job has a PATH"
    assert "SLURM_EXPORT_ENV" not in log
    assert "SUDO_" not in log
    made = folder(portal, "alice", job.uuid)
    assert made.stat().st_mode & 0o777 == 0o700
    assert (made / "config.json").stat().st_mode & 0o777 == 0o600
    assert made.stat().st_uid == (await launcher_pool.info("alice")).uid
    record = portal.exec_as("root", ["scontrol", "-dd", "show", "job", str(job_id)])
    assert "s3cr3t" not in record


@pytest.mark.parametrize(
    ("resources", "code"),
    [
        (replace(SMALL, account="nosuch"), "invalid-account"),
        (replace(SMALL, partition="nosuch"), "invalid-partition"),
        (replace(GPU, gpus=5), "no-such-node"),
        (replace(GPU, gpu_type="h100"), "no-such-node"),
        (replace(SMALL, nodes=9), "too-many-nodes"),
        (replace(SMALL, memory_gb=9999), "too-much-memory"),
        (replace(SMALL, time_limit_minutes=999999), "time-limit"),
    ],
)
async def test_refused_leaves_nothing(
    launcher_pool: LauncherPool, portal: Live, resources: Resources, code: str
) -> None:
    job = spec(resources=resources)
    with pytest.raises(Rejected) as caught:
        await launcher_pool.submit("alice", job, {"config.json": "{}"})
    assert caught.value.code == code
    assert not folder(portal, "alice", job.uuid).exists()


async def test_cancel_is_for_ones_own(launcher_pool: LauncherPool, slurm: Slurm) -> None:
    job_id = await launcher_pool.submit("bob", spec(), {})
    await running(slurm, job_id)
    with pytest.raises(Rejected) as caught:
        await launcher_pool.cancel("alice", job_id)
    assert caught.value.code == "not-permitted"
    await launcher_pool.cancel("bob", job_id)
    await in_state(slurm, job_id, JobPhase.ENDED)
    with pytest.raises(JobNotFound):
        await launcher_pool.cancel("bob", 4_000_000)


async def test_a_step_beside_a_job(
    launcher_pool: LauncherPool, slurm: Slurm, portal: Live, commands: Path
) -> None:
    """It runs on the job's node, occupies none of its GPUs, outlives its launcher, and can be
    ended."""
    job = spec("#!/bin/sh\nsrun sleep 120\n", GPU)
    job_id = await launcher_pool.submit("alice", job, {})
    node = (await running(slurm, job_id)).nodes[0]
    uuid = str(uuid4())
    script = "#!/bin/sh\nhostname; echo gpus: $CUDA_VISIBLE_DEVICES.; echo ready; exec sleep 120\n"
    with pytest.raises(Rejected):
        await launcher_pool.step("bob", job_id, node, uuid, {}, script)
    assert not folder(portal, "bob", uuid).exists()
    await launcher_pool.step("alice", job_id, node, uuid, {"config.json": "{}"}, script)
    log = await log_of(launcher_pool, "alice", uuid, "ready")
    assert log.splitlines()[0] == node
    assert "gpus: ." in log
    await launcher_pool.close()
    assert f"portal-{uuid}" in steps_of(portal, job_id)

    other = LauncherPool(launcher_path(portal), commands / "sudo")
    await other.end_step("alice", job_id, uuid)

    async def gone() -> bool:
        return f"portal-{uuid}" not in steps_of(portal, job_id)

    await until(gone)
    assert (await running(slurm, job_id)).phase is JobPhase.RUNNING
    await other.end_step("alice", job_id, uuid)
    await other.close()
    await asyncio.gather(*(left.wait() for left in other._abandoned))


def steps_of(portal: Live, job_id: int) -> str:
    return portal.exec_as("root", ["squeue", "-h", "-s", "-j", str(job_id), "-o", "%j"])


async def test_slurmctld_down(portal: Live, commands: Path) -> None:
    job = spec()
    async with pool_of(portal, commands, BRIEFLY_S) as brief:
        await brief.info("alice")
        with stopped(portal, "slurmctld"):
            async with asyncio.timeout(PATIENCE_S):
                with pytest.raises(Unreachable):
                    await brief.submit("alice", job, {"config.json": "{}"})
            assert folder(portal, "alice", job.uuid).exists(), "Slurm may have taken it"
            data, _, _ = await brief.read("alice", f"{job.uuid}/config.json", 0, 100)
            assert data == b"{}", "the launcher serves on"
        await brief.delete_job_folder("alice", job.uuid)
    assert not folder(portal, "alice", job.uuid).exists()


async def test_killed_in_the_middle_of_a_request(launcher_pool: LauncherPool, portal: Live) -> None:
    before = launchers(portal)
    await launcher_pool.info("alice")
    (launcher,) = launchers(portal) - before
    with stopped(portal, "slurmctld"):
        job = spec()
        submitting = asyncio.create_task(launcher_pool.submit("alice", job, {}))

        async def under_way() -> bool:
            return folder(portal, "alice", job.uuid).exists()

        await until(under_way)
        os.kill(launcher, signal.SIGKILL)
        with pytest.raises(LauncherUnavailable):
            await submitting
    await launcher_pool.delete_job_folder("alice", job.uuid)


async def test_it_ends_when_the_pool_does_even_without_its_sudo(
    launcher_pool: LauncherPool, portal: Live
) -> None:
    before = launchers(portal)
    await launcher_pool.info("bob")
    (launcher,) = launchers(portal) - before
    os.kill(parent_of(launcher), signal.SIGKILL)
    await launcher_pool.close()

    async def gone() -> bool:
        return launcher not in launchers(portal)

    await until(gone)


@pytest.mark.parametrize("name", ["root", "slurm", "portal", "nobody", "nosuchuser"])
async def test_not_everyone(launcher_pool: LauncherPool, name: str) -> None:
    with pytest.raises(LauncherUnavailable):
        await launcher_pool.info(name)


def test_sudo_runs_nothing_else(portal: Live, commands: Path) -> None:
    launcher = str(launcher_path(portal))
    for command in (["/bin/sh", "-c", "id"], [launcher, "extra"], ["-i"]):
        done = subprocess.run(
            [commands / "sudo", "-n", "-u", "alice", *command],
            capture_output=True, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        assert done.returncode != 0
        assert done.stdout == b""


@contextlib.contextmanager
def small_home(portal: Live, user: str) -> Iterator[None]:
    """A full file system instead of a home directory, on the head."""
    home = home_of(portal, user)
    uid = home.stat().st_uid
    options = f"size=16k,mode=700,uid={uid},gid={uid}"
    portal.exec_as("root", ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(home)])
    try:
        yield
    finally:
        portal.exec_as("root", ["umount", "--lazy", str(home)])


async def test_a_full_home(launcher_pool: LauncherPool, portal: Live) -> None:
    job = spec()
    with small_home(portal, "bob"):
        with pytest.raises(HomeUnavailable, match="is full"):
            await launcher_pool.submit("bob", job, {"config.json": "x" * 100_000})
        nothing, size, _ = await launcher_pool.read("bob", f"{job.uuid}/config.json", 0, 100)
        assert (nothing, size) == (b"", 0)
        await launcher_pool.mkdir("bob", f".local/share/portal/jobs/{job.uuid}")


async def test_a_missing_home(launcher_pool: LauncherPool, portal: Live) -> None:
    home = home_of(portal, "bob")
    aside = home.with_name("bob-aside")
    home.rename(aside)
    try:
        with pytest.raises(HomeUnavailable, match="doesn't exist"):
            await launcher_pool.submit("bob", spec(), {})
    finally:
        aside.rename(home)


async def test_a_link_in_the_way(launcher_pool: LauncherPool, portal: Live) -> None:
    portal.exec_as("bob", ["sh", "-c", "mkdir -p elsewhere; ln -s elsewhere link"])
    try:
        with pytest.raises(PathRefused):
            await launcher_pool.mkdir("bob", "link/runs")
    finally:
        portal.exec_as("bob", ["sh", "-c", "rm link; rmdir elsewhere"])
