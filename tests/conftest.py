"""What tests of several folders use."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.live import Live

# However busy the machine is: no example fails for having taken its time.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


def pytest_configure() -> None:
    """Ended by TERM, a run takes down what its tests have raised, as at Ctrl-C; in the background,
    too, where a shell has it ignore Ctrl-C."""
    signal.signal(signal.SIGTERM, _end)


def _end(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: twice would break that off
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.raise_signal(signal.SIGINT)


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
