"""Parsers from Slurm's output to the types of model.py.

Pure.

**Why a job's name cannot forge a record.** A name or comment may contain any text: newlines, bars,
a whole line that looks like another user's job. squeue and sacct print it unchanged. So
user-controlled fields are separated not by a character but by a *delimiter*: random text made for
this one call (client.py), which the user who chose the name cannot have known. For squeue the
format is passed in an environment variable (SQUEUE_FORMAT), not in the arguments, which every user
of the machine can read in /proc. User-controlled fields come last, and squeue cuts them to a fixed
width; text between two delimiters is interpreted only by its position, and an answer with a wrong
number of fields is refused as a whole (`BadOutput`). The fields of squeue that no user controls are
separated by a control character, so that 20,000 records are split in a few milliseconds.

Times are UTC because client.py sets TZ for every command.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from spawner.names import JOB_COMMENT, UUID
from spawner.slurm.model import JobInfo, JobPhase, Outcome

_UUID = re.compile(f"{JOB_COMMENT}({UUID.pattern})")

# squeue's format letters: job id, array id, its tasks, user name and uid, state, partition,
# account, QOS, nodes, submit, start, end, limit, reason; then the user-controlled ones: GPUs per
# node, comment (one character wider than the portal's) and name.
_SQUEUE_SYSTEM_FIELDS = (
    "%A", "%F", "%K", "%u %U", "%T", "%P", "%a", "%q", "%N", "%V", "%S", "%e", "%l", "%r",
)  # fmt: skip
_GRES_WIDTH = 48
_SQUEUE_USER_FIELDS = (f"%{_GRES_WIDTH}b", "%44k", "%64j")
_BETWEEN = "\x1f"
_Record = tuple[str, str, str, str]
SACCT_FIELDS = (
    "JobIDRaw,JobID,User,State,Partition,Account,QOS,NodeList,Submit,Start,End,TimelimitRaw,Reason,"
    "ExitCode,JobName,Comment"
)
_MAX_NODES = 100_000
_MAX_TASKS = 100_000
MAX_NAME = 64
_NOBODY, _NOBODY_UID = "nobody", "65534"

_LIVE = {
    "PENDING": JobPhase.QUEUED,
    "CONFIGURING": JobPhase.QUEUED,
    "REQUEUED": JobPhase.QUEUED,
    "REQUEUE_FED": JobPhase.QUEUED,
    "REQUEUE_HOLD": JobPhase.QUEUED,
    "SPECIAL_EXIT": JobPhase.QUEUED,
    "RESV_DEL_HOLD": JobPhase.QUEUED,
    "RUNNING": JobPhase.RUNNING,
    "RESIZING": JobPhase.RUNNING,
    "SIGNALING": JobPhase.RUNNING,
    "SUSPENDED": JobPhase.SUSPENDED,
    "STOPPED": JobPhase.SUSPENDED,
    "COMPLETING": JobPhase.COMPLETING,
    "STAGE_OUT": JobPhase.COMPLETING,
}
_ENDED = {
    "COMPLETED": Outcome.COMPLETED,
    "FAILED": Outcome.FAILED,
    "LAUNCH_FAILED": Outcome.FAILED,
    "CANCELLED": Outcome.CANCELLED,
    "PREEMPTED": Outcome.CANCELLED,
    "REVOKED": Outcome.CANCELLED,
    "TIMEOUT": Outcome.TIMEOUT,
    "DEADLINE": Outcome.TIMEOUT,
    "OUT_OF_MEMORY": Outcome.OUT_OF_MEMORY,
    "NODE_FAIL": Outcome.NODE_FAILED,
    "BOOT_FAIL": Outcome.NODE_FAILED,
}
_NOTHING = frozenset({"", "N/A", "n/a", "(null)", "None", "none", "NONE", "Unknown", "NOT_SET"})


class BadOutput(ValueError):
    """The output does not have the command's format, so nothing in it can be trusted."""


# --- jobs ---------------------------------------------------------------------------------------


