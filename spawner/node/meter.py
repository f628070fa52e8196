"""What a session's job uses of its node: memory and CPU time, by its cgroup or else by its
processes, and its GPUs, by nvidia-smi.

What can't be measured is None, never a guess: GPUs on a node without nvidia-smi, for example.
Standard library only.
"""

from __future__ import annotations

import asyncio
import contextlib
import csv
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from spawner.node.processes import Processes

log = logging.getLogger("portal")

KEPT_S = 10.0
"""However many tabs ask, the node is looked at so often."""
GIVE_UP_S = 5.0
AGAIN_S = 120.0
"""An nvidia-smi that failed is left alone for so long."""
NO_LIMIT_BYTES = 1 << 60
QUERY = "name,utilization.gpu,memory.used,memory.total"
MB = 1 << 20


@dataclass(frozen=True)
class Memory:
    """What the job holds, without what the system only keeps cached for it. A `limit` of None:
    the cgroup has none."""

    used_bytes: int
    limit_bytes: int | None


@dataclass(frozen=True)
class Gpu:
    """One GPU of the job; what its driver doesn't tell is None."""

    name: str
    use_percent: int | None
    memory_used_bytes: int | None
    memory_bytes: int | None


def memory_of_job(
    groups: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> Memory | None:
    """The memory of the Slurm job that this process is in; None where it can't be told."""
    try:
        for controllers, job in _job_folders(groups):
            if not controllers:
                return _memory(root / job, "memory.current", "memory.max", "inactive_file")
            if "memory" in controllers:
                names = "memory.usage_in_bytes", "memory.limit_in_bytes", "total_inactive_file"
                return _memory(root / "memory" / job, *names)
    except (OSError, ValueError) as error:
        log.debug("the job's memory can't be read: %s", error)
    return None


def cpu_of_job(
    groups: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> float | None:
    """The CPU time, in seconds, that this process's Slurm job has taken so far."""
    try:
        for controllers, job in _job_folders(groups):
            if not controllers:
                found = dict(map(str.split, (root / job / "cpu.stat").read_text().splitlines()))
                return int(found["usage_usec"]) / 1e6
            if "cpuacct" in controllers:
                return int((root / "cpuacct" / job / "cpuacct.usage").read_text()) / 1e9
    except (OSError, ValueError, KeyError) as error:
        log.debug("the job's CPU time can't be read: %s", error)
    return None


def _job_folders(groups: Path) -> Iterator[tuple[list[str], Path]]:
    """The controllers and the job's folder of each hierarchy that Slurm has put it into; the
    newer cgroups' has no controllers named."""
    for line in groups.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        job = _job_folder(path)
        if job is not None:
            yield [name for name in controllers.split(",") if name], job


def _job_folder(path: str) -> Path | None:
    """Down to Slurm's folder for the whole job, which all its steps share."""
    parts = path.strip("/").split("/")
    for depth, part in enumerate(parts, 1):
        if part.startswith("job_"):
            return Path(*parts[:depth])
    return None


def _memory(folder: Path, used: str, limit: str, cached: str) -> Memory:
    held = int((folder / used).read_text())
    most = (folder / limit).read_text().strip()
    pairs = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
    spare = next((int(value) for name, value in pairs if name == cached), 0)
    bounded = most != "max" and int(most) < NO_LIMIT_BYTES
    return Memory(max(0, held - spare), int(most) if bounded else None)


def devices(environ: Mapping[str, str]) -> str | None:
    """The job's GPUs, as nvidia-smi takes them; None for a job without."""
    named = environ.get("CUDA_VISIBLE_DEVICES", "").strip()
    return None if named in {"", "-1", "NoDevFiles"} else named


def parse_gpus(text: str) -> list[Gpu]:
    """nvidia-smi's answer to QUERY, as `csv,noheader,nounits`; memory in MiB."""
    rows = csv.reader(text.splitlines(), skipinitialspace=True)
    found = []
    for name, use, used, total in rows:
        held, whole = _number(used), _number(total)
        found.append(
            Gpu(
                name=name,
                use_percent=_number(use),
                memory_used_bytes=None if held is None else held * MB,
                memory_bytes=None if whole is None else whole * MB,
            )
        )
    return found


def _number(text: str) -> int | None:
    """`[N/A]` and the like are not known."""
    return int(text) if text.isascii() and text.isdigit() else None


async def gpus_of_job(program: str, chosen: str) -> list[Gpu] | None:
    """The job's GPUs, or None if nvidia-smi can't tell."""
    arguments = [f"--id={chosen}", f"--query-gpu={QUERY}", "--format=csv,noheader,nounits"]
    try:
        process = await asyncio.create_subprocess_exec(
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
        log.warning("nvidia-smi does not tell about the GPUs: %r", error)
        return None
    finally:
        await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    """asyncio sees an end only once the pipes were read to theirs. One that can't be killed, for
    it hangs in the driver, is not waited for."""
    if process.returncode is None:
        process.kill()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GIVE_UP_S):
                await process.communicate()


@dataclass(frozen=True)
class Use:
    """What the job uses now. `cpus` is how many CPUs it kept busy, on the average, since the last
    look; None at the first. `gpus` None: nobody tells."""

    memory: Memory | None
    cpus: float | None
    gpus: list[Gpu] | None

    def as_json(self) -> dict[str, Any]:
        """As JupyterLab's page is told."""
        return asdict(self)


@dataclass
class Meter:
    """Measures for whoever asks, and no more often than makes sense."""

    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    _at: float = float("-inf")
    _found: Use = field(default_factory=lambda: Use(None, None, None))
    _cpu_s: float | None = None
    _no_gpus_until: float = float("-inf")
    _processes: Processes | None = None

    def __post_init__(self) -> None:
        job_id = self.environ.get("SLURM_JOB_ID")
        self._processes = Processes(job_id) if job_id else None

    async def use(self) -> Use:
        """What is used now, or was a few seconds ago."""
        async with self._lock:
            if self.clock() - self._at >= KEPT_S:
                gpus = await self._gpus()
                memory, cpu_s = await asyncio.to_thread(self._memory_and_cpu)
                now = self.clock()
                self._found = Use(memory, self._cpus(cpu_s, now), gpus)
                self._at, self._cpu_s = now, cpu_s
            return self._found

    def _memory_and_cpu(self) -> tuple[Memory | None, float | None]:
        memory, cpu_s = memory_of_job(), cpu_of_job()
        if self._processes is not None and (memory is None or cpu_s is None):
            found = self._processes.look()
            if found is not None:
                memory = memory or Memory(found.memory_bytes, None)
                cpu_s = found.cpu_s if cpu_s is None else cpu_s
        return memory, cpu_s

    def _cpus(self, cpu_s: float | None, now: float) -> float | None:
        """Of CPU time that goes back, as after another source had to be taken, nothing follows."""
        if cpu_s is None or self._cpu_s is None or cpu_s < self._cpu_s:
            return None
        return (cpu_s - self._cpu_s) / (now - self._at)

    async def _gpus(self) -> list[Gpu] | None:
        chosen = devices(self.environ)
        program = shutil.which("nvidia-smi", path=self.environ.get("PATH", os.defpath))
        if chosen is None or program is None or self.clock() < self._no_gpus_until:
            return None
        found = await gpus_of_job(program, chosen)
        if found is None:
            self._no_gpus_until = self.clock() + AGAIN_S
        return found
