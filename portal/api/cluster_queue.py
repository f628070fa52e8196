"""How long the queues are and where in them the caller stands; what lies ahead of the cluster.

From the watcher's last looks; asks Slurm nothing. Nobody else's jobs are told but by their number.
"""

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel

from portal.api.cluster_nodes import MyJob, eyes_of, looked, my_job
from portal.api.deps import CurrentIdentity, CurrentUser, PartsDep
from portal.db import utcnow
from portal.parts import Parts
from portal.services.cluster.ahead import Ahead, ahead
from portal.services.cluster.overview import Look, Queue, Waiting
from spawner.model import PartitionInfo
from spawner.reasons import explain_reason

router = APIRouter(prefix="/cluster", tags=["cluster"])

MOST_MINE = 20
# Reasons of Slurm's which are no more than the place. Of a job in several partitions Slurm tells
# one reason, which may be another partition's.
SAID_BY_PLACE = ("Priority", "Resources")


class MyWaiting(MyJob):
    """A job of the caller's that waits. `place` is about how it stands among those in line, 1 is
    the next; null: it isn't in line, for `reason`. `tasks` of an array wait as one."""

    place: int | None
    tasks: int
    reason: str | None
    advice: str | None


class PartitionQueue(BaseModel):
    """Jobs of everybody's by their number, each task of an array counted: `in_line` wait for room,
    `aside` for something else (on hold, a limit, another job). `mine` are those of the caller's
    that wait, the first of `mine_waiting`."""

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
    """`at`: when Slurm was last asked for its jobs with success; null: not yet."""

    at: datetime | None
    stale_since: datetime | None
    partitions: list[PartitionQueue]


class Reservation(BaseModel):
    """Nodes that are kept from `start` to `end`: for maintenance, for the caller (`mine`), or for
    others. `name` is what a job says to run in it, where that is the caller's to know; `kept_for`
    (users and accounts) is for administrators and viewers. `all_nodes`: that is every node."""

    start: datetime
    end: datetime
    maintenance: bool
    mine: bool
    name: str | None
    kept_for: list[str] | None
    nodes: list[str]
    all_nodes: bool


class Reservations(BaseModel):
    """Those that are on or lie ahead, the next one first. `known`: Slurm has told them;
    `stale_since`: when it last did, where it doesn't any more."""

    known: bool
    stale_since: datetime | None
    items: list[Reservation]


@router.get("/queue")
def cluster_queue(user: CurrentUser, parts: PartsDep) -> ClusterQueue:
    """The queue of each partition, and the caller's place in it."""
    watcher = parts.watcher
    look = looked(parts)
    return ClusterQueue(
        at=watcher.at,
        stale_since=watcher.stale_since,
        partitions=[
            _partition(parts, partition, look, user.username)
            for partition in (watcher.cluster.partitions if watcher.cluster else ())
        ],
    )


@router.get("/reservations")
def cluster_reservations(user: CurrentUser, who: CurrentIdentity, parts: PartsDep) -> Reservations:
    """Reservations and maintenance that are on or lie ahead."""
    found = parts.watcher.reservations
    accounts = {account for account, _, _ in parts.books.of(user.username)}
    sees_all = eyes_of(who, parts.settings).users
    shown = ahead(found or (), utcnow(), user.username, accounts, sees_all)
    cluster = parts.watcher.cluster
    every = {node.name for node in cluster.nodes} if cluster else set()
    return Reservations(
        known=found is not None,
        stale_since=parts.watcher.reservations_stale_since,
        items=[_reservation(one, every) for one in shown],
    )


def _partition(parts: Parts, partition: PartitionInfo, look: Look, username: str) -> PartitionQueue:
    queue = look.queues.get(partition.name, Queue())
    mine = look.waiting.get(username, {}).get(partition.name, ())
    return PartitionQueue(
        name=partition.name,
        default=partition.default,
        state=partition.state,
        max_time_minutes=partition.max_time_minutes,
        nodes=len(partition.nodes),
        running=queue.running,
        in_line=queue.in_line,
        aside=queue.aside,
        mine_running=look.running.get(username, {}).get(partition.name, 0),
        mine_waiting=sum(max(1, len(one.job.tasks)) for one in mine),
        mine=[_waiting(parts, one) for one in mine[:MOST_MINE]],
    )


def _waiting(parts: Parts, one: Waiting) -> MyWaiting:
    why = explain_reason(one.job.reason)
    said = one.ahead is not None and one.job.reason in SAID_BY_PLACE
    return MyWaiting(
        **my_job(parts, one.job).model_dump(),
        place=None if one.ahead is None else one.ahead + 1,
        tasks=max(1, len(one.job.tasks)),
        reason=why.text if why and not said else None,
        advice=why.advice if why else None,
    )


def _reservation(one: Ahead, every: set[str]) -> Reservation:
    return Reservation(
        start=one.start,
        end=one.end,
        maintenance=one.maintenance,
        mine=one.mine,
        name=one.name,
        kept_for=None if one.kept_for is None else list(one.kept_for),
        nodes=list(one.nodes),
        all_nodes=every <= set(one.nodes),
    )
