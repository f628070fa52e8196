"""The application: routes, middleware, and the lifetime of everything it keeps open.

`create_app` does no I/O; the lifespan opens what the routes use and closes it in reverse order.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import cache, partial

import structlog
from fastapi import APIRouter, FastAPI
from starlette.routing import BaseRoute

from portal.api import (
    admin_audit,
    admin_groups,
    admin_images,
    admin_limits,
    admin_new_user,
    admin_status,
    admin_user_access,
    admin_users,
    announcements,
    apps,
    benchmarks,
    catalog,
    cluster,
    cluster_history,
    cluster_map,
    cluster_nodes,
    cluster_queue,
    content,
    device_login,
    environments,
    estimates,
    events,
    file_contents,
    file_uploads,
    files,
    gate,
    health,
    internal,
    job_curves,
    job_lists,
    job_usage,
    jobs,
    login,
    logins,
    logs,
    my_limits,
    node,
    node_apps,
    node_job_ssh,
    node_jobs,
    packages,
    preferences,
    recent_usage,
    resources,
    scripts,
    second_factor,
    session_apps,
    session_use,
    sessions,
    setups,
    shares,
    site,
    sizing,
    ssh,
    templates,
    tensorboard_proxy,
    tensorboards,
    tokens,
    usage,
)
from portal.api.health import Checks
from portal.api.live import LiveFeeds
from portal.background.background_loop import BackgroundLoop
from portal.background.loops import RESTART_S, open_loops
from portal.config.settings import Settings
from portal.context import AppContext, open_context
from portal.errors import (
    DirectoryUnavailable,
    DirectoryUnfinished,
    PortalError,
    SlurmUnreachable,
    install_error_handlers,
)
from portal.health.registry import Component
from portal.health.status import SystemStatus, open_status
from portal.leader.election import LeaderElection
from portal.leader.forward import LeaderForwardMiddleware
from portal.metrics import CountRequests, Metrics
from portal.node_ca import open_ca
from portal.services import idempotency
from portal.services.files.uploads import CHUNK_BYTES
from portal.services.identity.memberships import load_usernames
from portal.services.slurm.job_metrics import JobMetrics
from portal.web import spa
from portal.web.methods import allowed_methods
from portal.web.middleware import (
    BodyLimit,
    ContentHostsOnly,
    OriginCheck,
    RequestIds,
    SecurityHeaders,
)
from portal.web.openapi import api_schema
from spawner.slurm.watcher import Watcher
from spawner.tasks import end_all

log = structlog.get_logger(__name__)

MAX_BODY_BYTES = 64 * 1024
MAX_LARGE_BODY_BYTES = 1024 * 1024
API = "/api/v1"
API_ROUTERS = (
    login,
    logins,
    device_login,
    tokens,
    second_factor,
    environments,
    apps,
    catalog,
    cluster,
    cluster_history,
    cluster_map,
    cluster_nodes,
    cluster_queue,
    sessions,
    session_apps,
    session_use,
    ssh,
    recent_usage,
    packages,
    setups,
    templates,
    sizing,
    job_lists,  # before `jobs`, which would match its paths as ids
    jobs,
    job_curves,
    job_usage,
    logs,
    benchmarks,
    estimates,
    resources,
    scripts,
    shares,
    tensorboards,
    events,
    files,
    file_contents,
    file_uploads,
    admin_images,
    admin_new_user,
    admin_users,
    admin_user_access,
    admin_groups,
    admin_audit,
    admin_status,
    announcements,
    admin_limits,
    my_limits,
    usage,
    preferences,
    site,
)
# Each router before a request's own one is tried: those for each request of a page come first.
CONTENT_ROUTERS = (tensorboard_proxy, gate)
ROOT_ROUTERS = (
    health,
    internal,
    node,
    node_apps,
    node_job_ssh,
    node_jobs,
    content,
    spa,  # last: it matches all remaining paths
)


def create_app(settings: Settings) -> FastAPI:
    """Create the whole web service; its connections are opened by the lifespan."""
    app = bare_app()
    app.router.lifespan_context = lifespan
    app.state.settings = settings
    app.state.metrics = Metrics()
    app.state.checks = Checks()
    app.state.leader = LeaderElection(settings, app.state.metrics)
    app.state.pages = spa.find_files(settings.pages_dir)
    # The middleware added last sees a request first.
    app.add_middleware(OriginCheck, settings=settings)
    app.add_middleware(ContentHostsOnly, settings=settings)
    app.add_middleware(
        BodyLimit,
        max_bytes=MAX_BODY_BYTES,
        max_large_bytes=MAX_LARGE_BODY_BYTES,
        max_chunk_bytes=CHUNK_BYTES,
    )
    app.add_middleware(SecurityHeaders, settings=settings)
    app.add_middleware(CountRequests, metrics=app.state.metrics, prefix=API)
    app.add_middleware(RequestIds)
    if app.state.leader.shared:
        app.add_middleware(LeaderForwardMiddleware, election=app.state.leader, settings=settings)
    return app


def bare_app() -> FastAPI:
    """Create the routes and their schema, without settings: enough for openapi.json."""
    app = FastAPI(
        title="Data Scientist Portal",
        version="1",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        routes=list(_routes()),
    )
    install_error_handlers(app, partial(_record_error, app), partial(allowed_methods, app))
    app.openapi = lambda: api_schema(app)  # type: ignore[method-assign]  # as FastAPI documents it
    return app


@cache
def _routes() -> tuple[BaseRoute, ...]:
    """Return the routes, which all applications of this process share.

    FastAPI prepares the validation of a route once for each router that includes it, which takes
    0.4 s of CPU time for all of them.
    """
    router = APIRouter(generate_unique_id_function=lambda route: route.name)
    router.include_router(ssh.root_router)  # before the gate's, which matches its path as well
    for module in CONTENT_ROUTERS:
        router.include_router(module.router)
    for module in API_ROUTERS:
        router.include_router(module.router, prefix=API)
    for module in ROOT_ROUTERS:
        router.include_router(module.router)
    return tuple(router.routes)


def _record_error(app: FastAPI, error: PortalError) -> None:
    """Count an error that a request met; for the directory, check its status immediately."""
    app.state.metrics.errors.labels(error.slug).inc()
    if isinstance(error, DirectoryUnavailable | DirectoryUnfinished):
        status: SystemStatus = app.state.status
        status.hurry(Component.DIRECTORY)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Run the portal's work while it is the leader."""
    election: LeaderElection = app.state.leader
    async with election.run(partial(run_work, app)):
        yield


