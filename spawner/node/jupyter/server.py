"""Single-user server of a session: Jupyter Server with JupyterHub's extension.

Importing this module takes most of the start time, so `session.py` imports it while it waits for
the portal. Neither its import nor `prepare` calls the portal: the caller passes the socket, the
settings, the client for questions about the session and the callback for the start of listening.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.serverapp import ServerApp
from traitlets.config import Config

from spawner.node.apps.declared import SessionAppsConfig
from spawner.node.apps.session_apps import SessionApps
from spawner.node.environ import terminal_environ
from spawner.node.jupyter import (
    app_control,
    app_proxy,
    lab_apps,
    session_api,
    signed,
    ssh_link,
    terminal_link,
)
from spawner.node.jupyter.body_limit import AnonymousBodyLimit
from spawner.node.jupyter.idle import ActivitySnapshot
from spawner.node.jupyter.imports import import_singleuser
from spawner.node.jupyter.outputs import handlers as output_handlers
from spawner.node.jupyter.outputs.contents import NodeContents
from spawner.node.jupyter.outputs.kernels import NodeConnection, NodeKernels
from spawner.node.jupyter.outputs.writer import OutputWriter, renamed
from spawner.node.jupyter.session_sources import SessionSources
from spawner.node.portal_client import PortalClient
from spawner.node.ssh import link
from spawner.node.ssh.connections import SshConnections
from spawner.node.ssh.sshd import Sshd
from spawner.node.usage.recorder import Recorder, recording

# Jupyter Server imports these by name during its setup: import them now instead.
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
    # neither is useful here, and each takes part of the start time
    "jupyter_lsp": False,
    "notebook_shim": False,
}
BACKLOG = 128


class NodeKernelSpecs(KernelSpecManager):  # type: ignore[misc]
    """Kernelspecs from the session's node directory only.

    The runtime's own Python and specifications in the user's home would not run in a container.
    """

    def _kernel_dirs_default(self) -> list[str]:
        return [str(Path(os.environ["JUPYTER_RUNTIME_DIR"]) / "kernels")]


class NodeServer(ServerApp):  # type: ignore[misc]
    """Jupyter Server on a socket bound earlier, so that no other user can take the port."""

    name = "jupyterhub-singleuser"
    _recording: asyncio.Task[None] | None = None
    _writing: asyncio.Task[None] | None = None
    _outputs: OutputWriter | None = None

    def serve_on(
        self, listener: socket.socket, settings: Config, tls: ssl.SSLContext | None
    ) -> None:
        """Set the socket, its TLS context and the settings; called before initialize."""
        self._listener = listener
        self._tls = tls
        self._settings = settings

    def load_config_file(self, suppress_errors: bool = True) -> None:
        """Load the site's configuration files, then the portal's.

        Only the hub's arguments override them.
        """
        super().load_config_file(suppress_errors)
        self.update_config(self._settings)

    def write_server_info_file(self) -> None:
        """Write nothing: the file contains the token, and kernels can read its folder."""

    def write_browser_open_files(self) -> None:
        """Write nothing, for the same reason."""

    def snapshot_activity(self) -> ActivitySnapshot:
        """Return the current activity of the session's kernels and apps."""
        kernels = ActivitySnapshot.of(self.kernel_manager.list_kernels())
        apps: SessionApps = self.web_app.settings[app_control.APPS_SETTING]
        return replace(kernels, busy=True) if apps.are_used() else kernels

    async def keep_recording(self, recorder: Recorder) -> None:
        """Record the session's usage until the server ends."""
        self._recording = recording(recorder)

    async def notebooks(self) -> list[tuple[str, str]]:
        """Return kernel id and path of the notebooks with a kernel."""
        listed = await self.session_manager.list_sessions()
        return [(one["kernel"]["id"], one["path"]) for one in listed if one["type"] == "notebook"]

    async def rename_notebooks(self, old: str, new: str) -> None:
        """Have kernels follow a renamed notebook or folder, as a page does that has it open."""
        for one in await self.session_manager.list_sessions():
            path = renamed(one["path"], old, new)
            if one["type"] == "notebook" and path != one["path"]:
                await self.session_manager.update_session(one["id"], path=path)

    async def keep_outputs(self) -> None:
        """Write outputs of cells that no page has open until the server ends."""
        executions, root = self.kernel_manager.executions, Path(self.contents_manager.root_dir)
        self._outputs = OutputWriter(executions, root, self.notebooks, self.rename_notebooks)
        self.contents_manager.outputs = self._outputs
        self._writing = asyncio.create_task(self._outputs.run())

    async def _write_outputs(self) -> None:
        if self._outputs is not None:
            await self._outputs.write_all()

    async def cleanup_extensions(self) -> None:
        """Stop recording and the apps, and write the outputs; called when the server ends."""
        for task in (self._recording, self._writing):
            if task is not None:
                task.cancel()
        apps: SessionApps = self.web_app.settings[app_control.APPS_SETTING]
        await asyncio.gather(apps.stop_all(), self._write_outputs())
        await super().cleanup_extensions()

    def init_httpserver(self) -> None:
        """Create the HTTP server, with a limit for requests without a login."""
        super().init_httpserver()
        self.http_server.request_callback = AnonymousBodyLimit(
            self.web_app, lambda: str(self.identity_provider.hub_auth.cookie_name)
        )

    def _find_http_port(self) -> None:
        """Use the port of the bound socket."""
        self.port = self._listener.getsockname()[1]

    def _bind_http_server(self) -> None:
        self._listener.listen(BACKLOG)
        # Pass the context itself rather than file names in Jupyter's options: its certificate can
        # be replaced, and it is not loaded again for each connection.
        self.http_server.ssl_options = self._tls
        self.http_server.add_socket(self._listener)


