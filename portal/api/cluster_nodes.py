"""The cluster's nodes one by one: how each does, whose its GPUs are, and where it can be reached.

From the watcher's last looks; asks Slurm nothing. Other people's names are for administrators and
viewers, addresses for the roles that the settings name.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel

from portal.api.deps import CurrentIdentity, CurrentUser, Identity, PartsDep
from portal.models import Role
from portal.parts import Parts
from portal.services.cluster.conditions import Condition, condition, takes_work
from portal.services.cluster.gpus import gpu_use, people
from portal.services.cluster.node_table import Addresses
from portal.services.jobs.outside import printable, row_id
from portal.services.login.tokens import Scope
from portal.settings import Settings
from spawner.model import JobInfo, NodeInfo

router = APIRouter(prefix="/cluster/nodes", tags=["cluster"])

MB_PER_GB = 1024


class NodeGpus(BaseModel):
    """GPUs of one type on a node; the parts add up to `total`. `unclear` are in use, but it isn't
    known by whom; `out` are nobody's, on a node that takes no work."""

    type: str
    total: int
    free: int
    mine: int
    others: int
    unclear: int
    out: int


class MyJob(BaseModel):
    """A session, job or TensorBoard of the caller's; `id` is the portal's, `job_id` Slurm's."""

    id: str
    job_id: int
    name: str


class NodeUser(BaseModel):
    """Somebody with something on a node; `gpus` null: not known."""

    username: str
    jobs: int
    gpus: int | None


class NodeAddresses(BaseModel):
    """From the operator's table; `in_band` is Slurm's own where that says none."""

    in_band: str | None
    infiniband: str | None
    management: str | None


class ClusterNode(BaseModel):
    """`state` is Slurm's word, `condition` ours; `reason` why it is out of service, since `since`.
    `users` is for administrators and viewers, `addresses` for whom the settings name; else null."""

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
    """`at`: when Slurm last told of its nodes; null: not yet. `stale_since`: it doesn't answer.
    `sees_users`, `sees_addresses`: whether the caller is shown these."""

    at: datetime | None
    stale_since: datetime | None
    sees_users: bool
    sees_addresses: bool
    nodes: list[ClusterNode]


@dataclass(frozen=True)
class Eyes:
    """Who looks, and what they may see."""

    username: str
    users: bool
    addresses: bool


@router.get("")
def cluster_nodes(_user: CurrentUser, who: CurrentIdentity, parts: PartsDep) -> ClusterNodes:
    """Every node, with what of it is the caller's."""
    eyes = eyes_of(who, parts.settings)
    cluster = parts.watcher.cluster
    on_node = parts.overview.of(parts.watcher.jobs).on_node
    return ClusterNodes(
        at=cluster.at if cluster else None,
        stale_since=parts.watcher.stale_since,
        sees_users=eyes.users,
        sees_addresses=eyes.addresses,
        nodes=[
            _node(parts, node, on_node.get(node.name, ()), eyes)
            for node in (cluster.nodes if cluster else ())
        ],
    )


def eyes_of(who: Identity, settings: Settings) -> Eyes:
    """What this caller may see; a token counts for an administrator's with that scope only."""
    with_all = who.token is None or Scope.ADMIN.value in who.token.scopes
    role = who.user.role if with_all else Role.USER
    return Eyes(
        username=who.user.username,
        users=role in {Role.ADMIN, Role.VIEWER},
        addresses=role in settings.node_addresses_for,
    )


def my_job(parts: Parts, info: JobInfo) -> MyJob:
    """One of the caller's; of an array's task the array's own page."""
    return MyJob(id=info.uuid or row_id(parts, info), job_id=info.job_id, name=printable(info.name))


def _node(parts: Parts, node: NodeInfo, jobs: tuple[JobInfo, ...], eyes: Eyes) -> ClusterNode:
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
        gpus=[NodeGpus(**vars(use)) for use in gpu_use(node, jobs, eyes.username)],
        mine=[my_job(parts, job) for job in jobs if job.user == eyes.username],
        jobs=len(jobs),
        users=_users(node, jobs) if eyes.users else None,
        addresses=_addresses(parts, node) if eyes.addresses else None,
    )


def _users(node: NodeInfo, jobs: Iterable[JobInfo]) -> list[NodeUser]:
    found = people(node, jobs)
    return [
        NodeUser(username=name, jobs=found[name].jobs, gpus=found[name].gpus)
        for name in sorted(found)
    ]


def _addresses(parts: Parts, node: NodeInfo) -> NodeAddresses:
    said = parts.node_table.nodes.get(node.name, Addresses())
    return NodeAddresses(
        in_band=said.in_band or node.address or None,
        infiniband=said.infiniband,
        management=said.management,
    )
