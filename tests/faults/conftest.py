"""A run takes the cells that have not passed yet, at most PORTAL_FAULTS_COUNT of them; after the
last ones comes the soak.

PORTAL_FAULTS names parts or cells (`hub`, `hub/kill`), separated by commas, or `soak`.
PORTAL_FAULTS_AGAIN=1 runs cells again.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.cells import CELLS, Cell
from tests.faults.results import load_results

COUNT = int(os.environ.get("PORTAL_FAULTS_COUNT", "20"))
SOAK = "soak"
FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    state = os.environ.get("PORTAL_TEST_CLUSTER")
    results = load_results(Path(state)) if state else {}
    passed = {name for name, result in results.items() if not result.problems}
    parts = set(filter(None, os.environ.get("PORTAL_FAULTS", "").split(",")))
    if unknown := parts - {SOAK, *(name for cell in CELLS for name in (cell.part, str(cell)))}:
        raise pytest.UsageError(f"PORTAL_FAULTS names no part: {', '.join(sorted(unknown))}")
    again = bool(os.environ.get("PORTAL_FAULTS_AGAIN"))

    def is_wanted(item: pytest.Item) -> bool:
        cell = _cell(item)
        return bool(
            cell is not None
            and (not parts or parts & {cell.part, str(cell)})
            and (again or str(cell) not in passed)
        )

    here = [item for item in items if item.path.is_relative_to(FOLDER)]
    kept = [item for item in here if is_wanted(item)][:COUNT]
    if parts == {SOAK} or not (parts or kept):
        kept = [item for item in here if _cell(item) is None]
    left_out = [item for item in here if item not in kept]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _cell(item: pytest.Item) -> Cell | None:
    """Return the cell that a test is about, None for the soak."""
    cell: Cell | None = item.callspec.params["cell"] if hasattr(item, "callspec") else None
    return cell


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A run for which no cell is left is a success."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK
