"""A run takes the cells that were not run yet, at most PORTAL_FAULTS_COUNT of them.

PORTAL_FAULTS names parts, separated by commas. PORTAL_FAULTS_AGAIN=1 runs cells again.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.results import load_results

COUNT = int(os.environ.get("PORTAL_FAULTS_COUNT", "20"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    state = os.environ.get("PORTAL_TEST_CLUSTER")
    done = load_results(Path(state)) if state else {}
    parts = set(filter(None, os.environ.get("PORTAL_FAULTS", "").split(",")))
    again = bool(os.environ.get("PORTAL_FAULTS_AGAIN"))
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        cell = getattr(getattr(item, "callspec", None), "params", {}).get("cell")
        wanted = cell is None or (
            (not parts or cell.part in parts)
            and (again or str(cell) not in done)
            and len(kept) < COUNT
        )
        (kept if wanted else left).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A run for which no cell is left is a success."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK
