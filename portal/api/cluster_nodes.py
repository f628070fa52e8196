"""Routes of the cluster's nodes: a page of those that match a filter, one node, and the GPUs of all
together. Each shows the caller's own part.

From the watcher's last data; sends no request to Slurm. Other users' names are for administrators
and viewers, addresses for the roles that the settings name.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from portal.config.settings import Settings
from portal.context import AppContext
from portal.errors import NotFound
from portal.models import Role
from portal.services.auth.tokens import Scope
from portal.services.cluster.conditions import Condition
from portal.services.cluster.gpus import compute_shares
from portal.services.cluster.node_rows import (
    NodeFilter,
    NodeOrder,
    NodeRow,
    NodeView,
    Show,
    build_rows,
    find_own_rows,
    matches,
    sum_gpus,
    take_page,
    to_gb,
)
from portal.services.cluster.node_table import TableAddresses
from portal.services.cluster.snapshot import ClusterSnapshot, build_snapshot
from portal.services.jobs.external_jobs import derive_row_id, to_printable_name
from portal.web.dependencies import ContextDep, CurrentIdentity, CurrentUser, Identity
from portal.web.pages import Page
from spawner.slurm.model import JobInfo, NodeInfo

router = APIRouter(prefix="/cluster", tags=["cluster"])

PAGE = 50
MAX_PAGE = 200


class NodeGpus(BaseModel):
    """GPUs of one type on a node; the parts add up to `total`.

    `unclear` are in use by an unknown user; `out` are unused, on a node that accepts no jobs.
    """

    type: str
    total: int
    free: int
    mine: int
    others: int
    unclear: int
    out: int


class MyJob(BaseModel):
    """A session, job or TensorBoard of the caller; `id` is the portal's, `job_id` Slurm's."""

    id: str
    job_id: int
    name: str


class NodeUser(BaseModel):
    """A user with jobs on a node; `gpus` null: unknown."""

    username: str
    jobs: int
    gpus: int | None


class NodeAddresses(BaseModel):
    """Addresses from the operator's table; `in_band` falls back to Slurm's own."""

    in_band: str | None
    infiniband: str | None
    management: str | None


class ClusterNode(BaseModel):
    """A node. `state` is Slurm's, `condition` the portal's summary of it, and `takes_work` whether
    the node accepts jobs. `reason` is why it is out of service, since `since`.

    `mine` are the caller's jobs on it, `jobs` is the number of all jobs.
    `users` is for administrators and viewers, `addresses` for the roles in the settings; otherwise
    null.
    """

    name: str
    condition: Condition
    state: str
    takes_work: bool
    reason: str | None
    since: datetime | None
    partitions: list[str]
    cpus: int
    cpus_free: int
    memory_gb: float
    memory_free_gb: float
    gpus: list[NodeGpus]
    mine: list[MyJob]
    jobs: int
    users: list[NodeUser] | None
    addresses: NodeAddresses | None


class NodePage(Page[ClusterNode]):
    """A page of nodes. `at`: when Slurm last reported its nodes; null: not yet. `stale_since`:
    since when it has not answered. `matching`: how many nodes match the filter.

    `sees_users`, `sees_addresses`: whether the caller may see these.
    """

    at: datetime | None
    stale_since: datetime | None
    matching: int
    sees_users: bool
    sees_addresses: bool


class ClusterGpus(BaseModel):
    """The GPUs of all nodes by type, as the caller sees them. `at` and `stale_since` are those of a
    page of nodes.
    """

    at: datetime | None
    stale_since: datetime | None
    items: list[NodeGpus]


Name = Annotated[str, Field(min_length=1, max_length=100)]


class NodeFilterIn(BaseModel):
    """A filter for nodes; all conditions apply.

    `q`: words in the name, Slurm's state, reason, partitions or GPU types, and in the users and
    addresses that the caller may see. `show`: `free` has free GPUs, or free CPUs if it has no GPUs;
    `mine` has jobs of the caller, `busy` of any user; `out` accepts no jobs. `gpu`: a GPU type, or
    `-` for nodes without GPUs. `gpus_free`: at least this many free GPUs, of that type.
    """

    model_config = ConfigDict(extra="forbid")

    q: Annotated[str, Field(max_length=200)] = ""
    state: Condition | None = None
    show: Show | None = None
    partition: Name | None = None
    gpu: Name | None = None
    gpus_free: Annotated[int, Field(ge=0, le=1024)] = 0

    def to_filter(self) -> NodeFilter:
        return NodeFilter(
            words=tuple(self.q.lower().split()),
            state=self.state,
            show=self.show,
            partition=self.partition,
            gpu_type=self.gpu,
            gpus_free=self.gpus_free,
        )


class NodeQuery(NodeFilterIn):
    """A filter with a page.

    `order` by free GPUs, CPUs or memory has the most first; `desc` reverses any order.
    """

    order: NodeOrder = NodeOrder.NAME
    desc: bool = False
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = PAGE
    cursor: Annotated[str, Field(max_length=4000)] | None = None


@dataclass(frozen=True)
class Viewer:
    """The caller, and what they may see."""

    username: str
    sees_users: bool
    sees_addresses: bool


@router.get("/nodes")
def cluster_nodes(
    _user: CurrentUser,
    who: CurrentIdentity,
    context: ContextDep,
    query: Annotated[NodeQuery, Query()],
) -> NodePage:
    """Return the nodes that match a filter, in pages."""
    viewer = to_viewer(who, context.settings)
    view = load_view(context, viewer)
    found = find_rows(context, view, viewer, query.to_filter())
    page, cursor = take_page(found, query.order, query.desc, query.limit, query.cursor or None)
    return NodePage(
        items=[_to_node(context, row, viewer) for row in page],
        next_cursor=cursor,
        at=view.at,
        stale_since=context.watcher.stale_since,
        matching=len(found),
        sees_users=viewer.sees_users,
        sees_addresses=viewer.sees_addresses,
    )


@router.get("/nodes/{name}")
def cluster_node(
    name: Annotated[str, Path(max_length=100)],
    _user: CurrentUser,
    who: CurrentIdentity,
    context: ContextDep,
) -> ClusterNode:
    """Return one node."""
    viewer = to_viewer(who, context.settings)
    for row in load_view(context, viewer).rows():
        if row.node.name == name:
            return _to_node(context, row, viewer)
    raise NotFound("The cluster has no node with this name.")


@router.get("/gpus")
def cluster_gpus(_user: CurrentUser, who: CurrentIdentity, context: ContextDep) -> ClusterGpus:
    """Return the GPUs of all nodes by type."""
    view = load_view(context, to_viewer(who, context.settings))
    return ClusterGpus(
        at=view.at,
        stale_since=context.watcher.stale_since,
        items=[NodeGpus(**asdict(gpus)) for gpus in sum_gpus(view.rows())],
    )


def load_view(context: AppContext, viewer: Viewer) -> NodeView:
    """Return the nodes of Slurm's last answers, as this caller sees them."""
    cluster, snapshot = context.watcher.cluster, load_snapshot(context)
    if cluster is None:
        return NodeView(None, (), {})
    cache = context.node_rows
    shared = cache.get_or_compute(
        cluster, snapshot, make=lambda: build_rows(cluster, snapshot, cache.last or ())
    )
    return NodeView(cluster.at, shared, find_own_rows(shared, snapshot, viewer.username))


