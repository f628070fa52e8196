"""The sampler of a batch job: its file, its pace, and its end."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spawner.node.usage import sampler
from spawner.node.usage.meter import Gpu, Memory, Meter, Use
from spawner.node.usage.sampler import (
    EVERY_S,
    FIRST_S,
    MAX_REST_S,
    UsageFile,
    rest_s,
    usage_path,
    watch_process,
)
from spawner.node.usage.time_series import Series
from spawner.usage_file import GpuInfo, parse_file
from tests.polling import PATIENCE_S, wait_until

MB = 1 << 20
JOB = {"PORTAL_TASK": "3", "SLURM_RESTART_COUNT": "1", "SLURMD_NODENAME": "node01"}


def use(memory_mb: int, *gpus: Gpu) -> Use:
    return Use(Memory(memory_mb * MB, 1000 * MB), 1.5, list(gpus) or None)


def starts(path: Path) -> list[float]:
    return [point.start for point in parse_file(path.read_text())[1]]


class Recording:
    """A series and its file, with a clock that tests advance."""

    def __init__(self, path: Path, most: int = 4) -> None:
        self.now = 0.0
        self.series = Series(10, most)
        self.file = UsageFile(path, lambda: self.now)

    def add(self, at: float, *gpus: Gpu) -> None:
        self.now = at
        self.series.add(at, use(int(at) + 1, *gpus))
        self.file.write(self.series.header, self.series.complete_points)


def test_points_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    recording = Recording(path)
    recording.add(0)
    inode = path.stat().st_ino
    recording.add(10)
    assert path.stat().st_ino == inode
    header, points = parse_file(path.read_text())
    assert header is not None
    assert (header.step_s, header.memory_limit_mb, header.gpus) == (10, 1000, None)
    assert [(point.start, point.values) for point in points] == [(0, (1, 1.5)), (10, (11, 1.5))]


def test_full_file_is_merged_in_place(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    recording = Recording(path)
    for at in range(0, 200, 10):
        recording.add(at)
    header, points = parse_file(path.read_text())
    assert header is not None
    assert header.step_s == 80
    assert [(point.start, point.values[0]) for point in points] == [(0, 71), (80, 151)]
    assert [path.name for path in tmp_path.iterdir()] == ["f.jsonl"]


def test_gpus_that_appear_later_get_into_the_header(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "f.jsonl")
    recording.add(0)
    recording.add(10, Gpu("V100", 40, 7 * MB, 32000 * MB))
    header, points = parse_file((tmp_path / "f.jsonl").read_text())
    assert header is not None
    assert header.gpus == (GpuInfo("V100", 32000),)
    assert [point.values for point in points] == [(1, 1.5), (11, 1.5, 40, 7)]


@pytest.mark.parametrize("lost", ["file", "folder"])
def test_deleted_file_is_written_again_after_a_pause(tmp_path: Path, lost: str) -> None:
    folder = tmp_path / "usage"
    folder.mkdir()
    path = folder / "f.jsonl"
    recording = Recording(path, most=100)
    recording.add(0)
    path.unlink()
    if lost == "folder":
        folder.rmdir()
    recording.add(10)
    folder.mkdir(exist_ok=True)
    recording.add(20)
    assert not path.exists()
    recording.add(10 + sampler.AFTER_FAILURE_S)
    assert starts(path) == [0, 10, 20, 70]


def test_full_disk_loses_nothing(tmp_path: Path) -> None:
    """The limit on the size of files stands for the end of the disk: a line may be cut."""
    path = tmp_path / "f.jsonl"
    recording = Recording(path, most=1000)
    recording.add(0)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, hard))
    try:
        for at in range(10, 2000, 10):
            recording.add(at)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert starts(path) == [0, 10]
    assert [path.name for path in tmp_path.iterdir()] == ["f.jsonl"]
    recording.add(2000 + sampler.AFTER_FAILURE_S)
    assert len(starts(path)) == 201


@pytest.mark.parametrize(
    ("elapsed_s", "cost_s", "expected"),
    [
        (0, 0.001, FIRST_S),
        (59, 0.05, 5.0),
        (60, 0.001, EVERY_S),
        (600, 0.25, 25.0),
        (600, 999, MAX_REST_S),
    ],
)
def test_rests_are_long_enough_for_one_percent(
    elapsed_s: float, cost_s: float, expected: float
) -> None:
    assert rest_s(elapsed_s, cost_s) == expected


def test_file_is_that_of_task_restart_and_node(tmp_path: Path) -> None:
    path = usage_path({**JOB, "PORTAL_JOB_DIR": str(tmp_path)})
    assert path == tmp_path / "usage" / "3-1-node01.jsonl"
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_series_ends_with_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "FIRST_S", 0.01)
    monkeypatch.setattr(sampler, "REST_FACTOR", 0.0)
    path = tmp_path / "f.jsonl"
    end = time.monotonic() + PATIENCE_S

    def runs() -> bool:
        return time.monotonic() < end and not (path.exists() and len(starts(path)) > 1)

    with asyncio.Runner() as loop:
        meter = Meter({"SLURM_JOB_ID": "1"}, measure_every_s=0.0)
        sampler.sample(UsageFile(path), meter, runs, loop)
    first, *more = starts(path)
    assert abs(first - time.time()) < PATIENCE_S
    assert more


# --- as a process -------------------------------------------------------------------------------


def start(job_dir: Path, *arguments: str, **variables: str) -> subprocess.Popen[bytes]:
    environ = {**os.environ, **JOB, "PORTAL_JOB_DIR": str(job_dir), "SLURM_JOB_ID": "77"}
    return subprocess.Popen(
        [sys.executable, "-m", "spawner.node.usage.sampler", *arguments],
        env={**environ, **variables},
        start_new_session=True,
    )


def test_process_ends_with_the_script_and_ignores_the_job_s_signals(tmp_path: Path) -> None:
    script = subprocess.Popen(["sleep", "600"])
    process = start(tmp_path, str(script.pid))
    try:
        wait_until((tmp_path / "usage/3-1-node01.jsonl").exists, "a file is written")
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGINT):
            process.send_signal(number)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.0)
    finally:
        script.kill()
        script.wait()
    assert process.wait(PATIENCE_S) == 0


def test_sigterm_ends_the_process_at_once(tmp_path: Path) -> None:
    process = start(tmp_path)
    wait_until((tmp_path / "usage/3-1-node01.jsonl").exists, "a file is written")
    process.terminate()
    assert process.wait(PATIENCE_S) == -signal.SIGTERM


def test_process_measures_gpus_with_nvidia_smi(tmp_path: Path) -> None:
    """nvidia-smi is a program of that name with a fixed answer."""
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'V100, 55, 2048, 32768'\necho 'V100, [N/A], 1, 32768'\n")
    smi.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    process = start(tmp_path, PATH=path, CUDA_VISIBLE_DEVICES="0,1")
    try:
        wait_until((tmp_path / "usage/3-1-node01.jsonl").exists, "a file is written")
    finally:
        process.kill()
        process.wait()
    header, points = parse_file((tmp_path / "usage/3-1-node01.jsonl").read_text())
    assert header is not None
    assert header.gpus == (GpuInfo("V100", 32768), GpuInfo("V100", 32768))
    assert points[0].values[2:] == (55, 2048, None, 1)


def test_a_process_that_ended_is_not_watched() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert not watch_process(process.pid)()
    assert watch_process(os.getpid())()
