"""Routes of the queues, the caller's place in them, and reservations.

Built from the last data of the watcher, which polls Slurm (spawner/slurm/watcher.py); sends no
request to Slurm itself. Other users' jobs appear only as counts.
"""

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel

from portal.api.cluster_nodes import MyJob, load_snapshot, my_job, to_viewer
from portal.context import AppContext
from portal.db import utcnow
from portal.services.cluster.reservations import VisibleReservation, list_reservations
from portal.services.cluster.snapshot import ClusterSnapshot, Queue, WaitingJob
from portal.services.limits.gpu_limit import explain_pending
from portal.web.dependencies import ContextDep, CurrentIdentity, CurrentUser
from spawner.slurm.model import PartitionInfo

router = APIRouter(prefix="/cluster", tags=["cluster"])

MAX_MINE = 20
# Slurm's reasons that mean no more than the place in the queue. For a job in several partitions
# Slurm reports one reason, which may be another partition's.
PLACE_REASONS = ("Priority", "Resources")


class MyWaiting(MyJob):
    """A pending job of the caller.

    `place` is its approximate position in the queue, 1 is the next; null: it is not in the queue,
    because of `reason`. An array has one place; `tasks` is the number of its pending tasks.
    """

    place: int | None
    tasks: int
    reason: str | None
    suggestion: str | None


class PartitionQueue(BaseModel):
    """The job counts of a partition over all users, with each array task counted.

    `in_line` wait for resources, `aside` for something else (a hold, a limit, another job). `mine`
    are the first of the caller's `mine_waiting` pending jobs.
    """

    name: str
    default: bool
    state: str
    max_time_minutes: int | None
    nodes: int
    running: int
    in_line: int
    aside: int
    mine_running: int
    mine_waiting: int
    mine: list[MyWaiting]


class ClusterQueue(BaseModel):
    """The queues. `at`: when Slurm last reported its jobs; null: not yet."""

    at: datetime | None
    stale_since: datetime | None
    partitions: list[PartitionQueue]


class Reservation(BaseModel):
    """Nodes reserved from `start` to `end`: for maintenance, for the caller (`mine`), or for
    others.

    `name` is the reservation to name in a job, if the caller may know it; `kept_for` (users and
    accounts) is for administrators and viewers. `all_nodes`: the reservation covers every node.
    """

    start: datetime
    end: datetime
    maintenance: bool
    mine: bool
    name: str | None
    kept_for: list[str] | None
    nodes: list[str]
    all_nodes: bool


class Reservations(BaseModel):
    """Current and future reservations, the next one first.

    `known`: Slurm has reported them; `stale_since`: when it last did, if it no longer answers.
    """

    known: bool
    stale_since: datetime | None
    items: list[Reservation]


@router.get("/queue")
def cluster_queue(user: CurrentUser, context: ContextDep) -> ClusterQueue:
    """Return the queue of each partition, and the caller's place in it."""
    watcher = context.watcher
    snapshot = load_snapshot(context)
    return ClusterQueue(
        at=watcher.at,
        stale_since=watcher.stale_since,
        partitions=[
            _to_queue(context, partition, snapshot, user.username)
            for partition in (watcher.cluster.partitions if watcher.cluster else ())
        ],
    )


@router.get("/reservations")
def cluster_reservations(
    user: CurrentUser, who: CurrentIdentity, context: ContextDep
) -> Reservations:
    """Return current and future reservations and maintenance."""
    reservations = context.watcher.reservations
    accounts = {account for account, _, _ in context.accounting.list_for_user(user.username)}
    sees_all = to_viewer(who, context.settings).sees_users
    shown = list_reservations(reservations or (), utcnow(), user.username, accounts, sees_all)
    cluster = context.watcher.cluster
    every = {node.name for node in cluster.nodes} if cluster else None
    return Reservations(
        known=reservations is not None,
        stale_since=context.watcher.reservations_stale_since,
        items=[_to_reservation(reservation, every) for reservation in shown],
    )


def _to_queue(
    context: AppContext, partition: PartitionInfo, snapshot: ClusterSnapshot, username: str
) -> PartitionQueue:
    queue = snapshot.queues.get(partition.name, Queue())
    own_jobs = snapshot.waiting.get(username, {}).get(partition.name, ())
    return PartitionQueue(
        name=partition.name,
        default=partition.default,
        state=partition.state,
        max_time_minutes=partition.max_time_minutes,
        nodes=len(partition.nodes),
        running=queue.running,
        in_line=queue.in_line,
        aside=queue.aside,
        mine_running=snapshot.running.get(username, {}).get(partition.name, 0),
        mine_waiting=sum(max(1, len(waiting.job.tasks)) for waiting in own_jobs),
        mine=[_to_waiting(context, waiting) for waiting in own_jobs[:MAX_MINE]],
    )


def _to_waiting(context: AppContext, waiting: WaitingJob) -> MyWaiting:
    why = explain_pending(context, waiting.job)
    explained_by_place = waiting.ahead is not None and waiting.job.reason in PLACE_REASONS
    return MyWaiting(
        **my_job(context, waiting.job).model_dump(),
        place=None if waiting.ahead is None else waiting.ahead + 1,
        tasks=max(1, len(waiting.job.tasks)),
        reason=why.text if why and not explained_by_place else None,
        suggestion=why.suggestion if why else None,
    )


def _to_reservation(reservation: VisibleReservation, every: set[str] | None) -> Reservation:
    """Convert a reservation; `every` are the cluster's nodes, None while they are unknown."""
    return Reservation(
        start=reservation.start,
        end=reservation.end,
        maintenance=reservation.maintenance,
        mine=reservation.mine,
        name=reservation.name,
        kept_for=None if reservation.kept_for is None else list(reservation.kept_for),
        nodes=list(reservation.nodes),
        all_nodes=every is not None and every <= set(reservation.nodes),
    )
