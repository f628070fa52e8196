"""Fixtures of the tests of the reconcile loop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.portal.reconcile_loop import ReconcileHarness, looping


@pytest.fixture
async def harness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[ReconcileHarness]:
    async with looping(tmp_path, monkeypatch) as made:
        yield made
