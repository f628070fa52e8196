"""Import of a script that was written for sbatch: its #SBATCH options become fields of the form.

Pure. Every option is reported: as a field, as passed on to Slurm, or as left out with the reason.
The script keeps what is passed on; what is left out stays in it as a comment (`##SBATCH`). The
result is checked at submission like any own script.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from spawner.catalog.own_script import FORWARDED, SHORT, ScriptRefused, parse_words

MAX_NAME = 100
MAX_OPTIONS = 500
_MAX = {"nodes": 1024, "gpus": 1024, "cpus": 4096, "memory_gb": 65536, "minutes": 525_600}
_NAME = re.compile(r"[A-Za-z0-9_.+@-]{1,64}")
_TIME = re.compile(r"(?:(\d{1,6})-)?(\d{1,8})(?::(\d{1,8}))?(?::(\d{1,8}))?", re.ASCII)
_MEMORY = re.compile(r"(\d{1,12})([KMGT]?)B?", re.IGNORECASE | re.ASCII)
_GB = {"K": 1 / 1024**2, "": 1 / 1024, "M": 1 / 1024, "G": 1.0, "T": 1024.0}
_GPUS = re.compile(r"(?:([A-Za-z0-9_.+@-]{1,64}):)?(\d{1,5})", re.ASCII)
_FLAGS = frozenset(
    {"exclusive", "requeue", "no-requeue", "hold", "overcommit", "oversubscribe", "verbose"}
    | {"quiet", "contiguous", "parsable", "test-only", "use-min-nodes", "spread-job", "reboot"}
    | {"wait", "get-user-env", "nice", "ignore-pbs", "H", "s", "O", "v", "Q", "W", "k", "no-kill"}
)
"""Options that stand alone: the next word is not their value."""

_AFTER_COMMAND = "sbatch ignores it here, after the first command."
_REPEATED = "It is set again below; the last one counts, as in sbatch."
_CONFLICT = "It contradicts another option; the last one counts."
_NOT_SUPPORTED = "It is not supported here."
_NOT_ACCEPTED = "The form does not accept this value."
_NO_OPTION = "It is not an option of sbatch."
_ONE_PARTITION = "The form has one partition. Choose it below."
_ONE_GRES = "The form has GPUs of one type only."
_NAME_TOO_LONG = f"A job's name has at most {MAX_NAME} characters."
_NODE_RANGE = "The form has a fixed number of nodes: the smallest is used."
_ONE_TASK = "The portal starts the script with all CPUs in one task per node; srun -n starts more."
_ALL_MEMORY = "The form has no “all memory of the node”. Enter the memory below."
_NEEDS_GPUS = "The script does not say how many GPUs it uses."
_REASONS = {
    "output": "The portal saves and shows the script's output.",
    "error": "The portal saves and shows the script's output.",
    "array": "Use a template with an array.",
    "chdir": "Use cd in the script.",
}

OptionOutcome = Literal["field", "passed", "left_out"]


@dataclass
class ImportedOption:
    """One option of an #SBATCH line. `note` is the reason if it was left out, or what differs."""

    line: int
    text: str
    outcome: OptionOutcome
    note: str | None = None


@dataclass(frozen=True)
class ImportedScript:
    """The script without imported options, and the fields of the form."""

    script: str
    name: str | None
    resources: dict[str, Any]
    options: list[ImportedOption]


@dataclass
class _Values:
    """Values of the options so far, by option, and the reported option of each."""

    values: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, ImportedOption] = field(default_factory=dict)

    def put(self, name: str, value: Any, option: ImportedOption) -> None:
        for other in _RIVALS.get(name, {name}):
            if (before := self.sources.pop(other, None)) is not None:
                before.outcome = "left_out"
                before.note = _REPEATED if other == name else _CONFLICT
                del self.values[other]
        self.values[name] = value
        self.sources[name] = option


