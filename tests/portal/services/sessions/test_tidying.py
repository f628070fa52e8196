"""Deletion of the folders of removed sessions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portal.db import Database, utcnow
from portal.models import JobState, Session, User
from portal.services.sessions import tidying
from portal.services.sessions.tidying import KEPT, tidy_removed
from tests.portal.job_portal import FakeLaunchers, FakeSlurm
from tests.servers.databases import database_of

pytestmark = pytest.mark.anyio
A_DAY = timedelta(days=1)


Removal = tuple[str, JobState, datetime | None]
"""The owner, the state, and the time of the removal from the list."""


@pytest.fixture
async def context(tmp_path: Path) -> AsyncIterator[Any]:
    """A context in which bob's home can't be opened."""
    database = Database(database_of(tmp_path))
    await database.migrate()
    launchers = FakeLaunchers(FakeSlurm(), without_home={"bob"})
    yield SimpleNamespace(db=database, launchers=launchers)
    await database.close()


async def add(context: Any, removals: Mapping[str, Removal]) -> dict[str, str]:
    """Add sessions; return their ids by name."""
    ids = {}
    async with context.db.session() as db:
        users = {name: User(username=name) for name in ("alice", "bob")}
        db.add_all(users.values())
        await db.flush()
        for name, (owner, state, removed_at) in removals.items():
            row = Session(
                user_id=users[owner].id, name=name, state=state, removed_at=removed_at,
                resources={}, secret_hash="x" * 64,
            )  # fmt: skip
            db.add(row)
            await db.flush()
            ids[name] = row.id
        await db.commit()
    return ids


async def test_folders_of_sessions_removed_long_ago_are_deleted_once(context: Any) -> None:
    launchers = context.launchers
    now = utcnow()
    due = now - KEPT - A_DAY
    removals: dict[str, Removal] = {
        "due": ("alice", JobState.ENDED, due),
        "kept": ("alice", JobState.ENDED, now - KEPT + A_DAY),
        "listed": ("alice", JobState.ENDED, None),
        "live": ("alice", JobState.RUNNING, due),
        "without home": ("bob", JobState.ENDED, due - A_DAY),
    }
    ids = await add(context, removals)
    for _ in range(2):
        await tidy_removed(context, now)
        assert launchers.forgotten == [ids["due"]]
    launchers.without_home.clear()
    await tidy_removed(context, now)
    assert launchers.forgotten == [ids["due"], ids["without home"]]


async def test_homes_that_fail_keep_no_other_folder_waiting(
    context: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidying, "MAX_SESSIONS_PER_ROUND", 1)
    now = utcnow()
    removals: dict[str, Removal] = {
        f"failing {n}": ("bob", JobState.ENDED, now - KEPT - 2 * A_DAY) for n in range(3)
    }
    ids = await add(context, {**removals, "due": ("alice", JobState.ENDED, now - KEPT - A_DAY)})
    for _ in range(200):  # a quarter of them take the one that is due
        await tidy_removed(context, now)
    assert context.launchers.forgotten == [ids["due"]]
