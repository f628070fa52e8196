"""Fixtures: a real portal on a free port, with a real slapd and no Slurm."""

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
from portal.config.settings import Settings
from portal.context import AppContext
from portal.server import server_config
from portal.services.catalog.live_catalog import CatalogSnapshot, LiveCatalog
from spawner.catalog.environment import CatalogFolders
from tests.polling import PATIENCE_S
from tests.portal.audited import check_recorded
from tests.servers import databases
from tests.servers import slapd as slapd_module
from tests.servers.postgresql import PostgreSql
from tests.servers.slapd import (
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


@pytest.fixture(scope="session", autouse=True)
def templates_are_checked_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let catalogs reuse the shipped templates that are unchanged; to check them takes 0.25 s."""
    folders = CatalogFolders(image_dirs=(tmp_path_factory.mktemp("images"),))
    catalog = LiveCatalog(folders)
    catalog.load()
    LiveCatalog.snapshot = CatalogSnapshot(templates=catalog.snapshot.templates)


MakeSettings = Callable[..., Settings]


@pytest.fixture
def make_settings(slapd: Slapd, tmp_path: Path) -> MakeSettings:
    """Return a function that makes working settings; keywords replace single ones."""
    return lambda **changes: settings_in(tmp_path, slapd, **changes)


@pytest.fixture(autouse=True)
def database_ends_with_its_test(tmp_path: Path) -> Iterator[None]:
    yield
    databases.drop_database_of(tmp_path)


@pytest.fixture(scope="session")
def postgres() -> PostgreSql:
    """Return the PostgreSQL server of this process, also when other tests use SQLite."""
    return databases.server()


@pytest.fixture
def new_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return a database without tables, of the kind that the tests are run with."""
    if databases.kind() == "sqlite":
        return databases.database_of(tmp_path)
    url: str = request.getfixturevalue("postgresql_url")
    return url


@pytest.fixture
def postgresql_url(postgres: PostgreSql) -> Iterator[str]:
    """Return a new PostgreSQL database without tables."""
    name = f"portal_{free_port()}"
    yield postgres.make(name)
    postgres.sql("postgres", f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def migrated_url(postgres: PostgreSql) -> Iterator[str]:
    """Return a new PostgreSQL database with the portal's tables and no rows."""
    name = f"portal_{free_port()}"
    yield databases.make_migrated(name)
    postgres.sql("postgres", f"DROP DATABASE {name} WITH (FORCE)")


def settings_in(folder: Path, slapd: Slapd, **changes: Any) -> Settings:
    """Return settings of a portal that keeps its state in this folder."""
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
        "same_origin_content": not {"notebook_url", "content_url"} & changes.keys(),
        "node_url": "http://127.0.0.1:8002",
        # a free port: independent of the other programs on this machine
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
        "refused_login_seconds": 0,
    }
    if databases.kind() != "sqlite":
        values["database_url"] = databases.database_of(folder)
    return Settings(**{**values, **changes})


@pytest.fixture(autouse=True)
def logging_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep a command in this process from configuring logging.

    Its stderr ends with its test, cached loggers keep their configuration, and most commands
    disable logging.
    """
    monkeypatch.setattr("portal.logging.configure", lambda _settings: None)
    yield
    structlog.reset_defaults()


class _Server(uvicorn.Server):
    """uvicorn inside the test's own loop; pytest keeps its signal handlers, and it ends at once."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        await self.on_tick(0)
        while not self.should_exit:
            await asyncio.sleep(0.005)


@dataclass(frozen=True)
class Answer:
    """A response, read completely."""

    status: int
    headers: Any
    body: Any

    @property
    def slug(self) -> str:
        return str(self.body["type"]).removeprefix("urn:portal:")


@dataclass(frozen=True)
class Browser:
    """A browser with its own cookie jar, which sends an Origin header as all browsers do.

    After each successful change it checks that the audit log has exactly one event for it.
    """

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

    async def confirm(self, password: str = PASSWORD) -> None:
        """Enter the password again, for operations that a login alone does not permit."""
        answer = await self.post("/api/v1/reauth", {"password": password})
        assert answer.status == 204, answer


@dataclass(frozen=True)
class Portal:
    """A listening portal; `browser()` creates a client."""

    app: FastAPI
    url: str
    settings: Settings

    @property
    def context(self) -> AppContext:
        found: AppContext = self.app.state.context
        return found

    @asynccontextmanager
    async def browser(self) -> AsyncIterator[Browser]:
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(self.url, cookie_jar=jar) as http:
            yield Browser(http, self.settings.public_url, self.app)


@asynccontextmanager
async def running_portal(settings: Settings) -> AsyncIterator[Portal]:
    databases.copy_empty(settings.database)
    app = create_app(settings)
    server = _Server(server_config(app, settings))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            async with asyncio.timeout(PATIENCE_S):
                # on PostgreSQL it may have to wait until the previous portal has ended
                while not (server.started and app.state.leader.leads.is_set()):
                    assert not task.done(), "the portal didn't start"
                    await asyncio.sleep(0.01)
            yield Portal(app, url, settings)
        finally:
            server.should_exit = True
            await task


RunPortal = Callable[..., AbstractAsyncContextManager[Portal]]


@pytest.fixture
def run_portal(make_settings: MakeSettings) -> RunPortal:
    """Return `run_portal`; `async with run_portal(login_attempts=2) as portal` runs one."""
    return lambda **changes: running_portal(make_settings(**changes))


@pytest.fixture
async def portal(run_portal: RunPortal) -> AsyncIterator[Portal]:
    async with run_portal() as running:
        yield running


@pytest.fixture
async def browser(portal: Portal) -> AsyncIterator[Browser]:
    async with portal.browser() as someone:
        yield someone
