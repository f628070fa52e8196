"""A user's computer with OpenSSH, set up as a session's page says; for jobs, too."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.client import Client
from tests.polling import PATIENCE_S


@dataclass
class Laptop:
    """alice's computer: a folder with the program, a token and the configuration."""

    folder: Path
    host: str

    @property
    def options(self) -> list[str]:
        return ["-F", str(self.folder / "config"), "-o", "BatchMode=yes"]

    def write_token(self, token: str) -> None:
        file = self.folder / "token"
        file.touch(0o600)
        file.write_text(f"{token}\n")

    async def start(self, *argv: str) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, stderr=pipe)

    async def run(self, *argv: str, sent: str = "", status: int = 0) -> str:
        """Run one program to its end; return its output, with its errors if it should fail."""
        process = await self.start(*argv)
        out, errors = await asyncio.wait_for(process.communicate(sent.encode()), PATIENCE_S)
        assert process.returncode == status, (argv, process.returncode, out, errors)
        return out.decode() + (errors.decode() if status else "")

    async def ssh(self, *arguments: str, sent: str = "", status: int = 0) -> str:
        return await self.run("ssh", *self.options, *arguments, sent=sent, status=status)

    @contextlib.asynccontextmanager
    async def forwarding(self, *options: str) -> AsyncIterator[None]:
        """Keep a connection with forwarded ports open in the block."""
        more = ["-o", "ExitOnForwardFailure=yes", *options]
        process = await self.start(
            "ssh", *self.options, *more, self.host, "echo open; exec sleep 600"
        )
        assert process.stdout
        try:
            line = await asyncio.wait_for(process.stdout.readline(), PATIENCE_S)
            assert line == b"open\n", line
            yield
        finally:
            process.kill()
            await process.wait()


@contextlib.asynccontextmanager
async def access_token(client: Client, *scopes: str) -> AsyncIterator[Any]:
    """Create a token, and revoke it at the end unless it was revoked before."""
    name = f"ssh {time.monotonic_ns()}"
    body = {"name": name, "scopes": list(scopes), "expires_in_days": 1}
    token = await client.api("POST", "/tokens", body)
    yield token
    kept = (await client.api("GET", "/tokens"))["items"]
    if token["id"] in {each["id"] for each in kept}:
        await client.api("DELETE", f"/tokens/{token['id']}")


async def set_up(alice: Client, target: Any, kind: str = "sessions") -> Laptop:
    """Prepare a computer as the page of a session says, or for one of the `jobs`, in a folder of
    its own.
    """
    shown = await alice.api("GET", f"/{kind}/{target['id']}/ssh")
    assert shown["problem"] is None
    folder = Path(tempfile.mkdtemp(prefix="ssh-", dir="/tmp"))
    (folder / "config").write_text(shown["config"].replace("~/.ssh/portal", str(folder)))
    url = f"{alice.base_url}/api/v1/ssh/portal_ssh.py"
    async with alice.http.get(url) as answer:
        (folder / "portal_ssh.py").write_bytes(await answer.read())
    return Laptop(folder, shown["host"])
