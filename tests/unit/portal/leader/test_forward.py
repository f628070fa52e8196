"""A standby's forwarding of requests, which go to the leader only."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

from portal.config.settings import Settings
from portal.leader.election import LeaderElection
from portal.leader.forward import LeaderForwardMiddleware
from tests.polling import PATIENCE_S

pytestmark = pytest.mark.anyio


class Asked(SimpleNamespace):
    """The election state of a standby; records whether the leader was requested."""

    def __init__(self) -> None:
        super().__init__(leads=asyncio.Event(), requests=set(), wanted=0)

    async def find_leader(self) -> str | None:
        self.wanted += 1
        return "127.0.0.1:1"  # nothing listens there


class Next(Asked):
    """The election state of the next leader: the leader is unreachable, then this portal leads."""

    async def find_leader(self) -> str | None:
        address = await super().find_leader()
        if self.wanted == 1:
            return address
        self.leads.set()
        return None


SETTINGS = cast("Settings", SimpleNamespace(internal_secret="s" * 64))


async def refuse_to_answer(*_: Any) -> NoReturn:
    raise AssertionError("a standby answers nothing of its own")


@pytest.mark.parametrize("target", [b"*@elsewhere.example/x", b"*", b""])
async def test_a_target_that_could_name_another_host_goes_nowhere(target: bytes) -> None:
    election = Asked()
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
    await LeaderForwardMiddleware(refuse_to_answer, cast("LeaderElection", election), SETTINGS)(
        scope, refuse_to_answer, send
    )
    assert answers[0]["status"] == 404
    assert election.wanted == 0


# --- requests without a leader, and clients that disconnect
# ----------------------------------------


class Client:
    """A client without a body, as uvicorn presents it.

    It reports once that there is no body, then nothing until the client disconnects.
    """

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self._received = False

    async def receive(self) -> Any:
        if not self._received:
            self._received = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}


def _asked(method: str) -> dict[str, Any]:
    path = {"path": "/x", "raw_path": b"/x", "query_string": b""}
    return {"type": "http", "method": method, "headers": [], "client": ("192.0.2.1", 5), **path}


async def _nowhere(_message: Any) -> None:
    """Discard the response."""


async def test_who_comes_to_lead_while_the_leader_can_not_be_reached_gets_the_whole_request() -> (
    None
):
    """Waiting for the client's end consumes the message that there is no body, which the
    response needs too."""
    election, client, got = Next(), Client(), list[Any]()

    async def app(_scope: Any, receive: Any, _send: Any) -> None:
        got.append(await receive())

    asking = LeaderForwardMiddleware(app, cast("LeaderElection", election), SETTINGS)
    async with asyncio.timeout(PATIENCE_S):
        await asking(_asked("PUT"), client.receive, _nowhere)
    assert [message["type"] for message in got] == ["http.request"]
    assert election.wanted == 2


async def test_a_stream_whose_client_goes_leaves_nothing_running() -> None:
    election = SimpleNamespace(ending=asyncio.Event())
    reads = asyncio.Event()

    class Silent:
        """An event stream without events."""

        class content:  # noqa: N801  aiohttp's name
            @staticmethod
            async def readany() -> bytes:
                reads.set()
                await asyncio.Event().wait()
                return b""

    async def read() -> None:
        passing = LeaderForwardMiddleware(
            refuse_to_answer, cast("LeaderElection", election), SETTINGS
        )
        async for _ in passing._iterate_until_shutdown(cast(Any, Silent()), stream=True):
            raise AssertionError("nothing comes")

    before = asyncio.all_tasks()
    reading = asyncio.create_task(read())
    async with asyncio.timeout(PATIENCE_S):
        await reads.wait()
    reading.cancel()
    with suppress(asyncio.CancelledError):
        await reading
    assert asyncio.all_tasks() == before
