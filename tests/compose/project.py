"""docker-compose.yml as an operator uses it, with a browser."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cluster.client import Client

CHECKOUT = Path(__file__).resolve().parents[2]


class ComposeFailed(Exception):
    """`docker compose` failed; the message has its last output, and the services' logs."""


@dataclass
class Project:
    """The project of this checkout. `images`: the folder with the environments' images."""

    images: Path
    _credentials: dict[str, Any] = field(default_factory=dict)

    def compose(self, *arguments: str) -> str:
        """Run `docker compose` and return its output. Raises ComposeFailed."""
        done = subprocess.run(
            ["docker", "compose", "--ansi", "never", *arguments],
            cwd=CHECKOUT,
            env={**os.environ, "IMAGES": str(self.images)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            output = "" if arguments[0] == "logs" else self.compose("logs", "--tail", "40")
            words = f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}\n{output}"
            raise ComposeFailed(f"docker compose {' '.join(arguments)}: {words}")
        return done.stdout

    def up(self) -> None:
        self.compose("up", "--detach", "--wait")

    def containers(self) -> list[dict[str, Any]]:
        """Return the output of `docker inspect` for each container, including one-shot services."""
        names = self.compose("ps", "--all", "--quiet").split()
        done = subprocess.run(["docker", "inspect", *names], capture_output=True, check=True)
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return found

    def container(self, service: str) -> dict[str, Any]:
        label = "com.docker.compose.service"
        (found,) = (c for c in self.containers() if c["Config"]["Labels"][label] == service)
        return found

    def execute(self, service: str, *command: str) -> str:
        return self.compose("exec", "--no-TTY", service, *command)

    @property
    def credentials(self) -> dict[str, Any]:
        if not self._credentials:
            output = self.compose("run", "--rm", "--no-TTY", "setup", "credentials")
            self._credentials = json.loads(output)
        return self._credentials

    @property
    def base_url(self) -> str:
        return str(self.credentials["base_url"])

    def tls(self) -> ssl.SSLContext:
        """Return a TLS context that trusts only the project's own authority."""
        authority = self.execute("nginx", "cat", "/srv/cluster/etc/ca.crt")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=authority)
        return context

    @asynccontextmanager
    async def login(self, username: str) -> AsyncIterator[Client]:
        """A browser in which this user is logged in."""
        async with Client(self.base_url, self.tls()) as client:
            await client.login(username, self.credentials["users"][username])
            yield client


def docker(arguments: Sequence[str]) -> str:
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True)
    return done.stdout
