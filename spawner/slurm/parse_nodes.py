"""Parsers for scontrol's output on nodes and partitions. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from spawner.slurm.model import NodeInfo, PartitionInfo
from spawner.slurm.parse import (
    BadOutput,
    count_gpus,
    duration_minutes,
    expand_nodes,
    is_number,
    moment,
    word,
)

_LOAD = re.compile(r"(?<!\S)CPULoad=(\S*)")
_UNSTEADY = re.compile(
    r"(?<!\S)(?:CPULoad|FreeMem|LastBusyTime|CurrentWatts|AveWatts|ConsumedJoules|ExtSensors\w+)=\S*"
)
_REASON_AT = "[reason at]"  # no key of Slurm has this form
_SINCE = re.compile(r"\s\[[^\]\s]*@([^\]\s]*)\]")


def parse_nodes(text: str) -> tuple[NodeInfo, ...]:
    """Parse all nodes in the output of `scontrol -o -d show node`, one per line."""
    return NodeParser().parse(text)


class NodeParser:
    """Incremental parser of scontrol's nodes: an unchanged node is the same object again.

    Of thousands of nodes most are unchanged but for load, free memory and the time of their last
    job, and need neither be parsed nor compared again.
    """

    def __init__(self) -> None:
        self._known: dict[str, NodeInfo] = {}

    def parse(self, text: str) -> tuple[NodeInfo, ...]:
        """Parse one answer, as parse_nodes does."""
        parsed = {
            _steady_part(line): line for line in text.split("\n") if line.startswith("NodeName=")
        }
        self._known = {key: self._parse(key, line) for key, line in parsed.items()}
        return tuple(self._known.values())

    def _parse(self, key: str, line: str) -> NodeInfo:
        known = self._known.get(key)
        if known is None:
            return _parse_node(_parse_pairs(line))
        load = _parse_load(found[1] if (found := _LOAD.search(line)) else "")
        return known if load == known.cpu_load else replace(known, cpu_load=load)


def _steady_part(line: str) -> str:
    """Return a node's line without what changes all the time; its reason is free text, and kept."""
    fields, divider, reason = line.partition(" Reason=")
    return _UNSTEADY.sub("", fields) + divider + reason


def parse_partitions(text: str) -> tuple[PartitionInfo, ...]:
    """Parse all partitions in the output of `scontrol -a -o show partition`, one per line."""
    records = (line for line in text.split("\n") if line.startswith("PartitionName="))
    lines = (_parse_pairs(line) for line in records)
    return tuple(
        PartitionInfo(
            name=_require(line, "PartitionName"),
            default=line.get("Default") == "YES",
            state=line.get("State", "UNKNOWN"),
            max_time_minutes=duration_minutes(line.get("MaxTime", "")),
            default_time_minutes=duration_minutes(line.get("DefaultTime", "")),
            nodes=expand_nodes(line.get("Nodes", "")),
        )
        for line in lines
    )


def _parse_pairs(line: str) -> Mapping[str, str]:
    """Parse key=value pairs; free text (OS, Reason, Comment) can add keys, not replace any."""
    pairs: dict[str, str] = {}
    for key, value in re.findall(r"(?:^|(?<=\s))([A-Za-z_]+)=(\S*)", line):
        pairs.setdefault(key, value)
    _, is_there, reason = line.partition(" Reason=")
    if is_there:
        pairs["Reason"], pairs[_REASON_AT] = _split_reason(reason)
    return pairs


def _split_reason(text: str) -> tuple[str, str]:
    """Split a reason into its words and Slurm's time, which follows the first of several lines.

    The words are displayed to all users, so control and bidirectional characters are replaced by
    spaces.
    """
    stamps = [*_SINCE.finditer(text)]
    start, end = stamps[-1].span() if stamps else (0, 0)
    words = text[:start] + re.sub(r"\sComment=.*$", "", text[end:], flags=re.DOTALL)
    visible = "".join(char if char.isprintable() else " " for char in words)
    return " ".join(visible.split()), stamps[-1][1] if stamps else ""


def _require(pairs: Mapping[str, str], key: str) -> str:
    if not pairs.get(key):
        raise BadOutput(f"scontrol didn't print {key}")
    return pairs[key]


def _parse_node(pairs: Mapping[str, str]) -> NodeInfo:
    def number(key: str) -> int:
        text = pairs.get(key, "")
        return int(text) if is_number(text) else 0

    return NodeInfo(
        name=_require(pairs, "NodeName"),
        address=pairs.get("NodeAddr") or _require(pairs, "NodeName"),
        state=_require(pairs, "State"),
        partitions=tuple(p for p in pairs.get("Partitions", "").split(",") if p),
        cpus=number("CPUTot"),
        cpus_allocated=number("CPUAlloc"),
        memory_mb=number("RealMemory"),
        memory_allocated_mb=number("AllocMem"),
        gpus=count_gpus(pairs.get("Gres", "")),
        gpus_allocated=count_gpus(pairs.get("GresUsed", "")),
        reason=word(pairs.get("Reason", "")),
        reason_at=_parse_reason_time(pairs.get(_REASON_AT, "")),
        cpu_load=_parse_load(pairs.get("CPULoad", "")),
    )


def _parse_load(text: str) -> float | None:
    """Parse a load average; Slurm writes N/A while it has none."""
    return float(text) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text) else None


def _parse_reason_time(text: str) -> datetime | None:
    """Parse the time of a reason; a reason is free text, and may only seem to end with a time."""
    try:
        return moment(text)
    except BadOutput:
        return None
