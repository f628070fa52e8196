"""The hash by which the portal recognizes another version of the node programs."""

import shutil
from pathlib import Path

import pytest

from spawner.package_hash import HERE, hash_package


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package, in another folder and with compiled modules."""
    copy = tmp_path / "spawner"
    shutil.copytree(HERE, copy)
    (copy / "__pycache__").mkdir(exist_ok=True)
    (copy / "__pycache__/signing.cpython-311.pyc").write_bytes(b"compiled")
    return copy


def test_a_copy_has_the_same_hash(copied: Path) -> None:
    assert hash_package(copied) == hash_package()


@pytest.mark.parametrize("module", ["signing.py", "node/session.py", "node/usage/recorder.py"])
def test_a_change_of_any_module_changes_it(copied: Path, module: str) -> None:
    with (copied / module).open("a") as file:
        file.write("# changed\n")
    assert hash_package(copied) != hash_package()
