"""Route of the cluster's nodes: state, GPU usage and addresses of each.

From the watcher's last data; sends no request to Slurm. Other users' names are for administrators
and viewers, addresses for the roles that the settings name.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from fastapi import APIRouter, Response
from pydantic import BaseModel

from portal.config.settings import Settings
from portal.context import AppContext
from portal.models import Role
from portal.services.auth.tokens import Scope
from portal.services.catalog.feasible import MB_PER_GB
from portal.services.cluster.conditions import Condition, condition, takes_work
from portal.services.cluster.gpus import gpu_use, shares_by_user
from portal.services.cluster.identity_cache import IdentityCache
from portal.services.cluster.node_table import TableAddresses
from portal.services.cluster.snapshot import ClusterSnapshot, build_snapshot
from portal.services.jobs.external_jobs import printable, row_id
from portal.web.dependencies import ContextDep, CurrentIdentity, CurrentUser, Identity
from spawner.slurm.model import ClusterInfo, JobInfo, NodeInfo

router = APIRouter(prefix="/cluster/nodes", tags=["cluster"])

HIDDEN_USER = ""
"""A username that no user has, for the view without any jobs of the caller's own."""


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
    """A node. `state` is Slurm's, `condition` ours; `reason` is why it is out of service, since
    `since`.

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


class ClusterNodes(BaseModel):
    """All nodes. `at`: when Slurm last reported its nodes; null: not yet. `stale_since`: since when
    it has not answered.

    `sees_users`, `sees_addresses`: whether the caller may see these.
    """

    at: datetime | None
    stale_since: datetime | None
    sees_users: bool
    sees_addresses: bool
    nodes: list[ClusterNode]


@dataclass(frozen=True)
class Viewer:
    """The caller, and what they may see."""

    username: str
    users: bool
    addresses: bool


@router.get("", response_model=ClusterNodes)
def cluster_nodes(_user: CurrentUser, who: CurrentIdentity, context: ContextDep) -> Response:
    """Return every node, with the caller's part of it."""
    viewer = to_viewer(who, context.settings)
    cluster = context.watcher.cluster
    answer = ClusterNodes(
        at=cluster.at if cluster else None,
        stale_since=context.watcher.stale_since,
        sees_users=viewer.users,
        sees_addresses=viewer.addresses,
        nodes=_list_nodes(context, cluster, viewer) if cluster else [],
    )
    # Serialize directly: FastAPI would validate up to 5,000 nodes a second time.
    return Response(answer.model_dump_json(), media_type="application/json")


def looked(context: AppContext) -> ClusterSnapshot:
    """Return the summary of squeue's last answer."""
    jobs = context.watcher.jobs
    return context.cluster_snapshot.of(jobs, make=lambda: build_snapshot(jobs))


def _list_nodes(context: AppContext, cluster: ClusterInfo, viewer: Viewer) -> list[ClusterNode]:
    """Return all nodes for this caller.

    The view of a user without jobs is the same for all and is cached, so only the nodes with jobs
    of the caller are built for each request.
    """
    snapshot, addresses = looked(context), context.node_table.nodes

    def strangers() -> list[ClusterNode]:
        stranger = replace(viewer, username=HIDDEN_USER)
        jobs = snapshot.on_node
        return [
            _to_node(context, node, jobs.get(node.name, ()), stranger) for node in cluster.nodes
        ]

    kept = context.node_responses.setdefault((viewer.users, viewer.addresses), IdentityCache())
    shown: list[ClusterNode] = kept.of(cluster, snapshot, addresses, make=strangers)
    own_nodes = snapshot.nodes_of.get(viewer.username, frozenset())
    return [
        _to_node(context, node, snapshot.on_node[node.name], viewer)
        if node.name in own_nodes
        else stranger
        for node, stranger in zip(cluster.nodes, shown, strict=True)
    ]


def to_viewer(who: Identity, settings: Settings) -> Viewer:
    """Return what this caller may see; a token has an administrator's view only with the admin
    scope.
    """
    with_all = who.token is None or Scope.ADMIN.value in who.token.scopes
    role = who.user.role if with_all else Role.USER
    return Viewer(
        username=who.user.username,
        users=role in {Role.ADMIN, Role.VIEWER},
        addresses=role in settings.node_addresses_for,
    )


def my_job(context: AppContext, info: JobInfo) -> MyJob:
    """Return one of the caller's jobs; for an array task, the array's page."""
    return MyJob(
        id=info.uuid or row_id(context, info), job_id=info.job_id, name=printable(info.name)
    )


def _to_node(
    context: AppContext, node: NodeInfo, jobs: tuple[JobInfo, ...], viewer: Viewer
) -> ClusterNode:
    usable = takes_work(node.state)
    free_mb = max(0, node.memory_mb - node.memory_allocated_mb) if usable else 0
    return ClusterNode(
        name=node.name,
        condition=condition(node.state),
        state=node.state,
        takes_work=usable,
        reason=node.reason,
        since=node.reason_at if node.reason else None,
        partitions=list(node.partitions),
        cpus=node.cpus,
        cpus_free=max(0, node.cpus - node.cpus_allocated) if usable else 0,
        memory_gb=round(node.memory_mb / MB_PER_GB, 1),
        memory_free_gb=round(free_mb / MB_PER_GB, 1),
        gpus=[NodeGpus(**vars(use)) for use in gpu_use(node, jobs, viewer.username)],
        mine=[my_job(context, job) for job in jobs if job.user == viewer.username],
        jobs=len(jobs),
        users=_list_users(node, jobs) if viewer.users else None,
        addresses=_find_addresses(context, node) if viewer.addresses else None,
    )


def _list_users(node: NodeInfo, jobs: Iterable[JobInfo]) -> list[NodeUser]:
    shares = shares_by_user(node, jobs)
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
