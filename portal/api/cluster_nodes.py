"""The cluster's nodes one by one: how each does, whose its GPUs are, and where it can be reached.

From the watcher's last looks; asks Slurm nothing. Other people's names are for administrators and
viewers, addresses for the roles that the settings name.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from fastapi import APIRouter, Response
from pydantic import BaseModel

from portal.api.deps import CurrentIdentity, CurrentUser, Identity, PartsDep
from portal.models import Role
from portal.parts import Parts
from portal.services.cluster.conditions import Condition, condition, takes_work
from portal.services.cluster.gpus import gpu_use, people
from portal.services.cluster.node_table import Addresses
from portal.services.cluster.overview import Look, look
from portal.services.cluster.remembered import Remembered
from portal.services.jobs.outside import printable, row_id
from portal.services.login.tokens import Scope
from portal.settings import Settings
from spawner.model import ClusterInfo, JobInfo, NodeInfo

router = APIRouter(prefix="/cluster/nodes", tags=["cluster"])

MB_PER_GB = 1024
NOBODY = ""
"""No user's name: whoever is called so has nothing anywhere."""


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


@router.get("", response_model=ClusterNodes)
def cluster_nodes(_user: CurrentUser, who: CurrentIdentity, parts: PartsDep) -> Response:
    """Every node, with what of it is the caller's."""
    eyes = eyes_of(who, parts.settings)
    cluster = parts.watcher.cluster
    answer = ClusterNodes(
        at=cluster.at if cluster else None,
        stale_since=parts.watcher.stale_since,
        sees_users=eyes.users,
        sees_addresses=eyes.addresses,
        nodes=_nodes(parts, cluster, eyes) if cluster else [],
    )
    # in one go: FastAPI would look at 5,000 nodes twice
    return Response(answer.model_dump_json(), media_type="application/json")


def looked(parts: Parts) -> Look:
    """What squeue's last answer means."""
    jobs = parts.watcher.jobs
    return parts.look.of(jobs, make=lambda: look(jobs))


def _nodes(parts: Parts, cluster: ClusterInfo, eyes: Eyes) -> list[ClusterNode]:
    """What a stranger sees is the same for all, so only the nodes with something of the caller's
    are made for them alone."""
    found, addresses = looked(parts), parts.node_table.nodes

    def strangers() -> list[ClusterNode]:
        stranger = replace(eyes, username=NOBODY)
        jobs = found.on_node
        return [_node(parts, node, jobs.get(node.name, ()), stranger) for node in cluster.nodes]

    kept = parts.nodes_out.setdefault((eyes.users, eyes.addresses), Remembered())
    shown: list[ClusterNode] = kept.of(cluster, found, addresses, make=strangers)
    mine = found.nodes_of.get(eyes.username, frozenset())
    return [
        _node(parts, node, found.on_node[node.name], eyes) if node.name in mine else stranger
        for node, stranger in zip(cluster.nodes, shown, strict=True)
    ]


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
