"""Installation of the built extension into the nodes' virtualenv."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cluster.config.paths import CHECKOUT
from cluster.prepare import steps
from deploy.lab_extension import NotBuilt, install

NAME = json.loads((CHECKOUT / "frontend/lab/about.json").read_text())["name"]


def build(folder: Path, script: str) -> Path:
    built = folder / "dist"
    (built / "static").mkdir(parents=True, exist_ok=True)
    for old in built.rglob("*.js"):
        old.unlink()
    (built / "static" / script).write_text("code")
    (built / "package.json").write_text(json.dumps({"name": NAME}))
    return built


def runtime(folder: Path) -> Path:
    """Create a virtualenv, and return the link to it."""
    (folder / "runtime-1/bin").mkdir(parents=True)
    (folder / "runtime").symlink_to("runtime-1")
    return folder / "runtime"


def test_it_takes_the_place_of_the_one_before_and_all_can_read_it(tmp_path: Path) -> None:
    into = runtime(tmp_path)
    before = os.umask(0o077)
    try:
        for script in ("portal.a.js", "portal.b.js", "portal.b.js"):
            target = install(build(tmp_path, script), into)
    finally:
        os.umask(before)
    assert target == tmp_path / "runtime-1/share/jupyter/labextensions" / NAME
    files = {path.name: path.stat().st_mode & 0o777 for path in target.rglob("*")}
    assert files == {"static": 0o755, "portal.b.js": 0o644, "package.json": 0o644}
    for folder in (target, target.parent, target.parent.parent):
        assert folder.stat().st_mode & 0o777 == 0o755
    # JupyterLab treats every entry of the folder as an extension
    assert [path.name for path in target.parent.iterdir()] == [NAME]
    assert [path.name for path in target.parent.parent.iterdir()] == ["labextensions"]


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    into = runtime(tmp_path)
    with pytest.raises(NotBuilt, match="npm run build:lab"):
        install(tmp_path / "none", into)
    with pytest.raises(NotBuilt, match="not a virtualenv"):
        install(build(tmp_path, "a.js"), tmp_path / "elsewhere")


def test_it_is_made_again_with_each_runtime_and_by_its_sources_alone(tmp_path: Path) -> None:
    found = {step.name: step for step in steps(tmp_path, tests=False)}
    lab, pages = found["lab"], found["frontend"]
    own = CHECKOUT / "frontend/lab/src/plugin.ts"
    assert own in lab.inputs
    assert own not in pages.inputs
    assert {"runtime", "frontend"} <= set(lab.needs)
    # the virtualenv's own folder, not the link: a new one does not have it yet
    link = found["runtime"].link
    assert link is not None
    _, installed = lab.outputs
    assert installed.is_relative_to(link[1])
    assert installed.parent.name == NAME
