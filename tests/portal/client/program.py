"""The client program as users run it, in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from client.config import SavedLogin, SavedLogins, config_path, save_logins
from tests.paths import CHECKOUT
from tests.polling import PATIENCE_S
from tests.portal.conftest import Browser

SCOPES = ["read", "sessions", "jobs", "files"]


@dataclass(frozen=True)
class Finished:
    """A run of the program."""

    code: int
    out: str
    err: str

    @property
    def value(self) -> Any:
        """Return the JSON that was printed."""
        return json.loads(self.out)

    @property
    def problem(self) -> Any:
        """Return the error that was printed as JSON, after the notes."""
        return json.loads(self.err.strip().splitlines()[-1])


@dataclass(frozen=True)
class ClientProgram:
    """The program on a computer with a home of its own, for one portal."""

    url: str
    home: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "PYTHONPATH": str(CHECKOUT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LC_ALL": "C.UTF-8",
            "no_proxy": "127.0.0.1",
            **self.variables,
        }

    @property
    def config(self) -> Path:
        return config_path(self.environment)

    def save_token(self, token: str) -> None:
        """Save a login with this token."""
        login = SavedLogin(token, "alice", "2099-01-01T00:00:00Z", "dsp on laptop")
        save_logins(self.config, SavedLogins().with_login(self.url, login))

    @asynccontextmanager
    async def started(self, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run the program for as long as the block; end it if it still runs then."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "client", *arguments,
            cwd=self.home, env=self.environment, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def run_on_terminal(self, *arguments: str) -> str:
        """Run the program with a terminal as its stdout, and return what reaches the terminal."""
        ours, theirs = os.openpty()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "client", *arguments,
                cwd=self.home, env=self.environment, stdin=asyncio.subprocess.DEVNULL,
                stdout=theirs,
            )  # fmt: skip
            async with asyncio.timeout(PATIENCE_S):
                assert await process.wait() == 0
            return os.read(ours, 65536).decode()
        finally:
            os.close(ours)
            os.close(theirs)

    async def run(self, *arguments: str) -> Finished:
        """Run the program to its end."""
        async with self.started(*arguments) as process, asyncio.timeout(PATIENCE_S):
            return await finish(process)


async def finish(process: asyncio.subprocess.Process) -> Finished:
    """Return the rest of what a program prints, once it has ended."""
    out, err = await process.communicate()
    assert process.returncode is not None
    return Finished(process.returncode, out.decode(), err.decode())


async def create_token(browser: Browser, *scopes: str, name: str = "laptop") -> Any:
    """Return a new token of a browser's user, who has confirmed the password."""
    body = {"name": name, "scopes": list(scopes) or SCOPES, "expires_in_days": 1}
    answer = await browser.post("/api/v1/tokens", body)
    assert answer.status == 201, answer
    return answer.body
