"""The objects that services share, for the running portal and the command line alike.

`open_context` connects to nothing, starts no program and reads no catalog, so that each command
can open it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import aiohttp

from portal.background.notifier import Notifier
from portal.config.settings import Settings
from portal.db import Database
from portal.directory import Directory, open_directory
from portal.hub.client import Hub
from portal.metrics import Metrics
from portal.node_ca import NodeCa
from portal.services.announcements.cache import AnnouncementCache
from portal.services.auth.login_checks import LoginChecks
from portal.services.benchmarks.figures import Benchmarks
from portal.services.catalog.live_catalog import LiveCatalog, to_catalog_folders
from portal.services.cluster.identity_cache import IdentityCache
from portal.services.cluster.node_map import MapVersion, MapVersions
from portal.services.cluster.node_rows import NodeRow
from portal.services.cluster.node_table_file import NodeTable
from portal.services.cluster.snapshot import ClusterSnapshot
from portal.services.concurrency import (
    ConcurrencyLimit,
    TensorboardQueue,
    event_stream_limit,
    log_follower_limit,
)
from portal.services.files.roots import FileAccess
from portal.services.identity.memberships import DirectoryUsers
from portal.services.jobs.forecasts import Forecasts
from portal.services.jobs.scalar_cache import ScalarCache
from portal.services.jobs.ssh_programs import JobSshPrograms
from portal.services.limits.accounting_cache import AccountingCache
from portal.services.limits.limited_users import LimitedUsers
from portal.services.limits.slurm_limits import SlurmLimits
from portal.services.mail.smtp import Smtp
from portal.services.rate_limit import RateLimit, app_change_limit
from portal.services.users.user_imports import UserImports
from portal.streaming.proxy import open_client
from spawner.launcher.file_pool import FileProcessPool, Streams
from spawner.launcher.pool import LauncherPool
from spawner.slurm.accounting import Accounting
from spawner.slurm.client import Slurm
from spawner.slurm.watcher import Watcher


async def pass_always() -> None:
    """Return: a portal without a standby is always the leader."""


@dataclass(frozen=True)
class AppContext:
    """The context of services: their first argument. It holds what requests and loops share."""

    settings: Settings
    db: Database
    directory: Directory
    directory_users: DirectoryUsers
    launchers: LauncherPool
    # for the portal's own reads and writes: scalars, notebooks, starters
    file_pool: FileProcessPool
    files: FileAccess
    slurm: Slurm
    watcher: Watcher
    catalog: LiveCatalog
    hub: Hub
    http: aiohttp.ClientSession  # for the portal's own requests to nodes and nginx
    tensorboard_http: aiohttp.ClientSession  # separate, so that hanging requests do not block those
    accounting: AccountingCache
    slurm_limits: SlurmLimits
    metrics: Metrics = field(default_factory=Metrics)
    notifier: Notifier = field(default_factory=Notifier)
    smtp: Smtp | None = None  # set if e-mail is configured
    node_ca: NodeCa | None = None  # set in a running portal if servers on the nodes use TLS
    user_imports: UserImports = field(default_factory=UserImports)
    admin_changes: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by changes that may remove an administrator: services/users/role_changes.py."""
    # The time of the last request of a TensorBoard's program whether to continue, by run.
    tensorboard_heartbeats: dict[str, datetime] = field(default_factory=dict)
    # The time of the last request for a session's usage, by session.
    usage_requested_at: dict[str, datetime] = field(default_factory=dict)
    job_ssh: JobSshPrograms = field(default_factory=JobSshPrograms)
    forecasts: Forecasts = field(default_factory=Forecasts)
    scalars: ScalarCache = field(default_factory=ScalarCache)
    benchmarks: Benchmarks = field(default_factory=Benchmarks)
    announcements: AnnouncementCache = field(default_factory=AnnouncementCache)
    login_checks: LoginChecks = field(default_factory=LoginChecks)
    event_streams: ConcurrencyLimit = field(default_factory=event_stream_limit)
    log_followers: ConcurrencyLimit = field(default_factory=log_follower_limit)
    app_changes: RateLimit = field(default_factory=app_change_limit)
    tensorboard_queue: TensorboardQueue = field(default_factory=TensorboardQueue)
    # API data derived from the watcher's last data, shared by all requests.
    cluster_snapshot: IdentityCache[ClusterSnapshot] = field(default_factory=IdentityCache)
    running_gpus: IdentityCache[Any] = field(default_factory=IdentityCache)
    cluster_response: IdentityCache[Any] = field(default_factory=IdentityCache)
    node_rows: IdentityCache[tuple[NodeRow, ...]] = field(default_factory=IdentityCache)
    map_version: IdentityCache[MapVersion] = field(default_factory=IdentityCache)
    map_versions: MapVersions = field(default_factory=MapVersions)
    node_table: NodeTable = field(default_factory=NodeTable)
    block_unless_leader: Callable[[], Awaitable[None]] = pass_always
    """Return if this portal is the leader; never return if it no longer is (its tasks are being
    cancelled). Called directly before operations that must not run twice.
    """
    is_serving: bool = False
    """True in a running portal, with its loops; False at the command line."""
    submitting: dict[str, asyncio.Task[Any]] = field(default_factory=dict)
    """Jobs that a request is submitting or about to write, by id: no other code may submit them."""

    @property
    def launcher_pools(self) -> list[LauncherPool]:
        """All pools: a user's launchers may be in each of them."""
        return [self.launchers, self.file_pool, *self.files.pools.values()]


