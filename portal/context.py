"""The application's objects of a running portal, opened and closed by the lifespan."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import aiohttp

from portal.background.notifier import Notifier
from portal.config.settings import Settings
from portal.db import Database
from portal.hub.client import Hub
from portal.metrics import Metrics
from portal.node_ca import NodeCa
from portal.services.announcements.cache import AnnouncementCache
from portal.services.benchmarks.figures import Benchmarks
from portal.services.catalog.live_catalog import LiveCatalog
from portal.services.cluster.identity_cache import IdentityCache
from portal.services.cluster.node_table_file import NodeTable
from portal.services.cluster.snapshot import ClusterSnapshot
from portal.services.concurrency import (
    ConcurrencyLimit,
    TensorboardQueue,
    event_stream_limit,
    log_follower_limit,
)
from portal.services.jobs.forecasts import Forecasts
from portal.services.jobs.scalar_cache import ScalarCache
from portal.services.limits.accounting_cache import AccountingCache
from portal.services.mail.smtp import Smtp
from spawner.launcher.file_pool import FileAgents
from spawner.launcher.pool import LauncherPool
from spawner.slurm.client import Slurm
from spawner.slurm.watcher import Watcher


async def allow_always() -> None:
    """Do nothing: the fence of a portal that has no standby."""


@dataclass(frozen=True)
class AppContext:
    """The context of services: their first argument. There are no globals."""

    settings: Settings
    db: Database
    launchers: LauncherPool
    file_pool: FileAgents  # for the portal's own reads and writes: scalars, notebooks, starters
    slurm: Slurm
    watcher: Watcher
    catalog: LiveCatalog
    hub: Hub
    http: aiohttp.ClientSession  # for the portal's own requests to nodes and nginx
    tensorboard_http: aiohttp.ClientSession  # separate, so that hanging requests do not block those
    accounting: AccountingCache
    smtp: Smtp | None = None  # set if e-mail is configured
    node_ca: NodeCa | None = None  # set if servers on the nodes use TLS
    metrics: Metrics = field(default_factory=Metrics)
    notifier: Notifier = field(default_factory=Notifier)
    # The time of the last request of a TensorBoard's program whether to continue, by run.
    tensorboard_heartbeats: dict[str, datetime] = field(default_factory=dict)
    # The time of the last request for a session's usage, by session.
    usage_requested_at: dict[str, datetime] = field(default_factory=dict)
    forecasts: Forecasts = field(default_factory=Forecasts)
    scalars: ScalarCache = field(default_factory=ScalarCache)
    benchmarks: Benchmarks = field(default_factory=Benchmarks)
    announcements: AnnouncementCache = field(default_factory=AnnouncementCache)
    event_streams: ConcurrencyLimit = field(default_factory=event_stream_limit)
    log_followers: ConcurrencyLimit = field(default_factory=log_follower_limit)
    tensorboard_queue: TensorboardQueue = field(default_factory=TensorboardQueue)
    # API data derived from the watcher's last data, shared by all requests.
    cluster_snapshot: IdentityCache[ClusterSnapshot] = field(default_factory=IdentityCache)
    running_gpus: IdentityCache[Any] = field(default_factory=IdentityCache)
    cluster_response: IdentityCache[Any] = field(default_factory=IdentityCache)
    node_responses: dict[tuple[bool, bool], IdentityCache[Any]] = field(default_factory=dict)
    node_table: NodeTable = field(default_factory=NodeTable)
    fence: Callable[[], Awaitable[None]] = allow_always
    """Return if this portal is the leader: called directly before operations that must not run
    twice.
    """
    submitting: dict[str, asyncio.Task[Any]] = field(default_factory=dict)
    """Jobs that a request is submitting or about to write, by id: no other code may submit them."""
