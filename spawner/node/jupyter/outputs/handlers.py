"""API through which a page gets outputs that it did not receive.

A *page* is one connection of JupyterLab to a kernel. The path is `…/portal/session/outputs`.
"""

from __future__ import annotations

from tornado.web import HTTPError, authenticated

from spawner.node.jupyter.outputs.executions import Executions
from spawner.node.jupyter.session_api import PollingHandler

OUTPUTS = r"/portal/session/outputs"


class SessionOutputs(PollingHandler):
    """GET `?kernel=ID&page=ID&since=VERSION`: executions of cells that other pages requested, or
    this one before its connection was lost.

    PUT `{"kernel": id, "cleared": [cell ids]}`: the user has cleared the outputs of these cells.
    """

    @property
    def executions(self) -> Executions:
        """Return the kept executions."""
        executions: Executions = self.kernel_manager.executions
        return executions

    @authenticated
    def get(self) -> None:
        """Send what changed since a version; 0 stands for everything."""
        since = self.get_query_argument("since", "0")
        if not (since.isascii() and since.isdigit()):
            raise HTTPError(400, "since: a version is a number")
        kernel_id, page = self.get_query_argument("kernel"), self.get_query_argument("page")
        self.send_json(self.executions.to_json(kernel_id, page, int(since)))

    @authenticated
    def put(self) -> None:
        """Keep these outputs no longer."""
        body = self.get_json_body()
        cleared = body.get("cleared") if isinstance(body, dict) else None
        if not isinstance(cleared, list):
            raise HTTPError(400, "cleared: a list of ids of cells")
        self.executions.forget(str(body.get("kernel")), map(str, cleared))
        self.send_json({"cleared": len(cleared)})


HANDLERS = [(OUTPUTS, SessionOutputs)]
