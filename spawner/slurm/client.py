"""Slurm's commands, run as the portal's own account: queries, cancelling, changing time limits.

Each command is an argument list with an environment built from scratch and its own timeout: with
slurmctld down they would hang for MessageTimeout. Submitting is not here: the launcher does that,
as the user. No policy is decided here; the watcher decides how often to ask.

Raises Unreachable if there is no answer or an implausible one, Rejected if Slurm refused,
JobNotFound if it has no such job.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, TypeVar

from spawner import subprocesses
from spawner.errors import JobNotFound, QueryTooLarge, Rejected, Unreachable

# The launcher is one self-contained file, so what both need is defined there.
from spawner.launcher.program import is_unreachable
from spawner.slurm import parse, parse_bounds, parse_nodes, parse_usage
from spawner.slurm.model import (
    ClusterInfo,
    JobInfo,
    JobUsage,
    NodeInfo,
    PartitionInfo,
    ReservationInfo,
    WallLimit,
)
from spawner.slurm.reasons.rejections import explain_rejection
from spawner.timing import Measure, measured, unmeasured

MAX_OUTPUT_BYTES = 64 * 1024 * 1024
_MAX_STDERR = 64 * 1024
_T = TypeVar("_T")
# Messages of the commands if munge does not run on this host.
_NO_MUNGE = re.compile(r"Munge encode failed|[Ii]f munged is up|Did you start munged")
# Slurm 22.05 closes the connection without a reason if the munge credential is too old, from the
# future, or made with another key. Tested with munge's clock 15 minutes off, both ways.
_HANGS_UP = re.compile(
    r"Zero Bytes were transmitted|Protocol authentication error|(?:Expired|Rewound) credential"
    r"|Munge decode failed"
)
# Messages of the commands if the version of the controller or slurmdbd is too far from theirs; the
# commands of a newer version only report that nothing came back (docs/settings.md).
_OTHER_VERSION = re.compile(
    r"Incompatible versions of client and server|Insane message length|Invalid message version"
    r"|protocol_version \d+ not supported|unpack SLURM_PERSIST_INIT|auth\w+ plugin unknown"
)
# scancel prints the last alternative if the job is not the user's.
_NO_SUCH_JOB = re.compile(r"Invalid job id|already finished|No active jobs match")
_BACKLOG = re.compile(r"^DBD Agent queue size:\s*(\d+)", re.MULTILINE)
_BOOT_TIME = re.compile(r"^BOOT_TIME\s*=\s*(\S+)", re.MULTILINE)
_MIN_JOB_AGE = re.compile(r"^MinJobAge\s*=\s*(\d+) sec", re.MULTILINE)
_TIME = re.compile(r"^sdiag output at .*?(?:\((?P<epoch>\d+)\))?$", re.MULTILINE)


@dataclass(frozen=True)
class CommandResult:
    """Result of a command; its output is text, bounded."""

    code: int
    stdout: str
    stderr: str


class Slurm:
    """One Slurm cluster.

    With `slurm_conf` None, Slurm finds its configuration by itself; `measure` is called for each
    command.
    """

    def __init__(
        self,
        bin_dir: str | Path,
        slurm_conf: str | Path | None = None,
        timeout_s: float = 10.0,
        measure: Measure = unmeasured,
    ) -> None:
        self._bin_dir = Path(bin_dir)
        self._timeout_s = timeout_s
        self._measure = measure
        self._environment = {"TZ": "UTC0", "LC_ALL": "C.UTF-8", "SLURM_BITSTR_LEN": "0"}
        self._squeue_parser = parse.SqueueParser()
        self._node_parser = parse_nodes.NodeParser()
        if slurm_conf:
            self._environment["SLURM_CONF"] = str(slurm_conf)

    async def jobs(self) -> list[JobInfo]:
        """Return all users' jobs that slurmctld holds, including recently ended ones (MinJobAge).

        Jobs of one state are sorted by priority, highest first.
        """
        delimiter = secrets.token_urlsafe(9)
        arguments = ["squeue", "--noheader", "--all", "--states=all", "--sort=t,-p"]
        environment = {"SQUEUE_FORMAT": parse.squeue_format(delimiter)}
        text = await self._query(arguments, environment)
        return await run_parser(lambda: self._squeue_parser.parse(text, delimiter))

    async def find(self, *job_ids: int) -> list[JobInfo]:
        """Return the jobs that have these ids now: for an array one per task; empty if none."""
        delimiter = secrets.token_urlsafe(9)
        arguments = [
            "squeue",
            "--noheader",
            "--all",
            "--states=all",
            "--jobs=" + ",".join(map(str, sorted(job_ids))),
        ]
        environment = {"SQUEUE_FORMAT": parse.squeue_format(delimiter)}
        try:
            text = await self._query(arguments, environment)
        except Rejected as error:
            if "Invalid job id" in error.stderr:
                return []
            raise
        return await run_parser(lambda: parse.SqueueParser().parse(text, delimiter))

    async def accounting(
        self,
        since: datetime,
        job_ids: Collection[int] | None = None,
        *,
        until: datetime | None = None,
        user: str | None = None,
    ) -> list[JobInfo]:
        """Return accounting's records of jobs between these times: of all jobs, or only of these,
        or of a user.

        `until` is now if omitted. Raises Rejected for a user that this host does not know.
        """
        delimiter = secrets.token_urlsafe(9)
        start = since.astimezone(UTC) - timedelta(seconds=1)
        arguments = [
            "sacct", "--noheader", f"--user={user}" if user else "--allusers", "--allocations",
            "--parsable2", f"--delimiter={delimiter}", f"--format={parse.SACCT_FIELDS}",
            f"--starttime={start:%Y-%m-%dT%H:%M:%S}",
            f"--endtime={until.astimezone(UTC):%Y-%m-%dT%H:%M:%S}" if until else "--endtime=now",
        ]  # fmt: skip
        if job_ids is not None:
            if not job_ids:
                return []
            arguments.append("--jobs=" + ",".join(str(job_id) for job_id in sorted(job_ids)))
        text = await self._query(arguments)
        return await run_parser(lambda: parse.parse_sacct(text, delimiter))

    async def backlog(self) -> int:
        """Return how many messages slurmctld has yet to deliver to slurmdbd."""
        match = _BACKLOG.search(await self._query(["sdiag"]))
        if match is None:
            raise Unreachable("Slurm's response can't be parsed: sdiag reports no slurmdbd queue.")
        return int(match[1])

    async def controller_time(self) -> float | None:
        """Return slurmctld's time in seconds since 1970; None if sdiag lacks it (before 20.11)."""
        match = _TIME.search(await self._query(["sdiag"]))
        return float(match["epoch"]) if match and match["epoch"] else None

    async def config(self) -> str:
        """Return slurmctld's configuration, one setting per line."""
        return await self._query(["scontrol", "show", "config"])

    async def min_job_age(self) -> timedelta:
        """Return how long slurmctld keeps a job after its end; the maximum if it is never purged.

        Zero if the configuration doesn't show it.
        """
        match = _MIN_JOB_AGE.search(await self.config())
        if match is None:
            return timedelta(0)
        return timedelta(seconds=int(match[1])) if int(match[1]) else timedelta.max

    async def started_at(self) -> datetime | None:
        """Return when slurmctld started; None if the configuration doesn't show it."""
        match = _BOOT_TIME.search(await self.config())
        return await run_parser(lambda: parse.moment(match[1])) if match else None

    async def usage(self, since: Mapping[int, datetime]) -> list[JobUsage]:
        """Return accounting's data on usage of these jobs; an array's id stands for its tasks.

        Runs submitted before the job's time in `since` are omitted: Slurm reuses ids.
        """
        if not since:
            return []
        arguments = [
            "sacct", "--noheader", "--allusers", "--duplicates", "--parsable2",
            f"--format={parse_usage.FIELDS}",
            "--jobs=" + ",".join(str(job_id) for job_id in sorted(since)),
        ]  # fmt: skip
        text = await self._query(arguments)
        return await run_parser(lambda: parse_usage.parse_usage(text, since))

    async def nodes(self) -> tuple[NodeInfo, ...]:
        """Return every node, with its GPUs by type."""
        text = await self._query(["scontrol", "--all", "--details", "--oneliner", "show", "node"])
        return await run_parser(lambda: self._node_parser.parse(text))

    async def partitions(self) -> tuple[PartitionInfo, ...]:
        """Return every partition, including hidden ones."""
        text = await self._query(["scontrol", "--all", "--oneliner", "show", "partition"])
        return await run_parser(lambda: parse_nodes.parse_partitions(text))

    async def cluster(self) -> ClusterInfo:
        """Return nodes and partitions, by two commands."""
        partitions = await self.partitions()
        return ClusterInfo(await self.nodes(), partitions, datetime.now(UTC))

    async def version(self) -> str:
        """Return the version of the commands on this host, such as `22.05.8`; no network access."""
        return (await self._query(["scontrol", "--version"])).rpartition(" ")[2].strip()

    async def check_accounting(self) -> None:
        """Raise an error unless slurmdbd answers and can access its database."""
        await self._query(
            ["sacctmgr", "--noheader", "--parsable2", "show", "cluster", "format=Cluster"]
        )

    async def admin_level(self, account: str) -> str:
        """Return `None`, `Operator` or `Administrator`, as text."""
        question = ["sacctmgr", "--noheader", "--parsable2", "show", "user", account]
        return (await self._query([*question, "format=AdminLevel"])).strip()

    async def reservations(self) -> tuple[ReservationInfo, ...]:
        """Return every reservation, including future ones."""
        text = await self._query(["scontrol", "--all", "--oneliner", "show", "reservation"])
        return await run_parser(lambda: parse_bounds.parse_reservations(text))

    async def find_wall_limits(self, job: JobInfo) -> tuple[WallLimit, ...]:
        """Return the limits on the time of a job of this user, account, QOS and partition.

        They are those that slurmctld holds; empty if there is no limit.
        """
        flags = ["flags=assoc,qos", f"users={job.user}"]
        flags += [f"accounts={job.account}"] if job.account else []
        flags += [f"qos={job.qos}"] if job.qos else []
        text = await self._query(["scontrol", "--oneliner", "show", "assoc_mgr", *flags])
        return await run_parser(
            lambda: parse_bounds.parse_wall_limits(
                text, user=job.user, account=job.account, qos=job.qos, partition=job.partition
            )
        )

    async def cancel(self, job_id: int, user: str | None) -> None:
        """Cancel a job of this user, or with None of any user.

        An ended job is not an error.

        The user is needed because the portal's account is a Slurm operator, and another user's job
        may have reused the id.
        """
        result = await self._run(["scancel", "--verbose", *_user_option(user), str(job_id)])
        if "already completing or completed" not in result.stderr:
            self._check_change(result)

    async def kill(self, job_id: int, user: str | None) -> None:
        """Kill a job at once, without the grace period that `cancel` leaves it (KillWait).

        A program that ignores SIGTERM is ended with all processes that it started, except in
        separate steps.
        """
        arguments = ["scancel", "--batch", "--signal=KILL", *_user_option(user), str(job_id)]
        result = await self._run(arguments)
        if is_unreachable(result.stderr):
            raise to_error(result.stderr)
        await self.cancel(job_id, user)  # for a job that has not started, and for steps

    async def set_time_limit(self, job_id: int, minutes: int) -> None:
        """Set the time limit of any user's job, counted from its start."""
        arguments = ["scontrol", "update", f"JobId={job_id}", f"TimeLimit={minutes}"]
        self._check_change(await self._run(arguments))

    async def _query(
        self,
        arguments: list[str],
        extra: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> str:
        """Return the output of a query.

        Slurm's commands may exit with 0 and still have failed: then only stderr distinguishes an
        empty cluster from one that did not answer.
        """
        result = await self._run(arguments, extra, timeout_s=timeout_s)
        silent = not result.stdout and "error" in result.stderr
        if result.code != 0 or silent or is_unreachable(result.stderr):
            raise to_error(result.stderr)
        return result.stdout

    @staticmethod
    def _check_change(result: CommandResult) -> None:
        if _NO_SUCH_JOB.search(result.stderr):
            raise JobNotFound("Slurm no longer has this job.", result.stderr)
        if result.code != 0 or re.search(r"\berror\b", result.stderr):
            raise to_error(result.stderr)

    async def _run(
        self,
        arguments: list[str],
        extra: Mapping[str, str] | None = None,
        stdin: IO[bytes] | None = None,
        timeout_s: float | None = None,
    ) -> CommandResult:
        """Run a command to its end. `stdin` is a file, so that no task has to feed it."""
        with measured(self._measure, arguments[0], Unreachable):
            return await self._run_within(
                arguments, extra or {}, stdin, timeout_s or self._timeout_s
            )

    async def _run_within(
        self,
        arguments: list[str],
        extra: Mapping[str, str],
        stdin: IO[bytes] | None,
        timeout_s: float,
    ) -> CommandResult:
        command = [str(self._bin_dir / arguments[0]), *arguments[1:]]
        try:
            process = await subprocesses.start(
                *command,
                stdin=stdin or asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**self._environment, **extra},
            )
        except OSError as error:
            raise Unreachable(
                f"The program {command[0]} can't be run: {error.strerror}."
            ) from error
        try:
            async with asyncio.timeout(timeout_s):
                result = await _communicate(process)
        except TimeoutError as error:
            raise Unreachable(f"Slurm did not answer within {timeout_s:g} s.") from error
        finally:
            await subprocesses.end(process)
        if result.code != 0 and is_unreachable(result.stderr):
            raise unreachable(result.stderr)
        return result


