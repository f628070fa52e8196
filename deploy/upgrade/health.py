"""Health of the portal as browsers reach it: nginx, the portal behind it, and JupyterHub."""

from __future__ import annotations

import asyncio
import time

from deploy.upgrade import UpgradeRefused
from portal.backup.owner import as_owner_of
from portal.config.settings import Settings
from portal.context import open_context
from portal.health.checks.hub import check_hub
from portal.health.checks.nginx import check_nginx
from portal.health.result import CheckResult

WAIT_S = 120.0
PAUSE_S = 1.0


def check_health(settings: Settings) -> list[CheckResult]:
    """Return the results of the checks of nginx and the hub, which `portal check` also runs."""

    async def ask() -> list[CheckResult]:
        async with open_context(settings) as context:
            return [check_nginx(context), await check_hub(context)]

    with as_owner_of(settings.state_dir):
        return asyncio.run(ask())


def wait_until_healthy(settings: Settings, wait_s: float = WAIT_S) -> None:
    """Wait until both checks pass: the hub needs some seconds. Raises UpgradeRefused."""
    end = time.monotonic() + wait_s
    while True:
        failed = [result for result in check_health(settings) if result.problem]
        if not failed:
            return
        if time.monotonic() > end:
            raise UpgradeRefused(f"{failed[0].problem} {failed[0].suggestion}")
        time.sleep(PAUSE_S)
