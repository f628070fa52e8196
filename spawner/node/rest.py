"""Whether nothing runs in a session, and since when. Pure.

Only what is known counts as rest: of a session whose CPU time can't be read nobody says that it is
idle. GPUs that nobody can ask about don't hinder it, for what keeps a GPU busy takes CPU time too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spawner.node.meter import Use

BUSY_CPUS = 0.1
"""More than what JupyterLab itself takes while somebody only looks at it; less than anything that
computes, however many CPUs the session has."""
LONGEST_GAP_S = 60.0
"""Of longer without a look nothing is known: the job was suspended, or the node was."""
SHORT_S = 60.0


@dataclass(frozen=True)
class Kernels:
    """The session's kernels at one moment. `marks` changes with whatever any of them does, also
    when it was done before anybody looked."""

    busy: bool = False
    marks: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, listed: list[dict[str, Any]]) -> Kernels:
        """Of what Jupyter Server lists."""
        return cls(
            busy=any(kernel.get("execution_state") == "busy" for kernel in listed),
            marks=frozenset((str(k["id"]), str(k.get("last_activity"))) for k in listed),
        )


def nothing_runs(use: Use, kernels: Kernels, before: Kernels) -> bool:
    """Whether there was nothing to do between two looks at the kernels; `use` is of that time."""
    if kernels.busy or kernels.marks != before.marks:
        return False
    if use.cpus is None or use.cpus >= BUSY_CPUS:
        return False
    return not any(gpu.use_percent for gpu in use.gpus or ())


@dataclass
class Rest:
    """Since when nothing has run. `kept`: that its owner wants to keep it all the same, until it
    was busy again. Times are by any clock that never goes back."""

    kept: bool = False
    _since: float | None = None
    _looked_at: float = float("-inf")
    _kernels: Kernels = Kernels()

    def look(self, at: float, use: Use, kernels: Kernels) -> bool:
        """One more look; whether a rest that was not short has just come to its end."""
        quiet = nothing_runs(use, kernels, self._kernels) and at - self._looked_at <= LONGEST_GAP_S
        before, last = self._since, self._looked_at
        self._looked_at, self._kernels = at, kernels
        if quiet:
            self._since = last if before is None else before
            return False
        self._since, self.kept = None, False
        return before is not None and at - before >= SHORT_S

    def lasts_s(self, now: float) -> int | None:
        """For how many seconds nothing has run; None if something does, or nothing is known."""
        return None if self._since is None else max(0, round(now - self._since))
