"""The map of all nodes: a short record for each, and what has changed since an earlier version.

Does no I/O; the last versions are kept in memory.
"""

import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from portal.services.cluster.conditions import Condition
from portal.services.cluster.gpus import GpuAllocation
from portal.services.cluster.node_rows import NodeRow, to_gb

KEPT_VERSIONS = 30
"""Pages ask within a minute of a change; a page that slept for longer gets the whole map."""

SIGNS = {"mine": "m", "others": "o", "unclear": "u", "free": "f", "out": "x"}
"""One letter for each GPU, in the order in which the map draws them. `unclear`: in use by an
unknown user; `out`: unused, on a node that takes no jobs.
"""


class Hardware(NamedTuple):
    """GPUs by type with their number, CPUs and memory of nodes that are alike."""

    gpus: tuple[tuple[str, int], ...]
    cpus: int
    memory_gb: float


class MapRecord(NamedTuple):
    """A node in the map. `hardware` is an index; `gpus` has a letter of SIGNS for each GPU, in the
    order of the hardware's types. `cpus_free` is None on a node that accepts no jobs; only then
    there may be a `reason`.
    """

    name: str
    hardware: int
    condition: Condition
    gpus: str
    cpus_free: int | None
    reason: str | None


@dataclass(frozen=True)
class MapVersion:
    """The map of one answer of Slurm, as a user without jobs sees it."""

    version: str
    hardware: tuple[Hardware, ...]
    records: Mapping[str, MapRecord]


@dataclass(frozen=True)
class MapChanges:
    """The records that differ from an earlier version, and the names of nodes that are gone."""

    changed: list[MapRecord]
    gone: list[str]


class MapVersions:
    """The last versions of the map. Requests in several threads use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, MapVersion] = {}
        self._newest: MapVersion | None = None
        # another portal, or this one after a restart, must not take it for a version of its own
        self._origin = secrets.token_hex(4)
        self._count = 0

    def add(self, rows: Sequence[NodeRow]) -> MapVersion:
        """Return the version for these nodes: the newest one if nothing has changed."""
        indexes = find_hardware(rows)
        records = {row.node.name: to_record(row, indexes) for row in rows}
        hardware = tuple(indexes)
        with self._lock:
            newest = self._newest
            if newest is not None and (newest.hardware, newest.records) == (hardware, records):
                return newest
            self._count += 1
            version = MapVersion(f"{self._origin}-{self._count}", hardware, records)
            self._newest = version
            recent = list(self._kept.items())[-KEPT_VERSIONS + 1 :]
            self._kept = {**dict(recent), version.version: version}
            return version

    def changes(self, since: str, now: MapVersion) -> MapChanges | None:
        """Return the changes from an earlier version to this one.

        None if that version is no longer kept, or the kinds of hardware have changed since.
        """
        before = self._kept.get(since)
        if before is None or before.hardware != now.hardware:
            return None
        changed = [
            record for name, record in now.records.items() if before.records.get(name) != record
        ]
        return MapChanges(changed, [name for name in before.records if name not in now.records])


def find_hardware(rows: Sequence[NodeRow]) -> dict[Hardware, int]:
    """Return the index of each kind of hardware, in a fixed order."""
    kinds = sorted({_to_hardware(row) for row in rows})
    return {hardware: index for index, hardware in enumerate(kinds)}


def to_record(row: NodeRow, hardware: Mapping[Hardware, int]) -> MapRecord:
    """Return the record of a node."""
    return MapRecord(
        name=row.node.name,
        hardware=hardware[_to_hardware(row)],
        condition=row.condition,
        gpus="".join(map(_to_signs, row.gpus)),
        cpus_free=row.cpus_free if row.takes_work else None,
        reason=None if row.takes_work else row.node.reason,
    )


def _to_hardware(row: NodeRow) -> Hardware:
    gpus = tuple((gpus.type, gpus.total) for gpus in row.gpus)
    return Hardware(gpus, row.node.cpus, to_gb(row.node.memory_mb))


def _to_signs(gpus: GpuAllocation) -> str:
    return (
        SIGNS["mine"] * gpus.mine
        + SIGNS["others"] * gpus.others
        + SIGNS["unclear"] * gpus.unclear
        + SIGNS["free"] * gpus.free
        + SIGNS["out"] * gpus.out
    )
