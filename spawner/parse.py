"""What Slurm prints, read into model.py's words. Pure.

**Why a job's name can't forge a record.** A name or comment may hold any text: newlines, bars, a
whole line that looks like another user's job. squeue and sacct print it as it is. So fields are
separated not by a character but by a *mark*: random text made for this one call (slurm.py), which
the user who chose the name cannot have known. For squeue the format travels in the environment
(SQUEUE_FORMAT), not in the arguments, which every user of the machine can read in /proc. What the
user chose stands last, cut to a fixed width; nothing between two marks is interpreted but by its
place, and an answer whose fields don't come out even is refused as a whole (`BadOutput`). What no
user chooses has a control character between its fields, so that 20,000 records are cut apart in a
few milliseconds.

It runs nothing and knows no clock. Times are UTC because slurm.py sets TZ for every command.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from spawner.model import JobInfo, Outcome, SlurmState

_UUID = re.compile(r"portal:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")

# squeue's letters: job id, the array's, its tasks, user by name and number, state, partition,
# account, QOS, nodes, submit, start, end, limit, reason, then what the user chose: GPUs of each
# node, comment (one more character than ours has) and name.
_SQUEUE_OWN = (
    "%A", "%F", "%K", "%u %U", "%T", "%P", "%a", "%q", "%N", "%V", "%S", "%e", "%l", "%r",
)  # fmt: skip
_GRES_WIDTH = 48
_SQUEUE_USERS = (f"%{_GRES_WIDTH}b", "%44k", "%64j")
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
    "PENDING": SlurmState.QUEUED,
    "CONFIGURING": SlurmState.QUEUED,
    "REQUEUED": SlurmState.QUEUED,
    "REQUEUE_FED": SlurmState.QUEUED,
    "REQUEUE_HOLD": SlurmState.QUEUED,
    "SPECIAL_EXIT": SlurmState.QUEUED,
    "RESV_DEL_HOLD": SlurmState.QUEUED,
    "RUNNING": SlurmState.RUNNING,
    "RESIZING": SlurmState.RUNNING,
    "SIGNALING": SlurmState.RUNNING,
    "SUSPENDED": SlurmState.SUSPENDED,
    "STOPPED": SlurmState.SUSPENDED,
    "COMPLETING": SlurmState.COMPLETING,
    "STAGE_OUT": SlurmState.COMPLETING,
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
    """A command's output is not what that command prints: nothing in it is to be believed."""


# --- jobs ---------------------------------------------------------------------------------------


def squeue_format(mark: str) -> str:
    """The value of SQUEUE_FORMAT for one call."""
    return "".join(mark + part for part in (_BETWEEN.join(_SQUEUE_OWN), *_SQUEUE_USERS))


def parse_squeue(text: str, mark: str) -> list[JobInfo]:
    """All jobs in squeue's answer. A state that this module doesn't know leaves its job out."""
    return Squeue().jobs(text, mark)


class Squeue:
    """squeue's answers one after another: a record that is what it was before is the same object
    again. Of 20,000 that wait nearly all are, and neither read nor compared anew."""

    def __init__(self) -> None:
        self._known: dict[_Record, JobInfo | None] = {}

    def jobs(self, text: str, mark: str) -> list[JobInfo]:
        """As parse_squeue."""
        records = list(_squeue_records(text, mark))
        known = {key: self._known[key] for key in records if key in self._known}
        known |= {key: _squeue_job(key) for key in records if key not in known}
        self._known = known
        return [job for key in records if (job := known[key]) is not None]


def parse_sacct(text: str, mark: str) -> list[JobInfo]:
    """All jobs in the answer of `sacct -X -P --delimiter=MARK --format=SACCT_FIELDS`."""
    jobs = (sacct_job(fields) for fields in _sacct_records(text, mark))
    return [job for job in jobs if job is not None]


