"""A run takes the cells that were not run yet, at most PORTAL_FAULTS_COUNT of them; after the last
ones comes the soak.

PORTAL_FAULTS names parts, separated by commas, or `soak`. PORTAL_FAULTS_AGAIN=1 runs cells again.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.cells import Cell
from tests.faults.results import load_results

COUNT = int(os.environ.get("PORTAL_FAULTS_COUNT", "20"))
SOAK = "soak"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    state = os.environ.get("PORTAL_TEST_CLUSTER")
    done = load_results(Path(state)) if state else {}
    parts = set(filter(None, os.environ.get("PORTAL_FAULTS", "").split(",")))
    again = bool(os.environ.get("PORTAL_FAULTS_AGAIN"))

    def is_wanted(item: pytest.Item) -> bool:
        cell = _cell(item)
        return (
            cell is not None
            and (not parts or cell.part in parts)
            and (again or str(cell) not in done)
        )

    kept = [item for item in items if is_wanted(item)][:COUNT]
    if parts == {SOAK} or not (parts or kept):
        kept = [item for item in items if _cell(item) is None]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def _cell(item: pytest.Item) -> Cell | None:
    """Return the cell that a test is about, None for the soak."""
    cell: Cell | None = item.callspec.params["cell"] if hasattr(item, "callspec") else None
    return cell


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A run for which no cell is left is a success."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK
