"""How long the program for SSH in a job stays, by the portal's answers and its connections."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest

from spawner.node import job_ssh
from spawner.node.job_ssh import IDLE_S, AddressReporter
from spawner.node.portal_client import GIVE_UP_S, OutOfReach, PortalResponse

pytestmark = pytest.mark.anyio
STEP_S = 100.0


@dataclass
class AnsweringPortal:
    """A portal that answers each report with `status`, or not at all if that is None."""

    status: int | None = 200
    seen: list[Any] = field(default_factory=list)

    def ask(self, method: str, action: str, body: Any) -> PortalResponse:
        self.seen.append((method, action, body))
        if self.status is None:
            raise OutOfReach("no answer")
        return PortalResponse(self.status, {})


@dataclass
class Stay:
    """A program's stay on a clock that each wait moves on."""

    portal: AnsweringPortal = field(default_factory=AnsweringPortal)
    connections: Any = field(default_factory=lambda: SimpleNamespace(count=0, opened_count=0))
    now: float = 0.0
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    until: float = 10_000.0
    short_ones: int = 0

    async def wait(self, _stop: asyncio.Event) -> None:
        self.now += STEP_S
        self.connections.opened_count += self.short_ones
        if self.now >= self.until:
            self.stop.set()

    async def run(self) -> float:
        """Return when the program ends."""
        portal: Any = self.portal
        reporter = AddressReporter(portal, 40123, True, lambda: self.now)
        await reporter.run(self.connections, self.stop, self.wait)
        return self.now


async def test_run_ends_some_time_after_the_last_connection() -> None:
    stay = Stay()
    assert IDLE_S < await stay.run() <= IDLE_S + STEP_S
    assert stay.portal.seen[0] == ("POST", "hello", {"port": 40123, "tls": True})


async def test_run_stays_with_an_open_connection() -> None:
    stay = Stay(connections=SimpleNamespace(count=1, opened_count=1))
    assert await stay.run() == stay.until


async def test_run_stays_while_short_connections_come() -> None:
    stay = Stay(short_ones=1)
    assert await stay.run() == stay.until


@pytest.mark.parametrize("status", [401, 404, 410])
async def test_run_ends_when_the_portal_refuses_it(status: int) -> None:
    stay = Stay(AnsweringPortal(status), SimpleNamespace(count=1, opened_count=1))
    assert await stay.run() == 0


@pytest.mark.parametrize("status", [200, 409, 429, 500, 503])
async def test_run_stays_when_the_portal_may_want_it(status: int) -> None:
    stay = Stay(AnsweringPortal(status), SimpleNamespace(count=1, opened_count=1))
    assert await stay.run() == stay.until


async def test_run_gives_up_a_portal_that_stays_away() -> None:
    stay = Stay(AnsweringPortal(None), SimpleNamespace(count=1, opened_count=1))
    assert GIVE_UP_S < await stay.run() <= GIVE_UP_S + STEP_S


@pytest.fixture
def config() -> Iterator[Path]:
    """Yield the configuration of a run whose portal is at a closed port."""
    with TemporaryDirectory() as folder:  # a short path, as for sockets
        file = Path(folder) / "run" / "config.json"
        file.parent.mkdir()
        fields = {
            "uuid": "11111111-2222-4333-8444-555555555555",
            "batch_job_id": "job",
            "secret": "a secret",
            "portal_url": "http://127.0.0.1:1",
            "runtime_dir_prefix": f"{folder}/node-",
        }
        file.touch(0o600)
        file.write_text(json.dumps(fields))
        (file.parent / "stderr.log").write_text("the log")
        yield file


def test_a_run_that_fails_leaves_its_log_for_the_portal(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_ssh, "HELLO_S", 0.1)
    assert job_ssh.main([str(config)]) == 1
    assert [file.name for file in config.parent.iterdir()] == ["stderr.log"]


def test_a_run_that_ends_leaves_nothing(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def end(*_: Any) -> None:
        pass

    monkeypatch.setattr(job_ssh, "_run", end)
    assert job_ssh.main([str(config)]) == 0
    assert not config.parent.exists()
