"""The portal as a browser uses it, for the demo, the tests and the measurements.

Log in, start sessions, run cells over a kernel's websocket. It knows HTTP and Jupyter's messages,
and nothing of how the portal is made. Runs in any virtualenv that has aiohttp.
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

import aiohttp
from yarl import URL

TIMEOUT = aiohttp.ClientTimeout(total=90)


class Refused(Exception):
    """The portal answered with a problem document."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(f"{status} {problem.get('type', '')}: {problem.get('detail', problem)}")
        self.status = status
        self.problem = problem

    @property
    def fields(self) -> dict[str, str]:
        """Field → message of `errors`."""
        return {item["field"]: item["message"] for item in self.problem.get("errors", [])}


@dataclass
class CellResult:
    """What a cell printed and how it went."""

    status: str
    text: str = ""
    error: str = ""
    display: list[dict[str, Any]] = field(default_factory=list)


class Client:
    """One browser: a cookie jar and an origin. `tls` believes in the server's certificate, where
    that isn't one that everybody believes."""

    def __init__(self, base_url: str, tls: ssl.SSLContext | None = None) -> None:
        self.base_url = base_url.rstrip("/")
        self.http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=tls or True),
            cookie_jar=aiohttp.CookieJar(unsafe=True),
            timeout=TIMEOUT,  # unsafe: an address is a host
        )

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.close()

    async def api(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """One call of /api/v1; the decoded answer, None for 204. Raises Refused."""
        headers = {"Origin": self.base_url, **more.pop("headers", {})}
        url = f"{self.base_url}/api/v1{path}"
        async with self.http.request(method, url, json=body, headers=headers, **more) as answer:
            text = await answer.text()
            if answer.status >= 400:
                raise Refused(answer.status, _object(text))
            return json.loads(text) if text else None

    async def login(self, username: str, password: str) -> Any:
        return await self.api("POST", "/login", {"username": username, "password": password})

    async def start_session(self, **body: Any) -> Any:
        return await self.api("POST", "/sessions", {"environment": "python3", **body})

    async def wait_session(self, session_id: str, *states: str, timeout_s: float = 120) -> Any:
        """The session, once it is in one of these states. Raises TimeoutError with its last one."""
        async for session in self.watch_session(session_id, timeout_s):
            if session["state"] in states:
                return session
        raise AssertionError("watch_session ends by an error only")

    async def watch_session(self, session_id: str, timeout_s: float) -> AsyncIterator[Any]:
        """The session again and again, until the time is up: then TimeoutError."""
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
        """Ask for a TensorBoard and wait until it runs."""
        await self.api("PUT", f"/sessions/{session_id}/tensorboard")
        deadline = time.monotonic() + timeout_s
        while True:
            board = await self.api("GET", f"/sessions/{session_id}/tensorboard")
            if board["state"] in {"running", "failed"}:
                return board
            if time.monotonic() > deadline:
                raise TimeoutError(f"still {board['state']} ({board['reason']})")
            await asyncio.sleep(0.05)

    async def open_lab(self, session: Any) -> None:
        """What a click on “Open” does: JupyterLab's page, through the hub's single sign-on."""
        async with self.http.get(f"{self.base_url}{session['url']}lab") as answer:
            await answer.read()
            if answer.status != 200 or not answer.url.path.startswith(session["url"]):
                raise Refused(
                    answer.status, {"detail": f"JupyterLab's page ended at {answer.url.path}"}
                )

    async def jupyter(self, session: Any, method: str, path: str, body: Any = None) -> Any:
        """One call of the session's own Jupyter server, below /user/NAME/SESSION/."""
        url = URL(f"{self.base_url}{session['url']}{path}")
        cookies = self.http.cookie_jar.filter_cookies(url)
        headers = {"X-XSRFToken": cookies["_xsrf"].value} if "_xsrf" in cookies else {}
        async with self.http.request(method, url, json=body, headers=headers) as answer:
            text = await answer.text()
            if answer.status >= 400:
                raise Refused(answer.status, _object(text))
            return json.loads(text) if text else None

    @asynccontextmanager
    async def kernel(self, session: Any, name: str | None = None) -> AsyncIterator[Kernel]:
        """A new kernel of the session's (by default its own environment's), connected."""
        made = await self.jupyter(session, "POST", "api/kernels", {"name": name} if name else {})
        async with self.connected(session, made["id"]) as kernel:
            yield kernel

    @asynccontextmanager
    async def connected(self, session: Any, kernel_id: str) -> AsyncIterator[Kernel]:
        """A running kernel, over a websocket of our own."""
        url = f"{self.base_url}{session['url']}api/kernels/{kernel_id}/channels"
        async with self.http.ws_connect(
            url, params={"session_id": uuid.uuid4().hex}, origin=self.base_url, max_msg_size=0
        ) as socket:
            yield Kernel(self, session, kernel_id, socket)


class Kernel:
    """One kernel over one websocket; cells run one after another."""

    def __init__(
        self, client: Client, session: Any, kernel_id: str, socket: aiohttp.ClientWebSocketResponse
    ) -> None:
        self.client = client
        self.session = session
        self.id = kernel_id
        self.socket = socket

    async def run(self, code: str, timeout_s: float = 120) -> CellResult:
        """Run a cell and wait for its end."""
        sent = await self.send(code)
        async with asyncio.timeout(timeout_s):
            return await self.result(sent)

    async def send(self, code: str) -> str:
        """Send a cell; the id under which its messages come back."""
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

    async def result(self, sent: str) -> CellResult:
        """Read on until the cell's reply and the kernel's idle have both come."""
        result = CellResult("")
        idle = False
        while not (idle and result.status):
            message = await self._message()
            if message["parent_header"].get("msg_id") != sent:
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

    async def first_output(self, sent: str) -> str:
        """The first text a cell prints."""
        while True:
            message = await self._message()
            ours = message["parent_header"].get("msg_id") == sent
            if ours and message["header"]["msg_type"] == "stream":
                return str(message["content"]["text"])

    async def act(self, what: str) -> None:
        """`interrupt` or `restart`."""
        await self.client.jupyter(self.session, "POST", f"api/kernels/{self.id}/{what}")

    async def _message(self) -> Any:
        message = await self.socket.receive()
        if message.type is not aiohttp.WSMsgType.TEXT:
            raise ConnectionError(f"the kernel's websocket ended: {message.type.name}")
        return json.loads(message.data)


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {"detail": text[:300]}
    return found if isinstance(found, dict) else {"detail": text[:300]}
