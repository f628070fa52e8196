"""What bounds a running job's time, read from `scontrol show`: reservations, and the longest time
that associations and QOS give to one job. Pure.

Slurm itself holds a change by an operator to none of these, so whoever changes a job's time limit
for its owner has to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from spawner.model import ReservationInfo, WallLimit
from spawner.parse import BadOutput, expand_nodes, is_number, moment

_PAIR = re.compile(r"(?:^|(?<=\s))([A-Za-z/]+)=(\S*)")
_OWNER = re.compile(r"([^()]+)\(\d+\)")


def parse_reservations(text: str) -> tuple[ReservationInfo, ...]:
    """All reservations in the answer of `scontrol -a -o show reservation`, one line each."""
    found = []
    for line in _lines(text, "ReservationName"):
        start, end = moment(line.get("StartTime", "")), moment(line.get("EndTime", ""))
        if start is None or end is None:
            raise BadOutput("scontrol didn't print a reservation's times")
        found.append(
            ReservationInfo(
                name=line["ReservationName"],
                start=start,
                end=end,
                nodes=expand_nodes(line.get("Nodes", "")),
                maintenance="MAINT" in line.get("Flags", "").split(","),
                users=_names(line.get("Users", "")),
                accounts=_names(line.get("Accounts", "")),
            )
        )
    return tuple(found)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name and name != "(null)")


def parse_walls(
    text: str, *, user: str, account: str | None, qos: str | None, partition: str | None
) -> tuple[WallLimit, ...]:
    """The limits of one job's time in the answer of `scontrol -o show assoc_mgr`: those of the
    user's association, which has its account's where it has none itself, and of the QOS."""
    found = []
    for line in _lines(text, "Account"):
        named = _OWNER.fullmatch(line.get("UserName", ""))
        theirs = named is not None and named[1] == user and line["Account"] == account
        if theirs and line.get("Partition", "") in {"", partition} and is_number(_wall(line)):
            found.append(WallLimit(int(_wall(line)), "account", line["Account"]))
    for line in _lines(text, "QOS"):
        name = line["QOS"].partition("(")[0]
        if name == qos and is_number(_wall(line)):
            found.append(WallLimit(int(_wall(line)), "qos", name))
    return tuple(found)


def _lines(text: str, key: str) -> Iterator[Mapping[str, str]]:
    """The lines that are about such a thing, as key=value pairs, of which the first one counts."""
    for line in text.splitlines():
        pairs: dict[str, str] = {}
        for name, value in _PAIR.findall(line):
            pairs.setdefault(name, value)
        if pairs.get(key):
            yield pairs


def _wall(line: Mapping[str, str]) -> str:
    """Minutes, or nothing."""
    return line.get("MaxWallPJ", "")
