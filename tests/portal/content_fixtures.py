"""Portals with user content on separate hosts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.portal.content_visitor import ALICES, ONE
from tests.servers.gate_portal import Real, real_portal


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Real]:
    """All user content on one host."""
    with real_portal(tmp_path, content_url=ONE) as made:
        yield made


@pytest.fixture
def each(tmp_path: Path) -> Iterator[Real]:
    """A host for each user."""
    with real_portal(tmp_path, content_url="http://{user}.jupyter.test") as made:
        yield made


@pytest.fixture(params=[ONE, ALICES])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Real]:
    url = request.param.replace("alice", "{user}")
    with real_portal(tmp_path, content_url=url) as made:
        yield made
