"""Fixtures of the launcher's tests; a module that uses them names this one as a plugin."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.spawner.launcher.launcher_home import Place, Process


@pytest.fixture
def place() -> Iterator[Place]:
    root = Path(tempfile.mkdtemp(prefix="launcher-"))
    yield Place(root)
    shutil.rmtree(root)


@pytest.fixture
def launcher(place: Place) -> Iterator[Process]:
    process = Process(place)
    yield process
    process.close()
