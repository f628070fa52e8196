"""Requests of JupyterLab's page about the session's apps: `…/portal/session/apps[/NAME]`.

The list is this server's own. Starts go through the portal, which records them and then asks this
server (app_control.py).
"""

from __future__ import annotations

from tornado.web import authenticated

from spawner.node.apps.session_apps import SessionApps
from spawner.node.jupyter.app_control import APPS_SETTING
from spawner.node.jupyter.session_api import PollingHandler, PortalHandler
from spawner.node.jupyter.session_sources import (
    to_app_input,
    to_app_page_error,
    to_server_path,
)

ALL = r"/portal/session/apps"
ONE = r"/portal/session/apps/([a-z0-9-]{1,20})"


def _root_of(handler: PortalHandler) -> str:
    return str(getattr(handler.contents_manager, "root_dir", ""))


class LabApps(PollingHandler):
    """GET: all apps that the session offers, as for the portal. A file below JupyterLab's root
    folder has its path there.
    """

    @authenticated
    def get(self) -> None:
        apps: SessionApps = self.settings[APPS_SETTING]
        root = _root_of(self)
        shown = [
            {**app, "file": to_server_path(app.get("file"), root) or app.get("file")}
            for app in apps.list_all()
        ]
        self.send_json({"apps": shown})


class LabApp(PortalHandler):
    """PUT `{"file": path | null, "replace": true if another file may be closed}`: start an app. The
    answer is the app.
    """

    describe_error = staticmethod(to_app_page_error)

    @authenticated
    async def put(self, name: str) -> None:
        """Start it with a file of JupyterLab's root folder; the portal validates the request."""
        given = to_app_input(self.get_json_body(), _root_of(self))
        await self.pass_on("PUT", f"apps/{name}", given)


HANDLERS = [(ALL, LabApps), (ONE, LabApp)]
