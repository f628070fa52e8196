"""What a standby sends on, and where: to the leader and nobody else."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from portal.api.passing_on import PassingOn
from portal.settings import Settings
from portal.turns import Turns

pytestmark = pytest.mark.anyio


class Asked(SimpleNamespace):
    """Turns of a portal that stands by; tells whether anybody was to be asked."""

    def __init__(self) -> None:
        super().__init__(leads=asyncio.Event(), requests=set(), wanted=0)

    async def leader(self) -> str:
        self.wanted += 1
        return "127.0.0.1:1"


async def refuse_to_answer(*_: Any) -> None:
    raise AssertionError("a standby answers nothing of its own")


@pytest.mark.parametrize("target", [b"*@elsewhere.example/x", b"*", b""])
async def test_a_target_that_could_name_another_host_goes_nowhere(target: bytes) -> None:
    settings = cast("Settings", SimpleNamespace(internal_secret="s" * 64))
    turns = Asked()
    answers: list[Any] = []

    async def send(message: Any) -> None:
        answers.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": target.decode(),
        "raw_path": target,
        "query_string": b"",
        "headers": [],
        "client": ("192.0.2.1", 5),
    }
    await PassingOn(refuse_to_answer, cast("Turns", turns), settings)(scope, refuse_to_answer, send)
    assert answers[0]["status"] == 404
    assert turns.wanted == 0
