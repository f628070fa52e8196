"""Status of the components that the portal depends on: each is probed by one loop, at its own
interval.

Readers get the last result, so the number of readers does not affect the number of probes. A
component that does not answer in time is failing, and is not probed again until that probe has
ended: a hanging component blocks at most one probe. The probes are in probes.py.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

import structlog

from portal.db import utcnow
from spawner.tasks import end_all

log = structlog.get_logger(__name__)

AGAIN_S = 15.0
"""Interval for components that are failing, so that a recovery is noticed soon."""


class ComponentState(StrEnum):
    OK = "ok"
    FAILING = "failing"
    UNKNOWN = "unknown"


class Component(StrEnum):
    """The components, in display order."""

    DATABASE = "database"
    DIRECTORY = "directory"
    SLURM = "slurm"
    SLURMDBD = "slurmdbd"
    NODES = "nodes"
    HUB = "hub"
    NGINX = "nginx"
    ORIGINS = "origins"
    LAUNCHER = "launcher"
    CATALOG = "catalog"
    NODE_TABLE = "node_table"
    DISK = "disk"
    MAIL = "mail"


@dataclass(frozen=True)
class ProbeResult:
    """Result of a probe. `answered_at` is the time of the component's last good answer, if not now;
    `latency_ms` is the answer's duration, if it differs from the probe's.
    """

    state: ComponentState
    message: str
    advice: str = ""
    answered_at: datetime | None = None
    latency_ms: int | None = None
    timed: bool = True


@dataclass(frozen=True)
class ComponentStatus:
    """The known state of one component. `answered_at`: its last good answer since the portal
    started.
    """

    part: Component
    name: str
    state: ComponentState = ComponentState.UNKNOWN
    message: str = "Not checked yet."
    advice: str = ""
    answered_at: datetime | None = None
    checked_at: datetime | None = None
    latency_ms: int | None = None


Answer = Mapping[str, ProbeResult]
"""Results by name: a component may have several instances, such as the directory's servers."""


@dataclass(frozen=True)
class Probe:
    """A component and its probe. `ask` may raise any exception: the component is then failing."""

    part: Component
    names: Sequence[str]
    ask: Callable[[], Awaitable[Answer]]
    every_s: float = 15.0
    timeout_s: float = 10.0
    advice: str = ""


@dataclass
class SystemStatus:
    """Results of all probes: `items` are the last ones; `run` is the loop for the application's
    lifespan.
    """

    probes: Sequence[Probe]
    slurm_version: str | None = None
    hub_version: str | None = None
    started_at: datetime = field(default_factory=utcnow)
    _items: dict[tuple[Component, str], ComponentStatus] = field(default_factory=dict)
    _running: dict[Component, asyncio.Task[Answer]] = field(default_factory=dict)
    _hurry_events: dict[Component, asyncio.Event] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for probe in self.probes:
            for name in probe.names:
                self._items[probe.part, name] = ComponentStatus(probe.part, name)

    @property
    def items(self) -> list[ComponentStatus]:
        """Return the known state of each component, in the order of `Component`."""
        order = list(Component)
        return sorted(self._items.values(), key=lambda item: order.index(item.part))

    async def run(self) -> None:
        """Run all probes, each at its interval, until cancelled."""
        try:
            async with asyncio.TaskGroup() as loops:
                for probe in self.probes:
                    loops.create_task(self._run_probe(probe))
        finally:
            await end_all(self._running.values())

    async def look(self, part: Component) -> None:
        """Probe one component now."""
        for probe in self.probes:
            if probe.part is part:
                await self._probe_once(probe)

    def hurry(self, part: Component) -> None:
        """Probe a component soon, if it was considered healthy: a request has found it failing."""
        if any(
            item.part is part and item.state is ComponentState.OK for item in self._items.values()
        ):
            self._hurry_events.setdefault(part, asyncio.Event()).set()

    async def _run_probe(self, probe: Probe) -> None:
        hurried = self._hurry_events.setdefault(probe.part, asyncio.Event())
        while True:
            hurried.clear()
            await self._probe_once(probe)
            states = {self._items[probe.part, name].state for name in self._list_names(probe)}
            all_ok = states <= {ComponentState.OK}
            with suppress(TimeoutError):
                async with asyncio.timeout(
                    probe.every_s if all_ok else min(probe.every_s, AGAIN_S)
                ):
                    await hurried.wait()

    async def _probe_once(self, probe: Probe) -> None:
        began = time.monotonic()
        task = self._running.get(probe.part)
        if task is None:
            task = asyncio.create_task(_run_ask(probe), name=f"probe {probe.part.value}")
            self._running[probe.part] = task
        await asyncio.wait({task}, timeout=probe.timeout_s)
        now = utcnow()
        if not task.done():
            text = f"No response within {probe.timeout_s:g} seconds."
            self._save_results(
                probe,
                dict.fromkeys(probe.names, ProbeResult(ComponentState.FAILING, text, probe.advice)),
                now,
            )
            return
        self._running.pop(probe.part, None)
        (answer,) = await asyncio.gather(task, return_exceptions=True)
        took_ms = round((time.monotonic() - began) * 1000)
        if isinstance(answer, BaseException):
            cause = f"{type(answer).__name__}: {answer}"[:300]
            log.warning("probe failed", part=probe.part.value, cause=cause)
            answer = dict.fromkeys(
                probe.names, ProbeResult(ComponentState.FAILING, f"{cause}.", probe.advice)
            )
        self._save_results(probe, answer, now, took_ms)

    def _save_results(
        self, probe: Probe, results: Answer, now: datetime, took_ms: int | None = None
    ) -> None:
        for name in self._list_names(probe):
            if name not in results:
                del self._items[probe.part, name]
        for name, each in results.items():
            before = self._items.get((probe.part, name), ComponentStatus(probe.part, name))
            is_ok = each.state is ComponentState.OK
            if before.state is not each.state:
                log.info(
                    "component state changed",
                    part=probe.part.value,
                    name=name,
                    state=each.state.value,
                )
            self._items[probe.part, name] = ComponentStatus(
                part=probe.part,
                name=name,
                state=each.state,
                message=each.message,
                advice=each.advice,
                answered_at=each.answered_at or (now if is_ok else before.answered_at),
                checked_at=now,
                latency_ms=each.latency_ms or (took_ms if is_ok and each.timed else None),
            )

    def _list_names(self, probe: Probe) -> list[str]:
        """Return the known names of this component's instances, such as the directory's servers."""
        return [name for part, name in self._items if part is probe.part]


async def _run_ask(probe: Probe) -> Answer:
    return await probe.ask()


def ago(moment: datetime, now: datetime) -> str:
    """Format the time since a moment for a sentence: `3 minutes`."""
    for unit, length in (("day", timedelta(days=1)), ("hour", timedelta(hours=1))):
        if (number := (now - moment) // length) > 0:
            return f"{number} {unit}{'s' if number > 1 else ''}"
    minutes = max(1, round((now - moment).total_seconds() / 60))
    return f"{minutes} minute{'s' if minutes > 1 else ''}"


def sentence(text: str) -> str:
    """Format arbitrary text as a sentence."""
    found = " ".join(text.split())
    return f"{found[:1].upper()}{found[1:]}" + ("" if found.endswith(".") else ".")
