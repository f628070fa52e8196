"""Checks of logins by long streams, of which some share a query."""

import asyncio
from collections.abc import Collection
from typing import Any

import pytest
from sqlalchemy import event, select

from portal.config.settings import Settings
from portal.db import Database
from portal.models import WebSession
from portal.services.auth import web_sessions
from portal.services.auth.login_checks import LoginChecks
from tests.portal.conftest import Portal

pytestmark = pytest.mark.anyio
USERS = ("alice", "bob", "carol")


async def test_checks_at_the_same_time_share_queries(portal: Portal) -> None:
    context, checks = portal.context, LoginChecks()
    for name in USERS:
        async with portal.browser() as browser:
            assert (await browser.login(name)).status == 200
    async with context.db.session() as db:
        ids = [*await db.scalars(select(WebSession.id))]
    asked, queries = [*ids, "unknown"] * 20, 0

    def count(*_: Any) -> None:
        nonlocal queries
        queries += 1

    event.listen(context.db.engine.sync_engine, "before_cursor_execute", count)
    answers = await asyncio.gather(
        *(checks.is_open(context.db, context.settings, one) for one in asked)
    )
    assert answers == [one != "unknown" for one in asked]
    assert len(ids) == len(USERS)
    assert queries < len(asked) / 4, "the portal's other queries are counted, too"


async def test_check_after_a_logout_is_not_answered_by_an_earlier_query(
    portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, checks = portal.context, LoginChecks()
    was_read, may_answer = asyncio.Event(), asyncio.Event()
    find_open = web_sessions.find_open

    async def find_slowly(database: Database, settings: Settings, ids: Collection[str]) -> set[str]:
        found = await find_open(database, settings, ids)
        was_read.set()
        await may_answer.wait()
        return found

    async with portal.browser() as browser:
        await browser.login("alice")
        async with context.db.session() as db:
            login_id = str(await db.scalar(select(WebSession.id)))
        monkeypatch.setattr(web_sessions, "find_open", find_slowly)
        earlier = asyncio.create_task(checks.is_open(context.db, context.settings, login_id))
        await was_read.wait()
        monkeypatch.undo()
        assert (await browser.post("/api/v1/logout")).status == 204
        later = asyncio.create_task(checks.is_open(context.db, context.settings, login_id))
        await asyncio.sleep(0)
        may_answer.set()
        assert await earlier
        assert not await later


async def test_failed_query_fails_each_check_and_no_later_one(portal: Portal) -> None:
    context, checks = portal.context, LoginChecks()
    broken = Database("sqlite+aiosqlite:////no/such/folder/portal.db")
    results = await asyncio.gather(
        *(checks.is_open(broken, context.settings, one) for one in USERS), return_exceptions=True
    )
    assert all(isinstance(result, Exception) for result in results)
    assert not await checks.is_open(context.db, context.settings, "unknown")


async def test_close_cancels_checks_that_wait(portal: Portal) -> None:
    checks = LoginChecks()
    context = portal.context
    waiting = asyncio.create_task(checks.is_open(context.db, context.settings, "unknown"))
    await asyncio.sleep(0)
    await checks.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting
