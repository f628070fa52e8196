"""Bounds on a running job's time, parsed from `scontrol show`.

Pure.

These are reservations, and the longest time per job that associations and QOS permit. Slurm does
not enforce any of them on changes made by an operator, so a program that changes a job's time limit
for its owner must.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from spawner.slurm.model import ReservationInfo, WallLimit
from spawner.slurm.parse import BadOutput, expand_nodes, is_number, moment

_PAIR = re.compile(r"(?:^|(?<=\s))([A-Za-z/]+)=(\S*)")
_OWNER = re.compile(r"([^()]+)\(\d+\)")


def parse_reservations(text: str) -> tuple[ReservationInfo, ...]:
    """Parse all reservations in the output of `scontrol -a -o show reservation`, one per line."""
    reservations = []
    for line in _parse_lines(text, "ReservationName"):
        start, end = moment(line.get("StartTime", "")), moment(line.get("EndTime", ""))
        if start is None or end is None:
            raise BadOutput("scontrol didn't print a reservation's times")
        reservations.append(
            ReservationInfo(
                name=line["ReservationName"],
                start=start,
                end=end,
                nodes=expand_nodes(line.get("Nodes", "")),
                maintenance="MAINT" in line.get("Flags", "").split(","),
                users=_split_names(line.get("Users", "")),
                accounts=_split_names(line.get("Accounts", "")),
            )
        )
    return tuple(reservations)


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name and name != "(null)")


def parse_wall_limits(
    text: str, *, user: str, account: str | None, qos: str | None, partition: str | None
) -> tuple[WallLimit, ...]:
    """Parse the time limits of one job from the output of `scontrol -o show assoc_mgr`.

    These are the limit of the user's association, which inherits its account's, and that of the
    QOS.
    """
    walls = []
    for line in _parse_lines(text, "Account"):
        named = _OWNER.fullmatch(line.get("UserName", ""))
        is_own = named is not None and named[1] == user and line["Account"] == account
        if is_own and line.get("Partition", "") in {"", partition} and is_number(_max_wall(line)):
            walls.append(WallLimit(int(_max_wall(line)), "account", line["Account"]))
    for line in _parse_lines(text, "QOS"):
        name = line["QOS"].partition("(")[0]
        if name == qos and is_number(_max_wall(line)):
            walls.append(WallLimit(int(_max_wall(line)), "qos", name))
    return tuple(walls)


def _parse_lines(text: str, key: str) -> Iterator[Mapping[str, str]]:
    """Yield the lines that have `key`, as key=value pairs; a repeated key's first value counts."""
    for line in text.splitlines():
        pairs: dict[str, str] = {}
        for name, value in _PAIR.findall(line):
            pairs.setdefault(name, value)
        if pairs.get(key):
            yield pairs


def _max_wall(line: Mapping[str, str]) -> str:
    """Return the limit in minutes, or ""."""
    return line.get("MaxWallPJ", "")
