"""The project: built once, started before the first test, and removed after the last."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compose.project import Project


@pytest.fixture(scope="session")
def project() -> Iterator[Project]:
    """A missing Docker is a failure, never a skip."""
    state = os.environ.get("PORTAL_STATE_ROOT")
    if not state or "DOCKER_HOST" not in os.environ:
        pytest.fail("there is no Docker of the tests' own: run these by make test-compose")
    project = Project(Path(state) / "images")
    project.compose("build")
    try:
        project.up()
        yield project
    finally:
        project.compose("down", "--volumes", "--timeout", "5")
