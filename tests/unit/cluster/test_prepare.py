"""Preparation: order, skipped steps, interruptions, mutual exclusion, links."""

from __future__ import annotations

import errno
import importlib.util
import os
import sys
from pathlib import Path

import pytest

from cluster.config.paths import CHECKOUT
from cluster.prepare import (
    NeedsRoot,
    Preparation,
    PrepareStep,
    StepFailed,
    main,
    put_link,
    require_root,
    select_steps,
    steps,
)


def writing(
    name: str, target: Path, text: str, *needs: str, source: Path | None = None
) -> PrepareStep:
    code = f"open({str(target)!r}, 'a').write({text!r})"
    return PrepareStep(
        name, name, ((sys.executable, "-c", code),), needs=needs,
        inputs=(source,) if source else (), outputs=(target,),
    )  # fmt: skip


@pytest.fixture
def reported() -> list[str]:
    return []


@pytest.fixture
def preparation(tmp_path: Path, reported: list[str]) -> Preparation:
    return Preparation(tmp_path / "state", reported.append)


def test_steps_run_after_what_they_need(preparation: Preparation, tmp_path: Path) -> None:
    out = tmp_path / "out"
    todo = [writing("c", out, "c", "a", "b"), writing("b", out, "b", "a"), writing("a", out, "a")]
    preparation.run(todo)
    assert out.read_text() == "abc"


def test_nothing_is_done_twice_until_an_input_changes(
    preparation: Preparation, tmp_path: Path, reported: list[str]
) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    for content, expected in (("1", "x"), ("1", "x"), ("2", "xx"), ("1", "xxx")):
        source.write_text(content)
        preparation.run([writing("a", out, "x", source=source)])
        assert out.read_text() == expected
    assert "a: already there" in reported


def test_a_step_runs_again_where_one_of_its_outputs_is_missing(
    preparation: Preparation, tmp_path: Path
) -> None:
    source, outputs = tmp_path / "source", (tmp_path / "out", tmp_path / "copy")
    source.write_text("1")
    code = f"for path in {[str(path) for path in outputs]}: open(path, 'a').write('x')"
    step = PrepareStep("a", "a", ((sys.executable, "-c", code),), inputs=(source,), outputs=outputs)
    preparation.run([step])
    outputs[1].unlink()
    preparation.run([step])
    assert [path.read_text() for path in outputs] == ["xx", "x"]


def test_a_failure_names_the_log_and_is_tried_again(
    preparation: Preparation, tmp_path: Path
) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    source.write_text("1")
    preparation.run([writing("a", out, "x", source=source)])
    broken = PrepareStep(
        "a", "a", ((sys.executable, "-c", "exit('no')"),), inputs=(source,), outputs=(out,)
    )
    with pytest.raises(StepFailed) as failed:
        preparation.run([broken])
    assert failed.value.log.read_text() == "no\n"
    preparation.run([writing("a", out, "x", source=source)])
    assert out.read_text() == "xx"


def test_a_link_moves_at_once_and_leaves_one_older_folder(tmp_path: Path) -> None:
    name = tmp_path / "venv"
    name.mkdir()
    for number in range(4):
        folder = tmp_path / f"venv-{number}"
        folder.mkdir()
        (folder / "is").write_text(str(number))
        put_link(name, folder)
        assert (name / "is").read_text() == str(number)
    assert sorted(path.name for path in tmp_path.glob("venv-*")) == ["venv-2", "venv-3"]


def test_every_need_is_a_step() -> None:
    found = steps(Path("/nowhere"), tests=True, images=True)
    names = {step.name for step in found}
    assert all(set(step.needs) <= names for step in found)


def test_only_some_steps_come_with_what_they_need() -> None:
    found = steps(Path("/nowhere"), tests=True, images=True)
    assert select_steps(found, []) == found
    names = {step.name for step in select_steps(found, ["dev", "frontend"])}
    assert names == {"python3-venv", "build", "npm", "frontend", "dev"}
    with pytest.raises(ValueError, match="there is no step nonsense"):
        select_steps(found, ["nonsense"])


def test_images_of_the_frameworks_are_made_where_they_are_asked_for() -> None:
    assert "images" not in {step.name for step in steps(Path("/nowhere"), tests=True)}


# the steps of make lint, docs, test-unit and test-frontend
UNPRIVILEGED = {"dev", "docs", "npm"}


def test_checks_need_no_root_where_virtualenvs_can_be_created(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
    found = steps(Path("/nowhere"), tests=True)
    checks = select_steps(found, UNPRIVILEGED)
    assert {step.name for step in checks} == {"python3-venv", "build", *UNPRIVILEGED}
    require_root(checks)
    assert checks[0].commands == ()
    for name in ("packages", "apptainer", "image"):
        with pytest.raises(NeedsRoot, match=r"installs Debian packages\.\n.*make test-unit"):
            require_root(select_steps(found, [name]))


def test_python3_venv_is_installed_by_root_and_named_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    found = select_steps(steps(Path("/nowhere"), tests=True), ["dev"])
    assert found[0].commands[0][-2:] == ("cluster.install", "--venv")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    require_root(found)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NeedsRoot, match="apt-get install python3-venv"):
        require_root(found)


def test_a_refusal_is_a_sentence_and_creates_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    state = tmp_path / "state"
    assert main(["--state-root", str(state)]) == 1
    assert capsys.readouterr().err.startswith("This command needs root")
    assert not state.exists()


def test_a_state_folder_of_another_account_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: Path, **_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert main(["--state-root", str(tmp_path / "theirs"), "--tests", "--only", "dev"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert str(tmp_path / "theirs") in lines[0]
    assert "STATE=DIR" in lines[1]


def test_npm_packages_are_installed_again_only_with_their_lock() -> None:
    found = {step.name: step for step in steps(Path("/nowhere"), tests=False)}
    frontend = CHECKOUT / "frontend"
    packages = {frontend / "package.json", frontend / "package-lock.json"}
    assert set(found["npm"].inputs) == packages
    assert packages < set(found["frontend"].inputs)
    assert found["frontend"].needs == ("npm",)
