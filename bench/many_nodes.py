"""A cluster of thousands of nodes, in scontrol's own words: a few real nodes, repeated with other
names, hardware, allocations and states. Pure, and the same at each call.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

NODES = 5_000
PARTITIONS = 12
KINDS = (
    ("v100", 4, 32, 131072),
    ("a100", 8, 128, 1031915),
    ("h100", 8, 192, 2063830),
    ("", 0, 64, 257637),
)
"""GPU type and number, CPUs and memory in MB of each kind of node."""
OUT = (
    ("IDLE+DRAIN", "fan 2 broken [root@2026-11-20T17:45:47]"),
    ("DOWN+NOT_RESPONDING", "Not responding [slurm@2026-11-20T17:45:50]"),
    ("MIXED+DRAIN", "kernel update [root@2026-11-21T08:00:00]"),
)
SHARE_OUT = 0.04


def render_nodes(recorded: str, count: int = NODES) -> str:
    """Return the output of `scontrol -o -d show node` of a large cluster, from that of a small
    one.
    """
    lines = [line for line in recorded.splitlines() if line.startswith("NodeName=")]
    chance = random.Random(1)  # noqa: S311 - the same nodes at each call, no secret
    return "".join(
        f"{_render_node(lines[number % len(lines)], number, chance)}\n" for number in range(count)
    )


def render_partitions(recorded: str, count: int = NODES) -> str:
    """Return the output of `scontrol -a -o show partition` of the same cluster."""
    line = next(line for line in recorded.splitlines() if line.startswith("PartitionName="))
    return "".join(
        _replace(line, PartitionName=name, Default="NO" if number else "YES", Nodes=nodes) + "\n"
        for number, (name, nodes) in enumerate(_list_partitions(count))
    )


def _list_partitions(count: int) -> Iterator[tuple[str, str]]:
    """Yield the partitions with their nodes: one of all, the others of equal parts."""
    names = [_name(number) for number in range(count)]
    yield "all", ",".join(names)
    for part in range(PARTITIONS - 1):
        yield f"part{part:02}", ",".join(names[part :: PARTITIONS - 1])


def _name(number: int) -> str:
    return f"node{number + 1:04}"


def _render_node(line: str, number: int, chance: random.Random) -> str:
    kind, gpus, cpus, memory_mb = KINDS[number // 200 % len(KINDS)]
    used = chance.random() if chance.random() < 0.8 else 0.0
    is_out = chance.random() < SHARE_OUT
    cpus_used, gpus_used = round(used * cpus), round(used * gpus)
    state, reason = chance.choice(OUT) if is_out else (_state(cpus_used, cpus), "")
    line = _replace(
        line.partition(" Reason=")[0],
        NodeName=_name(number),
        NodeHostName=_name(number),
        NodeAddr=f"10.80.{number // 250}.{number % 250 + 1}",
        CPUAlloc=cpus_used,
        CPUTot=cpus,
        CPUEfctv=cpus,
        RealMemory=memory_mb,
        AllocMem=round(used * chance.random() * memory_mb),
        Gres=f"gpu:{kind}:{gpus}" if gpus else "(null)",
        GresUsed=f"gpu:{kind}:{gpus_used}(IDX:N/A)" if gpus else "gpu:0",
        State=state,
        Partitions=f"all,part{number % (PARTITIONS - 1):02}",
    )
    return f"{line} Reason={reason}" if reason else line


def _state(cpus_used: int, cpus: int) -> str:
    if cpus_used == 0:
        return "IDLE"
    return "ALLOCATED" if cpus_used == cpus else "MIXED"


def _replace(line: str, **values: object) -> str:
    """Return a line of scontrol with other values."""
    for key, value in values.items():
        line = re.sub(rf"(?<!\S){key}=\S*", f"{key}={value}", line)
    return line