def _squeue_records(text: str, mark: str) -> Iterator[_Record]:
    """Slurm's own fields, GPUs, comment, name. Each record begins with the mark, so what follows
    the last one's is `name + newline`."""
    before, *parts = text.split(mark)
    if before or len(parts) % (1 + len(_SQUEUE_USERS)):
        raise BadOutput("squeue's fields don't come out even")
    each = iter(parts)
    return zip(each, each, each, each, strict=True)


def _sacct_records(text: str, mark: str) -> Iterator[list[str]]:
    """sacct puts marks between fields only: a comment and the next record's id share a piece,
    divided by the last newline in it (an id has none)."""
    width = SACCT_FIELDS.count(",") + 1
    pieces = text.split(mark)
    if len(pieces) == 1 and not text.strip():
        return
    if len(pieces) % (width - 1) != 1:
        raise BadOutput("sacct's fields don't come out even")
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


def _squeue_job(record: _Record) -> JobInfo | None:
    own, gres, comment, name = record
    fields = own.split(_BETWEEN)
    if len(fields) != len(_SQUEUE_OWN):
        raise BadOutput("squeue's fields don't come out even")
    job_id, array_id, task, user, state, partition, account, qos, nodes, submit = fields[:10]
    start, end, limit, reason = fields[10:]
    known = _state(state)
    if known is None:
        return None
    queued, names = known[0] is SlurmState.QUEUED, expand_nodes(nodes)
    return JobInfo(
        job_id=_job_id(job_id),
        user=_user(user),
        name=name.rstrip(),
        state=known[0],
        slurm_state=state,
        outcome=known[1],
        reason=word(reason),
        nodes=names,
        uuid=uuid_of(comment),
        submit_time=moment(submit),
        start_time=moment(start) if names and not queued else None,
        end_time=moment(end) if known[1] else None,
        estimated_start=moment(start) if queued else None,
        time_limit_minutes=duration_minutes(limit),
        partition=word(partition),
        account=word(account),
        qos=word(qos),
        array_job_id=_job_id(array_id) if word(task) else None,
        tasks=expand_tasks(task),
        gpus=_gpus_asked(gres),
    )


def _gpus_asked(gres: str) -> tuple[tuple[str, int], ...] | None:
    """`gres:gpu:v100:2`, or `gres/gpu:2`, as asked for; None for what was cut short. `N/A`, which
    names none, stands also for GPUs that were asked for with --gpus or --gpus-per-task."""
    if len(gres.rstrip()) >= _GRES_WIDTH:
        return None
    items = (item.strip().removeprefix("gres") for item in gres.split(","))
    found = count_gpus(",".join(item.lstrip(":/").replace("=", ":") for item in items))
    return tuple(found.items())


def _user(shown: str) -> str:
    """Whose job it is: of whom this host doesn't know (any more) squeue says "nobody", or nothing
    but the number. Then the number stands for the name; see Watcher.names."""
    name, _, uid = shown.rpartition(" ")
    if not name or not is_number(uid):
        return shown
    return uid if name == _NOBODY and uid != _NOBODY_UID else name


def sacct_job(fields: list[str]) -> JobInfo | None:
    """One record of SACCT_FIELDS; None for a state that this module doesn't know."""
    job_id, shown_id, user, state, partition, account, qos, nodes, submit, start = fields[:10]
    end, limit, reason, exit_code, name, comment = fields[10:]
    shown = state.partition(" ")[0]  # "CANCELLED by 20001"
    known = _state(shown)
    if known is None:
        return None
    code, _, signal = exit_code.partition(":")
    names = () if nodes.startswith("None") else expand_nodes(nodes)
    return JobInfo(
        job_id=_job_id(job_id),
        user=user,
        name=name[:MAX_NAME],
        state=known[0],
        slurm_state=shown,
        outcome=known[1],
        reason=word(reason),
        nodes=names,
        uuid=uuid_of(comment),
        submit_time=moment(submit),
        # of what was cancelled while it waited, 20.11 and 22.05 say that it began as it ended
        start_time=moment(start) if names else None,
        end_time=moment(end),
        time_limit_minutes=int(limit) if is_number(limit) else None,
        exit_code=int(code) if known[1] and is_number(code) else None,
        signal=int(signal) if known[1] and is_number(signal) else None,
        partition=word(partition),
        account=word(account),
        qos=word(qos),
        **_array_of(shown_id),
    )