class AppPages(app_proxy.AppProxy, JupyterHandler):  # type: ignore[misc]
    """Addresses of apps, behind the same login as JupyterLab."""


class NodeSingleUser(JupyterHubSingleUser):  # type: ignore[misc]
    """JupyterHub's extension, modified not to end the server while the hub restarts."""

    serverapp_class = NodeServer

    def initialize_handlers(self) -> None:
        """Add handlers for terminal links, questions about the session, SSH and apps."""
        super().initialize_handlers()
        self.handlers.append((terminal_link.PATH, terminal_link.TerminalLink))
        self.handlers.extend(session_api.HANDLERS)
        self.handlers.extend(ssh_link.HANDLERS)
        self.handlers.extend(app_control.HANDLERS)
        self.handlers.extend(lab_apps.HANDLERS)
        self.handlers.append((app_proxy.PATH, AppPages))
        self.handlers.extend(output_handlers.HANDLERS)

    async def check_hub_version(self) -> None:
        """Check in the background, and only log: the original waits for the hub, then exits."""
        self._version_task = asyncio.ensure_future(self._compare_versions())

    async def _compare_versions(self) -> None:
        try:
            await super().check_hub_version()
        except SystemExit:
            self.log.warning("The hub did not answer; continuing without its version")

    async def stop_extension(self) -> None:
        self._version_task.cancel()
        await super().stop_extension()


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    """Return the extension in this module, for Jupyter Server."""
    return [{"module": __name__, "app": NodeSingleUser}]


def settings(config: Mapping[str, Mapping[str, Any]], folder: Path) -> Config:
    """Return Jupyter's configuration: the node program's defaults, then the job's config."""
    session_config = Config(
        {
            "ServerApp": {
                "contents_manager_class": NodeContents,
                "cookie_secret": os.urandom(32),  # otherwise it would be stored in a file
                "kernel_manager_class": NodeKernels,
                "kernel_spec_manager_class": NodeKernelSpecs,
                "kernel_websocket_connection_class": NodeConnection,
                "shutdown_no_activity_timeout": 0,
            },
            "KernelSpecManager": {"ensure_native_kernel": False},
            "LabApp": {
                "app_settings_dir": str(folder / "lab"),
                "news_url": None,  # a node makes no requests to the internet
                "check_for_updates_class": "jupyterlab.handlers.announcements.NeverCheckForUpdate",
                "extension_manager": "readonly",
            },
        }
    )
    session_config.merge(Config({name: dict(traits) for name, traits in config.items()}))
    return session_config


def prepare(
    listener: socket.socket,
    settings: Config,
    arguments: list[str],
    portal: PortalClient,
    folder: Path,
    tls: ssl.SSLContext | None = None,
    apps: Mapping[str, Any] | None = None,
) -> NodeServer:
    """Return a server ready to `start()`, which asks `portal` about the session.

    The hub's variables must be in os.environ. `folder` is the session's own on the node. Without
    `tls` it serves plain HTTP. `apps` is the part of config.json. May exit.
    """
    server: NodeServer = NodeSingleUser.make_serverapp(jpserver_extensions=dict(EXTENSIONS))
    server.serve_on(listener, settings, tls)
    server.initialize(argv=arguments, starter_extension=NodeSingleUser.name)
    sources = SessionSources(portal)
    server.web_app.settings[signed.SECRET_SETTING] = portal.secret
    server.web_app.settings[session_api.SOURCES_SETTING] = sources
    environ = terminal_environ(os.environ)
    sshd = Sshd(folder / "ssh", portal.secret, environ)
    server.web_app.settings[link.SSH_SETTING] = SshConnections(portal, sshd)
    offered = SessionAppsConfig.parse(apps or {}, server.web_app.settings["base_url"])
    server.web_app.settings[app_control.APPS_SETTING] = SessionApps(
        offered, folder / "apps", environ
    )
    server.io_loop.add_callback(server.keep_recording, Recorder(sources, server.snapshot_activity))
    server.io_loop.add_callback(server.keep_outputs)
    return server


def forget_secrets(server: NodeServer, names: tuple[str, ...]) -> None:
    """Remove secrets from the variables that terminals and kernels inherit.

    To be called once the server has read them.
    """
    for holder in (server.identity_provider, server.starter_app):
        _ = holder.hub_auth.api_token
    for name in names:
        os.environ.pop(name, None)


def run(server: NodeServer, on_listening: Callable[[], None]) -> None:
    """Serve until stopped; `on_listening` is called once connections are accepted."""
    server.io_loop.add_callback(on_listening)  # after the callback that binds
    server.start()
