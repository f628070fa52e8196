"""Parsers for the usage of jobs and their steps from sacct, and for job paths and forecasts.

Pure.

None of sacct's fields here is user-controlled, so a plain separator is sufficient.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from spawner.slurm import parse
from spawner.slurm.model import JobInfo, JobPaths, JobPhase, JobUsage
from spawner.slurm.step_memory import Step, most_on_a_node

FIELDS = (
    "JobIDRaw,JobID,User,State,Submit,Start,End,ExitCode,ElapsedRaw,TotalCPU,AllocCPUS,MaxRSS,"
    "NodeList,Partition,Account,TimelimitRaw,Reason,NTasks,NNodes"
)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_WIDTH = FIELDS.count(",") + 1
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class _Line:
    """One run of a job, or one step of one, which has no `info`."""

    job_id: int
    step: str
    info: JobInfo | None
    ended: bool
    elapsed_s: int
    cpu_s: float
    cpus: int
    memory: Step | None


def parse_usage(text: str, since: Mapping[int, datetime] | None = None) -> list[JobUsage]:
    """Parse the jobs in the output of `sacct --duplicates -P --format=FIELDS --jobs=…`.

    Each includes its steps and its runs before a requeue. A job id that Slurm has reused yields one
    result per user, without runs submitted before its time in `since`.
    """
    by_job: dict[tuple[int, str], list[_Line]] = {}
    owner: tuple[int, str] | None = None  # of the steps that follow; None: they are omitted
    for line in text.splitlines():
        fields = line.split("|")
        if len(fields) != _WIDTH:
            raise parse.BadOutput("sacct printed an unexpected number of fields")
        read = _parse_line(fields)
        if not read.step:
            owner = _find_owner(read, since or {})
        if owner is not None and owner[0] == read.job_id:
            by_job.setdefault(owner, []).append(read)
    return [_merge_runs(lines) for lines in by_job.values()]


def _find_owner(run: _Line, since: Mapping[int, datetime]) -> tuple[int, str] | None:
    """Return the job and user of a run, or None if it is omitted."""
    info = run.info
    if info is None:
        return None
    oldest = since.get(info.array_job_id or info.job_id)
    if oldest is not None and info.submit_time is not None and info.submit_time < oldest:
        return None
    return info.job_id, info.user


def _parse_line(fields: list[str]) -> _Line:
    raw, shown_id, user, state, submit, start, end, code, elapsed, cpu, cpus, rss, *job_fields = (
        fields
    )
    job_id, _, step = raw.partition(".")
    if not parse.is_number(job_id):
        raise parse.BadOutput(f"not a job id: {raw[:40]!r}")
    nodes, partition, account, limit, reason, tasks, node_count = job_fields
    # As a record of SACCT_FIELDS, so that states and times are parsed in one place.
    record = [job_id, shown_id, user, state, partition, account, "", nodes, submit, start, end]
    return _Line(
        job_id=int(job_id),
        step=step,
        info=None if step else parse.sacct_job([*record, limit, reason, code, "", ""]),
        ended=end not in {"", "Unknown"},
        elapsed_s=int(elapsed) if parse.is_number(elapsed) else 0,
        cpu_s=seconds(cpu),
        cpus=int(cpus) if parse.is_number(cpus) else 0,
        memory=_parse_memory(rss, tasks, node_count, nodes, (start, end)) if step else None,
    )


def _parse_memory(
    rss: str, tasks: str, node_count: str, nodes: str, between: tuple[str, str]
) -> Step | None:
    """Parse the memory use of a step; None if it was not measured."""
    size = size_bytes(rss)
    start, end = (parse.moment(text) for text in between)
    if size is None or start is None:
        return None
    return Step(
        max_rss_bytes=size,
        tasks=int(tasks) if parse.is_number(tasks) else 1,
        node_count=int(node_count) if parse.is_number(node_count) else 1,
        nodes="" if nodes.startswith("None") else nodes,
        start=start,
        end=end,
    )


def _merge_runs(lines: Sequence[_Line]) -> JobUsage:
    runs = [(line, line.info) for line in lines if line.info is not None]
    last, info = max(runs, key=lambda run: run[1].submit_time or _LONG_AGO)
    steps = [line for line in lines if line.step]
    ran = info.start_time is not None and last.elapsed_s > 0
    return JobUsage(
        info=info,
        elapsed_s=sum(run.elapsed_s for run, _ in runs),
        cpu_s=max(sum(run.cpu_s for run, _ in runs), sum(step.cpu_s for step in steps)),
        cpus=last.cpus,
        max_rss_bytes=most_on_a_node(line.memory for line in steps if line.memory is not None),
        restarts=len(runs) - 1,
        complete=info.phase is JobPhase.ENDED and (not ran or any(step.ended for step in steps)),
        longest_run_s=max(run.elapsed_s for run, _ in runs) if len(runs) > 1 else None,
    )


def seconds(text: str) -> float:
    """Parse [days-][hours:]minutes:seconds[.fraction] to seconds; 0 for anything else."""
    match = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)", text, re.ASCII)
    if match is None:
        return 0.0
    days, hours, minutes, remainder = (float(part or 0) for part in match.groups())
    return days * 86_400 + hours * 3600 + minutes * 60 + remainder


def size_bytes(text: str) -> int | None:
    """Parse a size such as `1234K` or `1.5G` to bytes; None for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)", text, re.ASCII)
    return int(float(match[1]) * _UNITS[match[2]]) if match else None


def parse_forecast(stderr: str) -> datetime | None:
    """Parse the time in the output of `sbatch --test-only`, run in UTC; None if there is none."""
    match = re.search(r"to start at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\b", stderr)
    return datetime.fromisoformat(match[1]).replace(tzinfo=UTC) if match else None


def parse_paths(text: str) -> JobPaths:
    """Parse the paths in `scontrol show job`, each on its own line.

    A job's name may contain such a line too, but is printed earlier, so the last one counts. If
    both streams go to one file, newer versions leave StdErr empty.
    """
    paths = {"WorkDir": "", "StdOut": "", "StdErr": ""}
    for key, value in re.findall(r"^   (WorkDir|StdOut|StdErr)=(|/[^\n]*)$", text, re.MULTILINE):
        paths[key] = value
    return JobPaths(paths["WorkDir"], paths["StdOut"], paths["StdErr"] or paths["StdOut"])