async def _communicate(process: asyncio.subprocess.Process) -> CommandResult:
    assert process.stdout is not None and process.stderr is not None  # noqa: S101 - PIPE above
    stderr_reader = asyncio.create_task(_read_bounded(process.stderr, _MAX_STDERR))
    try:
        stdout = await _read_bounded(process.stdout, MAX_OUTPUT_BYTES)
        if len(stdout) > MAX_OUTPUT_BYTES:
            raise QueryTooLarge("Slurm's response is too long.")
        stderr = await stderr_reader
    finally:
        stderr_reader.cancel()
        await asyncio.wait([stderr_reader])
    code = await process.wait()
    return CommandResult(code, stdout.decode(errors="replace"), stderr.decode(errors="replace"))


async def _read_bounded(stream: asyncio.StreamReader, limit: int) -> bytes:
    """Read to the end, or to one byte more than the limit."""
    chunks: list[bytes] = []
    bytes_left = limit + 1
    while bytes_left > 0 and (chunk := await stream.read(min(bytes_left, 1 << 18))):
        chunks.append(chunk)
        bytes_left -= len(chunk)
    return b"".join(chunks)


def _user_option(user: str | None) -> list[str]:
    """Return scancel's option that restricts it to one user's jobs.

    For a user unknown to this host, squeue prints the uid, which scancel's option does not accept.
    """
    return [] if user is None or user.isdecimal() else [f"--user={user}"]


