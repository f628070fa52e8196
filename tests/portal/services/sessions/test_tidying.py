"""Deletion of the folders of removed sessions."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portal.db import Database, utcnow
from portal.models import JobState, Session, User
from portal.services.sessions.tidying import GIVE_UP, KEPT, tidy_removed
from tests.portal.job_portal import FakeAgents, FakeSlurm
from tests.servers.databases import database_of

pytestmark = pytest.mark.anyio
A_DAY = timedelta(days=1)


async def test_folders_of_sessions_removed_long_ago_are_deleted_once(tmp_path: Path) -> None:
    database = Database(database_of(tmp_path))
    await database.migrate()
    agents = FakeAgents(FakeSlurm(), without_home={"bob"})
    context: Any = SimpleNamespace(db=database, launchers=agents)
    now = utcnow()
    due = now - KEPT - A_DAY
    removals: dict[str, tuple[str, JobState, datetime | None]] = {
        "due": ("alice", JobState.ENDED, due),
        "kept": ("alice", JobState.ENDED, now - KEPT + A_DAY),
        "listed": ("alice", JobState.ENDED, None),
        "live": ("alice", JobState.RUNNING, due),
        "given up": ("alice", JobState.ENDED, now - KEPT - GIVE_UP - A_DAY),
        "without home": ("bob", JobState.ENDED, due - A_DAY),
    }
    ids = {}
    async with database.session() as db:
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
    for _ in range(2):
        await tidy_removed(context, now)
        assert agents.forgotten == [ids["due"]]
    agents.without_home.clear()
    await tidy_removed(context, now)
    assert agents.forgotten == [ids["due"], ids["without home"]]
    await database.close()
