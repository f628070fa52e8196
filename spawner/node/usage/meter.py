"""Usage of a Slurm job on its node: memory, CPU time and GPUs.

Memory and CPU time come from its cgroup or else its processes, GPUs from nvidia-smi. Values that
cannot be measured are None, never a guess: GPUs on a node without nvidia-smi, for example. Standard
library only.
"""

from __future__ import annotations

import asyncio
import csv
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from spawner import subprocesses
from spawner.node.usage.processes import Processes

log = logging.getLogger("portal")

MEASURE_EVERY_S = 10.0
"""Minimum time between measurements, however many tabs ask."""
GIVE_UP_S = 5.0
GPU_RETRY_S = 120.0
"""Time for which a failed nvidia-smi is not run again."""
NO_LIMIT_BYTES = 1 << 60
QUERY = "name,utilization.gpu,memory.used,memory.total"
MB = 1 << 20


@dataclass(frozen=True)
class Memory:
    """Memory of the job, without reclaimable cache.

    A `limit_bytes` of None means that the cgroup has none. `kills` is the number of the job's
    processes that the kernel killed for lack of memory.
    """

    used_bytes: int
    limit_bytes: int | None
    kills: int = 0


@dataclass(frozen=True)
class Gpu:
    """One GPU of the job; values that its driver does not report are None."""

    name: str
    use_percent: int | None
    memory_used_bytes: int | None
    memory_bytes: int | None


def memory_of_job(
    groups: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> Memory | None:
    """Return the memory of this process's Slurm job; None if it cannot be determined."""
    try:
        for controllers, job in _job_folders(groups):
            if not controllers:
                names = "memory.current", "memory.max", "inactive_file"
                return _memory_at(
                    root / job, *names, kills=_oom_kills(root / job / "memory.events")
                )
            if "memory" in controllers:
                names = "memory.usage_in_bytes", "memory.limit_in_bytes", "total_inactive_file"
                # cgroup v1 counts for each folder separately.
                counts = (root / "memory" / job).rglob("memory.oom_control")
                return _memory_at(root / "memory" / job, *names, kills=sum(map(_oom_kills, counts)))
    except (OSError, ValueError) as error:
        log.debug("the job's memory can't be read: %s", error)
    return None


def cpu_of_job(
    groups: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> float | None:
    """Return the CPU time, in seconds, that this process's Slurm job has used so far."""
    try:
        for controllers, job in _job_folders(groups):
            if not controllers:
                figures = dict(map(str.split, (root / job / "cpu.stat").read_text().splitlines()))
                return int(figures["usage_usec"]) / 1e6
            if "cpuacct" in controllers:
                return int((root / "cpuacct" / job / "cpuacct.usage").read_text()) / 1e9
    except (OSError, ValueError, KeyError) as error:
        log.debug("the job's CPU time can't be read: %s", error)
    return None


def _job_folders(groups: Path) -> Iterator[tuple[list[str], Path]]:
    """Yield the controllers and the job's folder of each cgroup hierarchy in which Slurm placed it.

    The hierarchy of cgroup v2 has no named controllers.
    """
    for line in groups.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        job = _find_job_folder(path)
        if job is not None:
            yield [name for name in controllers.split(",") if name], job


def _find_job_folder(path: str) -> Path | None:
    """Return the path up to Slurm's folder for the whole job, which all its steps share."""
    parts = path.strip("/").split("/")
    for depth, part in enumerate(parts, 1):
        if part.startswith("job_"):
            return Path(*parts[:depth])
    return None


def _oom_kills(counts: Path) -> int:
    """Return a cgroup's count `oom_kill`; 0 if the kernel has none, or the step has just ended."""
    try:
        lines = counts.read_text().splitlines()
    except OSError as error:
        log.debug("out-of-memory kills can't be read: %s", error)
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


def _memory_at(folder: Path, used: str, limit: str, cached: str, kills: int) -> Memory:
    used_bytes = int((folder / used).read_text())
    most = (folder / limit).read_text().strip()
    pairs = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
    spare = next((int(value) for name, value in pairs if name == cached), 0)
    bounded = most != "max" and int(most) < NO_LIMIT_BYTES
    return Memory(max(0, used_bytes - spare), int(most) if bounded else None, kills)


def devices(environ: Mapping[str, str]) -> str | None:
    """Return the job's GPUs in nvidia-smi's format; None for a job without GPUs."""
    named = environ.get("CUDA_VISIBLE_DEVICES", "").strip()
    return None if named in {"", "-1", "NoDevFiles"} else named


def parse_gpus(text: str) -> list[Gpu]:
    """Parse nvidia-smi's answer to QUERY in the format `csv,noheader,nounits`; memory in MiB."""
    rows = csv.reader(text.splitlines(), skipinitialspace=True)
    gpus = []
    for name, use, used, total in rows:
        used_mb, total_mb = _parse_number(used), _parse_number(total)
        gpus.append(
            Gpu(
                name=name,
                use_percent=_parse_number(use),
                memory_used_bytes=None if used_mb is None else used_mb * MB,
                memory_bytes=None if total_mb is None else total_mb * MB,
            )
        )
    return gpus


def _parse_number(text: str) -> int | None:
    """Return a number; None for `[N/A]` and the like."""
    return int(text) if text.isascii() and text.isdigit() else None


async def gpus_of_job(program: str, chosen: str) -> list[Gpu] | None:
    """Return the job's GPUs, or None if nvidia-smi fails."""
    arguments = [f"--id={chosen}", f"--query-gpu={QUERY}", "--format=csv,noheader,nounits"]
    try:
        process = await subprocesses.start(
            program,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        log.warning("nvidia-smi can't be run: %s", error)
        return None
    try:
        async with asyncio.timeout(GIVE_UP_S):
            text, _ = await process.communicate()
        return parse_gpus(text.decode()) if process.returncode == 0 else None
    except (TimeoutError, ValueError) as error:
        log.warning("nvidia-smi reports no GPU data: %r", error)
        return None
    finally:
        await subprocesses.end(process)


@dataclass(frozen=True)
class Use:
    """Current usage of the job.

    `cpus` is the average number of busy CPUs since the last measurement; None at the first. `gpus`
    is None if it is unknown.
    """

    memory: Memory | None
    cpus: float | None
    gpus: list[Gpu] | None

    def as_json(self) -> dict[str, Any]:
        """Return it in the format for JupyterLab's page."""
        return asdict(self)


@dataclass
class Meter:
    """Measures on request, but at most every `measure_every_s` seconds."""

    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    measure_every_s: float = MEASURE_EVERY_S
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    _measured_at: float = float("-inf")
    _last_use: Use = field(default_factory=lambda: Use(None, None, None))
    _cpu_s: float | None = None
    _no_gpus_until: float = float("-inf")
    _processes: Processes | None = None

    def __post_init__(self) -> None:
        job_id = self.environ.get("SLURM_JOB_ID")
        self._processes = Processes(job_id) if job_id else None

    async def use(self) -> Use:
        """Return the usage now, or a few seconds ago."""
        async with self._lock:
            if self.clock() - self._measured_at >= self.measure_every_s:
                gpus = await self._measure_gpus()
                memory, cpu_s = await asyncio.to_thread(self._measure_memory_and_cpu)
                now = self.clock()
                self._last_use = Use(memory, self._count_busy_cpus(cpu_s, now), gpus)
                self._measured_at, self._cpu_s = now, cpu_s
            return self._last_use

    def _measure_memory_and_cpu(self) -> tuple[Memory | None, float | None]:
        memory, cpu_s = memory_of_job(), cpu_of_job()
        if self._processes is not None and (memory is None or cpu_s is None):
            total = self._processes.measure()
            if total is not None:
                memory = memory or Memory(total.memory_bytes, None)
                cpu_s = total.cpu_s if cpu_s is None else cpu_s
        return memory, cpu_s

    def _count_busy_cpus(self, cpu_s: float | None, now: float) -> float | None:
        """Return the busy CPUs; None if CPU time decreased, as it does when its source changes."""
        if cpu_s is None or self._cpu_s is None or cpu_s < self._cpu_s:
            return None
        return (cpu_s - self._cpu_s) / (now - self._measured_at)

    async def _measure_gpus(self) -> list[Gpu] | None:
        chosen = devices(self.environ)
        program = shutil.which("nvidia-smi", path=self.environ.get("PATH", os.defpath))
        if chosen is None or program is None or self.clock() < self._no_gpus_until:
            return None
        gpus = await gpus_of_job(program, chosen)
        if gpus is None:
            self._no_gpus_until = self.clock() + GPU_RETRY_S
        return gpus
