"""Fixtures of the tests of the front door; a module that uses them names this one as a plugin."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.app import create_app
from tests.portal.gate_portal import Real, gate_settings, only_what_routes_use, serving
from tests.portal.gate_world import Upstream, World, reply, world


@pytest.fixture(scope="module", params=["http", "https"])
def kept_world(request: pytest.FixtureRequest) -> Iterator[World]:
    with world(tls=request.param == "https") as made:
        yield made


@pytest.fixture
def door(kept_world: World) -> Iterator[World]:
    """A front door, once with each of the cookie's names; what it has seen is forgotten."""
    kept_world.clear()
    yield kept_world
    kept_world.node_answer = lambda _seen, _connection: reply()


@pytest.fixture
def own_door() -> Iterator[World]:
    """One that a test may break."""
    with world() as made:
        yield made


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Real]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    settings = gate_settings(tmp_path, listen_port=port)
    app = create_app(settings)
    app.router.lifespan_context = only_what_routes_use
    node = Upstream(lambda *_: reply())
    made = Real(settings, node)
    made.add_people()
    with serving(app, settings):
        yield made
    node.stop()
