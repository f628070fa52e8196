"""A small portal with named behaviors, for the hub and the node programs.

It holds sessions by (user, server) and responds on the /internal and /node routes as the real one
does.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from aiohttp import web

from tests.polling import until
from tests.servers.slapd import free_port

COOKIE = "portal_session"


@dataclass
class Session:
    """The portal's data about one session."""

    username: str
    name: str
    uuid: str
    secret: str
    port: int | None = None
    handed: dict[str, Any] | None = None
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    reports: list[dict[str, str]] = field(default_factory=list)
    deleted: bool = False
    wanted: bool = True
    puts: int = 0
    heard: dict[str, float] = field(default_factory=dict)
    answers: dict[str, tuple[int, Any]] = field(default_factory=dict)
    asked: list[tuple[str, str, Any]] = field(default_factory=list)
    put_by: str | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def base(self) -> str:
        return f"/user/{self.username}/{self.name}"


@dataclass
class Portal:
    """A portal with named behaviors.

    `hold`: a start is never answered, "before" or "after" its environment was read; `away`: every
    request of the hub gets 503.
    """

    secret: str = field(default_factory=lambda: secrets.token_hex(32))
    sessions: dict[tuple[str, str], Session] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    active: set[str] = field(default_factory=set)
    hold: Literal["before", "after"] | None = None
    away: bool = False
    whoami_headers: list[Mapping[str, str]] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)
    url: str = ""
    _runner: web.AppRunner | None = None

    async def start(self) -> None:
        app = web.Application()
        app.add_routes(
            [
                web.get("/internal/whoami", self.whoami),
                web.get("/internal/users/{name}", self.user),
                web.route("*", "/internal/servers/{user}/{server}", self.server),
                web.post("/node/sessions/{id}/hello", self.hello),
                web.get("/node/sessions/{id}/server", self.environment),
                web.post("/node/sessions/{id}/report", self.report),
                web.route("*", "/node/sessions/{id}/{act}", self.act),
            ]
        )
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        port = free_port()
        await web.TCPSite(self._runner, "127.0.0.1", port).start()
        self.url = f"http://127.0.0.1:{port}"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def log_in(self, username: str) -> str:
        cookie = secrets.token_urlsafe(32)
        self.cookies[cookie] = username
        self.active.add(username)
        return cookie

    def new_session(self) -> Session:
        """Add a session of a new user."""
        username = f"alice{next(self.numbers)}"
        session = Session(username, "s1", secrets.token_hex(16), secrets.token_hex(32))
        self.sessions[username, "s1"] = session
        self.active.add(username)
        return session

    async def whoami(self, request: web.Request) -> web.Response:
        self.whoami_headers.append(dict(request.headers))
        if self.away:
            return web.Response(status=503)
        name = self.cookies.get(request.cookies.get(COOKIE, ""))
        if name is None:
            return web.Response(status=401)
        return web.json_response({"name": name, "admin": True})

    async def user(self, request: web.Request) -> web.Response:
        self._must_be_hub(request)
        name = request.match_info["name"]
        return web.json_response({"name": name, "active": name in self.active, "admin": False})

    async def server(self, request: web.Request) -> web.Response:
        self._must_be_hub(request)
        session = self.sessions.get((request.match_info["user"], request.match_info["server"]))
        if session is None:
            return web.json_response({"detail": "There is no such session."}, status=404)
        if request.method == "DELETE":
            session.deleted = True
            return web.Response(status=202)
        if request.method == "GET":
            alive = session.handed is not None and not session.reports
            return web.json_response({"alive": alive, "url": session.url})
        session.puts += 1
        session.put_by = request.headers.get("X-Request-Id")
        if self.hold == "before":
            await asyncio.Event().wait()
        if session.handed is None:
            session.handed = await request.json()
            session.heard["put"] = time.monotonic()
            session.arrived.set()
        if self.hold == "after":
            await asyncio.Event().wait()
        await until(lambda: self._connects(session), "the node's port")
        session.heard["connects"] = time.monotonic()
        token = session.handed["env"]["JUPYTERHUB_API_TOKEN"]
        return web.json_response(
            {"session_id": session.uuid, "url": session.url, "api_token": token}
        )

    async def hello(self, request: web.Request) -> web.Response:
        session = self._by_secret(request)
        if not session.wanted:
            return web.Response(status=410)
        session.port = (await request.json())["port"]
        session.heard["hello"] = time.monotonic()
        return web.json_response({})

    async def environment(self, request: web.Request) -> web.Response:
        session = self._by_secret(request)
        session.heard.setdefault("asked", time.monotonic())
        try:
            async with asyncio.timeout(float(request.query["wait_s"])):
                await session.arrived.wait()
        except TimeoutError:
            return web.Response(status=204)
        return web.json_response(session.handed)

    async def report(self, request: web.Request) -> web.Response:
        self._by_secret(request).reports.append(await request.json())
        return web.Response(status=204)

    async def act(self, request: web.Request) -> web.Response:
        """Respond to a request of JupyterLab's page; `answers` has the response by name."""
        session, act = self._by_secret(request), request.match_info["act"]
        body = await request.json() if request.method == "POST" else None
        session.asked.append((request.method, act, body))
        status, answer = session.answers[act]
        return web.json_response(answer, status=status)

    async def _connects(self, session: Session) -> bool | None:
        if session.port is None:
            return None
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", session.port)
        except OSError:
            return None
        writer.close()
        return True

    def _must_be_hub(self, request: web.Request) -> None:
        if request.headers.get("Authorization") != f"Bearer {self.secret}":
            raise web.HTTPUnauthorized
        if self.away:
            raise web.HTTPServiceUnavailable

    def _by_secret(self, request: web.Request) -> Session:
        for session in self.sessions.values():
            if session.uuid == request.match_info["id"]:
                if request.headers.get("Authorization") != f"Bearer {session.secret}":
                    raise web.HTTPUnauthorized
                return session
        raise web.HTTPNotFound
