"""Slurm's commands, run as the portal's own account: asking about everything, ending and extending.

Each command is an argument list in an environment built from nothing, with a time-out of its own:
with slurmctld down they would hang for MessageTimeout. Submitting is not here: the launcher does
that, as the user. No decision is taken here; who asks how often is the watcher's affair.

Raises Unreachable when there is no answer or none to be believed, Rejected when Slurm refused,
NotFound when it knows no such job.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, TypeVar

from spawner import parse, parse_bounds, parse_nodes, parse_usage
from spawner.errors import NotFound, Rejected, Unreachable
from spawner.measured import Measure, measured, unmeasured
from spawner.model import (
    ClusterInfo,
    JobInfo,
    JobUsage,
    NodeInfo,
    PartitionInfo,
    ReservationInfo,
    WallLimit,
)
from spawner.reasons import explain_rejection

MAX_OUTPUT_BYTES = 64 * 1024 * 1024
_MAX_STDERR = 64 * 1024
_END_S = 5.0
_T = TypeVar("_T")
_NO_ANSWER = re.compile(
    r"Unable to contact slurm|Unable to establish|slurm_load_\w+ error|Connection refused"
    r"|timed out|reset by peer|Broken pipe|No route to host|Network is unreachable"
    r"|Unexpected message received|Header lengths|Insane message length|Zero Bytes were transmitted"
    r"|Protocol authentication error|Munge|munge"
    r"|Problem talking to the database|slurm_persist_conn|Unable to process configuration"
    r"|is already the primary|in standby mode|Transport endpoint is not connected"
    r"|Incompatible versions of client and server"
)
# What they say where munge isn't there to vouch for them.
_NO_MUNGE = re.compile(r"Munge encode failed|[Ii]f munged is up|Did you start munged")
# Slurm 22.05 doesn't say more to whoever's munge credential is too old, from the future, or made
# with another key: it hangs up. Tried with munged's clock a quarter of an hour off, both ways.
_HANGS_UP = re.compile(
    r"Zero Bytes were transmitted|Protocol authentication error|(?:Expired|Rewound) credential"
    r"|Munge decode failed"
)
# What the commands say of a controller or slurmdbd whose version lies too far from theirs; a newer
# one's commands say only that nothing came back (docs/settings.md).
_OTHER_VERSION = re.compile(
    r"Incompatible versions of client and server|Insane message length|Invalid message version"
    r"|protocol_version \d+ not supported|unpack SLURM_PERSIST_INIT|auth\w+ plugin unknown"
)


@dataclass(frozen=True)
class Answer:
    """What a command ended with; its output is text, bounded."""

    code: int
    stdout: str
    stderr: str


class Slurm:
    """One Slurm cluster. `slurm_conf` None leaves it to Slurm where its configuration lies;
    `measure` hears of each command."""

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
        self._squeue = parse.Squeue()
        if slurm_conf:
            self._environment["SLURM_CONF"] = str(slurm_conf)

    async def jobs(self) -> list[JobInfo]:
        """Every user's jobs that the controller remembers, those just ended too (MinJobAge); those
        of one state in the order of their priority, the highest first."""
        mark = secrets.token_urlsafe(9)
        arguments = ["squeue", "--noheader", "--all", "--states=all", "--sort=t,-p"]
        environment = {"SQUEUE_FORMAT": parse.squeue_format(mark)}
        text = await self._ask(arguments, environment)
        return await parsed(lambda: self._squeue.jobs(text, mark))

    async def accounting(
        self, since: datetime, job_ids: Collection[int] | None = None
    ) -> list[JobInfo]:
        """What accounting knows of jobs since then: all of them, or only these."""
        mark = secrets.token_urlsafe(9)
        start = since.astimezone(UTC) - timedelta(seconds=1)
        arguments = [
            "sacct", "--noheader", "--allusers", "--allocations", "--parsable2",
            f"--delimiter={mark}", f"--format={parse.SACCT_FIELDS}",
            f"--starttime={start:%Y-%m-%dT%H:%M:%S}", "--endtime=now",
        ]  # fmt: skip
        if job_ids is not None:
            if not job_ids:
                return []
            arguments.append("--jobs=" + ",".join(str(job_id) for job_id in sorted(job_ids)))
        text = await self._ask(arguments)
        return await parsed(lambda: parse.parse_sacct(text, mark))

    async def usage(self, job_ids: Collection[int]) -> list[JobUsage]:
        """What accounting knows of the use of these jobs; an array's id stands for its tasks."""
        if not job_ids:
            return []
        arguments = [
            "sacct", "--noheader", "--allusers", "--duplicates", "--parsable2",
            f"--format={parse_usage.FIELDS}",
            "--jobs=" + ",".join(str(job_id) for job_id in sorted(job_ids)),
        ]  # fmt: skip
        text = await self._ask(arguments)
        return await parsed(lambda: parse_usage.parse_usage(text))

    async def nodes(self) -> tuple[NodeInfo, ...]:
        """Every node, with its GPUs by type."""
        text = await self._ask(["scontrol", "--all", "--details", "--oneliner", "show", "node"])
        return await parsed(lambda: parse_nodes.parse_nodes(text))

    async def partitions(self) -> tuple[PartitionInfo, ...]:
        """Every partition, hidden ones too."""
        text = await self._ask(["scontrol", "--all", "--oneliner", "show", "partition"])
        return await parsed(lambda: parse_nodes.parse_partitions(text))

    async def cluster(self) -> ClusterInfo:
        """Nodes and partitions: two commands."""
        partitions = await self.partitions()
        return ClusterInfo(await self.nodes(), partitions, datetime.now(UTC))

    async def version(self) -> str:
        """The version of the commands here, as `22.05.8`; asks nobody."""
        return (await self._ask(["scontrol", "--version"])).rpartition(" ")[2].strip()

    async def accounting_answers(self) -> None:
        """Raise unless slurmdbd answers, and has its database."""
        await self._ask(
            ["sacctmgr", "--noheader", "--parsable2", "show", "cluster", "format=Cluster"]
        )

    async def admin_level(self, account: str) -> str:
        """`None`, `Operator` or `Administrator`."""
        question = ["sacctmgr", "--noheader", "--parsable2", "show", "user", account]
        return (await self._ask([*question, "format=AdminLevel"])).strip()

    async def reservations(self) -> tuple[ReservationInfo, ...]:
        """Every reservation, those that lie ahead too."""
        text = await self._ask(["scontrol", "--all", "--oneliner", "show", "reservation"])
        return await parsed(lambda: parse_bounds.parse_reservations(text))

    async def walls(self, job: JobInfo) -> tuple[WallLimit, ...]:
        """How long a job of this user, account, QOS and partition may last at most, as slurmctld
        knows it; empty where nothing bounds it."""
        flags = ["flags=assoc,qos", f"users={job.user}"]
        flags += [f"accounts={job.account}"] if job.account else []
        flags += [f"qos={job.qos}"] if job.qos else []
        text = await self._ask(["scontrol", "--oneliner", "show", "assoc_mgr", *flags])
        return await parsed(
            lambda: parse_bounds.parse_walls(
                text, user=job.user, account=job.account, qos=job.qos, partition=job.partition
            )
        )

    async def cancel(self, job_id: int) -> None:
        """End anyone's job: the portal's account is a Slurm operator. Already ended is well."""
        answer = await self._run(["scancel", "--verbose", str(job_id)])
        if "already completing or completed" not in answer.stderr:
            self._check_act(answer)

    async def kill(self, job_id: int) -> None:
        """As `cancel`, without the time to end by itself that Slurm gives (KillWait): a program
        that won't end is ended with all that it started, unless in steps of its own."""
        answer = await self._run(["scancel", "--batch", "--signal=KILL", str(job_id)])
        if no_answer(answer.stderr):
            raise _refusal(answer.stderr)
        await self.cancel(job_id)  # what hasn't begun yet, and steps

    async def set_time_limit(self, job_id: int, minutes: int) -> None:
        """Give anyone's job another time limit, counted from its start."""
        arguments = ["scontrol", "update", f"JobId={job_id}", f"TimeLimit={minutes}"]
        self._check_act(await self._run(arguments))

    async def _ask(
        self,
        arguments: list[str],
        extra: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> str:
        """A question's answer. Slurm's commands may exit 0 and still have failed: then only stderr
        tells an empty cluster from one that didn't answer."""
        answer = await self._run(arguments, extra, timeout_s=timeout_s)
        silent = not answer.stdout and "error" in answer.stderr
        if answer.code != 0 or silent or no_answer(answer.stderr):
            raise _refusal(answer.stderr)
        return answer.stdout

    @staticmethod
    def _check_act(answer: Answer) -> None:
        if "Invalid job id" in answer.stderr or "already finished" in answer.stderr:
            raise NotFound("Slurm has no such job any more.", answer.stderr)
        if answer.code != 0 or re.search(r"\berror\b", answer.stderr):
            raise _refusal(answer.stderr)

    async def _run(
        self,
        arguments: list[str],
        extra: Mapping[str, str] | None = None,
        stdin: IO[bytes] | None = None,
        timeout_s: float | None = None,
    ) -> Answer:
        """Run a command to its end. `stdin` is a file, so that nobody has to feed it."""
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
    ) -> Answer:
        command = [str(self._bin_dir / arguments[0]), *arguments[1:]]
        try:
            process = await asyncio.create_subprocess_exec(
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
                answer = await _communicate(process)
        except TimeoutError as error:
            raise Unreachable(f"Slurm did not answer within {timeout_s:g} s.") from error
        finally:
            await _end(process)
        if answer.code != 0 and no_answer(answer.stderr):
            raise unreachable(answer.stderr)
        return answer


async def _communicate(process: asyncio.subprocess.Process) -> Answer:
    assert process.stdout is not None and process.stderr is not None  # noqa: S101 - asked for
    complaints = asyncio.create_task(_read(process.stderr, _MAX_STDERR))
    try:
        stdout = await _read(process.stdout, MAX_OUTPUT_BYTES)
        if len(stdout) > MAX_OUTPUT_BYTES:
            raise Unreachable("Slurm's answer is too long to be read.")
        stderr = await complaints
    finally:
        complaints.cancel()
        await asyncio.wait([complaints])
    code = await process.wait()
    return Answer(code, stdout.decode(errors="replace"), stderr.decode(errors="replace"))


async def _end(process: asyncio.subprocess.Process) -> None:
    """asyncio sees a process's end only once its pipes have been read to theirs. One that can't be
    killed (a file system that hangs) is not waited for."""
    if process.returncode is None:
        process.kill()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                await process.communicate()


async def _read(stream: asyncio.StreamReader, limit: int) -> bytes:
    """To its end, or to one byte more than the limit."""
    chunks: list[bytes] = []
    left = limit + 1
    while left > 0 and (chunk := await stream.read(min(left, 1 << 18))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def no_answer(stderr: str) -> bool:
    """Whether a command's complaint means that Slurm wasn't there, rather than that it refused."""
    return _NO_ANSWER.search(stderr) is not None


def unreachable(stderr: str) -> Unreachable:
    """What to say of a complaint that is `no_answer`."""
    if _NO_MUNGE.search(stderr):
        return Unreachable("Slurm can't be asked: munge doesn't run on the portal's host.", stderr)
    if _OTHER_VERSION.search(stderr):
        return Unreachable(
            "Slurm's commands here and its daemons don't understand each other: their versions may"
            " lie too far apart, or their clocks or munge keys differ.",
            stderr,
        )
    if _HANGS_UP.search(stderr):
        return Unreachable(
            "Slurm hangs up on the portal's host: their clocks or munge keys may differ, or their"
            " versions.",
            stderr,
        )
    return Unreachable("Slurm can't be reached at the moment.", stderr)


def _refusal(stderr: str) -> Rejected | Unreachable:
    if no_answer(stderr):
        return unreachable(stderr)
    why = explain_rejection(stderr)
    return Rejected(why.code, why.text, why.advice, stderr)


async def parsed(parser: Callable[[], _T]) -> _T:
    """In a thread: 25,000 jobs take 0.2 s, in which the portal is to answer others."""
    try:
        return await asyncio.to_thread(parser)
    except parse.BadOutput as error:
        raise Unreachable(f"Slurm's answer can't be read: {error}.") from error
