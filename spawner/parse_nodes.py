"""What scontrol prints of nodes and partitions, read into model.py's words. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from spawner.model import NodeInfo, PartitionInfo
from spawner.parse import (
    BadOutput,
    count_gpus,
    duration_minutes,
    expand_nodes,
    is_number,
    moment,
    word,
)

_REASON_AT = "[reason at]"  # no key of Slurm's looks like this
_SINCE = re.compile(r"\s\[[^\]\s]*@([^\]\s]*)\]")


def parse_nodes(text: str) -> tuple[NodeInfo, ...]:
    """All nodes in the answer of `scontrol -o -d show node`, one line each."""
    return tuple(_node(_pairs(line)) for line in text.splitlines() if "NodeName=" in line)


def parse_partitions(text: str) -> tuple[PartitionInfo, ...]:
    """All partitions in the answer of `scontrol -a -o show partition`, one line each."""
    lines = (_pairs(line) for line in text.splitlines() if "PartitionName=" in line)
    return tuple(
        PartitionInfo(
            name=_need(line, "PartitionName"),
            default=line.get("Default") == "YES",
            state=line.get("State", "UNKNOWN"),
            max_time_minutes=duration_minutes(line.get("MaxTime", "")),
            default_time_minutes=duration_minutes(line.get("DefaultTime", "")),
            nodes=expand_nodes(line.get("Nodes", "")),
        )
        for line in lines
    )


def _pairs(line: str) -> Mapping[str, str]:
    """Key=value pairs; free text (OS, Reason, Comment) can only add keys, never replace one."""
    pairs: dict[str, str] = {}
    for key, value in re.findall(r"(?:^|(?<=\s))([A-Za-z_]+)=(\S*)", line):
        pairs.setdefault(key, value)
    reason = re.search(r"\sReason=(.*?)(?:\s\[[^\]\s]*@[^\]]*\])?(?:\sComment=.*)?$", line)
    if reason:
        pairs["Reason"] = reason.group(1)
        pairs[_REASON_AT] = (_SINCE.findall(line) or [""])[-1]
    return pairs


def _need(pairs: Mapping[str, str], key: str) -> str:
    if not pairs.get(key):
        raise BadOutput(f"scontrol didn't print {key}")
    return pairs[key]


def _node(pairs: Mapping[str, str]) -> NodeInfo:
    def number(key: str) -> int:
        text = pairs.get(key, "")
        return int(text) if is_number(text) else 0

    return NodeInfo(
        name=_need(pairs, "NodeName"),
        address=pairs.get("NodeAddr") or _need(pairs, "NodeName"),
        state=_need(pairs, "State"),
        partitions=tuple(p for p in pairs.get("Partitions", "").split(",") if p),
        cpus=number("CPUTot"),
        cpus_allocated=number("CPUAlloc"),
        memory_mb=number("RealMemory"),
        memory_allocated_mb=number("AllocMem"),
        gpus=count_gpus(pairs.get("Gres", "")),
        gpus_allocated=count_gpus(pairs.get("GresUsed", "")),
        reason=word(pairs.get("Reason", "")),
        reason_at=_reason_at(pairs.get(_REASON_AT, "")),
    )


def _reason_at(text: str) -> datetime | None:
    """A reason is anyone's text, and may only look as if it ended with a time."""
    try:
        return moment(text)
    except BadOutput:
        return None
