"""The application: its routes, its middleware, and the life of everything it keeps open.

`create_app` does no I/O; the lifespan opens what the routes use and closes it in reverse order.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import aiohttp
import structlog
from fastapi import FastAPI

from portal.api import (
    admin_audit,
    admin_groups,
    admin_images,
    admin_leaving,
    admin_limits,
    admin_people,
    admin_status,
    announcements,
    benchmarks,
    catalog,
    cluster,
    cluster_nodes,
    cluster_queue,
    content,
    environments,
    estimates,
    events,
    file_contents,
    file_uploads,
    files,
    gate,
    health,
    internal,
    job_lists,
    jobs,
    login,
    my_limits,
    node,
    packages,
    preferences,
    second_factor,
    session_use,
    sessions,
    setups,
    shares,
    sizing,
    spa,
    templates,
    tensorboard_proxy,
    tensorboards,
    tokens,
)
from portal.api.health import Checks
from portal.api.middleware import (
    BodyLimit,
    ContentHostsOnly,
    OriginCheck,
    RequestIds,
    SecurityHeaders,
)
from portal.api.passing_on import PassingOn
from portal.api.schema import api_schema
from portal.db import Database
from portal.directory import open_directory
from portal.errors import (
    DirectoryUnavailable,
    DirectoryUnfinished,
    PortalError,
    SlurmUnreachable,
    install_error_handlers,
)
from portal.hub import Hub
from portal.metrics import CountRequests, Metrics
from portal.node_ca import open_ca
from portal.parts import Parts
from portal.reconcile import Reconcile
from portal.services import announcements as announcing
from portal.services import once
from portal.services.audit.audit_keeping import AuditKeeping
from portal.services.catalog.importing import Importer
from portal.services.catalog.shelf import Shelf, places
from portal.services.changes import EVERYONE, RECONCILE
from portal.services.cluster.node_table_file import NodeTable
from portal.services.counting import Counting
from portal.services.files.roots import Files
from portal.services.files.uploads import CHUNK_BYTES
from portal.services.jobs.benchmark_reading import BenchmarkReading
from portal.services.limits import use
from portal.services.limits.books import Books
from portal.services.limits.limited_people import LimitedPeople
from portal.services.limits.slurm_limits import SlurmLimits
from portal.services.login.accounts import Accounts
from portal.services.mail.sending import Post
from portal.services.people.closing import Closing
from portal.services.people.home_runs import HomeRuns
from portal.services.people.people import People, names_of_numbers
from portal.services.people.people_import import Imports
from portal.services.people.presence import Presence
from portal.services.probes import open_status
from portal.services.sessions import uses
from portal.services.status import Part, Status
from portal.settings import Settings
from portal.smtp import Smtp
from portal.turns import Turns
from spawner.accounting import Accounting
from spawner.agent import Agents
from spawner.file_agents import FileAgents
from spawner.slurm import Slurm
from spawner.watcher import Watcher

log = structlog.get_logger(__name__)

MAX_BODY_BYTES = 1024 * 1024
LOOP_PAUSE_S = 1.0
API = "/api/v1"
API_ROUTERS = (
    login,
    tokens,
    second_factor,
    environments,
    catalog,
    cluster,
    cluster_nodes,
    cluster_queue,
    sessions,
    session_use,
    packages,
    setups,
    templates,
    sizing,
    job_lists,  # before `jobs`, which would take its words for ids
    jobs,
    benchmarks,
    estimates,
    shares,
    tensorboards,
    events,
    files,
    file_contents,
    file_uploads,
    admin_images,
    admin_people,
    admin_leaving,
    admin_groups,
    admin_audit,
    admin_status,
    announcements,
    admin_limits,
    my_limits,
    preferences,
)
ROOT_ROUTERS = (
    health,
    internal,
    node,
    gate,
    tensorboard_proxy,
    content,
    spa,  # last: it answers every path that is left
)


def create_app(settings: Settings) -> FastAPI:
    """The whole web service, closed; it opens with its lifespan."""
    app = bare_app()
    app.router.lifespan_context = lifespan
    app.state.settings = settings
    app.state.metrics = Metrics()
    app.state.checks = Checks()
    app.state.turns = Turns(settings, app.state.metrics)
    app.state.pages = spa.find_files(settings.pages_dir)
    # The last one added sees a request first.
    app.add_middleware(OriginCheck, settings=settings)
    app.add_middleware(ContentHostsOnly, settings=settings)
    app.add_middleware(BodyLimit, max_bytes=MAX_BODY_BYTES, max_chunk_bytes=CHUNK_BYTES)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(CountRequests, metrics=app.state.metrics, prefix=API)
    app.add_middleware(RequestIds)
    if app.state.turns.shared:
        app.add_middleware(PassingOn, turns=app.state.turns, settings=settings)
    return app


def bare_app() -> FastAPI:
    """The routes and their schema, without settings: enough for openapi.json."""
    app = FastAPI(
        title="Data Scientist Portal",
        version="1",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    install_error_handlers(app, lambda error: _failed(app, error))
    for module in API_ROUTERS:
        app.include_router(module.router, prefix=API)
    for module in ROOT_ROUTERS:
        app.include_router(module.router)
    app.openapi = lambda: api_schema(app)  # type: ignore[method-assign]  # FastAPI's own way
    return app


def _failed(app: FastAPI, error: PortalError) -> None:
    """A request has found out that something fails. It is counted, and where it is the directory,
    its status needn't wait for its turn."""
    app.state.metrics.errors.labels(error.slug).inc()
    if isinstance(error, DirectoryUnavailable | DirectoryUnfinished):
        status: Status = app.state.status
        status.hurry(Part.DIRECTORY)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Be at work whenever it is this portal's turn."""
    turns: Turns = app.state.turns
    async with turns.taken(partial(at_work, app)):
        yield


