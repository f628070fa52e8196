"""Fixtures of the nginx tests; a module that uses them names this one as a plugin."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.gate_portal import Real, real_portal
from tests.servers.nginx import NginxServer, reply, run_nginx


@pytest.fixture(scope="module", params=["http", "https"])
def shared_nginx(request: pytest.FixtureRequest) -> Iterator[NginxServer]:
    with run_nginx(tls=request.param == "https") as made:
        yield made


@pytest.fixture
def nginx(shared_nginx: NginxServer) -> Iterator[NginxServer]:
    """An nginx, once with each of the cookie's names; its recorded requests are cleared."""
    shared_nginx.clear()
    yield shared_nginx
    shared_nginx.node_answer = lambda _seen, _connection: reply()


@pytest.fixture
def own_nginx() -> Iterator[NginxServer]:
    """An nginx that a test may break."""
    with run_nginx() as made:
        yield made


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Real]:
    with real_portal(tmp_path) as made:
        yield made
