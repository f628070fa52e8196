"""An HTTP client that uses the portal as a browser does, for the demo, tests and benchmarks.

It logs in, starts sessions, and runs cells over a kernel's websocket. It depends on HTTP and
Jupyter's protocol only, not on the portal's code. Runs in any virtualenv that has aiohttp.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

import aiohttp
from yarl import URL

TIMEOUT = aiohttp.ClientTimeout(total=90)
AWAY_S = 120.0  # a restarting service is back by then, even on a busy machine
PAGE = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate"}
"""Request headers with which a browser opens a page; it may be redirected to another origin and
back."""


def origin_of(url: str) -> str:
    """Return the origin of a URL, as browsers send it."""
    return str(URL(url).origin())


class RequestRefused(Exception):
    """A response of the portal with a problem document."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(f"{status} {problem.get('type', '')}: {problem.get('detail', problem)}")
        self.status = status
        self.problem = problem

    @property
    def fields(self) -> dict[str, str]:
        """Field → message, from the problem's `errors`."""
        return {item["field"]: item["message"] for item in self.problem.get("errors", [])}


@dataclass
class CellResult:
    """A cell's output and status."""

    status: str
    text: str = ""
    error: str = ""
    display: list[dict[str, Any]] = field(default_factory=list)


class Client:
    """One browser: a cookie jar and an origin.

    `tls` is the context that trusts the server's certificate where public authorities do not.
    """

    def __init__(self, base_url: str, tls: ssl.SSLContext | None = None) -> None:
        self.base_url = base_url.rstrip("/")
        self.http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=tls or True),
            cookie_jar=aiohttp.CookieJar(unsafe=True),
            timeout=TIMEOUT,  # unsafe: cookies for IP addresses
        )

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.close()

    async def api(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """Send a request to /api/v1 and return the decoded response, None for 204. Raises
        Refused."""
        headers = {"Origin": self.base_url, **more.pop("headers", {})}
        url = f"{self.base_url}/api/v1{path}"
        async with self.http.request(method, url, json=body, headers=headers, **more) as response:
            text = await response.text()
            if response.status >= 400:
                raise RequestRefused(response.status, _parse_problem(text))
            return json.loads(text) if text else None

    async def login(self, username: str, password: str) -> Any:
        return await self.api("POST", "/login", {"username": username, "password": password})

    async def start_session(self, **body: Any) -> Any:
        return await self.api("POST", "/sessions", {"environment": "python3", **body})

    async def wait_session(self, session_id: str, *states: str, timeout_s: float = 120) -> Any:
        """Wait until the session is in one of these states, and return it.

        Raises TimeoutError with its last state.
        """
        async for session in self.watch_session(session_id, timeout_s):
            if session["state"] in states:
                return session
        raise AssertionError("watch_session ends by an error only")

    async def watch_session(self, session_id: str, timeout_s: float) -> AsyncIterator[Any]:
        """Yield the session repeatedly. Raises TimeoutError after `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        while True:
            session = await self.api("GET", f"/sessions/{session_id}")
            yield session
            if time.monotonic() > deadline:
                raise TimeoutError(f"still {session['state']} ({session['reason']})")
            await asyncio.sleep(0.05)

    async def stop_session(self, session_id: str, timeout_s: float = 120) -> Any:
        await self.api("DELETE", f"/sessions/{session_id}")
        return await self.wait_session(session_id, "ended", timeout_s=timeout_s)

    async def wait_tensorboard(self, session_id: str, timeout_s: float = 120) -> Any:
        """Request a TensorBoard and wait until it runs or has failed."""
        await self.api("PUT", f"/sessions/{session_id}/tensorboard")
        deadline = time.monotonic() + timeout_s
        while True:
            board = await self.api("GET", f"/sessions/{session_id}/tensorboard")
            if board["state"] in {"running", "failed"}:
                return board
            if time.monotonic() > deadline:
                raise TimeoutError(f"still {board['state']} ({board['reason']})")
            await asyncio.sleep(0.05)

    def address(self, url: str) -> str:
        """Return the absolute URL for a `url` of the portal's API."""
        return urljoin(f"{self.base_url}/", url)

    async def status_of(self, url: str, **more: Any) -> int:
        """Return the status of a request, without following redirects."""
        address = self.address(url)
        async with self.http.get(address, allow_redirects=False, **more) as response:
            return response.status

    async def enter(self, url: str) -> int:
        """Open a page and return its final status.

        The portal logs this browser in to the page's origin where that is necessary.
        """
        return (await self._navigate(self.address(url))).status

    async def open_tensorboard(self, board: Any) -> str:
        """Open a TensorBoard, which logs this browser in to its origin, and return its URL."""
        url: str = (await self.api("POST", f"/tensorboards/{board['id']}/open"))["url"]
        await self.enter(url)
        return url

    async def open_lab(self, session: Any) -> None:
        """Open JupyterLab as a click on “Open” does, through the hub's single sign-on."""
        url = f"{self.address(session['url'])}lab"
        path = urlsplit(session["url"]).path
        async with asyncio.timeout(AWAY_S):
            response = await self._navigate(url)
            while response.status == 503 and "Retry-After" in response.headers:
                # The page shown for a restarting service reloads itself, at its own address.
                await asyncio.sleep(float(response.headers["Retry-After"]))
                response = await self._navigate(response.url)
        if response.status != 200 or not response.url.path.startswith(path):
            raise RequestRefused(
                response.status, {"detail": f"JupyterLab's page ended at {response.url.path}"}
            )

    async def _navigate(self, url: URL | str) -> aiohttp.ClientResponse:
        """Open a page as a browser does, and read the response."""
        async with self.http.get(url, headers=PAGE) as response:
            await response.read()
            return response

    async def jupyter(self, session: Any, method: str, path: str, body: Any = None) -> Any:
        """Send a request to the session's own Jupyter server, below /user/NAME/SESSION/."""
        url = URL(f"{self.address(session['url'])}{path}")
        cookies = self.http.cookie_jar.filter_cookies(url)
        headers = {"Origin": origin_of(str(url))}
        if "_xsrf" in cookies:
            headers["X-XSRFToken"] = cookies["_xsrf"].value
        async with self.http.request(method, url, json=body, headers=headers) as response:
            text = await response.text()
            if response.status >= 400:
                raise RequestRefused(response.status, _parse_problem(text))
            return json.loads(text) if text else None

    @asynccontextmanager
    async def kernel(self, session: Any, name: str | None = None) -> AsyncIterator[Kernel]:
        """Start a kernel of the session (by default of its own environment) and connect to it."""
        started = await self.jupyter(session, "POST", "api/kernels", {"name": name} if name else {})
        async with self.connected(session, started["id"]) as kernel:
            yield kernel

    @asynccontextmanager
    async def connected(self, session: Any, kernel_id: str) -> AsyncIterator[Kernel]:
        """Connect to a running kernel over a new websocket."""
        url = URL(f"{self.address(session['url'])}api/kernels/{kernel_id}/channels")
        params = {"session_id": uuid.uuid4().hex}
        async with self.http.ws_connect(
            url, params=params, origin=origin_of(str(url)), max_msg_size=0
        ) as socket:
            yield Kernel(self, session, kernel_id, socket)


class Kernel:
    """One kernel over one websocket; its cells run one after another."""

    def __init__(
        self, client: Client, session: Any, kernel_id: str, socket: aiohttp.ClientWebSocketResponse
    ) -> None:
        self.client = client
        self.session = session
        self.id = kernel_id
        self.socket = socket

    async def run(self, code: str, timeout_s: float = 120) -> CellResult:
        """Run a cell and wait until it ends."""
        cell_id = await self.send(code)
        async with asyncio.timeout(timeout_s):
            return await self.result(cell_id)

    async def send(self, code: str) -> str:
        """Send a cell and return the id to which its messages refer."""
        header = {
            "msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "username": "",
            "session": uuid.uuid4().hex, "version": "5.4",
        }  # fmt: skip
        content = {
            "code": code, "silent": False, "store_history": True,
            "user_expressions": {}, "allow_stdin": False, "stop_on_error": True,
        }  # fmt: skip
        message = {
            "header": header, "parent_header": {}, "metadata": {}, "content": content,
            "channel": "shell", "buffers": [],
        }  # fmt: skip
        await self.socket.send_json(message)
        return header["msg_id"]

    async def result(self, cell_id: str) -> CellResult:
        """Read messages until the cell's reply and the kernel's idle status have both arrived."""
        result = CellResult("")
        idle = False
        while not (idle and result.status):
            message = await self._message()
            if message["parent_header"].get("msg_id") != cell_id:
                continue
            content = message["content"]
            match message["header"]["msg_type"]:
                case "stream":
                    result.text += content["text"]
                case "execute_result" | "display_data":
                    result.display.append(content["data"])
                case "error":
                    result.error = f"{content['ename']}: {content['evalue']}"
                case "execute_reply":
                    result.status = content["status"]
                case "status":
                    idle = content["execution_state"] == "idle"
        return result

    async def first_output(self, cell_id: str) -> str:
        """Return the first text that a cell prints."""
        while True:
            message = await self._message()
            is_of_cell = message["parent_header"].get("msg_id") == cell_id
            if is_of_cell and message["header"]["msg_type"] == "stream":
                return str(message["content"]["text"])

    async def control(self, action: str) -> None:
        """Send `interrupt` or `restart`."""
        await self.client.jupyter(self.session, "POST", f"api/kernels/{self.id}/{action}")

    async def _message(self) -> Any:
        message = await self.socket.receive()
        if message.type is not aiohttp.WSMsgType.TEXT:
            raise ConnectionError(f"the kernel's websocket ended: {message.type.name}")
        return json.loads(message.data)


def _parse_problem(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        return {"detail": text[:300]}
    return document if isinstance(document, dict) else {"detail": text[:300]}