_MEMORY_OPTIONS = {"mem", "mem-per-cpu", "mem-per-gpu"}
_CPU_OPTIONS = {"cpus-per-task", "cpus-per-gpu", "ntasks", "ntasks-per-node"}
_GPU_OPTIONS = {"gres", "gpus", "gpus-per-node", "gpus-per-task"}
_RIVALS = dict.fromkeys(_MEMORY_OPTIONS, _MEMORY_OPTIONS) | dict.fromkeys(
    _GPU_OPTIONS, _GPU_OPTIONS
)
"""Options that set the same resource, by option. Only the last of them in a script counts."""


class _LeftOut(Exception):
    """An option is left out; the message is the reason, for the user."""


def import_script(script: str) -> ImportedScript:
    """Turn the options of the script's #SBATCH lines into fields of the form.

    Raises ScriptRefused for more than `MAX_OPTIONS` options.
    """
    lines = script.replace("\r\n", "\n").split("\n")
    # A later option may still cause an earlier one to be left out, so render at the end.
    parts: list[str | list[ImportedOption]] = []
    options: list[ImportedOption] = []
    values = _Values()
    before_command = True
    for number, line in enumerate(lines, start=1):
        before_command = before_command and (not line.strip() or line.lstrip().startswith("#"))
        if not line.startswith("#SBATCH"):
            parts.append(line)
        elif not before_command:
            parts.append(line)
            options.append(ImportedOption(number, line.strip(), "left_out", _AFTER_COMMAND))
        else:
            found = _import_line(number, line, values)
            options += found
            parts.append(found)
        if len(options) > MAX_OPTIONS:
            raise ScriptRefused("script", "The script has too many #SBATCH lines.")
    resources = _to_resources(values)
    text = "\n".join(line for part in parts for line in _render(part))
    return ImportedScript(text, values.values.get("job-name"), resources, options)


def _render(part: str | list[ImportedOption]) -> list[str]:
    """Return the script's lines for a part: one line, or the options found in a line."""
    if isinstance(part, str):
        return [part]
    texts = {
        mark: [option.text for option in part if option.outcome == outcome]
        for mark, outcome in (("#SBATCH", "passed"), ("##SBATCH", "left_out"))
    }
    return [f"{mark} {' '.join(words)}" for mark, words in texts.items() if words]


def _import_line(number: int, line: str, values: _Values) -> list[ImportedOption]:
    """Return the options of a line, and put their values into `values`."""
    try:
        words = parse_words(number, line)
    except ScriptRefused as error:
        text = line.removeprefix("#SBATCH").strip()
        return [ImportedOption(number, text, "left_out", error.message)]
    options: list[ImportedOption] = []
    for name, value, text in _split_options(words):
        option = ImportedOption(number, text, "passed" if name in FORWARDED else "field")
        options.append(option)
        if option.outcome == "passed":
            continue
        try:
            values.put(name, _parse_value(name, value, option), option)
        except _LeftOut as error:
            option.outcome, option.note = "left_out", str(error)
    return options


def _split_options(words: list[str]) -> Iterator[tuple[str, str | None, str]]:
    """Yield each option's name, its value and its text."""
    index = 0
    while index < len(words):
        word = words[index]
        following = words[index + 1] if index + 1 < len(words) else None
        index += 1
        name, value = _split_word(word)
        text = [word]
        takes_next = value is None and name is not None and name not in _FLAGS
        if takes_next and following is not None and not following.startswith("-"):
            value = following
            text.append(following)
            index += 1
        yield name or "", value, " ".join(shlex.quote(part) for part in text)


def _split_word(word: str) -> tuple[str | None, str | None]:
    """Return an option's name and the value in the same word; (None, None) if it is not one."""
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        return name, value if equals else None
    if word.startswith("-") and len(word) > 1:
        return SHORT.get(word[1], word[1]), word[2:] or None
    return None, None


