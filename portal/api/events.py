"""Route of live updates for a browser: a snapshot, then the differences from what was sent."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response
from fastapi.responses import StreamingResponse
from starlette.requests import HTTPConnection

from portal.api.live import LiveFeeds, LiveSnapshot
from portal.streaming.sse import sse_response
from portal.web.dependencies import ContextDep, CurrentIdentity, CurrentUser

router = APIRouter(tags=["events"])


async def _get_live_feeds(connection: HTTPConnection) -> LiveFeeds:
    feeds: LiveFeeds = connection.app.state.live_feeds
    return feeds


LiveDep = Annotated[LiveFeeds, Depends(_get_live_feeds)]


@router.get("/events", response_class=StreamingResponse)
async def events(
    user: CurrentUser, who: CurrentIdentity, context: ContextDep, live: LiveDep
) -> StreamingResponse:
    """Stream server-sent events: `snapshot`, then `session`, `session_removed` {id}, `job`,
    `job_removed` {id}, `cluster`, and `announcements` {items} with all of them.

    `ping` is sent at least every 15 seconds while nothing changes, so that a browser notices a dead
    connection. Another `snapshot` follows after many missed changes. 10 streams may be open for
    each login or token.
    """
    return sse_response(live.events(who), context.event_streams.hold(user.id, who.login_id))


@router.get("/events/snapshot", response_model=LiveSnapshot)
async def events_snapshot(user: CurrentUser, live: LiveDep) -> Response:
    """Return what the first event of the stream contains, so that a page can be complete when it is
    first shown.
    """
    return Response(await live.snapshot(user), media_type="application/json")
