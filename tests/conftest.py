"""Fixtures and hooks shared by several folders of tests."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import skips
from tests.live import Live

# Frames of a coroutine's origin that are kept, so that the warning about one that was never awaited
# says where it was created.
ORIGIN_FRAMES = 25

# However busy the machine is, no example fails for its duration.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse skips that are not permitted, and end a run properly on SIGTERM.

    The run then cleans up what its tests have started, as on Ctrl-C; also in the background, where
    a shell makes it ignore Ctrl-C.
    """
    skips.pytest_configure(config)
    sys.set_coroutine_origin_tracking_depth(ORIGIN_FRAMES)
    signal.signal(signal.SIGTERM, _end)


def _end(*_: object) -> None:
    # once is enough: a second one would interrupt the cleanup
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.raise_signal(signal.SIGINT)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def portal() -> Live:
    """The cluster that `make test` created. A missing one is a failure, never a skip."""
    state = os.environ.get("PORTAL_TEST_CLUSTER")
    if not state:
        pytest.fail("PORTAL_TEST_CLUSTER names no cluster: run these by make test-cluster")
    return Live.of(Path(state))