def squeue_format(delimiter: str) -> str:
    """Return the value of SQUEUE_FORMAT for one call."""
    return "".join(
        delimiter + part for part in (_BETWEEN.join(_SQUEUE_SYSTEM_FIELDS), *_SQUEUE_USER_FIELDS)
    )


def parse_squeue(text: str, delimiter: str) -> list[JobInfo]:
    """Parse all jobs in squeue's answer."""
    return SqueueParser().parse(text, delimiter)


class SqueueParser:
    """Incremental parser of squeue's answers: an unchanged record yields the same object again.

    Of 20,000 waiting jobs nearly all are unchanged, and need neither be parsed nor compared again.
    """

    def __init__(self) -> None:
        self._known: dict[_Record, JobInfo] = {}

    def parse(self, text: str, delimiter: str) -> list[JobInfo]:
        """Parse one answer, as parse_squeue does."""
        records = list(_squeue_records(text, delimiter))
        parsed = {key: self._known[key] for key in records if key in self._known}
        parsed |= {key: _squeue_job(key) for key in records if key not in parsed}
        self._known = parsed
        return [parsed[key] for key in records]


def parse_sacct(text: str, delimiter: str) -> list[JobInfo]:
    """Parse all jobs in the output of `sacct -X -P --delimiter=… --format=SACCT_FIELDS`."""
    return [sacct_job(fields) for fields in _sacct_records(text, delimiter)]


def _squeue_records(text: str, delimiter: str) -> Iterator[_Record]:
    """Split the answer into (system fields, GPUs, comment, name).

    Each record begins with the delimiter, so the last part of each record is `name + newline`.
    """
    before, *parts = text.split(delimiter)
    if before or len(parts) % (1 + len(_SQUEUE_USER_FIELDS)):
        raise BadOutput("squeue printed an unexpected number of fields")
    fields_iterator = iter(parts)
    return zip(fields_iterator, fields_iterator, fields_iterator, fields_iterator, strict=True)


def _sacct_records(text: str, delimiter: str) -> Iterator[list[str]]:
    """Split the answer into records.

    sacct prints the delimiter only between fields: a comment and the next record's id share a
    piece, separated by its last newline (an id contains none).
    """
    width = SACCT_FIELDS.count(",") + 1
    pieces = text.split(delimiter)
    if len(pieces) == 1 and not text.strip():
        return
    if len(pieces) % (width - 1) != 1:
        raise BadOutput("sacct printed an unexpected number of fields")
    fields = [pieces[0]]
    for number, piece in enumerate(pieces[1:], start=1):
        if number % (width - 1):
            fields.append(piece)
            continue
        comment, _, job_id = piece.rpartition("\n")
        yield [*fields, comment]
        fields = [job_id]
    if fields != [""]:
        raise BadOutput("sacct's last record is cut off")


def _squeue_job(record: _Record) -> JobInfo:
    joined, gres, comment, name = record
    fields = joined.split(_BETWEEN)
    if len(fields) != len(_SQUEUE_SYSTEM_FIELDS):
        raise BadOutput("squeue printed an unexpected number of fields")
    job_id, array_id, task, user, state, partition, account, qos, nodes, submit = fields[:10]
    start, end, limit, reason = fields[10:]
    names = expand_nodes(nodes)
    parsed_state = _parse_state(state) or _assume_alive(names)
    queued = parsed_state[0] is JobPhase.QUEUED
    return JobInfo(
        job_id=_parse_job_id(job_id),
        user=_parse_user(user),
        name=name.rstrip(),
        phase=parsed_state[0],
        slurm_state=state,
        outcome=parsed_state[1],
        reason=word(reason),
        nodes=names,
        uuid=uuid_of(comment),
        submit_time=moment(submit),
        start_time=moment(start) if names and not queued else None,
        end_time=moment(end) if parsed_state[1] else None,
        estimated_start=moment(start) if queued else None,
        time_limit_minutes=duration_minutes(limit),
        partition=word(partition),
        account=word(account),
        qos=word(qos),
        array_job_id=_parse_job_id(array_id) if word(task) else None,
        tasks=expand_tasks(task),
        gpus=_parse_requested_gpus(gres),
    )


