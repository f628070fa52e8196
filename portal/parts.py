"""The live objects of one running portal, opened and closed by the application's lifespan."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import aiohttp

from portal.db import Database
from portal.hub import Hub
from portal.metrics import Metrics
from portal.node_ca import NodeCa
from portal.services.board import Board
from portal.services.catalog.shelf import Shelf
from portal.services.changes import Changes
from portal.services.cluster.node_table_file import NodeTable
from portal.services.cluster.overview import Look
from portal.services.cluster.remembered import Remembered
from portal.services.jobs.benchmark_figures import Benchmarks
from portal.services.jobs.forecasts import Forecasts
from portal.services.jobs.sofar import SoFar
from portal.services.limits.books import Books
from portal.settings import Settings
from portal.smtp import Smtp
from spawner.agent import Agents
from spawner.slurm import Slurm
from spawner.watcher import Watcher


async def nobody_else() -> None:
    """The fence of a portal that is alone."""


@dataclass(frozen=True)
class Parts:
    """What services work with. Services take this first; nothing reaches for a global."""

    settings: Settings
    db: Database
    agents: Agents
    slurm: Slurm
    watcher: Watcher
    catalog: Shelf
    hub: Hub
    http: aiohttp.ClientSession
    books: Books
    smtp: Smtp | None = None  # where e-mails are set up
    node_ca: NodeCa | None = None  # where what runs on the nodes speaks TLS
    metrics: Metrics = field(default_factory=Metrics)
    changes: Changes = field(default_factory=Changes)
    # when a TensorBoard's program last asked whether it should go on, by run
    heard: dict[str, datetime] = field(default_factory=dict)
    # when somebody last looked at what a session uses
    looked_at: dict[str, datetime] = field(default_factory=dict)
    forecasts: Forecasts = field(default_factory=Forecasts)
    so_far: SoFar = field(default_factory=SoFar)
    benchmarks: Benchmarks = field(default_factory=Benchmarks)
    board: Board = field(default_factory=Board)
    # what the routes make of the watcher's last looks, for all who ask
    look: Remembered[Look] = field(default_factory=Remembered)
    cluster_out: Remembered[Any] = field(default_factory=Remembered)
    nodes_out: dict[tuple[bool, bool], Remembered[Any]] = field(default_factory=dict)
    node_table: NodeTable = field(default_factory=NodeTable)
    fence: Callable[[], Awaitable[None]] = nobody_else
    """Returns if this portal is the one to act: asked right before what must not be done twice."""
    submitting: dict[str, asyncio.Task[Any]] = field(default_factory=dict)
    """Jobs that a request is submitting at this moment, or about to write, by id: nobody else is
    to submit them."""
