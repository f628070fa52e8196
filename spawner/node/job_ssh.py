"""Node program for SSH in a batch job: `python -I -m spawner.node.job_ssh CONFIG.json`.

Slurm runs it as the user, as a step of the running job, once the owner connects. It accepts
websockets with a grant of the portal's gate, which nginx asks about each request (auth_request), as
a session's server does, and starts one sshd for each. It ends with the job, and after a while
without connections. The portal keeps its address in memory only: the program reports it again and
again. It depends on config.json (described in `spawner/catalog/launch_files.py`) and the portal's
/node routes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pwd
import shutil
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.web import Application

from spawner.node import node_setup
from spawner.node.environ import terminal_environ
from spawner.node.portal_client import (
    GIVE_UP_S,
    NotWanted,
    OutOfReach,
    PortalClient,
    PortalRequestError,
)
from spawner.node.ssh.connections import SshConnections
from spawner.node.ssh.link import SSH_SETTING, SshLink
from spawner.node.ssh.sshd import Sshd

log = logging.getLogger("portal")

PATH = r"/user/[^/]+/[0-9]+/ssh"
"""`/user/NAME/SLURM-JOB-ID/ssh`: a Slurm job id in place of a session's name."""
REPORT_S = 15.0
"""Interval between two reports; after a few missed ones, the portal considers the program gone."""
IDLE_S = 600.0
"""The program ends after this time without a connection."""
BACKLOG = 128
HELLO_S = 30.0
"""The start is given up after this time: the portal starts another program for the next
connection."""
LIMITS = {
    "max_body_size": 1 << 16,
    "max_header_size": 1 << 14,
    "body_timeout": 10,
    "idle_connection_timeout": 30,
}
"""Limits of each request. They apply before its grant is checked, and save the job's memory."""


def main(arguments: list[str]) -> int:
    """Serve SSH until it is no longer needed; the exit status appears in Slurm's accounting."""
    node_setup.log_to_stderr()
    path = Path(arguments[0])
    try:
        config = node_setup.read_config(path)
        portal = PortalClient(
            config["portal_url"],
            "jobs",
            config["batch_job_id"],
            config["secret"],
            ca=config.get("portal_ca"),
            run_id=config["uuid"],
        )
        status = _serve_or_report(portal, config)
    except (node_setup.NodeSetupError, LookupError, OSError, PortalRequestError):
        log.exception("SSH can't be served")
        return 1  # the log stays in the folder: the portal reads the reason there
    finally:
        path.unlink(missing_ok=True)
    shutil.rmtree(path.parent, ignore_errors=True)  # nothing else deletes a step's folder
    return status


def _serve_or_report(portal: PortalClient, config: dict[str, Any]) -> int:
    """Serve SSH to the end; return the exit status. Raise a failure that can't be reported."""
    try:
        asyncio.run(_run(portal, config))
    except NotWanted as end:
        log.info("%s", end)
    except (node_setup.NodeSetupError, OSError) as error:
        if not portal.report("failed", f"SSH could not be served: {error}"):
            raise
        log.exception("SSH can't be served")
        return 1
    return 0


async def _run(portal: PortalClient, config: dict[str, Any]) -> None:
    folder = node_setup.node_dir_path(config)
    node_setup.create_node_dir(folder)
    os.environ.setdefault("HOME", pwd.getpwuid(os.getuid()).pw_dir)
    sshd = Sshd(folder / "ssh", portal.secret, terminal_environ(os.environ))
    connections = SshConnections(portal, sshd)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    try:
        with node_setup.bind(portal.portal_url, os.environ.get("SLURMD_NODENAME")) as listener:
            is_tls = await _serve(portal, listener, connections, wants_tls=bool(config.get("tls")))
            reporter = AddressReporter(portal, listener.getsockname()[1], is_tls)
            await reporter.run(connections, stop)
            await asyncio.to_thread(portal.report, "exiting", "SSH is not in use")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _serve(
    portal: PortalClient, listener: socket.socket, connections: SshConnections, *, wants_tls: bool
) -> bool:
    """Accept connections, and call the portal; return whether they use TLS.

    A portal that no longer issues certificates expects plain HTTP.
    """
    context, request = None, None
    if wants_tls:
        from spawner.node import identity  # noqa: PLC0415 - takes a while, and few need it

        node_identity = identity.NodeIdentity()
        context, request = node_identity.context, node_identity.request
    port = listener.getsockname()[1]
    listener.listen(BACKLOG)  # the portal's first connection waits until it is accepted
    caller = replace(portal, give_up_s=HELLO_S)
    certificate = await asyncio.to_thread(caller.hello, port, None, request)
    if context is not None and certificate is not None:
        node_identity.use_certificate(certificate)
        identity.keep_valid_in_background(node_identity, portal)
    is_tls = certificate is not None
    app = Application([(PATH, SshLink)])
    app.settings[SSH_SETTING] = connections
    HTTPServer(app, ssl_options=context if is_tls else None, **LIMITS).add_socket(listener)
    return is_tls


@dataclass(frozen=True)
class AddressReporter:
    """Reports the program's address to the portal, which keeps it in memory only."""

    portal: PortalClient
    port: int
    is_tls: bool
    clock: Callable[[], float] = time.monotonic

    async def run(
        self,
        connections: SshConnections,
        stop: asyncio.Event,
        wait: Callable[[asyncio.Event], Awaitable[None]] | None = None,
    ) -> None:
        """Report the address until `stop`, or until nothing needs the program.

        It is not needed after a while without connections, when the portal refuses it, and when
        the portal has been out of reach for too long. `wait` is for tests.
        """
        used = answered = self.clock()
        opened_count = connections.opened_count
        while not stop.is_set():
            status = await asyncio.to_thread(self._report)
            now = self.clock()
            # opened_count includes connections that began and ended between two reports
            if connections.count or connections.opened_count > opened_count:
                used, opened_count = now, connections.opened_count
            answered = answered if status is None else now
            if status is not None and 400 <= status < 500 and status not in {409, 429}:
                log.info("the portal has ended SSH in this job: status %d", status)
                return
            if now - used > IDLE_S or now - answered > GIVE_UP_S:
                return
            await (wait or _wait)(stop)

    def _report(self) -> int | None:
        """Report the address; return the status, None without an answer."""
        body = {"port": self.port, "tls": self.is_tls}
        try:
            return self.portal.ask("POST", "hello", body).status
        except OutOfReach as error:
            log.info("%s", error)
            return None


async def _wait(stop: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(REPORT_S):
            await stop.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