def unreachable(stderr: str) -> Unreachable:
    """Return the error for a message that `is_unreachable`."""
    if _NO_MUNGE.search(stderr):
        return Unreachable(
            "Slurm can't be queried: munge is not running on the portal's host.", stderr
        )
    if _OTHER_VERSION.search(stderr):
        return Unreachable(
            "Slurm's commands on this host can't communicate with its daemons: their versions "
            "may be incompatible, or their clocks or munge keys differ.",
            stderr,
        )
    if _HANGS_UP.search(stderr):
        return Unreachable(
            "Slurm closes connections from the portal's host: their clocks, munge keys or "
            "versions may differ.",
            stderr,
        )
    return Unreachable("Slurm doesn't answer.", stderr)


def to_error(stderr: str) -> Rejected | Unreachable:
    """Return the error for the error output of a command that failed."""
    if is_unreachable(stderr):
        return unreachable(stderr)
    why = explain_rejection(stderr)
    return Rejected(why.code, why.text, why.suggestion, stderr)


async def run_parser(parser: Callable[[], _T]) -> _T:
    """Run a parser in a thread: 25,000 jobs take 0.2 s, during which the portal must respond."""
    try:
        return await asyncio.to_thread(parser)
    except parse.BadOutput as error:
        raise Unreachable(f"Slurm's response can't be parsed: {error}.") from error
