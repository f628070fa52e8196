"""A session's server at the hub, and the server of the next session with the same name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portal.db import Database
from portal.hub.client import HubNotReady
from portal.models import JobState, Session, User, new_id
from portal.services.sessions import hub_sync
from tests.servers.databases import database_of

pytestmark = pytest.mark.anyio

ENDED: dict[str, Any] = {"state": JobState.ENDED, "server_env": {"A": "b"}}
CALLED: dict[str, Any] = {"state": JobState.STARTING, "target_port": 40000}


@dataclass
class Hub:
    """A hub that records its requests in order. `stopping`: number of times it reports still
    stopping."""

    requests: list[str] = field(default_factory=list)
    stopping: int = 0
    slow: asyncio.Event | None = None

    async def ensure_user(self, username: str) -> None:
        self.requests.append(f"user {username}")

    async def start_server(self, username: str, name: str) -> None:
        self.requests.append(f"start {name}")

    async def stop_server(self, username: str, name: str, *, remove: bool) -> bool:
        self.requests.append(f"stop {name}")
        if self.slow is not None:
            await self.slow.wait()
        self.stopping -= 1
        return self.stopping < 0


@dataclass
class HubSyncHarness:
    db: Database
    user: User
    hub: Hub = field(default_factory=Hub)
    made: int = 0

    @property
    def context(self) -> Any:
        return SimpleNamespace(db=self.db, hub=self.hub)

    async def add(self, name: str = "s1", **columns: Any) -> Session:
        """Add a session, each created after the previous one."""
        self.made += 1
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=self.made)
        row = Session(
            id=new_id(), user_id=self.user.id, name=name, resources={}, created_at=at, **columns
        )
        async with self.db.session() as db:
            db.add(row)
            await db.commit()
        return await self.row(row)

    async def row(self, session: Session) -> Session:
        async with self.db.session() as db:
            return await db.get_one(Session, session.id)


@pytest.fixture
async def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[HubSyncHarness]:
    monkeypatch.setattr(hub_sync, "POLL_S", 0.0)
    db = Database(database_of(tmp_path))
    await db.migrate()
    user = User(username="alice")
    async with db.session() as session:
        session.add(user)
        await session.commit()
    yield HubSyncHarness(db, user)
    await db.close()


async def test_what_an_earlier_one_left_is_closed_first(harness: HubSyncHarness) -> None:
    earlier = await harness.add(**ENDED)
    await harness.add("another", **ENDED)
    now = await harness.add(**CALLED)
    harness.hub.stopping = 2
    await hub_sync.adopt(harness.context, now)
    assert harness.hub.requests == ["stop s1"] * 3 + ["user alice", "start s1"]
    assert (await harness.row(earlier)).server_env is None


async def test_one_that_does_not_stop_is_waited_for_another_time(harness: HubSyncHarness) -> None:
    await harness.add(**ENDED)
    now = await harness.add(**CALLED)
    harness.hub.stopping = 1000
    with pytest.raises(HubNotReady):
        await hub_sync.adopt(harness.context, now)
    assert "start s1" not in harness.hub.requests


@pytest.mark.parametrize(
    ("next_one", "requests", "forgotten"),
    [
        (None, ["stop s1"], True),
        ({"state": JobState.QUEUED}, ["stop s1"], True),
        (CALLED, [], False),
        ({**CALLED, "server_env": {"C": "d"}}, [], True),
    ],
    ids=["alone", "the next waits", "the next starts", "the next has the server"],
)
async def test_an_end_never_closes_the_next_one_s_server(
    harness: HubSyncHarness, next_one: dict[str, Any] | None, requests: list[str], forgotten: bool
) -> None:
    ended = await harness.add(**ENDED)
    if next_one is not None:
        await harness.add(**next_one)
    await hub_sync.close(harness.context, ended)
    assert harness.hub.requests == requests
    assert ((await harness.row(ended)).server_env is None) is forgotten


async def test_one_thing_after_the_other(harness: HubSyncHarness) -> None:
    """If a server is still being stopped when the next session calls home, the start waits for
    it."""
    ended = await harness.add(**ENDED)
    harness.hub.slow = asyncio.Event()
    closing = asyncio.create_task(hub_sync.close(harness.context, ended))
    while not harness.hub.requests:
        await asyncio.sleep(0)
    now = await harness.add(**CALLED)
    adopting = asyncio.create_task(hub_sync.adopt(harness.context, now))
    await harness.row(now)
    assert harness.hub.requests == ["stop s1"]
    harness.hub.slow.set()
    await asyncio.gather(closing, adopting)
    assert harness.hub.requests == ["stop s1", "user alice", "start s1"]