@asynccontextmanager
async def at_work(app: FastAPI) -> AsyncIterator[None]:
    """Open everything, start the loops; end and close it all in reverse."""
    settings: Settings = app.state.settings
    async with AsyncExitStack() as stack:
        parts = await _open(app, stack)
        stack.push_async_callback(once.close, parts)
        directory = open_directory(settings, app.state.metrics.directory)
        app.state.metrics.directory.known(*settings.ldap_urls)
        stack.callback(directory.close)
        app.state.parts = parts
        app.state.db = parts.db
        app.state.http = parts.http
        app.state.directory = directory
        app.state.accounts = Accounts(settings, parts.db, directory, parts.changes)
        app.state.files = _open_files(settings, app.state.metrics, stack)
        app.state.people = People(parts.db, directory, settings)
        stack.push_async_callback(app.state.people.close)
        parts.watcher.names = partial(names_of_numbers, parts.db)
        app.state.people_imports = Imports(app.state.accounts)
        stack.push_async_callback(app.state.people_imports.close)
        app.state.checks.by_name.update(
            database=parts.db.answers,
            directory=directory.answers,
            slurm=lambda: _slurm_answers(parts.watcher),
            hub=parts.hub.version,
        )
        stack.callback(parts.so_far.close)
        app.state.status = open_status(parts, directory)
        people = LimitedPeople(settings, parts.db, directory, app.state.people)
        app.state.slurm_limits = SlurmLimits(parts, people)
        await _start_loops(app, stack)
        yield


async def _open(app: FastAPI, stack: AsyncExitStack) -> Parts:
    settings: Settings = app.state.settings
    metrics: Metrics = app.state.metrics
    turns: Turns = app.state.turns
    db = Database(settings.database, turns.name)
    stack.push_async_callback(db.close)
    patience = timedelta(minutes=settings.hub_give_up_minutes)
    db.after_flush(Counting(metrics, patience).after_flush)
    if settings.migrates_at_start:
        await db.migrate()
    return replace(await open_parts(settings, db, stack, metrics), fence=turns.fence)


