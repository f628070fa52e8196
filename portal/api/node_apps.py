"""Route with which JupyterLab starts the apps of its session, called by the session's own server.

The portal asks that server in turn, as it does for its own pages, so that each start is recorded.
A session's secret authorizes no more here than what its owner's processes can do anyway.
"""

from fastapi import APIRouter

from portal.api.node import WantedSession
from portal.api.session_apps import AppIn, AppName, AppOut, to_app
from portal.services.sessions import apps
from portal.web.dependencies import ClientIp, ContextDep

router = APIRouter(prefix="/node/sessions/{session_id}/apps", include_in_schema=False)
STARTED_BY = "jupyterlab"


@router.put("/{name}")
async def start_app_in_jupyterlab(
    name: AppName, body: AppIn, session: WantedSession, context: ContextDep, ip: ClientIp
) -> AppOut:
    """Start an app for the session's owner, as `start_session_app` does."""
    given = body.model_dump()
    app = await apps.change_app(context, session, "PUT", name, given, ip=ip, by=STARTED_BY)
    return to_app(context, session, app)
