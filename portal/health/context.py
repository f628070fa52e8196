"""The parts of an installation that health checks test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from portal.config.settings import Settings
from portal.context import AppContext
from portal.db import Database, sqlite_file
from portal.directory import open_directory
from portal.directory.contract import Directory
from portal.hub.client import Hub
from portal.services.cluster.node_table_file import NodeTable
from portal.services.mail.smtp import Smtp
from spawner.slurm.client import Slurm


@dataclass(frozen=True)
class HealthContext:
    """The argument of every check.

    `db` is None for SQLite at the command line, where it would be created. `portal` is the running
    portal with the state that its own requests have found; None at the command line.
    """

    settings: Settings
    directory: Directory
    slurm: Slurm
    hub: Hub
    db: Database | None
    node_table: NodeTable
    smtp: Smtp | None = None
    portal: AppContext | None = None

    @property
    def running(self) -> AppContext:
        """Return the running portal, for checks that only Admin > Status runs."""
        if self.portal is None:
            raise RuntimeError("this check needs a running portal")
        return self.portal


def from_portal(context: AppContext, directory: Directory) -> HealthContext:
    """Return the parts of a running portal."""
    parts = (context.slurm, context.hub, context.db, context.node_table, context.smtp)
    return HealthContext(context.settings, directory, *parts, context)


@asynccontextmanager
async def from_settings(settings: Settings) -> AsyncIterator[HealthContext]:
    """Open the parts for the command line. Creates no file and connects to nothing."""
    directory = open_directory(settings)
    db = Database(settings.database) if sqlite_file(settings.database) is None else None
    slurm = Slurm(settings.slurm_bin_dir, settings.slurm_conf, settings.slurm_timeout_s)
    try:
        async with Hub(settings.hub_url, settings.hub_token) as hub:
            smtp = Smtp(settings) if settings.smtp_host else None
            table = NodeTable(settings.node_table_file)
            yield HealthContext(settings, directory, slurm, hub, db, table, smtp)
    finally:
        directory.close()
        if db is not None:
            await db.close()
