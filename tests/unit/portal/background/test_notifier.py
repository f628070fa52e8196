"""Signals wake the listeners of their topic, are kept between waits, and leave nothing behind."""

from __future__ import annotations

import asyncio

import pytest

from portal.background.notifier import Notifier

pytestmark = pytest.mark.anyio


async def test_a_signal_between_two_waits_is_kept() -> None:
    changes = Notifier()
    async with changes.listen("alice") as listener:
        changes.notify("alice")
        assert await listener.wait(5)
        assert not await listener.wait(0.01)


async def test_only_the_topics_listened_to_wake() -> None:
    changes = Notifier()
    async with changes.listen("alice", "cluster") as listener:
        changes.notify("bob")
        assert not await listener.wait(0.01)
        waiting = asyncio.create_task(listener.wait(5))
        changes.notify("bob", "cluster")
        assert await waiting


async def test_waiting_listener_is_released_on_close() -> None:
    changes = Notifier()
    async with changes.listen("alice") as listener:
        waiting = asyncio.create_task(listener.wait(60))
        await asyncio.sleep(0)
        changes.close()
        assert not await asyncio.wait_for(waiting, 5)
        assert not await asyncio.wait_for(listener.wait(60), 5)


async def test_nothing_is_kept_of_those_who_left() -> None:
    changes = Notifier()
    async with changes.listen("alice"):
        pass
    assert not changes._waiting
