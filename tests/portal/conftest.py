"""A real portal on a free port, in front of a real slapd; no Slurm here."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import structlog
import uvicorn
from fastapi import FastAPI

from portal.app import create_app
from portal.serve import server_config
from portal.settings import Settings
from tests.patience import PATIENCE_S
from tests.portal import databases
from tests.portal import slapd as slapd_module
from tests.portal.audited import check_recorded
from tests.portal.slapd import (
    PASSWORD,
    SERVICE_DN,
    SERVICE_PASSWORD,
    SUFFIX,
    Slapd,
    free_port,
)

INTERNAL_SECRET = "internal-" + "x" * 32


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def slapd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    with slapd_module.running(tmp_path_factory.mktemp("slapd")) as running:
        yield running


MakeSettings = Callable[..., Settings]


@pytest.fixture
def make_settings(slapd: Slapd, tmp_path: Path) -> MakeSettings:
    """Settings that work here; keywords replace what a test is about."""
    return lambda **changes: settings_in(tmp_path, slapd, **changes)


def settings_in(folder: Path, slapd: Slapd, **changes: Any) -> Settings:
    """Settings of a portal that keeps its things in this folder."""
    secrets = {
        "internal": INTERNAL_SECRET,
        "hub": "hub-" + "x" * 32,
        "ldap": SERVICE_PASSWORD,
    }
    for name, text in secrets.items():
        file = folder / f"{name}.secret"
        file.touch(mode=0o600)
        file.write_text(text)
    values: dict[str, Any] = {
        "public_url": "http://127.0.0.1:8000",
        "node_url": "http://127.0.0.1:8002",
        # nobody's: whatever else this machine runs
        "hub_url": f"http://127.0.0.1:{free_port()}",
        "slurm_bin_dir": folder / "no-slurm",
        "state_dir": folder,
        "hub_token_file": folder / "hub.secret",
        "internal_secret_file": folder / "internal.secret",
        "ldap_urls": [slapd.ldap_url],
        "ldap_ca_file": slapd.ca,
        "ldap_bind_dn": SERVICE_DN,
        "ldap_bind_password_file": folder / "ldap.secret",
        "ldap_user_base": f"ou=people,{SUFFIX}",
        "ldap_group_base": f"ou=groups,{SUFFIX}",
        "ldap_admin_groups": ["portal-admins"],
        "runtime_dir": folder / "runtime",
        "image_dir": folder / "images",
    }
    if databases.kind() != "sqlite":
        values["database_url"] = databases.database_of(folder)
    return Settings(**{**values, **changes})


@pytest.fixture(autouse=True)
def logging_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A command in this process leaves the process' logging alone: its stderr ends with its test,
    loggers that were configured once don't forget it, and most commands silence them."""
    monkeypatch.setattr("portal.logging.configure", lambda _settings: None)
    yield
    structlog.reset_defaults()


class _Server(uvicorn.Server):
    """uvicorn inside the test's own loop: pytest keeps its signal handlers."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@dataclass(frozen=True)
class Answer:
    """A response, read to its end."""

    status: int
    headers: Any
    body: Any

    @property
    def slug(self) -> str:
        return str(self.body["type"]).removeprefix("urn:portal:")


@dataclass(frozen=True)
class Browser:
    """A browser with a cookie jar of its own; it says where its requests come from, as all do.
    After each change that succeeds it looks whether the audit has it, and has it once."""

    http: aiohttp.ClientSession
    origin: str
    app: FastAPI | None = None

    async def send(
        self, method: str, path: str, json: Any = None, headers: dict[str, str] | None = None
    ) -> Answer:
        sent = {"Origin": self.origin, **(headers or {})} if method != "GET" else headers or {}
        sent = {name: value for name, value in sent.items() if value}
        async with self.http.request(method, path, json=json, headers=sent) as response:
            kind = response.content_type
            is_json = kind == "application/json" or kind.endswith("+json")
            body = await response.json(content_type=None) if is_json else await response.text()
            answer = Answer(response.status, response.headers.copy(), body)
        if self.app is not None and answer.status < 400:
            await check_recorded(self.app, method, path, answer.headers["X-Request-Id"])
        return answer

    async def get(self, path: str, **kwargs: Any) -> Answer:
        return await self.send("GET", path, **kwargs)

    async def post(self, path: str, json: Any = None, **kwargs: Any) -> Answer:
        return await self.send("POST", path, json=json, **kwargs)

    async def login(self, username: str, password: str = PASSWORD) -> Answer:
        body = {"username": username, "password": password}
        return await self.post("/api/v1/login", body)


@dataclass(frozen=True)
class Portal:
    """A portal that listens; `browser()` makes someone to talk to it."""

    app: FastAPI
    url: str
    settings: Settings

    @asynccontextmanager
    async def browser(self) -> AsyncIterator[Browser]:
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(self.url, cookie_jar=jar) as http:
            yield Browser(http, self.settings.public_url, self.app)


@asynccontextmanager
async def running_portal(settings: Settings) -> AsyncIterator[Portal]:
    app = create_app(settings)
    server = _Server(server_config(app, settings))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            async with asyncio.timeout(PATIENCE_S):
                # on PostgreSQL it may have to wait for the one before it to be gone
                while not (server.started and app.state.turns.leads.is_set()):
                    assert not task.done(), "the portal didn't start"
                    await asyncio.sleep(0.01)
            yield Portal(app, url, settings)
        finally:
            server.should_exit = True
            await task


RunPortal = Callable[..., AbstractAsyncContextManager[Portal]]


@pytest.fixture
def run_portal(make_settings: MakeSettings) -> RunPortal:
    """`async with run_portal(login_attempts=2) as portal`: a portal with settings of its own."""
    return lambda **changes: running_portal(make_settings(**changes))


@pytest.fixture
async def portal(run_portal: RunPortal) -> AsyncIterator[Portal]:
    async with run_portal() as running:
        yield running


@pytest.fixture
async def browser(portal: Portal) -> AsyncIterator[Browser]:
    async with portal.browser() as someone:
        yield someone