def _array_of(shown_id: str) -> dict[str, Any]:
    """sacct writes a task's id as `7_3`, and those that wait as `7_[4-9%2]`."""
    array_id, _, task = shown_id.partition("_")
    if not task or not is_number(array_id):
        return {}
    return {"array_job_id": int(array_id), "tasks": expand_tasks(task.strip("[]"))}


def expand_tasks(text: str) -> tuple[int, ...]:
    """`3`, or `4-9,12%2` (at most 2 at once), as indices; nothing for a job that is no array.
    Slurm cuts a long list short with `...`: what is named before it is read."""
    found: list[int] = []
    for item in text.partition("%")[0].split(","):
        bounds, _, step = item.partition(":")
        first, _, last = bounds.partition("-")
        if is_number(first) and is_number(last or first) and is_number(step or "1"):
            tasks = range(int(first), int(last or first) + 1, max(1, int(step or 1)))
            found.extend(tasks[: _MAX_TASKS - len(found)])
    return tuple(found)


def uuid_of(comment: str) -> str | None:
    """The UUID in one of our comments. Any user can write any comment: see Snapshot.find."""
    match = _UUID.fullmatch(comment.rstrip(" "))
    return match.group(1) if match else None


def _state(shown: str) -> tuple[SlurmState, Outcome | None] | None:
    if shown in _ENDED:
        return SlurmState.ENDED, _ENDED[shown]
    return (_LIVE[shown], None) if shown in _LIVE else None


def _job_id(text: str) -> int:
    if not is_number(text):
        raise BadOutput(f"not a job id: {text[:40]!r}")
    return int(text)


def is_number(text: str) -> bool:
    """Whether Slurm means a number that can be one."""
    return text.isascii() and text.isdigit() and len(text) < 16


def word(text: str) -> str | None:
    """A name; None for Slurm's words for "none"."""
    stripped = text.strip()
    return None if stripped in _NOTHING else stripped


def moment(text: str) -> datetime | None:
    """A time as Slurm writes it in UTC; None for its words for "not known"."""
    if text in _NOTHING:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError as error:
        raise BadOutput(f"not a time: {text[:40]!r}") from error


def duration_minutes(text: str) -> int | None:
    """Slurm's [days-]hours:minutes:seconds or minutes:seconds, rounded up; None for no limit."""
    match = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", text, re.ASCII)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return days * 1440 + hours * 60 + minutes + math.ceil(seconds / 60)


# --- lists of nodes, and GPUs -------------------------------------------------------------------


def expand_nodes(text: str) -> tuple[str, ...]:
    """`rack[1-2]n[01,03-04],gpu7` → every name, in Slurm's order."""
    if text in _NOTHING:
        return ()
    if text.count("[") != text.count("]"):
        raise BadOutput(f"not a list of nodes: {text[:40]!r}")
    parts = re.findall(r"(?:[^,\[\]]|\[[^\]]*\])+", text)
    names = itertools.chain.from_iterable(_expand_one(part) for part in parts)
    return tuple(itertools.islice(names, _MAX_NODES))


def _expand_one(part: str) -> Iterator[str]:
    pieces = re.split(r"\[([^\]]*)\]", part)  # text, range, text, range, …
    choices = [[p] if at % 2 == 0 else _expand_range(p) for at, p in enumerate(pieces)]
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
    """`gpu:v100:4(S:0-1),gpu:a100:2,shard:8` → {"v100": 4, "a100": 2}; no type → "gpu".
    Types of which there is none are left out."""
    counts: dict[str, int] = {}
    for item in re.sub(r"\([^)]*\)", "", gres).split(","):
        kind, *rest = item.split(":")
        if kind != "gpu" or not rest or not is_number(rest[-1]):
            continue
        name = rest[0] if len(rest) > 1 else "gpu"
        counts[name] = counts.get(name, 0) + int(rest[-1])
    return {name: count for name, count in counts.items() if count}
