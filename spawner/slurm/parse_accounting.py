"""Parsers for the output of Slurm's accounting, and commands for sacctmgr's standard input.

Pure.

The values of an association have sacctmgr's names: `gres/gpu`, `gres/gpu:v100`, `cpu` and `mem`
(MB) of GrpTRES; `GrpSubmitJobs`, `MaxSubmitJobs`, `MaxWall` (minutes), `QOS` (names, sorted) and
`DefaultQOS`. A missing value means no limit. The parsed error messages are those of sacctmgr 22.05.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from spawner.slurm.parse import BadOutput

ASSOCIATION_FIELDS = (
    "Account,User,Partition,QOS,DefaultQOS,GrpTRES,GrpSubmitJobs,MaxSubmitJobs,MaxWall"
)
JOB_FIELDS = "JobIDRaw,User,Account,Start,End,AllocTRES,AllocCPUS"
TRES = ("gres/", "cpu", "mem")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,99}")
_GPUS = re.compile(r"(?:^|,)gres/gpu=(\d+)(?=,|$)", re.ASCII)
_UNITS_MB = {"": 1.0, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}

AssociationKey = tuple[str, str, str]
"""An association's account, user ("" for the account's own) and partition ("" for all)."""
AssociationValues = Mapping[str, Any]


@dataclass(frozen=True)
class ClusterFacts:
    """Configuration of a cluster.

    It consists of the cluster's name in accounting, the limits it enforces, the TRES that it
    counts, and its QOS.
    """

    cluster: str
    enforces: frozenset[str]
    tres: frozenset[str]
    qos: frozenset[str] = frozenset()


@dataclass(frozen=True)
class JobTime:
    """One run of a job, for totals; `end` is None while it runs."""

    job_id: int
    user: str
    account: str
    start: datetime
    end: datetime | None
    gpus: int
    cpus: int


@dataclass(frozen=True)
class InUse:
    """Current usage of an association's running jobs.

    `submitted` also counts waiting jobs, and each task of an array separately.
    """

    gpus: int = 0
    gpus_by_type: Mapping[str, int] = field(default_factory=dict)
    cpus: int = 0
    memory_mb: int = 0
    submitted: int = 0

    def __add__(self, other: InUse) -> InUse:
        types = self.gpus_by_type.keys() | other.gpus_by_type.keys()
        return InUse(
            self.gpus + other.gpus,
            {t: self.gpus_by_type.get(t, 0) + other.gpus_by_type.get(t, 0) for t in sorted(types)},
            self.cpus + other.cpus,
            self.memory_mb + other.memory_mb,
            self.submitted + other.submitted,
        )


# --- parsers ------------------------------------------------------------------------------------


def parse_associations(text: str) -> dict[AssociationKey, AssociationValues]:
    """Parse the output of `sacctmgr -nP show assoc format=ASSOCIATION_FIELDS`."""
    width = ASSOCIATION_FIELDS.count(",") + 1
    associations: dict[AssociationKey, AssociationValues] = {}
    for line in text.splitlines():
        fields = line.split("|")
        if len(fields) != width:
            raise BadOutput("sacctmgr printed an unexpected number of fields")
        account, user, partition, *values = fields
        associations[account, user, partition] = _to_association_values(*values)
    return associations


def _to_association_values(
    qos: str, default_qos: str, tres: str, group: str, submit: str, wall: str
) -> AssociationValues:
    values: dict[str, Any] = dict(parse_tres(tres))
    numbers = {"GrpSubmitJobs": group, "MaxSubmitJobs": submit}
    values |= {name: int(number) for name, number in numbers.items() if number}
    if wall:
        values["MaxWall"] = minutes(wall)
    if qos:
        values["QOS"] = sorted(qos.split(","))
    if default_qos:
        values["DefaultQOS"] = default_qos
    return values


def parse_tres(text: str) -> dict[str, int]:
    """Parse `cpu=8,gres/gpu=1,mem=4G` to numbers by name, memory in MB.

    Burst buffers (`bb/datawarp=100G`), which nothing uses, are omitted.
    """
    values = {}
    for part in filter(None, text.split(",")):
        name, _, number = part.partition("=")
        if name.startswith("bb/"):
            continue
        values[name] = _parse_megabytes(number) if name == "mem" else _parse_integer(number)
    return values


def _parse_integer(number: str) -> int:
    try:
        return int(float(number))
    except ValueError as error:
        raise BadOutput(f"not a number: {number[:40]!r}") from error


def _parse_megabytes(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGTP]?)", text, re.ASCII)
    if match is None:
        raise BadOutput(f"not a size: {text[:40]!r}")
    return int(float(match[1]) * _UNITS_MB[match[2]])


def minutes(text: str) -> int:
    """Parse `[days-]hours:minutes:seconds` to whole minutes."""
    match = re.fullmatch(r"(?:(\d+)-)?(\d+):(\d+):(\d+)", text, re.ASCII)
    if match is None:
        raise BadOutput(f"not a length of time: {text[:40]!r}")
    days, hours, mins, _ = (int(part or 0) for part in match.groups())
    return days * 1440 + hours * 60 + mins


def parse_facts(config: str, tres: str, qos: str) -> ClusterFacts:
    """Parse the cluster's configuration.

    The texts are the output of `scontrol show config`, `sacctmgr -nP show tres format=type,name`
    and `sacctmgr -nP show qos format=name`. slurmdbd has the TRES of all clusters; the
    configuration names this cluster's.
    """
    values = dict(re.findall(r"^(\w+)\s*=\s*(.*?)\s*$", config, re.MULTILINE))
    if not values.get("ClusterName"):
        raise BadOutput("scontrol names no cluster")
    tres_names = {line.replace("|", "/", 1).rstrip("/") for line in tres.splitlines()}
    counted = set(values.get("AccountingStorageTRES", "").split(","))
    return ClusterFacts(
        cluster=values["ClusterName"],
        enforces=frozenset(values.get("AccountingStorageEnforce", "").split(",")),
        tres=frozenset(tres_names & (counted | {"cpu", "mem"})),
        qos=frozenset(filter(None, qos.splitlines())),
    )


def parse_default_accounts(text: str) -> dict[str, str]:
    """Parse `sacctmgr -nP show user format=user,defaultaccount` to accounts by user."""
    pairs = (line.split("|") for line in text.splitlines())
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def parse_job_times(text: str) -> list[JobTime]:
    """Parse `sacct -nP -X --duplicates --format=JOB_FIELDS`, run in UTC; omit unstarted jobs.

    Of a job's TRES only the GPUs are read, so that an unexpected value of another breaks nothing.
    """
    width, times = JOB_FIELDS.count(",") + 1, []
    for line in text.splitlines():
        fields = line.split("|")
        if len(fields) != width:
            raise BadOutput("sacct printed an unexpected number of fields")
        number, user, account, start, end, tres, cpus = fields
        began = _parse_time(start)
        if began is not None and user:
            gpus = sum(map(int, _GPUS.findall(tres)))
            run = (user, account, began, _parse_time(end), gpus, int(cpus or 0))
            times.append(JobTime(int(number), *run))
    return times


def _parse_time(text: str) -> datetime | None:
    """Parse a time; None for `Unknown` and the like."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", text, re.ASCII):
        return None
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


_RECORD = re.compile(r"^ClusterName=\S+ Account=(\S*) UserName=([^\s(]*)\S* ", re.MULTILINE)


def parse_in_use(text: str) -> dict[tuple[str, str], InUse]:
    """Parse `scontrol show assoc_mgr flags=assoc` to usage by account and user.

    The user is "" for the account's own association, which includes its users' jobs. In each
    `name=limit(used)` the number in parentheses is read.
    """
    starts = list(_RECORD.finditer(text))
    ends = [match.start() for match in starts[1:]] + [len(text)]
    usage: dict[tuple[str, str], InUse] = {}
    for match, end in zip(starts, ends, strict=True):
        owner = (match[1], match[2])
        usage[owner] = usage.get(owner, InUse()) + _parse_record_usage(text[match.end() : end])
    return usage


def _parse_record_usage(record: str) -> InUse:
    tres = re.search(r"^ +GrpTRES=(\S*)$", record, re.MULTILINE)
    pairs = re.findall(r"([^,=]+)=[^,(]*\((\d+)\)", tres[1]) if tres else []
    used = {name: int(number) for name, number in pairs}
    submitted = re.search(r"\bGrpSubmitJobs=[^\s(]*\((\d+)\)", record)
    prefix = "gres/gpu:"
    types = {n.removeprefix(prefix): v for n, v in used.items() if n.startswith(prefix) and v}
    return InUse(
        gpus=used.get("gres/gpu", 0),
        gpus_by_type=types,
        cpus=used.get("cpu", 0),
        memory_mb=used.get("mem", 0),
        submitted=int(submitted[1]) if submitted else 0,
    )


# --- commands -----------------------------------------------------------------------------------


def is_name(name: str) -> bool:
    """Return whether a name is safe in a line that sacctmgr splits at whitespace, commas and =."""
    return NAME.fullmatch(name) is not None


def _check_names(*names: str) -> None:
    for name in filter(None, names):
        if not is_name(name):
            raise ValueError(f"{name!r} can't be passed to sacctmgr")


def modify(
    cluster: str, account: str, users: Sequence[str], partition: str, set_: AssociationValues
) -> str:
    """Return a line that sets values of these users' associations; without users, the account's.

    None removes a limit. Raises ValueError for a name that is not safe.
    """
    _check_names(cluster, account, partition, *users)
    clause = _format_clause(set_)
    if not users:
        return f"modify account {account} where cluster={cluster} set {clause}"
    user_list = ",".join(users)
    condition = f"account={account} cluster={cluster} partition={partition}"
    return f"modify user {user_list} where {condition} set {clause}"


def _format_clause(values: AssociationValues) -> str:
    tres, assignments = [], []
    for name, value in values.items():
        if name.startswith(TRES):
            unit = "M" if name == "mem" and value is not None else ""
            tres.append(f"{name}={-1 if value is None else value}{unit}")
        elif name == "QOS":
            _check_names(*(value or ()))
            assignments.append(f"QOS={','.join(value or ())}")
        else:
            _check_names(str(value))
            assignments.append(f"{name}={-1 if value is None else value}")
    # one line for all, as sacctmgr refuses a QOS list without the default QOS unless the same line
    # changes the default
    return " ".join([*([f"GrpTRES={','.join(tres)}"] if tres else []), *assignments])


def add(cluster: str, account: str, users: Sequence[str], partition: str = "") -> str:
    """Return a line that creates associations for users, and the users if Slurm has none."""
    _check_names(cluster, account, partition, *users)
    condition = f"account={account} cluster={cluster}"
    return f"add user {','.join(users)} {condition}" + (
        f" partition={partition}" if partition else ""
    )


def remove(cluster: str, account: str, user: str, partition: str = "") -> str:
    """Return a line that removes an association; without a partition, all of user and account.

    Slurm refuses while jobs of it run, and for the user's default account.
    """
    _check_names(cluster, account, user, partition)
    condition = f"account={account} cluster={cluster}"
    return f"remove user {user} where {condition}" + (
        f" partition={partition}" if partition else ""
    )


def set_default_account(cluster: str, user: str, account: str) -> str:
    _check_names(cluster, user, account)
    return f"modify user {user} where cluster={cluster} set DefaultAccount={account}"


def add_account(cluster: str, account: str, description: str) -> str:
    """Return a line that creates an account at the top of the tree."""
    _check_names(cluster, account)
    plain = "".join(c for c in description if c.isalnum() or c in " .-")[:100].strip() or account
    return f'add account {account} cluster={cluster} Description="{plain}"'


_NOISE = re.compile(
    r"^\s*(?:sacctmgr: (?:error: )?|Use keyword 'where' to modify condition|Changes Discarded)\s*"
)


def refusal(stderr: str) -> str:
    """Return sacctmgr's error message in one line without terminal hints; "" for none."""
    lines = (_NOISE.sub("", line).strip() for line in stderr.splitlines())
    return " ".join(" ".join(line.split()) for line in lines if line)[:400]
