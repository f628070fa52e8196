"""Route of live updates for a browser: a snapshot, then the differences from what was sent."""

from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import StreamingResponse
from starlette.requests import HTTPConnection

from portal.api.live import LiveFeeds
from portal.streaming.sse import sse_response
from portal.web.dependencies import ContextDep, CurrentIdentity, CurrentUser

router = APIRouter(tags=["events"])


def _get_live_feeds(connection: HTTPConnection) -> LiveFeeds:
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
