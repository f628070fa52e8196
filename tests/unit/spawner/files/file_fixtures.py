"""The fixture of the file tests; a module that uses it names this one as a plugin."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.spawner.files.file_home import Filer


@pytest.fixture
def filer() -> Iterator[Filer]:
    root = Path(tempfile.mkdtemp(prefix="filer-"))
    found = Filer(root)
    yield found
    found.close()
    shutil.rmtree(root)
