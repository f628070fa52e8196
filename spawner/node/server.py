"""The single-user server that a session becomes: Jupyter Server with JupyterHub's extension.

Importing this module is what costs most of a start, so `session.py` imports it while the portal is
being called. It must not know the portal: the socket, the settings, whom to ask about the session
and what to do once it listens are handed in.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_server.serverapp import ServerApp
from traitlets.config import Config

from spawner.node import portal_link, terminal_link
from spawner.node.desk import Desk
from spawner.node.home import Home
from spawner.node.lean import import_singleuser
from spawner.node.recorder import Recorder, recording
from spawner.node.rest import Kernels

# Jupyter Server imports these by name while it is being set up: do it now instead
PRELOADED = (
    "jupyter_server.files.handlers",
    "jupyter_server.gateway.connections",
    "jupyter_server.gateway.managers",
    "jupyter_server.kernelspecs.handlers",
    "jupyter_server.nbconvert.handlers",
    "jupyter_server.services.api.handlers",
    "jupyter_server.services.config.handlers",
    "jupyter_server.services.contents.handlers",
    "jupyter_server.services.events.handlers",
    "jupyter_server.services.kernels.handlers",
    "jupyter_server.services.kernelspecs.handlers",
    "jupyter_server.services.nbconvert.handlers",
    "jupyter_server.services.security.handlers",
    "jupyter_server.services.sessions.handlers",
    "jupyter_server.services.shutdown",
    "jupyter_server.view.handlers",
    "jupyter_server_terminals.app",
    "jupyterlab.labapp",
)
for module in PRELOADED:
    import_module(module)
JupyterHubSingleUser: Any = import_singleuser().JupyterHubSingleUser

EXTENSIONS = {
    __name__: True,
    "jupyterlab": True,
    "jupyter_server_terminals": True,
    # neither is of use here, and each costs a part of every start
    "jupyter_lsp": False,
    "notebook_shim": False,
}
BACKLOG = 128


class NodeKernelSpecs(KernelSpecManager):  # type: ignore[misc]
    """Only the kernels of this session's environments, from its node-local folder: neither the
    runtime's own Python nor what lies in the user's home would run in a container."""

    def _kernel_dirs_default(self) -> list[str]:
        return [str(Path(os.environ["JUPYTER_RUNTIME_DIR"]) / "kernels")]


class NodeServer(ServerApp):  # type: ignore[misc]
    """Jupyter Server on a socket that was bound before, so that no neighbour can take the port."""

    name = "jupyterhub-singleuser"
    _recording: asyncio.Task[None] | None = None

    def serve_on(
        self, listener: socket.socket, settings: Config, tls: ssl.SSLContext | None
    ) -> None:
        """Take the socket, what it shows to whoever connects, and the settings; called before
        initialize."""
        self._listener = listener
        self._tls = tls
        self._settings = settings

    def load_config_file(self, suppress_errors: bool = True) -> None:
        """The site's configuration files first, then ours; only the hub's arguments come later."""
        super().load_config_file(suppress_errors)
        self.update_config(self._settings)

    def write_server_info_file(self) -> None:
        """Not written: it holds the token, and kernels see the folder it would lie in."""

    def write_browser_open_files(self) -> None:
        """Not written, for the same reason."""

    def kernels_now(self) -> Kernels:
        """What the session's kernels do at this moment."""
        return Kernels.of(self.kernel_manager.list_kernels())

    async def keep_recording(self, recorder: Recorder) -> None:
        """Measure what the session uses until the server ends."""
        self._recording = recording(recorder)

    async def cleanup_extensions(self) -> None:
        """Called when the server ends."""
        if self._recording is not None:
            self._recording.cancel()
        await super().cleanup_extensions()

    def _find_http_port(self) -> None:
        """Nothing to find: the port is ours already."""
        self.port = self._listener.getsockname()[1]

    def _bind_http_server(self) -> None:
        self._listener.listen(BACKLOG)
        # The context itself, not the files that Jupyter's options name: a new certificate can be
        # put into it, and it isn't read again for each connection.
        self.http_server.ssl_options = self._tls
        self.http_server.add_socket(self._listener)


class NodeSingleUser(JupyterHubSingleUser):  # type: ignore[misc]
    """JupyterHub's extension, which doesn't end the server because the hub is restarting."""

    serverapp_class = NodeServer

    def initialize_handlers(self) -> None:
        """The hub's own routes, the links to terminals that the portal's page has, and what
        JupyterLab's page asks about the session."""
        super().initialize_handlers()
        self.handlers.append((terminal_link.PATH, terminal_link.TerminalLink))
        self.handlers.extend(portal_link.HANDLERS)

    async def check_hub_version(self) -> None:
        """In the background, and only to log: the original waits for the hub, then exits."""
        self._version_task = asyncio.ensure_future(self._compare_versions())

    async def _compare_versions(self) -> None:
        try:
            await super().check_hub_version()
        except SystemExit:
            self.log.warning("The hub did not answer; carrying on without having seen its version")

    async def stop_extension(self) -> None:
        self._version_task.cancel()
        await super().stop_extension()


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    """How Jupyter Server finds the extension in this module."""
    return [{"module": __name__, "app": NodeSingleUser}]


def settings(config: Mapping[str, Mapping[str, Any]], folder: Path) -> Config:
    """Jupyter's configuration: the node program's own, over it what the job's config says."""
    own = Config(
        {
            "ServerApp": {
                "cookie_secret": os.urandom(32),  # else it would lie in a file
                "kernel_spec_manager_class": NodeKernelSpecs,
                "shutdown_no_activity_timeout": 0,
            },
            "KernelSpecManager": {"ensure_native_kernel": False},
            "LabApp": {
                "app_settings_dir": str(folder / "lab"),
                "news_url": None,  # a node asks nobody on the internet
                "check_for_updates_class": "jupyterlab.handlers.announcements.NeverCheckForUpdate",
                "extension_manager": "readonly",
            },
        }
    )
    own.merge(Config({name: dict(traits) for name, traits in config.items()}))
    return own


def prepare(
    listener: socket.socket,
    settings: Config,
    arguments: list[str],
    home: Home,
    tls: ssl.SSLContext | None = None,
) -> NodeServer:
    """A server that is ready to `start()`, and that asks `home` about the session; the hub's
    environment is in os.environ. Without `tls` it speaks plain HTTP. May exit."""
    server: NodeServer = NodeSingleUser.make_serverapp(jpserver_extensions=dict(EXTENSIONS))
    server.serve_on(listener, settings, tls)
    server.initialize(argv=arguments, starter_extension=NodeSingleUser.name)
    desk = Desk(home)
    server.web_app.settings[portal_link.SETTING] = desk
    server.io_loop.add_callback(server.keep_recording, Recorder(desk, server.kernels_now))
    return server


def forget_secrets(server: NodeServer, names: tuple[str, ...]) -> None:
    """Once the server has read them, take secrets from the environment that its terminals and
    kernels inherit."""
    for holder in (server.identity_provider, server.starter_app):
        _ = holder.hub_auth.api_token
    for name in names:
        os.environ.pop(name, None)


def run(server: NodeServer, on_listening: Callable[[], None]) -> None:
    """Serve until stopped; `on_listening` is called once connections are taken."""
    server.io_loop.add_callback(on_listening)  # after the callback that binds
    server.start()
