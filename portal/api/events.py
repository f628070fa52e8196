"""Live changes for a browser: a snapshot, then whatever differs from what was sent."""

import asyncio
from collections.abc import AsyncIterator, Mapping

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from portal.api.announcements import AnnouncementOut, Announcements, current
from portal.api.cluster import ClusterOut, cluster_out
from portal.api.deps import CurrentIdentity, CurrentUser, Identity, PartsDep, still_open
from portal.api.job_views import JobOut, jobs_out
from portal.api.streams import sse, sse_response
from portal.api.views import SessionOut, sessions_out
from portal.models import JobState, User
from portal.parts import Parts
from portal.services.changes import EVERYONE
from portal.services.jobs import jobs, listing
from portal.services.sessions import sessions

router = APIRouter(tags=["events"])
PING_S = 15.0
PAUSE_S = 0.1
MAX_LIVE_JOBS = 100
NEWEST_JOBS = 20


class Snapshot(BaseModel):
    """Everything of the caller's that later events change."""

    sessions: list[SessionOut]
    jobs: list[JobOut]
    cluster: ClusterOut
    announcements: list[AnnouncementOut]


@router.get("/events", response_class=StreamingResponse)
async def events(_user: CurrentUser, who: CurrentIdentity, parts: PartsDep) -> StreamingResponse:
    """`snapshot`, then `session`, `session_removed` {id}, `job`, `job_removed` {id}, `cluster`, and
    `announcements` {items} with all of them; and `ping`, at least every 15 seconds while nothing
    changes, so that a browser notices a connection that is dead and doesn't say so."""
    return sse_response(_events(parts, who))


async def _events(parts: Parts, who: Identity) -> AsyncIterator[bytes]:
    user = who.user
    async with parts.changes.listen(user.id, EVERYONE) as listener:
        shown, shown_jobs = await _sessions(parts, user), await _jobs(parts, user)
        cluster, told = cluster_out(parts), current(parts)
        first = Snapshot(
            sessions=list(shown.values()),
            jobs=list(shown_jobs.values()),
            cluster=cluster,
            announcements=told,
        )
        yield sse("snapshot", first.model_dump_json())
        while not parts.changes.closed:
            signalled = await listener.wait(PING_S)
            if not await still_open(parts.db, parts.settings, who):
                return
            if not signalled:
                yield sse("ping", "{}")
                continue
            now, jobs_now = await _sessions(parts, user), await _jobs(parts, user, shown_jobs)
            for event in (
                *_differences("session", shown, now),
                *_differences("job", shown_jobs, jobs_now),
            ):
                yield event
            shown, shown_jobs = now, jobs_now
            newer = cluster_out(parts)
            if newer is not cluster and newer.model_copy(update={"at": cluster.at}) != cluster:
                cluster = newer
                yield sse("cluster", cluster.model_dump_json())
            if (now_told := current(parts)) != told:
                told = now_told
                yield sse("announcements", Announcements(items=told).model_dump_json())
            await asyncio.sleep(PAUSE_S)  # a thousand changes at once are shown as a few


async def _sessions(parts: Parts, user: User) -> dict[str, SessionOut]:
    """The caller's live sessions, and the newest of those that have ended."""
    newest = await sessions.page(parts, user=user, live=False)
    live = await sessions.page(parts, user=user, live=True)
    found = {s.id: s for s in (*live, *newest[: sessions.PAGE])}
    return {shown.id: shown for shown in await sessions_out(parts, [*found.values()])}


async def _jobs(
    parts: Parts, user: User, before: Mapping[str, JobOut] | None = None
) -> dict[str, JobOut]:
    """The caller's live jobs, and the newest of all: as many as a page shows at once. And those
    shown `before` that have ended and aren't among the newest: once more, so that this is told."""
    live = await listing.page(parts, user, listing.Filter(state="live"), limit=MAX_LIVE_JOBS)
    newest = await listing.page(parts, user, listing.Filter(), limit=NEWEST_JOBS)
    found = {job.id: job for job in (*live, *newest)}
    shown = before or {}
    left = [i for i, job in shown.items() if i not in found and job.state is not JobState.ENDED]
    if left:
        found |= {job.id: job for job in await jobs.ended_of(parts, user, left)}
    return {job.id: job for job in await jobs_out(parts, [*found.values()])}


def _differences(
    kind: str, before: Mapping[str, BaseModel], now: Mapping[str, BaseModel]
) -> list[bytes]:
    changed = [
        sse(kind, thing.model_dump_json()) for i, thing in now.items() if before.get(i) != thing
    ]
    gone = [sse(f"{kind}_removed", f'{{"id":"{i}"}}') for i in before if i not in now]
    return changed + gone