def _parse_requested_gpus(gres: str) -> tuple[tuple[str, int], ...] | None:
    """Parse the requested GPUs, such as `gres:gpu:v100:2` or `gres/gpu:2`; None if cut short.

    `N/A`, which means none, is also printed for GPUs requested with --gpus or --gpus-per-task.
    """
    if len(gres.rstrip()) >= _GRES_WIDTH:
        return None
    items = (item.strip().removeprefix("gres") for item in gres.split(","))
    count = count_gpus(",".join(item.lstrip(":/").replace("=", ":") for item in items))
    return tuple(count.items())


def _parse_user(text: str) -> str:
    """Return the job's user.

    For a user unknown to this host, squeue prints "nobody", or only the number. Then the number
    stands for the name; see Watcher.with_usernames.
    """
    name, _, uid = text.rpartition(" ")
    if not name or not is_number(uid):
        return text
    return uid if name == _NOBODY and uid != _NOBODY_UID else name


def sacct_job(fields: list[str]) -> JobInfo:
    """Parse one record of SACCT_FIELDS."""
    job_id, shown_id, user, state, partition, account, qos, nodes, submit, start = fields[:10]
    end, limit, reason, exit_code, name, comment = fields[10:]
    state_name, _, canceller = state.partition(" ")  # such as "CANCELLED by 20001"
    code, _, signal = exit_code.partition(":")
    names = () if nodes.startswith("None") else expand_nodes(nodes)
    parsed_state = _parse_state(state_name)
    if parsed_state is None:
        has_ended = moment(end) is not None
        parsed_state = (JobPhase.ENDED, Outcome.FAILED) if has_ended else _assume_alive(names)
    return JobInfo(
        job_id=_parse_job_id(job_id),
        user=user,
        name=name[:MAX_NAME],
        phase=parsed_state[0],
        slurm_state=state_name,
        outcome=parsed_state[1],
        reason=word(reason),
        nodes=names,
        uuid=uuid_of(comment),
        submit_time=moment(submit),
        # for a job cancelled while waiting, 20.11 and 22.05 report its end as its start
        start_time=moment(start) if names else None,
        end_time=moment(end),
        time_limit_minutes=int(limit) if is_number(limit) else None,
        exit_code=int(code) if parsed_state[1] and is_number(code) else None,
        signal=int(signal) if parsed_state[1] and is_number(signal) else None,
        partition=word(partition),
        account=word(account),
        qos=word(qos),
        cancelled_by=_parse_canceller(canceller),
        **_parse_array_id(shown_id),
    )


def _parse_canceller(text: str) -> int | None:
    """Parse the uid in what follows the state, `by 20001`."""
    uid = text.removeprefix("by ")
    return int(uid) if is_number(uid) else None


def _parse_array_id(shown_id: str) -> dict[str, Any]:
    """Parse a task's id, which sacct writes as `7_3`, or `7_[4-9%2]` for waiting tasks."""
    array_id, _, task = shown_id.partition("_")
    if not task or not is_number(array_id):
        return {}
    return {"array_job_id": int(array_id), "tasks": expand_tasks(task.strip("[]"))}


def expand_tasks(text: str) -> tuple[int, ...]:
    """Expand `3`, or `4-9,12%2` (at most 2 at once), to indices; empty if the job is not an array.

    Slurm abbreviates a long list with `...`: only the tasks before it are read.
    """
    numbers: list[int] = []
    for item in text.partition("%")[0].split(","):
        bounds, _, step = item.partition(":")
        first, _, last = bounds.partition("-")
        if is_number(first) and is_number(last or first) and is_number(step or "1"):
            tasks = range(int(first), int(last or first) + 1, max(1, int(step or 1)))
            numbers.extend(tasks[: _MAX_TASKS - len(numbers)])
    return tuple(numbers)


