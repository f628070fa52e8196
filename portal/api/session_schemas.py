"""Schemas of sessions, shared by routes and events."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel

from portal.api.common_schemas import ResourcesOut, TensorboardOut
from portal.context import AppContext
from portal.models import JobState, Session, Tensorboard
from portal.services.catalog.available import get_environment_title
from portal.services.sessions import extending, measurements
from portal.services.tensorboards import tensorboards
from spawner.slurm.model import Outcome


class TimelineEntry(BaseModel):
    """A completed step of the start.

    `allocated` is from Slurm, in whole seconds; `program` is when the session's program on the node
    had its port, by its own clock; `called_home`: it reached the portal; `server`: the hub adopted
    the session as its named server; `ready`: the server answers.
    """

    step: Literal["submitted", "allocated", "program", "called_home", "server", "ready"]
    at: datetime


class ExtensionOut(BaseModel):
    """The minutes by which the owner can extend a session now; if 0, `reason` is why.

    Slurm may allow fewer, for example because of maintenance.
    """

    minutes: int
    reason: str | None


class SessionOut(BaseModel):
    """A session for its owner; times in UTC.

    `extension` is present while it runs, `idle_since` once nothing has run in it for as long as the
    site's setting. JupyterLab's page is `url`, a path or, at another host, an absolute address,
    followed by `opens` if there is a notebook to open.
    """

    id: str
    name: str
    owner: str
    environment: str
    environment_title: str
    resources: ResourcesOut
    state: JobState
    outcome: Outcome | None
    reason: str | None
    suggestion: str | None
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
    context: AppContext, session: Session, board: Tensorboard | None, idle_since: datetime | None
) -> SessionOut:
    """Convert a session, with the present state of the cluster."""
    running = session.state is JobState.RUNNING
    own: dict[str, Any] = {
        name: getattr(session, name)
        for name in (
            "id", "name", "state", "outcome", "reason", "suggestion", "stale_since", "job_id",
            "node", "started_at", "ready_at", "ended_at", "expires_at", "estimated_start", "logdir",
            "opens",
        )
    }  # fmt: skip
    return SessionOut(
        **own,
        owner=session.user.username,
        environment=session.environment or "",
        environment_title=get_environment_title(context, session.environment),
        resources=ResourcesOut(**session.resources),
        url=_to_url(context, session) if running else None,
        submitted_at=session.submitted_at or session.created_at,
        timeline=timeline(session),
        tensorboard=TensorboardOut.of(board) if board else None,
        extension=extension_out(context, session) if running else None,
        idle_since=idle_since if running else None,
    )


def _to_url(context: AppContext, session: Session) -> str:
    return context.settings.notebook_address(session.user.username, session.base_url)


def extension_out(context: AppContext, session: Session) -> ExtensionOut:
    """Return by how much the owner may extend the session."""
    allowed = extending.compute_extension(session, context.settings, context.watcher.cluster)
    return ExtensionOut(minutes=allowed.minutes, reason=allowed.reason)


def timeline(session: Session) -> list[TimelineEntry]:
    """Return the completed steps of a start, in order."""
    steps = (
        ("submitted", session.submitted_at),
        ("allocated", _not_before(session.started_at, session.submitted_at)),
        ("program", _parse_mark(session.timings, "bound")),
        ("called_home", session.called_home_at),
        ("server", session.adopted_at),
        ("ready", session.ready_at),
    )
    return [TimelineEntry(step=step, at=at) for step, at in steps if at is not None]


def _not_before(at: datetime | None, earliest: datetime | None) -> datetime | None:
    """Return the later time. Slurm truncates to seconds, so that a job may seem to start before its
    submission.
    """
    return max(at, earliest) if at and earliest else at


def _parse_mark(timings: dict[str, Any], mark: str) -> datetime | None:
    return datetime.fromisoformat(timings[mark]) if mark in timings else None


async def sessions_out(context: AppContext, sessions: list[Session]) -> list[SessionOut]:
    """Convert several sessions with their TensorBoards and idle times, in two queries."""
    ids = [session.id for session in sessions]
    boards = await tensorboards.load_tensorboards(context, ids)
    idle = await measurements.load_idle_since(context, ids)
    return [session_out(context, s, boards.get(s.id), idle.get(s.id)) for s in sessions]
