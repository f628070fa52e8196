"""The real hub and the real node program, with a small portal.

No Slurm: the node program runs as an ordinary account on loopback.
"""

from __future__ import annotations

import json
import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import aiohttp
from yarl import URL

from portal.hub.client import Hub as Client
from portal.hub.client import HubNotReady
from tests.fakes.portal import COOKIE, Portal, Session
from tests.paths import CHECKOUT
from tests.polling import until
from tests.servers.slapd import free_port

STATE = Path(sys.prefix).parent
RUNTIME = STATE / "runtime" / "bin" / "python"
KERNEL = {
    "argv": [str(RUNTIME), "-I", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
    "display_name": "Python on the node",
    "language": "python",
    "interrupt_mode": "signal",
}


def account() -> dict[str, Any]:
    """Return Popen's user and group for an ordinary account; empty if the tests do not run as
    root."""
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam("nobody")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def give(path: Path) -> None:
    """Give a file or folder to that account."""
    if os.geteuid() == 0:
        entry = pwd.getpwnam("nobody")
        os.chown(path, entry.pw_uid, entry.pw_gid)


def write_private(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    give(path)
    return path


@dataclass
class Hub:
    """A real JupyterHub with the project's own configuration."""

    folder: Path
    portal: Portal
    token: str = field(default_factory=lambda: secrets.token_hex(32))
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def configure(self, public_url: str) -> None:
        give(self.folder)
        token = write_private(self.folder / "token", self.token)
        internal = write_private(self.folder / "internal", self.portal.secret)
        values = {
            "public_url": public_url,
            "hub_bind_url": self.url,
            "node_url": self.url,
            "portal_url": self.portal.url,
            "hub_token_file": str(token),
            "internal_secret_file": str(internal),
            "cookie_secret_file": str(self.folder / "cookie_secret"),
            "db_url": f"sqlite:///{self.folder}/hub.sqlite",
            "cookie_name": COOKIE,
        }
        write_private(self.folder / "hub.json", json.dumps(values))

    async def start(self, code: Path) -> None:
        self._run(code)
        await until(self._answers, f"the hub, see {self.folder}/hub.log")

    def _run(self, code: Path) -> None:
        with (self.folder / "hub.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "jupyterhub", "-f", str(code / "jupyterhub_config.py")],
                cwd=self.folder,
                env={
                    "PATH": "/usr/bin:/bin",
                    "HOME": str(self.folder),
                    "USER": "nobody",
                    "PYTHONPATH": str(code),
                    "PORTAL_HUB_CONFIG": str(self.folder / "hub.json"),
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **account(),
            )

    async def _answers(self) -> bool | None:
        try:
            async with (
                aiohttp.ClientSession() as client,
                client.get(f"{self.url}/hub/api/") as response,
            ):
                return True if response.status == 200 else None
        except aiohttp.ClientError:
            return None

    def kill(self) -> None:
        """Kill it with SIGKILL, as in a crash; nothing is saved."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@dataclass
class Node:
    """The session's node program in the runtime virtualenv, as an ordinary account."""

    folder: Path
    session: Session
    process: subprocess.Popen[bytes]

    @classmethod
    def start(
        cls, folder: Path, code: Path, portal: Portal, session: Session, home: Path | None = None
    ) -> Node:
        folder.mkdir()
        give(folder)
        if home is None:
            home = folder / "home"
            home.mkdir()
            give(home)
        config = write_private(folder / "config.json", json.dumps(config_of(portal, session, home)))
        program = f"import sys; sys.path.insert(0, {str(code)!r}); import runpy; "
        program += "runpy.run_module('spawner.node.session', run_name='__main__')"
        with (folder / "node.log").open("wb") as log:
            process = subprocess.Popen(
                [RUNTIME, "-I", "-c", program, str(config)],
                cwd=folder,
                env={"PATH": "/usr/bin:/bin", "HOME": str(home), "USER": session.username},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **account(),
            )
        return cls(folder, session, process)

    @property
    def runtime(self) -> Path:
        return Path(f"/tmp/portal-{self.session.uuid[:13]}")

    def environ(self) -> bytes:
        """Return the environment as other processes of the user can read it."""
        return Path(f"/proc/{self.process.pid}/environ").read_bytes()

    def children(self) -> list[int]:
        """Return the pids of its child processes: kernels and terminals."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return [int(pid) for task in tasks for pid in (task / "children").read_text().split()]

    async def ended(self) -> int:
        """Wait for the exit status and return it."""

        async def status() -> tuple[int] | None:
            code = self.process.poll()
            return None if code is None else (code,)

        found = await until(status, "the node program's end")
        assert found is not None
        return found[0]

    def log(self) -> str:
        return (self.folder / "node.log").read_text()

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.runtime, ignore_errors=True)


def config_of(portal: Portal, session: Session, home: Path) -> dict[str, Any]:
    return {
        "uuid": session.uuid,
        "secret": session.secret,
        "portal_url": portal.url,
        "username": session.username,
        "name": session.name,
        "logdir": str(home / "runs"),
        "runtime_dir_prefix": "/tmp/portal-",
        "kernelspecs": {"python3": KERNEL},
        "default_kernel": "python3",
        "lab": {"overrides": {}, "page_config": {}},
        "server_config": {
            "KernelManager": {"transport": "ipc"},
            "TerminalsExtensionApp": {
                "terminal_manager_class": "spawner.node.terminals.SessionTerminals"
            },
        },
    }


def lay_out(folder: Path) -> Path:
    """Copy the code to a place that the account can read; return the copy's folder."""
    folder.chmod(0o755)
    (folder / "hub").mkdir()
    code = folder / "code"
    shutil.copytree(CHECKOUT / "spawner", code / "spawner", ignore=shutil.ignore_patterns("*.pyc"))
    shutil.copy(CHECKOUT / "deploy" / "jupyterhub_config.py", code)
    return code


@dataclass
class HubSetup:
    """All programs, with the operations of a browser and of the portal's hub client."""

    folder: Path
    code: Path
    portal: Portal
    hub: Hub
    nodes: list[Node] = field(default_factory=list)

    @classmethod
    async def build(cls, folder: Path) -> HubSetup:
        """`folder` must be accessible to the ordinary account."""
        code = lay_out(folder)
        portal = Portal()
        await portal.start()
        hub = Hub(folder / "hub", portal)
        hub.configure(portal.url)
        await hub.start(code)
        return cls(folder, code, portal, hub)

    @classmethod
    @asynccontextmanager
    async def opened(cls) -> AsyncIterator[HubSetup]:
        """Run all programs, and stop them at the end in any case."""
        with tempfile.TemporaryDirectory(prefix="hub-stand-") as folder:
            setup = await cls.build(Path(folder))
            try:
                yield setup
            finally:
                await setup.close()

    async def ask_for(self, session: Session) -> None:
        """Do what the portal does once a session has called home."""
        async with Client(self.hub.url, self.hub.token) as hub:
            await hub.ensure_user(session.username)

            async def started() -> bool | None:
                with suppress(HubNotReady):  # it is still checking its existing servers
                    await hub.start_server(session.username, session.name)
                    return True
                return None

            await until(started, "the hub's consent")

    async def running(self) -> tuple[Session, str]:
        """Return a ready session, and the hub token of its server."""
        session = self.portal.new_session()
        self.start_node(session)
        await self.ask_for(session)
        await self.ready(session)
        assert session.handed is not None
        return session, session.handed["env"]["JUPYTERHUB_API_TOKEN"]

    async def tidy(self) -> None:
        """End everything that a test has left running."""
        self.portal.away, self.portal.hold = False, None
        self.portal.sessions.clear()
        for node in self.nodes:
            node.end()
        self.nodes.clear()

    async def close(self) -> None:
        for node in self.nodes:
            node.end()
        self.hub.kill()
        await self.portal.stop()

    def start_node(self, session: Session, home: Path | None = None) -> Node:
        folder = self.folder / f"node-{session.uuid}"
        node = Node.start(folder, self.code, self.portal, session, home)
        self.nodes.append(node)
        return node

    async def server_model(self, session: Session) -> dict[str, Any]:
        """Return the hub's own model of the server."""
        path = f"/hub/api/users/{session.username}/servers/{session.name}"
        async with (
            aiohttp.ClientSession() as client,
            client.get(self.hub.url + path, headers=self.service) as response,
        ):
            model: dict[str, Any] = await response.json()
            return model

    async def ready(self, session: Session) -> dict[str, Any]:
        async def ask() -> dict[str, Any] | None:
            model = await self.server_model(session)
            return model if model.get("ready") else None

        what = f"{session.name} ready, see {self.folder}"
        model: dict[str, Any] | None = await until(ask, what)
        assert model is not None
        return model

    async def api(self, session: Session, token: str) -> int:
        """Return the status of a call to the server's own API with a hub token."""
        url = f"{session.url}/user/{session.username}/{session.name}/api/status"
        async with (
            aiohttp.ClientSession() as client,
            client.get(url, headers={"Authorization": f"token {token}"}) as response,
        ):
            return response.status

    @property
    def service(self) -> dict[str, str]:
        return {"Authorization": f"token {self.hub.token}"}


@dataclass
class Browser:
    """A browser that follows redirects as behind nginx: the path decides which server is
    requested."""

    setup: HubSetup
    client: aiohttp.ClientSession
    visited: list[str] = field(default_factory=list)

    @classmethod
    def new(cls, setup: HubSetup, cookies: Mapping[str, str]) -> Browser:
        jar = aiohttp.CookieJar(unsafe=True)
        jar.update_cookies(dict(cookies), URL("http://127.0.0.1/"))
        return cls(setup, aiohttp.ClientSession(cookie_jar=jar))

    async def get(self, path: str) -> tuple[int, str]:
        """Return the status and the final path after at most 12 redirects; stop at the portal's
        pages."""
        headers = {"Sec-Fetch-Mode": "navigate", "Accept": "text/html"}
        for _ in range(12):
            self.visited.append(path)
            target = self._whose(path)
            if target is None:
                return 200, path
            async with self.client.get(
                target + path, headers=headers, allow_redirects=False
            ) as response:
                if response.status not in (301, 302, 303, 307):
                    return response.status, path
                path = urljoin(path, response.headers["Location"])
                parts = urlsplit(path)
                path = parts.path + (f"?{parts.query}" if parts.query else "")
        raise AssertionError(f"redirected without end: {self.visited}")

    def _whose(self, path: str) -> str | None:
        if path.startswith("/hub/"):
            return self.setup.hub.url
        if path.startswith("/user/"):
            _, _, username, name, *_ = path.split("/")
            return self.setup.portal.sessions[username, name].url
        return None
