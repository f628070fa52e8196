"""The shapes in which sessions and TensorBoards leave the portal, shared by routes and events."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from portal.models import JobState, Session, Tensorboard, TensorboardState
from portal.parts import Parts
from portal.services.sessions import extending, uses
from portal.services.tensorboards import tensorboards
from portal.settings import Settings
from spawner.model import Outcome

Name = Annotated[str, Field(max_length=64)]


class ResourcesIn(BaseModel):
    """What is asked for; what is absent comes from the environment's defaults, then the site's."""

    model_config = ConfigDict(extra="forbid")

    partition: Name | None = None
    nodes: Annotated[int, Field(ge=1, le=1)] | None = None
    gpus: Annotated[int, Field(ge=0, le=1024)] | None = None
    gpu_type: Name | None = None
    cpus: Annotated[int, Field(ge=1, le=4096)] | None = None
    memory_gb: Annotated[float, Field(gt=0, le=65536, allow_inf_nan=False)] | None = None
    time_limit_minutes: Annotated[int, Field(ge=1, le=525_600)] | None = None
    account: Name | None = None
    qos: Name | None = None


class JobResourcesIn(ResourcesIn):
    """As for a session; a job may have several nodes, each with these GPUs, CPUs and memory."""

    nodes: Annotated[int, Field(ge=1, le=1024)] | None = None


class ResourcesOut(BaseModel):
    """What a session or job has been given to ask Slurm for."""

    partition: str | None
    nodes: int
    gpus: int
    gpu_type: str | None
    cpus: int
    memory_gb: float | None
    time_limit_minutes: int | None
    account: str | None
    qos: str | None


class TimelineEntry(BaseModel):
    """A step of the start that has been reached. `allocated` is Slurm's word, in whole seconds;
    `program` is when the node program says that it began."""

    step: Literal["submitted", "allocated", "program", "called_home", "server", "ready"]
    at: datetime


class TensorboardOut(BaseModel):
    """A TensorBoard; `url` is there while it runs, a path or, at another host, a whole address."""

    id: str
    state: TensorboardState
    url: str | None
    reason: str | None
    logdir: str

    @classmethod
    def of(cls, board: Tensorboard, settings: Settings) -> "TensorboardOut":
        running = board.state is TensorboardState.RUNNING
        path = f"/tensorboard/{board.id}/"
        return cls(
            id=board.id,
            state=board.state,
            url=settings.content_address(board.user.username, path) if running else None,
            reason=board.reason,
            logdir=board.logdir,
        )


class ExtensionOut(BaseModel):
    """How many minutes the owner can add to a session at once; where that is 0, `reason` says why.
    Slurm may still know of something that leaves fewer, such as maintenance."""

    minutes: int
    reason: str | None


class SessionOut(BaseModel):
    """A session as its owner sees it; times in UTC. `extension` is there while it runs,
    `idle_since` once nothing has run in it for as long as the site thinks worth a word.
    JupyterLab's page is `url`, a path or, at another host, a whole address, followed by `opens`
    where there is a notebook to begin with."""

    id: str
    name: str
    owner: str
    environment: str
    environment_title: str
    resources: ResourcesOut
    state: JobState
    outcome: Outcome | None
    reason: str | None
    advice: str | None
    stale_since: datetime | None
    job_id: int | None
    node: str | None
    url: str | None
    opens: str | None
    submitted_at: datetime
    started_at: datetime | None
    ready_at: datetime | None
    ended_at: datetime | None
    expires_at: datetime | None
    estimated_start: datetime | None
    timeline: list[TimelineEntry]
    logdir: str
    tensorboard: TensorboardOut | None
    extension: ExtensionOut | None
    idle_since: datetime | None


def session_out(
    parts: Parts, session: Session, board: Tensorboard | None, idle_since: datetime | None
) -> SessionOut:
    """One session, as it and the cluster are known now."""
    running = session.state is JobState.RUNNING
    own: dict[str, Any] = {
        name: getattr(session, name)
        for name in (
            "id", "name", "state", "outcome", "reason", "advice", "stale_since", "job_id", "node",
            "started_at", "ready_at", "ended_at", "expires_at", "estimated_start", "logdir",
            "opens",
        )
    }  # fmt: skip
    return SessionOut(
        **own,
        owner=session.user.username,
        environment=session.environment or "",
        environment_title=environment_title(parts, session.environment),
        resources=ResourcesOut(**session.resources),
        url=_url(parts, session) if running else None,
        submitted_at=session.submitted_at or session.created_at,
        timeline=timeline(session),
        tensorboard=TensorboardOut.of(board, parts.settings) if board else None,
        extension=extension_out(parts, session) if running else None,
        idle_since=idle_since if running else None,
    )


def _url(parts: Parts, session: Session) -> str:
    return parts.settings.content_address(session.user.username, session.base_url)


def extension_out(parts: Parts, session: Session) -> ExtensionOut:
    """How much time the owner may add."""
    allowed = extending.offered(session, parts.settings, parts.watcher.cluster)
    return ExtensionOut(minutes=allowed.minutes, reason=allowed.reason)


def timeline(session: Session) -> list[TimelineEntry]:
    """The steps of a start in order, as far as it got."""
    steps = (
        ("submitted", session.submitted_at),
        ("allocated", _not_before(session.started_at, session.submitted_at)),
        ("program", _said(session.timings, "bound")),
        ("called_home", session.called_home_at),
        ("server", session.adopted_at),
        ("ready", session.ready_at),
    )
    return [TimelineEntry(step=step, at=at) for step, at in steps if at is not None]


def _not_before(at: datetime | None, earliest: datetime | None) -> datetime | None:
    """Slurm's times are cut to seconds, so that it may start a job before it was submitted."""
    return max(at, earliest) if at and earliest else at


def _said(timings: dict[str, Any], mark: str) -> datetime | None:
    return datetime.fromisoformat(timings[mark]) if mark in timings else None


async def sessions_out(parts: Parts, found: list[Session]) -> list[SessionOut]:
    """Several sessions with their TensorBoards, in three queries."""
    ids = [session.id for session in found]
    boards = await tensorboards.of_parents(parts, ids)
    idle = await uses.idle_since(parts, ids)
    return [session_out(parts, s, boards.get(s.id), idle.get(s.id)) for s in found]


def environment_title(parts: Parts, name: str | None) -> str:
    """An environment's title, or its name once the catalog has it no more."""
    known = parts.catalog.environments.get(name or "")
    return known.title if known else name or ""
