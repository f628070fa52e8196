"""The hub's choice among several portals: the next one only if nothing was sent to the first."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from spawner.jupyterhub.internal_client import InternalClient, PortalAway
from tests.polling import PATIENCE_S
from tests.servers.slapd import free_port

pytestmark = pytest.mark.anyio


@dataclass
class Small:
    """A portal that answers with `status`, or disconnects if that is None."""

    url: str
    status: int | None = 200
    seen: list[str] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(f"{request.method} {request.path}")
        if self.status is None:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        return web.json_response({"url": self.url}, status=self.status)


@pytest.fixture
async def two() -> AsyncIterator[tuple[Small, Small]]:
    runners, made = [], []
    for _ in range(2):
        small = Small("")
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", small.handle)
        runners.append(web.AppRunner(app, shutdown_timeout=0.1))
        await runners[-1].setup()
        await web.TCPSite(runners[-1], "127.0.0.1", 0).start()
        small.url = f"http://127.0.0.1:{runners[-1].addresses[0][1]}"
        made.append(small)
    yield made[0], made[1]
    for runner in runners:
        await runner.cleanup()


async def ask(*urls: str) -> str:
    answer = await InternalClient(urls, "secret").request(
        "PUT", "/a", timeout_s=PATIENCE_S, json={}
    )
    return str(answer.body["url"])


async def test_the_first_is_asked_while_it_is_there(two: tuple[Small, Small]) -> None:
    first, second = two
    assert await ask(first.url, second.url) == first.url
    assert second.seen == []


async def test_the_next_is_asked_where_the_first_is_gone(two: tuple[Small, Small]) -> None:
    first, second = two
    gone = f"http://127.0.0.1:{free_port()}"
    assert await ask(gone, second.url, first.url) == second.url
    assert (second.seen, first.seen) == (["PUT /a"], [])


@pytest.mark.parametrize("status", [None, 500, 503])
async def test_what_the_first_may_have_read_is_not_sent_again(
    two: tuple[Small, Small], status: int | None
) -> None:
    first, second = two
    first.status = status
    with pytest.raises(PortalAway, match="did not answer" if status is None else str(status)):
        await ask(first.url, second.url)
    # aiohttp itself retries the same server after a broken connection
    assert (set(first.seen), second.seen) == ({"PUT /a"}, [])


async def test_none_is_there() -> None:
    with pytest.raises(PortalAway, match="did not answer"):
        await ask(*(f"http://127.0.0.1:{free_port()}" for _ in range(2)))
