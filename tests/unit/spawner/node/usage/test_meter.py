"""Resource usage of a session's job: both cgroup versions, and nvidia-smi with named behaviors."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from spawner.node.usage import meter
from spawner.node.usage.meter import (
    Gpu,
    Memory,
    Meter,
    cpu_of_job,
    devices,
    memory_of_job,
    parse_gpus,
)

MB = 1 << 20
V2 = "0::/system.slice/slurmstepd.scope/job_7/step_batch/user/task_0\n"
V1 = (
    "12:freezer:/slurm_n1/uid_20001/job_7/step_batch\n"
    "4:memory:/slurm_n1/uid_20001/job_7/step_batch/task_0\n0::/\n"
)


def cgroup(tmp_path: Path, folder: str, **files: str) -> Path:
    made = tmp_path / "cgroup" / folder
    made.mkdir(parents=True)
    for name, text in files.items():
        (made / name.replace("__", ".")).write_text(text)
    return tmp_path / "cgroup"


def groups(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "groups"
    file.write_text(text)
    return file


@pytest.mark.parametrize(("limit", "expected"), [(f"{900 * MB}\n", 900 * MB), ("max\n", None)])
def test_memory_of_the_whole_job_without_what_is_only_cached(
    tmp_path: Path, limit: str, expected: int | None
) -> None:
    root = cgroup(
        tmp_path,
        "system.slice/slurmstepd.scope/job_7",
        memory__current=str(500 * MB),
        memory__max=limit,
        memory__stat=f"anon 1\ninactive_file {200 * MB}\n",
        memory__events="max 9\noom 1\noom_kill 2\n",
    )
    assert memory_of_job(groups(tmp_path, V2), root) == Memory(300 * MB, expected, kills=2)


@pytest.mark.parametrize(
    ("limit", "expected"), [(str(900 * MB), 900 * MB), ("9223372036854771712", None)]
)
def test_memory_by_the_older_cgroups(tmp_path: Path, limit: str, expected: int | None) -> None:
    root = cgroup(
        tmp_path,
        "memory/slurm_n1/uid_20001/job_7",
        memory__usage_in_bytes=str(500 * MB),
        memory__limit_in_bytes=limit,
        memory__stat=f"inactive_file 7\ntotal_inactive_file {100 * MB}\n",
    )
    for step, kills in {"step_0": 1, "step_0/task_0": 2}.items():
        folder = root / "memory/slurm_n1/uid_20001/job_7" / step
        folder.mkdir()
        (folder / "memory.oom_control").write_text(f"under_oom 0\noom_kill {kills}\n")
    assert memory_of_job(groups(tmp_path, V1), root) == Memory(400 * MB, expected, kills=3)


def test_cpu_time_of_the_whole_job_by_both_kinds_of_cgroups(tmp_path: Path) -> None:
    newer = cgroup(
        tmp_path,
        "system.slice/slurmstepd.scope/job_7",
        cpu__stat="usage_usec 12500000\nuser_usec 12000000\n",
    )
    assert cpu_of_job(groups(tmp_path, V2), newer) == 12.5
    older = cgroup(tmp_path, "cpuacct/slurm_n1/uid_20001/job_7", cpuacct__usage="2500000000\n")
    text = V1.replace("4:memory:", "4:cpu,cpuacct:")
    assert cpu_of_job(groups(tmp_path, text), older) == 2.5


@pytest.mark.parametrize(
    "text", ["0::/\n", "0::/user.slice/session-1.scope\n", V1, V2, "nonsense\n", ""]
)
def test_unknown_memory_is_none(tmp_path: Path, text: str) -> None:
    assert memory_of_job(groups(tmp_path, text), tmp_path) is None
    assert memory_of_job(tmp_path / "none", tmp_path) is None
    assert cpu_of_job(groups(tmp_path, text), tmp_path) is None


def test_gpus_are_parsed_from_nvidia_smi() -> None:
    text = 'NVIDIA H200, 37, 1024, 143771\n"A, with a comma", [N/A], [Not Supported], 40960\n'
    assert parse_gpus(text) == [
        Gpu("NVIDIA H200", 37, 1024 * MB, 143771 * MB),
        Gpu("A, with a comma", None, None, 40960 * MB),
    ]
    with pytest.raises(ValueError, match="unpack"):
        parse_gpus("No devices were found\n")


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, None), ("", None), ("NoDevFiles", None), ("-1", None), ("0,1", "0,1")],
)
def test_which_gpus_are_the_job_s(value: str | None, expected: str | None) -> None:
    assert devices({} if value is None else {"CUDA_VISIBLE_DEVICES": value}) == expected


def smi(tmp_path: Path, behaviour: str) -> dict[str, str]:
    """Return the environment of a job with two GPUs and this nvidia-smi, which logs its calls."""
    program = tmp_path / "nvidia-smi"
    counting = f"print(*sys.argv[1:], file=open({str(tmp_path / 'calls')!r}, 'a'))"
    program.write_text(f"#!{sys.executable} -IS\nimport sys, time\n{counting}\n{behaviour}\n")
    program.chmod(0o755)
    return {"PATH": str(tmp_path), "CUDA_VISIBLE_DEVICES": "2,3"}


def calls(tmp_path: Path) -> list[str]:
    return (tmp_path / "calls").read_text().splitlines()


@pytest.mark.anyio
async def test_the_node_is_looked_at_now_and_then_however_many_ask(tmp_path: Path) -> None:
    asked = Meter(smi(tmp_path, "print('V100, 5, 10, 32768')"))
    for _ in range(3):
        found = await asked.use()
    assert found.as_json()["gpus"] == [
        {
            "name": "V100",
            "use_percent": 5,
            "memory_used_bytes": 10 * MB,
            "memory_bytes": 32768 * MB,
        }
    ]
    (arguments,) = calls(tmp_path)
    assert arguments.startswith("--id=2,3 --query-gpu=name,utilization.gpu,")


@pytest.mark.anyio
@pytest.mark.parametrize("behaviour", ["sys.exit(9)", "print('No devices')", "time.sleep(600)"])
async def test_an_nvidia_smi_that_fails_is_left_alone_for_a_while(
    tmp_path: Path, behaviour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meter, "MEASURE_EVERY_S", 0.0)
    # enough time for a working one, even on a busy machine
    hangs = "sleep" in behaviour
    monkeypatch.setattr(meter, "GIVE_UP_S", 0.5 if hangs else 60.0)
    asked = Meter(smi(tmp_path, behaviour))
    assert (await asked.use()).gpus is None
    assert (await asked.use()).gpus is None
    asked_once = (tmp_path / "calls").exists() and len(calls(tmp_path)) == 1
    assert hangs or asked_once


@pytest.mark.anyio
async def test_nvidia_smi_is_not_called_without_gpus(tmp_path: Path) -> None:
    environ = smi(tmp_path, "print('V100, 5, 10, 32768')") | {"CUDA_VISIBLE_DEVICES": ""}
    assert (await Meter(environ).use()).gpus is None
    assert (await Meter({"PATH": "/nowhere", "CUDA_VISIBLE_DEVICES": "0"}).use()).gpus is None
    assert not (tmp_path / "calls").exists()


@pytest.mark.anyio
async def test_cpus_are_counted_between_two_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = iter([100.0, 130.0, None, 200.0, 190.0])
    monkeypatch.setattr(meter, "cpu_of_job", lambda: next(spent))
    monkeypatch.setattr(meter, "memory_of_job", lambda: Memory(1, None))
    now = [0.0]
    asked = Meter({}, clock=lambda: now[0])
    found = []
    for _ in range(5):
        found.append((await asked.use()).cpus)
        now[0] += 20.0
    assert found == [None, 1.5, None, None, None]


@pytest.mark.anyio
async def test_without_a_cgroup_the_job_s_processes_are_added_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(meter, "cpu_of_job", lambda: None)
    monkeypatch.setattr(meter, "memory_of_job", lambda: None)
    marked = {"SLURM_JOB_ID": "4711-of-this-test", "PATH": "/usr/bin:/bin"}
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec("/bin/cat", stdin=pipe, env=marked)
    try:
        memory = (await Meter(marked).use()).memory
        assert memory is not None
        assert memory.used_bytes > 0
        assert memory.limit_bytes is None
        assert (await Meter({"SLURM_JOB_ID": "4712-of-this-test"}).use()).memory is None
    finally:
        await child.communicate(b"")