def _parse_value(name: str, value: str | None, option: ImportedOption) -> Any:
    """Return the value of a field's option. Raises _LeftOut."""
    if name == "":
        raise _LeftOut(_NO_OPTION)
    parser = _PARSERS.get(name)
    if parser is None:
        raise _LeftOut(_REASONS.get(name, _NOT_SUPPORTED))
    if not value:
        raise _LeftOut(_NOT_ACCEPTED)
    if name == "nodes" and "-" in value:
        value, option.note = value.partition("-")[0], _NODE_RANGE
    if name in {"ntasks", "ntasks-per-node"}:
        option.note = _ONE_TASK
    return parser(value)


def _parse_name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise _LeftOut(_NOT_ACCEPTED)
    return value


def _parse_partition(value: str) -> str:
    if "," in value:
        raise _LeftOut(_ONE_PARTITION)
    return _parse_name(value)


def _parse_job_name(value: str) -> str:
    if len(value) > MAX_NAME:
        raise _LeftOut(_NAME_TOO_LONG)
    return value


def _parse_count(most: int) -> Callable[[str], int]:
    def parse(value: str) -> int:
        if not re.fullmatch(r"\d{1,6}", value, re.ASCII) or not 1 <= int(value) <= most:
            raise _LeftOut(_NOT_ACCEPTED)
        return int(value)

    return parse


def _parse_gpus(value: str) -> tuple[str | None, int]:
    if "," in value:
        raise _LeftOut(_ONE_GRES)
    match = _GPUS.fullmatch(value)
    if match is None or int(match[2]) > _MAX["gpus"]:
        raise _LeftOut(_NOT_ACCEPTED)
    return match[1], int(match[2])


def _parse_gres(value: str) -> tuple[str | None, int]:
    """Parse `gpu`, `gpu:2` or `gpu:TYPE:2`."""
    kind, _, rest = value.partition(":")
    if kind != "gpu" or "," in value:
        raise _LeftOut(_ONE_GRES)
    if rest and not rest[0].isdigit() and ":" not in rest:
        rest = f"{rest}:1"
    return _parse_gpus(rest or "1")


def _parse_memory(value: str) -> float:
    """Return GB, from a number with a unit; without one it is MB, as in sbatch."""
    match = _MEMORY.fullmatch(value)
    if match is None:
        raise _LeftOut(_NOT_ACCEPTED)
    if int(match[1]) == 0:
        raise _LeftOut(_ALL_MEMORY)
    return int(match[1]) * _GB[match[2].upper()]


def _parse_time(value: str) -> int:
    """Return minutes, rounded up, from one of sbatch's formats: minutes, minutes:seconds,
    hours:minutes:seconds, days-hours, days-hours:minutes, days-hours:minutes:seconds.
    """
    match = _TIME.fullmatch(value)
    if match is None:
        raise _LeftOut(_NOT_ACCEPTED)
    days, *parts = match.groups()
    numbers = [int(part) for part in parts if part is not None]
    if days is not None:
        hours, minutes, seconds = [*numbers, 0, 0][:3]
    elif len(numbers) == 3:
        hours, minutes, seconds = numbers
    else:
        hours, (minutes, seconds) = 0, [*numbers, 0][:2]
    total = int(days or 0) * 1440 + hours * 60 + minutes + math.ceil(seconds / 60)
    if not 1 <= total <= _MAX["minutes"]:
        raise _LeftOut(_NOT_ACCEPTED)
    return total


_PARSERS: dict[str, Callable[[str], Any]] = {
    "partition": _parse_partition,
    "account": _parse_name,
    "qos": _parse_name,
    "job-name": _parse_job_name,
    "nodes": _parse_count(_MAX["nodes"]),
    "ntasks": _parse_count(_MAX["cpus"]),
    "ntasks-per-node": _parse_count(_MAX["cpus"]),
    "cpus-per-task": _parse_count(_MAX["cpus"]),
    "cpus-per-gpu": _parse_count(_MAX["cpus"]),
    "gres": _parse_gres,
    "gpus": _parse_gpus,
    "gpus-per-node": _parse_gpus,
    "gpus-per-task": _parse_gpus,
    "mem": _parse_memory,
    "mem-per-cpu": _parse_memory,
    "mem-per-gpu": _parse_memory,
    "time": _parse_time,
}