async def open_parts(
    settings: Settings, db: Database, stack: AsyncExitStack, metrics: Metrics | None = None
) -> Parts:
    """The live objects over a database, with no loop running; the stack closes them."""
    metrics = metrics or Metrics()
    catalog = Shelf(places(settings))
    hub = Hub(settings.hub_url, settings.hub_token, measure=metrics.hub)
    await stack.enter_async_context(hub)
    http = await stack.enter_async_context(
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False)
    )
    agents = Agents(
        settings.launcher_path,
        settings.sudo_path,
        slurm_timeout_s=settings.slurm_timeout_s,
        measure=metrics.launcher,
    )
    stack.push_async_callback(agents.close)
    commands = (settings.slurm_bin_dir, settings.slurm_conf, settings.slurm_timeout_s)
    slurm = Slurm(*commands, metrics.slurm)
    watcher = Watcher(slurm)
    accounting = Accounting(*commands, metrics.slurm)
    return Parts(
        settings=settings,
        db=db,
        agents=agents,
        slurm=slurm,
        watcher=watcher,
        catalog=catalog,
        hub=hub,
        http=http,
        books=Books(accounting, watcher),
        node_table=NodeTable(settings.node_table_file),
        smtp=Smtp(settings) if settings.smtp_host else None,
        node_ca=open_ca(settings),
        metrics=metrics,
    )


def _open_files(settings: Settings, metrics: Metrics, stack: AsyncExitStack) -> Files:
    pools = {
        root.name: FileAgents(
            settings.launcher_path,
            settings.sudo_path,
            slurm_timeout_s=settings.slurm_timeout_s,
            measure=metrics.launcher,
        )
        for root in settings.file_roots
    }
    files = Files(settings, pools)
    stack.push_async_callback(files.close)
    stack.push_async_callback(_end, asyncio.create_task(files.run(), name="file launchers"))
    return files


async def _start_loops(app: FastAPI, stack: AsyncExitStack) -> None:
    parts: Parts = app.state.parts
    accounts: Accounts = app.state.accounts
    reconcile = Reconcile(parts)
    stack.push_async_callback(reconcile.close)
    launchers = (parts.agents, *app.state.files.pools.values())
    closing = Closing(parts, accounts, launchers)
    stack.push_async_callback(closing.close)
    loops: dict[str, Callable[[], Awaitable[None]]] = {
        "watcher": parts.watcher.run,
        "catalog": parts.catalog.run,
        "agents": parts.agents.run,
        "news": lambda: _pass_on(parts),
        "reconcile": reconcile.run,
        "closing": closing.run,
        "presence": Presence(parts, accounts).run,
        "homes": HomeRuns(parts).run,
        "benchmarks": BenchmarkReading(parts).run,
        "announcements": lambda: announcing.keep_fresh(parts),
        "status": app.state.status.run,
        "limits": app.state.slurm_limits.run,
        "use": lambda: use.keep_counting(parts),
        "session uses": lambda: uses.keep_tidy(parts),
        "audit": AuditKeeping(parts.db, parts.settings).run,
    }
    if parts.node_table.file is not None:
        loops["node table"] = parts.node_table.run
    if parts.settings.image_import_dir is not None:
        loops["imports"] = Importer(parts, parts.settings.image_import_dir).run
    if parts.smtp is not None:
        loops["mail"] = Post(parts, parts.smtp).run
    for name, run in loops.items():
        looping = _keep_running(name, run, parts.metrics)
        stack.push_async_callback(_end, asyncio.create_task(looping, name=name))


async def _pass_on(parts: Parts) -> None:
    """What the watcher sees new concerns the reconcile loop and everyone who looks on."""
    async for _ in parts.watcher.subscribe():
        parts.changes.notify(RECONCILE, EVERYONE)


async def _keep_running(name: str, run: Callable[[], Awaitable[None]], metrics: Metrics) -> None:
    """Run a loop for as long as the portal does: one that ends by a fault is logged and begun
    again, for without it nothing would be as it should. `gather` hands its error over as a value.
    """
    failures = metrics.background_failures.labels(name)
    while True:
        (result,) = await asyncio.gather(run(), return_exceptions=True)
        fault = result if isinstance(result, BaseException) else None
        log.error("a loop ended and begins again", loop=name, exc_info=fault)
        failures.inc()
        await asyncio.sleep(LOOP_PAUSE_S)


async def _end(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _slurm_answers(watcher: Watcher) -> None:
    if watcher.stale_since is not None:
        raise SlurmUnreachable
