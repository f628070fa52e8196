"""Notebooks in a home directory: the launcher's response, and its validation by the portal."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from portal.context import AppContext
from portal.errors import HomeProblem
from portal.models import Session, User
from portal.services.sessions import notebooks
from spawner.catalog.environment import Catalog
from spawner.errors import HomeUnavailable, SpawnerError
from spawner.files import notebooks as finder
from spawner.files.context import FilesContext
from spawner.launcher import program

R_METADATA = '"metadata": {"kernelspec": {"display_name": "R 4.2", "name": "r"}}'


def write(home: Path, path: str, text: str = "{}", changed: int = 1) -> None:
    file = home / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    os.utime(file, (changed, changed))


def braced(*members: str) -> str:
    return "{" + ", ".join(members) + "}"


def found(home: Path) -> Any:
    """Return the files program's response for this home directory."""
    user = program.User("user", os.getuid(), os.getgid(), str(home), "/bin/sh")
    return finder.notebooks(FilesContext(user, 0o022), {"timeout_s": 30})


class TestFilesProgram:
    def test_the_newest_come_first_with_their_kernels(self, tmp_path: Path) -> None:
        cells = json.dumps({"cells": [{"source": '"kernelspec": {"name": "fake"}'}]})[1:-1]
        long = json.dumps({"x": "x" * 40_000})[1:-1]
        write(tmp_path, "old.ipynb", braced(R_METADATA), 1)
        write(tmp_path, "work/deep/new.ipynb", braced(cells, R_METADATA), 3)
        write(tmp_path, "begin.ipynb", braced(R_METADATA, long), 2)
        write(tmp_path, "none.ipynb", "not JSON", 0)
        assert found(tmp_path) == {
            "notebooks": [
                {"path": "work/deep/new.ipynb", "changed": 3.0, "kernel": "r"},
                {"path": "begin.ipynb", "changed": 2.0, "kernel": "r"},
                {"path": "old.ipynb", "changed": 1.0, "kernel": "r"},
                {"path": "none.ipynb", "changed": 0.0, "kernel": None},
            ],
            "complete": True,
        }

    def test_what_is_hidden_a_copy_or_a_link_is_left_out(self, tmp_path: Path) -> None:
        write(tmp_path, "kept.ipynb")
        write(tmp_path, "work/.ipynb_checkpoints/kept-checkpoint.ipynb")
        write(tmp_path, ".cache/hidden.ipynb")
        write(tmp_path, "portal/runs/job-1/copy.ipynb")
        (tmp_path / "link.ipynb").symlink_to("kept.ipynb")
        (tmp_path / "loop").symlink_to(".")
        (tmp_path / "folder.ipynb").mkdir()
        os.mkfifo(tmp_path / "pipe.ipynb")
        answer = found(tmp_path)
        assert [item["path"] for item in answer["notebooks"]] == ["kept.ipynb"]
        assert answer["complete"]

    def test_depth_and_answers_are_bounded(self, tmp_path: Path) -> None:
        write(tmp_path, "/".join("abcdefgh") + "/deep.ipynb")
        for number in range(50):
            write(tmp_path, f"many/{number}.ipynb", changed=number)
        answer = found(tmp_path)
        assert len(answer["notebooks"]) == finder.MAX_NOTEBOOKS
        assert answer["notebooks"][0]["path"] == "many/49.ipynb"
        assert not answer["complete"]

    def test_so_is_how_much_is_looked_at(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number in range(20):
            write(tmp_path, f"{number}.ipynb")
        monkeypatch.setattr(finder, "MAX_WALK", 10)
        seen, complete = finder.newest_notebooks(str(tmp_path), float("inf"))
        assert (len(seen), complete) == (10, False)
        assert finder.newest_notebooks(str(tmp_path), 0.0) == ([], False)

    def test_deleted_home_is_reported(self, tmp_path: Path) -> None:
        with pytest.raises(program.Refused, match="doesn't exist"):
            found(tmp_path / "gone")


class FakeFilePool:
    """Files programs with this response or failure."""

    def __init__(self, answer: dict[str, Any] | SpawnerError) -> None:
        self.answer = answer

    async def call(self, username: str, op: str, timeout_s: float) -> dict[str, Any]:
        assert (username, op) == ("alice", "notebooks")
        if isinstance(self.answer, SpawnerError):
            raise self.answer
        return self.answer


@pytest.mark.anyio
class TestPortal:
    @pytest.fixture
    def session(self) -> Session:
        return Session(environment="python3", user=User(username="alice"))

    def context(self, images: Path, answer: dict[str, Any] | SpawnerError) -> AppContext:
        for name in ("python3", "r"):
            (images / f"{name}.sif").touch()
        catalog = Catalog.load(image_dir=images)
        return cast(AppContext, SimpleNamespace(catalog=catalog, file_pool=FakeFilePool(answer)))

    async def test_a_notebook_runs_where_its_kernel_is_or_in_the_session_s_own(
        self, tmp_path: Path, session: Session
    ) -> None:
        kernels = ["r", "python2", "../r", None, 5]
        listed = [
            {"path": f"{n}.ipynb", "changed": n, "kernel": kernel}
            for n, kernel in enumerate(kernels)
        ]
        context = self.context(tmp_path, {"notebooks": listed, "complete": True})
        seen, complete = await notebooks.list_notebooks(context, session)
        assert complete
        assert [n.environment for n in seen] == ["r", *["python3"] * 4]
        assert seen[1].path == "~/1.ipynb"
        assert seen[1].changed_at == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
        session.environment = "torch7"
        assert [n.environment for n in (await notebooks.list_notebooks(context, session))[0]] == [
            "r", *[None] * 4
        ]  # fmt: skip

    async def test_what_makes_no_sense_is_left_out(self, tmp_path: Path, session: Session) -> None:
        good = {"path": "good.ipynb", "changed": 1e300, "kernel": "r"}
        bad: list[Any] = [
            {**good, "path": "a\nb.ipynb"}, {**good, "path": "\udcff.ipynb"}, {**good, "path": 5},
            {**good, "path": "x" * 2000}, {**good, "changed": float("nan")},
            {**good, "changed": "1"}, {**good, "changed": float("inf")}, {"path": "x.ipynb"},
            None, [], "x",
        ]  # fmt: skip
        context = self.context(tmp_path, {"notebooks": [*bad, good]})
        seen, complete = await notebooks.list_notebooks(context, session)
        assert [notebook.path for notebook in seen] == ["~/good.ipynb"]
        assert not complete
        answer: dict[str, Any]
        for answer in ({}, {"notebooks": {}}, {"notebooks": None}):
            assert await notebooks.list_notebooks(self.context(tmp_path, answer), session) == (
                [],
                False,
            )

    async def test_a_time_that_no_float_holds_is_the_latest(
        self, tmp_path: Path, session: Session
    ) -> None:
        listed = [{"path": "a.ipynb", "changed": 10**400, "kernel": None}]
        seen, _ = await notebooks.list_notebooks(
            self.context(tmp_path, {"notebooks": listed}), session
        )
        assert [notebook.changed_at.year for notebook in seen] == [9999]

    async def test_unreadable_home_is_reported(self, tmp_path: Path, session: Session) -> None:
        context = self.context(tmp_path, HomeUnavailable("Your home directory is full."))
        with pytest.raises(HomeProblem, match="is full"):
            await notebooks.list_notebooks(context, session)