@asynccontextmanager
async def open_context(
    settings: Settings, metrics: Metrics | None = None, connection_name: str | None = None
) -> AsyncIterator[AppContext]:
    """Open the context. `connection_name` is PostgreSQL's name for the database connections."""
    metrics, notifier = metrics or Metrics(), Notifier()
    slurm_commands = (settings.slurm_bin_dir, settings.slurm_conf, settings.slurm_timeout_s)
    slurm = Slurm(*slurm_commands, metrics.slurm)
    # an sbatch may take until its timeout
    watcher = Watcher(slurm, new_job=timedelta(seconds=settings.slurm_timeout_s + 2))
    accounting = AccountingCache(Accounting(*slurm_commands, metrics.slurm), watcher)
    async with AsyncExitStack() as stack:
        db = Database(settings.database, connection_name)
        stack.push_async_callback(db.close)
        directory = open_directory(settings, metrics.directory)
        stack.callback(directory.close)
        directory_users = DirectoryUsers(db, directory, settings)
        stack.push_async_callback(directory_users.close)
        limited_users = LimitedUsers(settings, db, directory, directory_users)
        launchers = LauncherPool(
            settings.launcher_path,
            settings.sudo_path,
            slurm_timeout_s=settings.slurm_timeout_s,
            measure=metrics.launcher,
        )
        stack.push_async_callback(launchers.close)
        file_pool = _create_file_pool(settings, metrics, Streams())
        stack.push_async_callback(file_pool.close)
        files = _create_files(settings, metrics)
        stack.push_async_callback(files.close)
        context = AppContext(
            settings=settings,
            db=db,
            directory=directory,
            directory_users=directory_users,
            launchers=launchers,
            file_pool=file_pool,
            files=files,
            slurm=slurm,
            watcher=watcher,
            catalog=LiveCatalog(to_catalog_folders(settings)),
            hub=await stack.enter_async_context(
                Hub(settings.hub_url, settings.hub_token, measure=metrics.hub)
            ),
            http=await stack.enter_async_context(open_client()),
            tensorboard_http=await stack.enter_async_context(open_client()),
            accounting=accounting,
            slurm_limits=SlurmLimits(db, notifier, accounting, watcher, limited_users),
            metrics=metrics,
            notifier=notifier,
            smtp=Smtp(settings) if settings.smtp_host else None,
            node_table=NodeTable(settings.node_table_file),
        )
        stack.callback(context.scalars.close)
        stack.push_async_callback(context.login_checks.close)
        stack.push_async_callback(context.user_imports.close)
        yield context


def _create_files(settings: Settings, metrics: Metrics) -> FileAccess:
    streams = Streams()
    pools = {
        root.name: _create_file_pool(settings, metrics, streams) for root in settings.file_roots
    }
    return FileAccess(settings, pools)


def _create_file_pool(settings: Settings, metrics: Metrics, streams: Streams) -> FileProcessPool:
    return FileProcessPool(
        settings.launcher_path,
        settings.sudo_path,
        slurm_timeout_s=settings.slurm_timeout_s,
        measure=metrics.launcher,
        streams=streams,
    )
