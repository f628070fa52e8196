"""Route of the map of all nodes: a short record of each, or only of what has changed.

From the watcher's last data; sends no request to Slurm.
"""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from portal.api.cluster_nodes import NodeFilterIn, find_rows, load_view, to_viewer
from portal.context import AppContext
from portal.services.cluster.node_map import Hardware, MapRecord, MapVersion, to_record
from portal.services.cluster.node_rows import NodeView
from portal.web.dependencies import ContextDep, CurrentIdentity, CurrentUser

router = APIRouter(prefix="/cluster/map", tags=["cluster"])


class MapHardware(BaseModel):
    """The hardware of nodes that are alike: GPUs by type, in order, CPUs and memory."""

    gpus: list[tuple[str, int]]
    cpus: int
    memory_gb: float


class NodeMap(BaseModel):
    """Nodes as short records, to draw all of them.

    A record is `[name, hardware, condition, gpus, cpus_free, reason]`: an index into `hardware`; a
    letter for each GPU, in the order of the hardware's types (`m` the caller's, `o` others', `u` in
    use by an unknown user, `f` free, `x` unused on a node that accepts no jobs); the free CPUs, or
    null on a node that accepts no jobs, only then with its reason. `own` are the nodes with jobs of
    the caller, in place of their records in `nodes`, where all jobs are others'.

    `complete`: `nodes` are all that match the filter. Otherwise they are those that have changed
    since the version in the request, and `gone` are the names of removed ones.
    """

    at: datetime | None
    stale_since: datetime | None
    version: str
    complete: bool
    hardware: list[MapHardware]
    nodes: list[MapRecord]
    own: list[MapRecord]
    gone: list[str]


class MapQuery(NodeFilterIn):
    """A filter. Without one, `since` is the `version` of the map that the caller has: only the
    changes since then are returned.
    """

    since: Annotated[str, Field(max_length=64)] | None = None


@router.get("")
def cluster_map(
    _user: CurrentUser,
    who: CurrentIdentity,
    context: ContextDep,
    query: Annotated[MapQuery, Query()],
) -> NodeMap:
    """Return a short record of every node that matches a filter, or of those that have changed."""
    viewer = to_viewer(who, context.settings)
    view = load_view(context, viewer)
    version = _load_version(context, view)
    wanted = query.to_filter()
    can_compare = wanted.matches_all and query.since is not None
    changes = context.map_versions.changes(query.since or "", version) if can_compare else None
    found = None
    if not wanted.matches_all:
        found = {row.node.name for row in find_rows(context, view, viewer, wanted)}
    indexes = {hardware: index for index, hardware in enumerate(version.hardware)}
    # constructed without validation, which would make each of thousands of records again
    return NodeMap.model_construct(
        at=view.at,
        stale_since=context.watcher.stale_since,
        version=version.version,
        complete=changes is None,
        hardware=[_to_map_hardware(hardware) for hardware in version.hardware],
        nodes=changes.changed if changes else _select(version, found),
        own=[
            to_record(row, indexes)
            for name, row in view.own.items()
            if found is None or name in found
        ],
        gone=changes.gone if changes else [],
    )


def _load_version(context: AppContext, view: NodeView) -> MapVersion:
    """Return the version of the map that shows these nodes, without any user's own jobs."""
    return context.map_version.get_or_compute(
        view.shared, make=lambda: context.map_versions.add(view.shared)
    )


def _select(version: MapVersion, names: set[str] | None) -> list[MapRecord]:
    """Return the records of these nodes, or with None of all."""
    if names is None:
        return list(version.records.values())
    return [record for name, record in version.records.items() if name in names]


def _to_map_hardware(hardware: Hardware) -> MapHardware:
    return MapHardware(gpus=list(hardware.gpus), cpus=hardware.cpus, memory_gb=hardware.memory_gb)
