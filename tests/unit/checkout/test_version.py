"""The version, which must be the same in both places."""

import tomllib
from pathlib import Path

import client
import portal

ROOT = Path(portal.__file__).parent.parent


def test_the_package_and_the_program_have_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == portal.__version__


def test_the_client_has_one_version_too() -> None:
    project = tomllib.loads((ROOT / "client/pyproject.toml").read_text())["project"]
    assert project["version"] == client.__version__