def uuid_of(comment: str) -> str | None:
    """Return the UUID in a portal comment. Any user can write any comment: see job_tracker.py."""
    match = _UUID.fullmatch(comment.rstrip(" "))
    return match.group(1) if match else None


def _parse_state(text: str) -> tuple[JobPhase, Outcome | None] | None:
    if text in _ENDED:
        return JobPhase.ENDED, _ENDED[text]
    return (_LIVE[text], None) if text in _LIVE else None


def _assume_alive(nodes: tuple[str, ...]) -> tuple[JobPhase, None]:
    """Return the state of a job with a state word of a newer Slurm: an omitted job would be lost.

    One that has ended after all leaves squeue soon, and accounting reports its end.
    """
    return (JobPhase.RUNNING if nodes else JobPhase.QUEUED), None


def _parse_job_id(text: str) -> int:
    if not is_number(text):
        raise BadOutput(f"not a job id: {text[:40]!r}")
    return int(text)


def is_number(text: str) -> bool:
    """Return whether the text is a decimal number of plausible length."""
    return text.isascii() and text.isdigit() and len(text) < 16


def word(text: str) -> str | None:
    """Return a name; None for Slurm's words for "none"."""
    stripped = text.strip()
    return None if stripped in _NOTHING else stripped


def moment(text: str) -> datetime | None:
    """Parse a time that Slurm printed in UTC; None for its words for "unknown"."""
    if text in _NOTHING:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError as error:
        raise BadOutput(f"not a time: {text[:40]!r}") from error


def duration_minutes(text: str) -> int | None:
    """Parse [days-]hours:minutes:seconds or minutes:seconds, rounded up; None for no limit."""
    match = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", text, re.ASCII)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return days * 1440 + hours * 60 + minutes + math.ceil(seconds / 60)


# --- node lists and GPUs ------------------------------------------------------------------------


def expand_nodes(text: str) -> tuple[str, ...]:
    """Expand `rack[1-2]n[01,03-04],gpu7` to every name, in Slurm's order."""
    if text in _NOTHING:
        return ()
    if text.count("[") != text.count("]"):
        raise BadOutput(f"not a list of nodes: {text[:40]!r}")
    parts = re.findall(r"(?:[^,\[\]]|\[[^\]]*\])+", text)
    names = itertools.chain.from_iterable(_expand_one(part) for part in parts)
    return tuple(itertools.islice(names, _MAX_NODES))


def _expand_one(part: str) -> Iterator[str]:
    pieces = re.split(r"\[([^\]]*)\]", part)  # alternating text and range
    choices = [[p] if index % 2 == 0 else _expand_range(p) for index, p in enumerate(pieces)]
    return ("".join(choice) for choice in itertools.product(*choices))


def _expand_range(text: str) -> list[str]:
    names: list[str] = []
    for item in text.split(","):
        first, _, last = item.partition("-")
        if not is_number(first) or not is_number(last or first):
            raise BadOutput(f"not a range of nodes: {text[:40]!r}")
        count = int(last or first) - int(first) + 1
        if count + len(names) > _MAX_NODES:
            raise BadOutput("a range of nodes is too long")
        names += [str(int(first) + step).zfill(len(first)) for step in range(count)]
    return names


def count_gpus(gres: str) -> dict[str, int]:
    """Parse `gpu:v100:4(S:0-1),gpu:a100:2,shard:8` to {"v100": 4, "a100": 2}; no type is "gpu".

    Types with a count of zero are omitted.
    """
    counts: dict[str, int] = {}
    for item in re.sub(r"\([^)]*\)", "", gres).split(","):
        kind, *details = item.split(":")
        if kind != "gpu" or not details or not is_number(details[-1]):
            continue
        name = details[0] if len(details) > 1 else "gpu"
        counts[name] = counts.get(name, 0) + int(details[-1])
    return {name: count for name, count in counts.items() if count}
