"""A running cluster for tests: its address, its users, and control over its services."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from cluster.client import Client
from tests.polling import PATIENCE_S, wait_until

PYTHON = "/usr/bin/python3"
CHECKOUT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Live:
    """The cluster in `state`. Its commands are those available to an operator."""

    state: Path
    base_url: str
    users: dict[str, str]

    @classmethod
    def of(cls, state: Path) -> Live:
        found = json.loads(command(state, "credentials").stdout)
        return cls(state, found["base_url"], found["users"])

    @asynccontextmanager
    async def login(self, username: str) -> AsyncIterator[Client]:
        """A browser in which this user is logged in, with a freshly confirmed password."""
        async with Client(self.base_url) as client:
            await client.login(username, self.users[username])
            await client.api("POST", "/reauth", {"password": self.users[username]})
            yield client

    def exec_as(self, user: str, argv: list[str], node: str | None = None) -> str:
        """Run a program as this user, on the head or a node, and return its stdout."""
        where = ["--node", node] if node else []
        return command(self.state, "exec", *where, "--user", user, "--", *argv).stdout

    def stop(self, service: str) -> None:
        command(self.state, "stop", service)

    def start(self, service: str) -> None:
        """Start a service; wait for the portal, and for the nodes after slurmctld."""
        command(self.state, "start", service)
        if service == "portal":
            self.wait_until_served()
        if service == "slurmctld":
            self.wait_until_nodes_answer()

    def wait_until_nodes_answer(self, timeout_s: float = PATIENCE_S) -> None:
        """Wait until slurmctld allocates all nodes: their state is `idle` earlier, too."""
        nodes = ["--partition=debug", "--nodes=3", "--ntasks=3", "--mem=1"]

        def run_on_all() -> bool:
            with contextlib.suppress(RuntimeError):  # slurmctld itself does not answer yet
                self.exec_as("alice", ["srun", *nodes, "--immediate=5", "--chdir=/", "true"])
                return True
            return False

        wait_until(run_on_all, "the nodes answer slurmctld", timeout_s, pause_s=0.2)

    def wait_until_served(self, timeout_s: float = PATIENCE_S) -> None:
        """Wait until the portal answers through nginx."""

        def is_served() -> bool:
            url = f"{self.base_url}/healthz"
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(url, timeout=5) as answer,  # noqa: S310
            ):
                return bool(answer.status == 200)
            return False

        wait_until(is_served, "the portal answers", timeout_s, pause_s=0.05)

    def kill(self, service: str) -> None:
        """Send SIGKILL to a service's process; the supervisor restarts it."""
        status = json.loads(command(self.state, "status", "--json").stdout)
        (pid,) = [part["pid"] for part in status["services"] if part["name"] == service]
        os.kill(pid, signal.SIGKILL)


def command(state: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one command of the cluster's command line; an error includes its output."""
    argv = [PYTHON, "-m", "cluster", "--state", str(state), *arguments]
    done = subprocess.run(
        argv, cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=120
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr[-2000:]}")
    return done
