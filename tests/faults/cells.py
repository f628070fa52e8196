"""The cells of the matrix: which fault hits which part, and what users may lose by it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cluster.config.paths import Paths
from tests.faults import surroundings
from tests.faults.faults import FAULTS
from tests.faults.moments import Round
from tests.faults.parts import PARTS

Strike = Callable[[Round], Awaitable[None]]
NOTHING: frozenset[str] = frozenset()
NOT_IN_CLUSTER = "PostgreSQL is not among the parts: this cluster's portal uses SQLite."


@dataclass(frozen=True)
class Cell:
    """One fault of one part. `strike` returns when the fault has ended."""

    part: str
    fault: str
    strike: Strike
    loses: frozenset[str] = NOTHING

    def __str__(self) -> str:
        return f"{self.part}/{self.fault}"


def _strike_processes(part: str, fault: str) -> Strike:
    async def strike(moments: Round) -> None:
        pids = PARTS[part].find(Paths(moments.world.live.state))
        assert pids, f"no process of {part} runs"
        await moments.send()
        await FAULTS[fault](pids, moments.struck.set)

    return strike


def _list_cells() -> list[Cell]:
    cells = [
        Cell(part.name, fault, _strike_processes(part.name, fault), loses)
        for fault in FAULTS
        for part in PARTS.values()
        for loses in [part.loses if fault == "kill" else NOTHING]
    ]
    return [
        *cells,
        *(Cell(part, fault, *rest) for (part, fault), rest in surroundings.FAULTS.items()),
    ]


CELLS = _list_cells()
