"""What tests of several folders use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.live import Live


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def portal() -> Live:
    """The cluster that `make test` raised. A missing one is a failure, never a skip."""
    state = os.environ.get("PORTAL_TEST_CLUSTER")
    if not state:
        pytest.fail("PORTAL_TEST_CLUSTER names no cluster: run these by make test-cluster")
    return Live.of(Path(state))