def _to_resources(parsed: _Values) -> dict[str, Any]:
    """Return the form's resources, which are those of each node."""
    values = parsed.values
    names = ("partition", "account", "qos")
    resources: dict[str, Any] = {name: values[name] for name in names if name in values}
    nodes = values.get("nodes")
    if nodes is not None:
        resources["nodes"] = nodes
    if "time" in values:
        resources["time_limit_minutes"] = values["time"]
    tasks = _tasks_per_node(values)
    if (gpus := _gpus_per_node(values, tasks)) is not None:
        gpu_type, resources["gpus"] = gpus
        resources |= {"gpu_type": gpu_type} if gpu_type else {}
    cpus = _cpus_per_node(parsed, tasks, resources.get("gpus"))
    if cpus is not None:
        _put(parsed, resources, "cpus", cpus, _CPU_OPTIONS)
    memory = _memory_per_node(parsed, resources.get("cpus", 1), resources.get("gpus"))
    if memory is not None:
        _put(parsed, resources, "memory_gb", memory, _MEMORY_OPTIONS)
    return resources


def _put(
    parsed: _Values, resources: dict[str, Any], name: str, value: float, sources: set[str]
) -> None:
    """Set a resource; the options it comes from are left out if it is too large for the form."""
    if value <= _MAX[name]:
        resources[name] = value
        return
    for source in sources & parsed.sources.keys():
        _leave_out(parsed, source, _NOT_ACCEPTED)


def _leave_out(parsed: _Values, name: str, reason: str) -> None:
    option = parsed.sources[name]
    option.outcome, option.note = "left_out", reason


def _tasks_per_node(values: dict[str, Any]) -> int:
    if "ntasks-per-node" in values:
        return int(values["ntasks-per-node"])
    tasks: int = values.get("ntasks", 1)
    nodes: int = values.get("nodes", 1)
    return math.ceil(tasks / nodes)


def _gpus_per_node(values: dict[str, Any], tasks: int) -> tuple[str | None, int] | None:
    gpu_type: str | None
    if per_node := values.get("gres") or values.get("gpus-per-node"):
        gpu_type, count = per_node
        return gpu_type, count
    if "gpus" in values:
        gpu_type, total = values["gpus"]
        return gpu_type, math.ceil(total / values.get("nodes", 1))
    if "gpus-per-task" in values:
        gpu_type, each = values["gpus-per-task"]
        return gpu_type, min(each * tasks, _MAX["gpus"])
    return None


def _cpus_per_node(parsed: _Values, tasks: int, gpus: int | None) -> int | None:
    values: dict[str, Any] = parsed.values
    if "cpus-per-gpu" in values:
        if gpus:
            each: int = values["cpus-per-gpu"]
            return each * gpus
        _leave_out(parsed, "cpus-per-gpu", _NEEDS_GPUS)
    if {"cpus-per-task", "ntasks", "ntasks-per-node"} & values.keys():
        return int(values.get("cpus-per-task", 1)) * tasks
    return None


def _memory_per_node(parsed: _Values, cpus: int, gpus: int | None) -> float | None:
    values = parsed.values
    memory: float | None = None
    if "mem" in values:
        memory = values["mem"]
    elif "mem-per-cpu" in values:
        memory = values["mem-per-cpu"] * cpus
    elif "mem-per-gpu" in values:
        if not gpus:
            _leave_out(parsed, "mem-per-gpu", _NEEDS_GPUS)
            return None
        memory = values["mem-per-gpu"] * gpus
    return None if memory is None else max(round(memory, 3), 0.001)
