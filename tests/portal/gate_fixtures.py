"""Fixtures of the nginx tests; a module that uses them names this one as a plugin."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.gate_portal import Real, real_portal
from tests.servers.nginx import World, reply, world


@pytest.fixture(scope="module", params=["http", "https"])
def kept_world(request: pytest.FixtureRequest) -> Iterator[World]:
    with world(tls=request.param == "https") as made:
        yield made


@pytest.fixture
def door(kept_world: World) -> Iterator[World]:
    """An nginx, once with each of the cookie's names; its recorded requests are cleared."""
    kept_world.clear()
    yield kept_world
    kept_world.node_answer = lambda _seen, _connection: reply()


@pytest.fixture
def own_door() -> Iterator[World]:
    """An nginx that a test may break."""
    with world() as made:
        yield made


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Real]:
    with real_portal(tmp_path) as made:
        yield made