@asynccontextmanager
async def run_work(app: FastAPI) -> AsyncIterator[None]:
    """Open everything and start the loops; on exit, stop and close it all in reverse order."""
    settings: Settings = app.state.settings
    metrics: Metrics = app.state.metrics
    election: LeaderElection = app.state.leader
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(
            open_context(settings, metrics, election.connection_name)
        )
        context = replace(
            opened,
            block_unless_leader=election.block_unless_leader,
            node_ca=open_ca(settings),
            is_serving=True,
        )
        context.slurm_limits.block_unless_leader = election.block_unless_leader
        await _prepare(context)
        app.state.context = context
        app.state.live_feeds = LiveFeeds(context)
        app.state.checks.by_name.update(
            database=context.db.check_answers,
            directory=context.directory.check_answers,
            slurm=lambda: _check_slurm(context.watcher),
            hub=context.hub.version,
        )
        app.state.status = open_status(context)
        stack.push_async_callback(idempotency.close, context)
        loops = open_loops(context, stack)
        loops.append(BackgroundLoop("status", app.state.status.run, RESTART_S))
        tasks = [
            asyncio.create_task(loop.run(context.notifier, metrics), name=loop.name)
            for loop in loops
        ]
        stack.push_async_callback(end_all, tasks)
        yield


async def _prepare(context: AppContext) -> None:
    """Prepare what only a running portal uses."""
    settings, metrics = context.settings, context.metrics
    patience = timedelta(minutes=settings.hub_give_up_minutes)
    context.db.after_flush(JobMetrics(metrics, patience).after_flush)
    if settings.migrates_at_start:
        await context.db.migrate()
    metrics.directory.known(*settings.ldap_urls)
    context.watcher.look_up_usernames = partial(load_usernames, context.db)
    context.catalog.load()


async def _check_slurm(watcher: Watcher) -> None:
    if watcher.stale_since is not None:
        raise SlurmUnreachable
