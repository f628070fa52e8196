"""The hub's REST client against a hub with named behaviors."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from portal.hub.client import Hub, HubNotReady, HubRefused
from spawner import request_id
from tests.polling import PATIENCE_S

pytestmark = pytest.mark.anyio
TOKEN = "the-portals-token"


@dataclass
class Fake:
    """A server that answers each request as configured for its method; `never`: not at all."""

    answers: dict[str, tuple[int, Any]] = field(default_factory=dict)
    seen: list[tuple[str, str, Any]] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)
    never: bool = False
    url: str = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        assert request.headers["Authorization"] == f"token {TOKEN}"
        self.names.append(request.headers.get("X-Request-Id"))
        body = await request.json() if request.can_read_body else None
        self.seen.append((request.method, request.raw_path, body))
        if self.never:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        status, answer = self.answers[request.method]
        if isinstance(answer, str):
            return web.Response(status=status, text=answer)
        return web.json_response(answer, status=status)


@pytest.fixture
async def fake() -> AsyncIterator[Fake]:
    hub = Fake()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", hub.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    hub.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield hub
    await runner.cleanup()


@pytest.fixture
async def hub(fake: Fake) -> AsyncIterator[Hub]:
    async with Hub(fake.url, TOKEN, timeout_s=PATIENCE_S) as client:
        yield client


async def test_the_name_of_the_request_goes_along(fake: Fake, hub: Hub) -> None:
    fake.answers = {"GET": (200, {"version": "6"})}

    async def for_a_request() -> str:
        name = request_id.set_request_id()
        await hub.version()
        return name

    await asyncio.create_task(hub.version(), context=contextvars.Context())
    name = await asyncio.create_task(for_a_request())
    assert fake.names == [None, name]


async def test_names_are_quoted(fake: Fake, hub: Hub) -> None:
    fake.answers["POST"] = (202, "")
    await hub.start_server("a/../b", "s 1?")
    assert fake.seen == [("POST", "/hub/api/users/a%2F..%2Fb/servers/s%201%3F", {})]


@pytest.mark.parametrize("status", [200, 201, 409])
async def test_a_user_is_there_then(fake: Fake, hub: Hub, status: int) -> None:
    fake.answers = {"GET": (404, ""), "POST": (status, {"message": "x"})}
    await hub.ensure_user("alice")
    assert [method for method, _, _ in fake.seen] == ["GET", "POST"]


async def test_a_user_who_is_there_is_only_asked_for(fake: Fake, hub: Hub) -> None:
    fake.answers["GET"] = (200, {"name": "alice"})
    await hub.ensure_user("alice")
    fake.answers["GET"] = (403, "no")
    with pytest.raises(HubRefused):
        await hub.ensure_user("alice")
    assert [method for method, _, _ in fake.seen] == ["GET", "GET"]


@pytest.mark.parametrize(
    ("status", "message"),
    [(201, ""), (202, ""), (400, '{"message": "alice:s1 is already running"}')],
)
async def test_a_start_that_is_as_good_as_done(
    fake: Fake, hub: Hub, status: int, message: str
) -> None:
    fake.answers["POST"] = (status, message)
    await hub.start_server("alice", "s1")
    assert [method for method, _, _ in fake.seen] == ["POST"]


@pytest.mark.parametrize(
    ("status", "message"),
    [(400, "alice:s1 is pending stop"), (400, "is pending check"), (429, "x"), (500, "x")],
)
async def test_a_start_to_be_repeated(fake: Fake, hub: Hub, status: int, message: str) -> None:
    fake.answers["POST"] = (status, message)
    with pytest.raises(HubNotReady):
        await hub.start_server("alice", "s1")


@pytest.mark.parametrize("status", [400, 403, 404])
async def test_a_start_that_is_refused(fake: Fake, hub: Hub, status: int) -> None:
    fake.answers["POST"] = (status, "no")
    with pytest.raises(HubRefused) as refused:
        await hub.start_server("alice", "s1")
    assert refused.value.status == status


async def test_server_state_is_parsed(fake: Fake, hub: Hub) -> None:
    fake.answers["GET"] = (200, {"ready": True, "pending": None, "stopped": False, "url": "/u"})
    state = await hub.server_state("alice", "s1")
    assert (state.exists, state.ready, state.pending, state.url) == (True, True, None, "/u")
    fake.answers["GET"] = (200, {"ready": False, "pending": "spawn", "stopped": False})
    assert (await hub.server_state("alice", "s1")).pending == "spawn"
    fake.answers["GET"] = (404, "no")
    assert not (await hub.server_state("alice", "s1")).exists


@pytest.mark.parametrize("text", ["", "<html>", "[]", "3"])
async def test_an_answer_that_can_not_be_read(fake: Fake, hub: Hub, text: str) -> None:
    fake.answers["GET"] = (200, text)
    with pytest.raises(HubNotReady):
        await hub.server_state("alice", "s1")


@pytest.mark.parametrize(("status", "gone"), [(204, True), (404, True), (202, False)])
async def test_a_stop(fake: Fake, hub: Hub, status: int, gone: bool) -> None:
    fake.answers["DELETE"] = (status, "")
    assert await hub.stop_server("alice", "s1") is gone
    assert fake.seen[0][2] == {"remove": True}


async def test_a_stop_while_the_hub_is_still_checking(fake: Fake, hub: Hub) -> None:
    fake.answers["DELETE"] = (500, "pending check")
    with pytest.raises(HubNotReady):
        await hub.stop_server("alice", "s1")


async def test_only_logins_to_servers_are_revoked(fake: Fake, hub: Hub) -> None:
    tokens = [
        {"id": "a1", "oauth_client": "Server at /user/alice/s1/"},
        {"id": "a2", "oauth_client": "JupyterHub"},
        {"id": "a3", "oauth_client": None},
        {"id": "a4"},
    ]
    fake.answers = {"GET": (200, {"api_tokens": tokens}), "DELETE": (204, "")}
    assert await hub.revoke_tokens("alice") == 1
    assert [path for method, path, _ in fake.seen if method == "DELETE"] == [
        "/hub/api/users/alice/tokens/a1"
    ]
    fake.answers["GET"] = (404, "")
    assert await hub.revoke_tokens("nobody") == 0


async def test_the_names_of_servers(fake: Fake, hub: Hub) -> None:
    fake.answers["GET"] = (200, {"name": "alice", "servers": {"s1": {}, "s2": {}}})
    assert await hub.server_names("alice") == ["s1", "s2"]
    fake.answers["GET"] = (200, {"name": "alice"})
    assert await hub.server_names("alice") == []
    fake.answers["GET"] = (404, "")
    assert await hub.server_names("alice") == []
    fake.answers["GET"] = (503, "")
    with pytest.raises(HubNotReady):
        await hub.server_names("alice")


@pytest.mark.parametrize(("status", "gone"), [(204, True), (404, True), (500, False)])
async def test_a_user_is_forgotten(fake: Fake, hub: Hub, status: int, gone: bool) -> None:
    fake.answers["DELETE"] = (status, "")
    assert await hub.delete_user("alice") is gone


async def test_a_hub_that_never_answers(fake: Fake) -> None:
    fake.never = True
    timeout_s = 0.5
    while not fake.seen:  # the request must have arrived before the timeout
        async with Hub(fake.url, TOKEN, timeout_s=timeout_s) as hub:
            with pytest.raises(HubNotReady):
                await hub.version()
        timeout_s *= 4
        assert timeout_s < PATIENCE_S


async def test_no_hub_at_all() -> None:
    async with Hub("http://127.0.0.1:1", TOKEN) as hub:
        with pytest.raises(HubNotReady):
            await hub.version()


async def test_a_client_that_is_not_open() -> None:
    with pytest.raises(HubNotReady):
        await Hub("http://127.0.0.1:1", TOKEN).version()


async def test_a_redirect_is_not_followed(fake: Fake, hub: Hub) -> None:
    fake.answers["GET"] = (302, "")
    with pytest.raises(HubRefused):
        await hub.version()


def test_the_token_is_in_no_repr() -> None:
    assert TOKEN not in repr(Hub("http://127.0.0.1:1", TOKEN))
