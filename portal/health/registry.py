"""The registry of health checks, and how one is run.

`portal check` runs them once, in this order, which is the order in which faults are best fixed
(command.py). Admin > Status runs those with a `part` at their intervals (status.py).
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

import structlog

from portal.config.settings import Settings
from portal.context import AppContext
from portal.health.checks import (
    catalog,
    certificates,
    clocks,
    database,
    directory,
    environments,
    gpus,
    hub,
    installation,
    launcher,
    logins,
    mail,
    nginx,
    slurm,
)
from portal.health.result import CheckResult, failing

log = structlog.get_logger(__name__)


class Component(StrEnum):
    """The components, in display order."""

    DATABASE = "database"
    DIRECTORY = "directory"
    SLURM = "slurm"
    SLURMDBD = "slurmdbd"
    NODES = "nodes"
    GPUS = "gpus"
    HUB = "hub"
    NGINX = "nginx"
    ORIGINS = "origins"
    LAUNCHER = "launcher"
    CATALOG = "catalog"
    NODE_TABLE = "node_table"
    DISK = "disk"
    MAIL = "mail"


Found = Sequence[CheckResult] | CheckResult | None


TIMEOUT_S = 30.0
"""Long enough for a slow name server and for two commands of Slurm."""


@dataclass(frozen=True)
class HealthCheck:
    """One check.

    `run` blocks unless it is a coroutine function, and may raise any exception: the check has then
    failed, with `suggestion`; so it has after `timeout_s` on Admin > Status. `part` is its row
    there, None if only the command line runs it; `cli` is whether the command line runs it. It is
    skipped unless the checks in `requires` pass, as far as they run in the same place. `names` are
    the rows of a part with several instances.
    """

    name: str
    run: Callable[[AppContext], Awaitable[Found] | Found]
    part: Component | None = None
    cli: bool = True
    every_s: float = 15.0
    timeout_s: float = TIMEOUT_S
    suggestion: str = ""
    requires: tuple[str, ...] = ()
    applies: Callable[[Settings], bool] = lambda _: True
    names: Callable[[Settings], Sequence[str]] = lambda _: [""]

    def fail(self, text: str, settings: Settings) -> list[CheckResult]:
        """Return the results of a check that was aborted."""
        return [failing(text, self.suggestion, name=name) for name in self.names(settings)]


async def run_check(check: HealthCheck, context: AppContext) -> list[CheckResult]:
    """Run a check; an exception is a failure."""
    (outcome,) = await asyncio.gather(_run(check, context), return_exceptions=True)
    if not isinstance(outcome, BaseException):
        return outcome
    cause = f"{type(outcome).__name__}: {outcome}"[:300]
    log.warning("health check failed", check=check.name, cause=cause)
    return check.fail(f"{cause}.", context.settings)


async def _run(check: HealthCheck, context: AppContext) -> list[CheckResult]:
    is_async = inspect.iscoroutinefunction(check.run)
    answer = check.run(context) if is_async else asyncio.to_thread(check.run, context)
    outcome = await cast("Awaitable[Found]", answer)
    return [outcome] if isinstance(outcome, CheckResult) else [*(outcome or ())]


CHECKS = (
    HealthCheck("pages", installation.check_pages),
    HealthCheck("account", installation.check_account),
    HealthCheck("database", installation.check_schema),
    HealthCheck(
        "database answers",
        database.check_database,
        Component.DATABASE,
        cli=False,
        suggestion=database.SUGGESTION,
    ),
    HealthCheck(
        "clock of the database",
        clocks.check_database_clock,
        Component.DATABASE,
        requires=("database", "database answers"),
    ),
    HealthCheck(
        "disk",
        database.check_disk,
        Component.DISK,
        every_s=60.0,
        suggestion=database.DISK_SUGGESTION,
    ),
    HealthCheck(
        "directory",
        directory.check_directory,
        Component.DIRECTORY,
        every_s=30.0,
        suggestion=directory.SUGGESTION,
        names=lambda settings: settings.ldap_urls,
    ),
    HealthCheck("lockout", logins.check_lockout),
    HealthCheck("logins to this host", logins.check_host_logins),
    HealthCheck("slurm", slurm.check_slurm, Component.SLURM, every_s=5.0),
    HealthCheck("slurm version", slurm.check_version, Component.SLURM, cli=False, every_s=60.0),
    HealthCheck(
        "clock of slurmctld",
        clocks.check_slurm_clock,
        Component.SLURM,
        every_s=60.0,
        requires=("slurm",),
    ),
    HealthCheck(
        "slurm accounting",
        slurm.check_accounting,
        Component.SLURMDBD,
        every_s=60.0,
        suggestion=slurm.ACCOUNTING_SUGGESTION,
    ),
    HealthCheck(
        "slurm operator",
        slurm.check_operator,
        Component.SLURMDBD,
        every_s=60.0,
        suggestion=slurm.ACCOUNTING_SUGGESTION,
        requires=("slurm accounting",),
    ),
    HealthCheck("comments in accounting", installation.check_comments, requires=("slurm",)),
    HealthCheck("nodes", slurm.check_nodes, Component.NODES, cli=False, every_s=5.0),
    HealthCheck("confinement of GPUs", gpus.check_gpus, Component.GPUS, every_s=300.0),
    HealthCheck("launcher", launcher.check_launcher, Component.LAUNCHER, every_s=30.0),
    HealthCheck("sudo", installation.check_sudo, requires=("launcher",)),
    HealthCheck(
        "last use of the launcher",
        launcher.check_last_use,
        Component.LAUNCHER,
        cli=False,
        every_s=30.0,
        requires=("launcher",),
    ),
    HealthCheck("catalog", catalog.check_catalog, Component.CATALOG),
    HealthCheck("environment", environments.check_environments),
    HealthCheck(
        "node table",
        catalog.check_node_table,
        Component.NODE_TABLE,
        applies=lambda settings: settings.node_table_file is not None,
    ),
    HealthCheck(
        "image imports",
        environments.check_imports,
        applies=lambda settings: settings.image_import_dir is not None,
    ),
    HealthCheck(
        "home directories", installation.check_home_commands, applies=installation.has_home_commands
    ),
    HealthCheck("hub", hub.check_hub, Component.HUB),
    HealthCheck("nginx", nginx.check_nginx, Component.NGINX),
    HealthCheck("certificate expiry", nginx.check_certificates, Component.NGINX),
    HealthCheck("certificate", certificates.check_hosts),
    HealthCheck("certificate file", certificates.check_files),
    HealthCheck("origins", nginx.check_origins, Component.ORIGINS, every_s=60.0),
    HealthCheck("certificate authority for nodes", nginx.check_node_ca, Component.NGINX),
    HealthCheck(
        "mail",
        mail.check_mail,
        Component.MAIL,
        every_s=300.0,
        suggestion=mail.SUGGESTION,
        applies=lambda settings: settings.smtp_host is not None,
    ),
)
