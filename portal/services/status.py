"""How the parts are that the portal works with: each asked by one loop, at its own pace.

Whoever wants to know reads what was found last; however many do, nothing is asked more often. A
part that doesn't answer in time is failing, and isn't asked again before it has answered or given
up: what hangs, hangs once. What is asked stands in probes.py.
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
"""What doesn't work is asked again after this, so that its return is soon seen."""


class State(StrEnum):
    OK = "ok"
    FAILING = "failing"
    UNKNOWN = "unknown"


class Part(StrEnum):
    """What there is to look at, in the order in which it is shown."""

    DATABASE = "database"
    DIRECTORY = "directory"
    SLURM = "slurm"
    SLURMDBD = "slurmdbd"
    NODES = "nodes"
    HUB = "hub"
    NGINX = "nginx"
    LAUNCHER = "launcher"
    CATALOG = "catalog"
    NODE_TABLE = "node_table"
    DISK = "disk"
    MAIL = "mail"


@dataclass(frozen=True)
class Found:
    """What a look found. `answered_at` is when the part last answered well, where that isn't now;
    `latency_ms` how long it took, where the look's own time doesn't say."""

    state: State
    message: str
    advice: str = ""
    answered_at: datetime | None = None
    latency_ms: int | None = None
    timed: bool = True


@dataclass(frozen=True)
class Item:
    """What is known of one part. `answered_at`: its last good answer since the portal started."""

    part: Part
    name: str
    state: State = State.UNKNOWN
    message: str = "It hasn't been asked yet."
    advice: str = ""
    answered_at: datetime | None = None
    checked_at: datetime | None = None
    latency_ms: int | None = None


Answer = Mapping[str, Found]
"""By name: a part may be several, as the directory's servers are."""


@dataclass(frozen=True)
class Probe:
    """One part, and how it is asked. `ask` may raise what it likes: then the part is failing."""

    part: Part
    names: Sequence[str]
    ask: Callable[[], Awaitable[Answer]]
    every_s: float = 15.0
    timeout_s: float = 10.0
    advice: str = ""


@dataclass
class Status:
    """`items` is what was found last; `run` is the loop, for the application's lifespan."""

    probes: Sequence[Probe]
    slurm_version: str | None = None
    hub_version: str | None = None
    started_at: datetime = field(default_factory=utcnow)
    _items: dict[tuple[Part, str], Item] = field(default_factory=dict)
    _under_way: dict[Part, asyncio.Task[Answer]] = field(default_factory=dict)
    _hurried: dict[Part, asyncio.Event] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for probe in self.probes:
            for name in probe.names:
                self._items[probe.part, name] = Item(probe.part, name)

    @property
    def items(self) -> list[Item]:
        """What is known of each part, in the order of `Part`."""
        order = list(Part)
        return sorted(self._items.values(), key=lambda item: order.index(item.part))

    async def run(self) -> None:
        """Look at everything, each at its pace, until cancelled."""
        try:
            async with asyncio.TaskGroup() as loops:
                for probe in self.probes:
                    loops.create_task(self._keep_asking(probe))
        finally:
            await end_all(self._under_way.values())

    async def look(self, part: Part) -> None:
        """Look at one part now."""
        for probe in self.probes:
            if probe.part is part:
                await self._look(probe)

    def hurry(self, part: Part) -> None:
        """Somebody has met a fault of a part: look at it soon, if it was thought to be well."""
        if any(item.part is part and item.state is State.OK for item in self._items.values()):
            self._hurried.setdefault(part, asyncio.Event()).set()

    async def _keep_asking(self, probe: Probe) -> None:
        hurried = self._hurried.setdefault(probe.part, asyncio.Event())
        while True:
            hurried.clear()
            await self._look(probe)
            states = {self._items[probe.part, name].state for name in self._names(probe)}
            well = states <= {State.OK}
            with suppress(TimeoutError):
                async with asyncio.timeout(probe.every_s if well else min(probe.every_s, AGAIN_S)):
                    await hurried.wait()

    async def _look(self, probe: Probe) -> None:
        began = time.monotonic()
        task = self._under_way.get(probe.part)
        if task is None:
            task = asyncio.create_task(_asked(probe), name=f"look at {probe.part.value}")
            self._under_way[probe.part] = task
        await asyncio.wait({task}, timeout=probe.timeout_s)
        now = utcnow()
        if not task.done():
            text = f"No answer within {probe.timeout_s:g} seconds."
            self._note(
                probe, dict.fromkeys(probe.names, Found(State.FAILING, text, probe.advice)), now
            )
            return
        self._under_way.pop(probe.part, None)
        (found,) = await asyncio.gather(task, return_exceptions=True)
        took_ms = round((time.monotonic() - began) * 1000)
        if isinstance(found, BaseException):
            cause = f"{type(found).__name__}: {found}"[:300]
            log.warning("a part fails", part=probe.part.value, cause=cause)
            found = dict.fromkeys(probe.names, Found(State.FAILING, f"{cause}.", probe.advice))
        self._note(probe, found, now, took_ms)

    def _note(self, probe: Probe, found: Answer, now: datetime, took_ms: int | None = None) -> None:
        for name in self._names(probe):
            if name not in found:
                del self._items[probe.part, name]
        for name, each in found.items():
            before = self._items.get((probe.part, name), Item(probe.part, name))
            good = each.state is State.OK
            if before.state is not each.state:
                log.info("a part changes", part=probe.part.value, name=name, state=each.state.value)
            self._items[probe.part, name] = Item(
                part=probe.part,
                name=name,
                state=each.state,
                message=each.message,
                advice=each.advice,
                answered_at=each.answered_at or (now if good else before.answered_at),
                checked_at=now,
                latency_ms=each.latency_ms or (took_ms if good and each.timed else None),
            )

    def _names(self, probe: Probe) -> list[str]:
        """What is known by this part's name, the servers of the directory for one."""
        return [name for part, name in self._items if part is probe.part]


async def _asked(probe: Probe) -> Answer:
    return await probe.ask()


def ago(moment: datetime, now: datetime) -> str:
    """How long ago, in words for a sentence: `3 minutes`."""
    for unit, length in (("day", timedelta(days=1)), ("hour", timedelta(hours=1))):
        if (number := (now - moment) // length) > 0:
            return f"{number} {unit}{'s' if number > 1 else ''}"
    minutes = max(1, round((now - moment).total_seconds() / 60))
    return f"{minutes} minute{'s' if minutes > 1 else ''}"


def sentence(text: str) -> str:
    """Somebody's own words as a sentence."""
    found = " ".join(text.split())
    return f"{found[:1].upper()}{found[1:]}" + ("" if found.endswith(".") else ".")
