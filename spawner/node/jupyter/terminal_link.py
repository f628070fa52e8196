"""Handler for links that open a terminal.

Its address is `…/portal/terminal/NAME` with NAME `node` or `env_KERNEL`.

JupyterLab has no address for a terminal, but one for each workspace, and restores a workspace's
contents. So the link creates a workspace with only this terminal, and redirects to it; other tabs
of JupyterLab keep theirs. The name is one that `terminals.SessionTerminals` accepts.
"""

from __future__ import annotations

import json
from typing import Any

from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from jupyterlab_server.workspaces_handler import WorkspacesManager
from tornado.web import authenticated

from spawner.node.node_setup import TERMINAL_PREFIX

PATH = r"/portal/terminal/(\w+)"
ON_THE_NODE = "node"


class TerminalLink(JupyterHandler):  # type: ignore[misc]
    """GET: the terminal of that name, in JupyterLab."""

    @authenticated
    def get(self, name: str) -> None:
        """Redirect to the terminal; 404 without the environment, 507 if the home is full."""
        if name != ON_THE_NODE and not self._is_offered(name):
            self._refuse(
                404,
                (
                    "This session has no such environment. Start a new session to get all "
                    "current environments."
                ),
            )
            return
        workspace = f"terminal-{name}"
        (lab,) = self.serverapp.extension_manager.extension_apps["jupyterlab"]
        text = json.dumps(layout(workspace, name))
        try:
            WorkspacesManager(lab.workspaces_dir).save(workspace, text)
        except OSError as error:
            about = f"JupyterLab's settings in your home can't be written: {error.strerror}."
            self.log.warning("terminal: %s", about)
            self._refuse(507, about)
            return
        self.redirect(url_path_join(self.base_url, "lab/workspaces", workspace))

    def _refuse(self, status: int, about: str) -> None:
        """Send the reason as text, because Jupyter's own error page omits it."""
        self.set_status(status)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(about)

    def _is_offered(self, name: str) -> bool:
        kernels = self.kernel_spec_manager.find_kernel_specs()
        return name.startswith(TERMINAL_PREFIX) and name.removeprefix(TERMINAL_PREFIX) in kernels


def layout(workspace: str, terminal: str) -> dict[str, Any]:
    """Return a workspace in JupyterLab's format: one terminal, and the side bars closed."""
    widget = f"terminal:{terminal}"
    main = {
        "dock": {"type": "tab-area", "currentIndex": 0, "widgets": [widget]},
        "current": widget,
    }
    closed = {"collapsed": True, "widgets": []}
    return {
        "data": {
            "layout-restorer:data": {"main": main, "left": closed, "right": closed},
            widget: {"data": {"name": terminal}},
        },
        "metadata": {"id": workspace},
    }
