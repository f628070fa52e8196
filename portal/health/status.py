"""Status of the components that the portal depends on: a loop runs each check at its interval.

Readers get the last results, so the number of readers does not affect the number of checks. A check
that does not end in time has failed, and is not run again until it has ended: a hanging component
blocks at most one run of each of its checks.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from portal.context import AppContext
from portal.db import utcnow
from portal.health.registry import CHECKS, Component, HealthCheck, run_check
from portal.health.result import CheckResult, ComponentState
from spawner.tasks import end_all

log = structlog.get_logger(__name__)

RECHECK_S = 15.0
"""Interval for checks that do not pass, so that a recovery is noticed soon."""
MAX_LOGGED = 20
SEVERITY = [ComponentState.OK, ComponentState.UNKNOWN, ComponentState.FAILING]


@dataclass(frozen=True)
class ComponentStatus:
    """The known state of one component, or what one check found. `answered_at`: the last good
    answer since the portal started.
    """

    part: Component
    name: str
    state: ComponentState = ComponentState.UNKNOWN
    message: str = "Not checked yet."
    suggestion: str = ""
    answered_at: datetime | None = None
    checked_at: datetime | None = None
    latency_ms: int | None = None


@dataclass
class SystemStatus:
    """Results of all checks: `items` are the last ones; `run` is the loop for the application's
    lifespan. `versions` are the last known ones of components.
    """

    checks: Sequence[HealthCheck]
    context: AppContext
    started_at: datetime = field(default_factory=utcnow)
    versions: dict[Component, str] = field(default_factory=dict)
    _found: dict[str, list[ComponentStatus]] = field(default_factory=dict)
    _running: dict[str, asyncio.Task[list[CheckResult]]] = field(default_factory=dict)
    _hurry_events: dict[str, asyncio.Event] = field(default_factory=dict)

    @property
    def items(self) -> list[ComponentStatus]:
        """Return the state of each component: its checks' worst, in the order of `Component`."""
        rows: dict[tuple[Component, str], list[ComponentStatus]] = {}
        for check in self.checks:
            for name in check.names(self.context.settings):
                rows.setdefault((_part(check), name), [])
            for status in self._found.get(check.name, ()):
                rows[status.part, status.name].append(status)
        order = list(Component)
        return [
            max(status, key=_rank, default=ComponentStatus(part, name))
            for (part, name), status in sorted(rows.items(), key=lambda row: order.index(row[0][0]))
        ]

    async def run(self) -> None:
        """Run all checks, each at its interval, until cancelled."""
        try:
            async with asyncio.TaskGroup() as loops:
                for check in self.checks:
                    loops.create_task(self._repeat(check))
        finally:
            await end_all(self._running.values())

    async def check_now(self, part: Component) -> None:
        """Check one component now."""
        for check in self.checks:
            if check.part is part:
                await self._run_once(check)

    def hurry(self, part: Component) -> None:
        """Check a component soon, if it was considered healthy: a request has found it failing."""
        if any(item.part is part and item.state is ComponentState.OK for item in self.items):
            for check in self.checks:
                if check.part is part:
                    self._hurry_events.setdefault(check.name, asyncio.Event()).set()

    async def _repeat(self, check: HealthCheck) -> None:
        hurried = self._hurry_events.setdefault(check.name, asyncio.Event())
        while True:
            hurried.clear()
            await self._run_once(check)
            wait_s = check.every_s if self._passes(check) else min(check.every_s, RECHECK_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await hurried.wait()

    async def _run_once(self, check: HealthCheck) -> None:
        for required in self.checks:
            if required.name in check.requires:
                if required.name not in self._found:
                    await self._run_once(required)
                if not self._passes(required):
                    self._found[check.name] = []
                    return
        began = time.monotonic()
        task = self._running.get(check.name)
        if task is None:
            task = asyncio.create_task(run_check(check, self.context), name=f"check {check.name}")
            self._running[check.name] = task
        await asyncio.wait({task}, timeout=check.timeout_s)
        if not task.done():
            text = f"No answer within {check.timeout_s:g} seconds."
            self._save(check, check.fail(text, self.context.settings))
            return
        self._running.pop(check.name, None)
        self._save(check, await task, round((time.monotonic() - began) * 1000))

    def _passes(self, check: HealthCheck) -> bool:
        components = self._found[check.name]
        return bool(components) and all(each.state is ComponentState.OK for each in components)

    def _save(
        self, check: HealthCheck, results: Sequence[CheckResult], took_ms: int | None = None
    ) -> None:
        part, now = _part(check), utcnow()
        names = check.names(self.context.settings)
        before = {each.name: each for each in self._found.get(check.name, ())}
        self._found[check.name] = components = []
        for result in results:
            # a component without instances shows all results in one row
            name = result.name if result.name in names else ""
            last = before.get(name, ComponentStatus(part, name))
            is_ok = result.state is ComponentState.OK
            if last.state is not result.state:
                log.info(
                    "check changed",
                    check=check.name,
                    name=name,
                    state=result.state.value,
                    details=result.details[:MAX_LOGGED],
                )
            if result.version is not None:
                self.versions[part] = result.version
            components.append(
                ComponentStatus(
                    part=part,
                    name=name,
                    state=result.state,
                    message=result.text,
                    suggestion=result.suggestion,
                    answered_at=result.answered_at or (now if is_ok else last.answered_at),
                    checked_at=now,
                    latency_ms=result.latency_ms or (took_ms if is_ok and result.timed else None),
                )
            )


def open_status(context: AppContext) -> SystemStatus:
    """Create the value of `app.state.status`."""
    shown = [check for check in CHECKS if check.part and check.applies(context.settings)]
    return SystemStatus(shown, context)


def _part(check: HealthCheck) -> Component:
    if check.part is None:
        raise RuntimeError(f"{check.name} is only for the command line")
    return check.part


def _rank(status: ComponentStatus) -> tuple[int, bool]:
    return SEVERITY.index(status.state), bool(status.message)