def find_rows(
    context: AppContext, view: NodeView, viewer: Viewer, wanted: NodeFilter
) -> Sequence[NodeRow]:
    """Return the nodes that match a filter, in Slurm's order."""
    if wanted.matches_all:
        return view.rows()
    searches = bool(wanted.words)
    return [
        row
        for row in view.rows()
        if matches(
            row,
            wanted,
            viewer.username,
            _to_restricted_text(context, row, viewer) if searches else "",
        )
    ]


def _to_restricted_text(context: AppContext, row: NodeRow, viewer: Viewer) -> str:
    """Return the text that only some callers may search: users and addresses."""
    texts = [job.user for job in row.jobs] if viewer.sees_users else []
    if viewer.sees_addresses:
        texts += filter(None, _find_addresses(context, row.node).model_dump().values())
    return "\n".join(texts).lower()


def load_snapshot(context: AppContext) -> ClusterSnapshot:
    """Return the summary of squeue's last answer."""
    jobs = context.watcher.jobs
    return context.cluster_snapshot.get_or_compute(jobs, make=lambda: build_snapshot(jobs))


def to_viewer(who: Identity, settings: Settings) -> Viewer:
    """Return what this caller may see; a token has an administrator's view only with the admin
    scope.
    """
    with_all = who.token is None or Scope.ADMIN.value in who.token.scopes
    role = who.user.role if with_all else Role.USER
    return Viewer(
        username=who.user.username,
        sees_users=role in {Role.ADMIN, Role.VIEWER},
        sees_addresses=role in settings.node_addresses_for,
    )


def my_job(context: AppContext, info: JobInfo) -> MyJob:
    """Return one of the caller's jobs; an array task has the `id` of its array."""
    return MyJob(
        id=info.uuid or derive_row_id(context, info),
        job_id=info.job_id,
        name=to_printable_name(info.name),
    )


def _to_node(context: AppContext, row: NodeRow, viewer: Viewer) -> ClusterNode:
    node = row.node
    return ClusterNode(
        name=node.name,
        condition=row.condition,
        state=node.state,
        takes_work=row.takes_work,
        reason=node.reason,
        since=node.reason_at if node.reason else None,
        partitions=list(node.partitions),
        cpus=node.cpus,
        cpus_free=row.cpus_free,
        memory_gb=to_gb(node.memory_mb),
        memory_free_gb=to_gb(row.memory_free_mb),
        gpus=[NodeGpus(**asdict(gpus)) for gpus in row.gpus],
        mine=[my_job(context, job) for job in row.jobs if job.user == viewer.username],
        jobs=len(row.jobs),
        users=_list_users(node, row.jobs) if viewer.sees_users else None,
        addresses=_find_addresses(context, node) if viewer.sees_addresses else None,
    )


def _list_users(node: NodeInfo, jobs: Iterable[JobInfo]) -> list[NodeUser]:
    shares = compute_shares(node, jobs)
    return [
        NodeUser(username=name, jobs=shares[name].jobs, gpus=shares[name].gpus)
        for name in sorted(shares)
    ]


def _find_addresses(context: AppContext, node: NodeInfo) -> NodeAddresses:
    row = context.node_table.nodes.get(node.name, TableAddresses())
    return NodeAddresses(
        in_band=row.in_band or node.address or None,
        infiniband=row.infiniband,
        management=row.management,
    )
