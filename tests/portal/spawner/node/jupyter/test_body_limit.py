"""Bodies of requests with and without a login."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import aiohttp
import pytest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler, create_signed_value

from spawner.node.jupyter.body_limit import ANONYMOUS_BODY_BYTES, AnonymousBodyLimit

pytestmark = pytest.mark.anyio

NAME = "jupyterhub-user-alice-s1"
SECRET = b"s" * 32
LARGE = b"x" * (4 * ANONYMOUS_BODY_BYTES)


class Count(RequestHandler):
    """Answers with the length of the body."""

    def post(self) -> None:
        self.finish(str(len(self.request.body)))


@dataclass
class Server:
    port: int
    http: aiohttp.ClientSession

    async def post(self, body: bytes | AsyncIterator[bytes], cookie: str | None) -> tuple[int, str]:
        """Return status and text; status 0 if the connection was closed during the request."""
        headers = {} if cookie is None else {"Cookie": f"other=1; {NAME}={cookie}"}
        url = f"http://127.0.0.1:{self.port}/"
        try:
            async with self.http.post(url, data=body, headers=headers) as answer:
                return answer.status, await answer.text()
        except aiohttp.ClientConnectionError:
            return 0, ""


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    app = Application([("/", Count)], cookie_secret=SECRET)
    served = HTTPServer(AnonymousBodyLimit(app, lambda: NAME))
    listener, port = bind_unused_port()
    served.add_socket(listener)
    async with aiohttp.ClientSession() as http:
        yield Server(port, http)
    served.stop()
    await served.close_all_connections()


def cookie(secret: bytes = SECRET, name: str = NAME) -> str:
    return create_signed_value(secret, name, "a token").decode()


async def chunks() -> AsyncIterator[bytes]:
    for start in range(0, len(LARGE), 1000):
        yield LARGE[start : start + 1000]


async def test_a_login_may_send_much(server: Server) -> None:
    assert await server.post(LARGE, cookie()) == (200, str(len(LARGE)))
    assert await server.post(chunks(), cookie()) == (200, str(len(LARGE)))


@pytest.mark.parametrize(
    "given", [None, "", "x", cookie(b"o" * 32), cookie(name="other"), cookie()[:-1]]
)
async def test_a_request_without_a_login_may_send_little(server: Server, given: str | None) -> None:
    assert await server.post(b"little", given) == (200, "6")
    for body in (LARGE, chunks()):
        assert (await server.post(body, given))[0] in {0, 400}
    assert await server.post(b"x" * ANONYMOUS_BODY_BYTES, given) == (200, str(ANONYMOUS_BODY_BYTES))
