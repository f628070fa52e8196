"""Two real portals on one real PostgreSQL, and a client that may use either."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Set
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from portal.config.settings import Settings
from tests.paths import CHECKOUT
from tests.polling import until
from tests.portal.command_line import write_config
from tests.portal.conftest import Answer, Browser
from tests.servers.portal_process import in_slurm
from tests.servers.slapd import PASSWORD, free_port

PATIENCE_S = 120
PAUSE_S = 0.02
LEADING = ("ok", "degraded")


@dataclass
class PortalProcess:
    """One portal's process; `name` is a or b."""

    name: str
    port: int
    folder: Path
    config: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    def start(self) -> None:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PORTAL_")}
        env = {**kept, "PORTAL_CONFIG": str(self.config), "PORTAL_LISTEN_PORT": str(self.port)}
        argv = [sys.executable, "-m", "tests.servers.portal_process", str(self.folder / "slurm")]
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(argv, env=env, cwd=CHECKOUT, stdout=out, stderr=out)

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

    async def status(self) -> str | None:
        """Return the status from /readyz; None while it does not answer."""
        try:
            async with aiohttp.ClientSession() as http, http.get(f"{self.url}/readyz") as answer:
                return str((await answer.json())["status"])
        except aiohttp.ClientError:
            return None


@dataclass
class TwoPortals:
    """Both portals; `slurm` is the folder that they share as their cluster."""

    settings: Settings
    folder: Path
    a: PortalProcess
    b: PortalProcess
    http: aiohttp.ClientSession

    @property
    def slurm(self) -> Path:
        return self.folder / "slurm"

    @property
    def database(self) -> str:
        """Return the name of their database on PostgreSQL."""
        return self.settings.database_url.rpartition("/")[2]

    @property
    def browser(self) -> Browser:
        return Browser(self.http, self.settings.public_url)

    async def wait_for_status(self, one: PortalProcess, *words: str) -> None:
        """Wait until a portal reports one of these statuses."""
        async with asyncio.timeout(PATIENCE_S):
            while (state := await one.status()) not in words:
                running = one.process is not None and one.process.poll() is None
                assert running, one.log.read_text()[-3000:]
                await asyncio.sleep(PAUSE_S)
        assert state in words

    async def leads(self, one: PortalProcess) -> None:
        await self.wait_for_status(one, *LEADING)

    async def wait_for_roles(self) -> None:
        """Wait until one portal leads and the other one is the standby; the leader becomes a."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                found = [await one.status() for one in (self.a, self.b)]
                if found[1] in LEADING and found[0] == "standby":
                    self.a, self.b = self.b, self.a
                    return
                if found[0] in LEADING and found[1] == "standby":
                    return
                await asyncio.sleep(PAUSE_S)

    async def login(
        self, one: PortalProcess, name: str = "alice", password: str = PASSWORD
    ) -> Answer:
        body = {"username": name, "password": password}
        return await self.browser.post(f"{one.url}/api/v1/login", body)

    async def submit(self, one: PortalProcess, key: str) -> Answer:
        return await self.browser.post(
            f"{one.url}/api/v1/jobs", {"script": "true"}, headers={"Idempotency-Key": key}
        )

    async def keep_submitting(self, key: str, turn: int) -> Answer:
        """Retry as a browser does without a response, or with Retry-After.

        It repeats the same request with the same key, alternating between the portals.
        """
        async with asyncio.timeout(PATIENCE_S):
            while True:
                turn += 1
                with contextlib.suppress(aiohttp.ClientError):
                    answer = await self.submit((self.a, self.b)[turn % 2], key)
                    if answer.status != 503:
                        return answer
                await asyncio.sleep(PAUSE_S)

    async def jobs(self, one: PortalProcess) -> list[Any]:
        answer = await self.browser.get(f"{one.url}/api/v1/jobs")
        assert answer.status == 200, answer
        return list(answer.body["items"])

    def in_slurm(self) -> Counter[str]:
        """Return how often Slurm has each of the portal's jobs."""
        return in_slurm(self.slurm)

    def asked(self) -> list[str]:
        """Return the submitted jobs, in order."""
        file = self.slurm / "asked"
        return [line.split()[1] for line in file.read_text().splitlines()] if file.exists() else []

    @contextmanager
    def held(self, where: str) -> Iterator[None]:
        (self.slurm / where).touch()
        try:
            yield
        finally:
            (self.slurm / where).unlink()

    async def until(self, count: int) -> None:
        """Wait until this many submissions were requested."""
        await until(lambda: len(self.asked()) >= count, f"{count} submissions")

    async def all_submitted(self, one: PortalProcess, ids: Set[str]) -> None:
        """Wait until each of these jobs has Slurm's id."""
        async with asyncio.timeout(PATIENCE_S):
            while not ids <= {job["id"] for job in await self.jobs(one) if job["job_id"]}:
                await asyncio.sleep(PAUSE_S)


@asynccontextmanager
async def two_portals(settings: Settings, folder: Path) -> AsyncIterator[TwoPortals]:
    """Run both on a migrated database: the first leads, the second is the standby."""
    for name in ("slurm", "site/environments"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    config = write_config(settings, folder / "portal.toml")
    with ExitStack() as stack:
        a, b = (PortalProcess(name, free_port(), folder, config) for name in ("a", "b"))
        stack.callback(a.end, signal.SIGKILL)
        stack.callback(b.end, signal.SIGKILL)
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
            two = TwoPortals(settings, folder, a, b, http)
            a.start()
            await two.leads(a)
            b.start()
            await two.wait_for_status(b, "standby")
            yield two
