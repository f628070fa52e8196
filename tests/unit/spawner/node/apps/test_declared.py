"""The command of an app, and what its user enters."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from spawner.node.apps.declared import (
    AppInput,
    AppRefusal,
    DeclaredApp,
    Launch,
    SessionAppsConfig,
    prepare_launch,
)

CONFIG = SessionAppsConfig(
    base_url="/user/alice/s1/",
    origin="https://jupyter.test:8443",
    prefix=["wrapper", "{slurm}", "--"],
    env={"PORTAL_ENVIRONMENT": "python3"},
)
APP = DeclaredApp(
    name="demo", title="Demo", description="", command=["serve", "{port}"], port=8080,
    strips_prefix=True, ready="/", timeout_s=10, input=None, extensions=[],
    counts_as_activity=True, hint=None, env={"MODE": "x"},
)  # fmt: skip


def launch(app: DeclaredApp, given: AppInput = AppInput(), home: Path = Path("/home/a")) -> Launch:  # noqa: B008
    folder = Path("/tmp/portal-x/apps/demo")
    return prepare_launch(CONFIG, app, given, folder, folder / "socket", {"HOME": str(home)})


def refusal(app: DeclaredApp, given: AppInput, home: Path) -> tuple[int, str | None]:
    with pytest.raises(AppRefusal) as caught:
        launch(app, given, home)
    return caught.value.status, caught.value.field


def test_the_fields_of_the_command_are_replaced_and_no_others() -> None:
    words = ["serve", "{port}{base}", "{origin} {host}", "{folder}", "{socket}", "$HOME"]
    made = launch(replace(APP, command=words))
    assert made.argv == [
        *("wrapper", "{slurm}", "--", "serve"),
        "8080/user/alice/s1/app/demo",
        "https://jupyter.test:8443 jupyter.test:8443",
        "/tmp/portal-x/apps/demo",
        "/tmp/portal-x/apps/demo/socket",
        "$HOME",
    ]
    assert made.env == {
        "HOME": "/home/a",
        "PORTAL_ENVIRONMENT": "python3",
        "MODE": "x",
        "PORT": "8080",
        "PORTAL_APP_BASE": "/user/alice/s1/app/demo",
    }
    assert (made.folder, made.port) == ("/home/a", 8080)


def test_an_app_with_a_socket_has_no_port() -> None:
    made = launch(replace(APP, port=None, command=["serve", "{socket}"]))
    assert made.port is None
    assert "PORT" not in made.env


def test_a_command_is_one_word_whatever_it_contains() -> None:
    own = replace(APP, input="command", command=["sh", "-c", "{command}"])
    text = "python app.py '{file}' \"$(id)\"; {base}"
    made = launch(own, AppInput(command=text, port=8501))
    assert made.argv[-3:] == ["sh", "-c", text]
    assert (made.port, made.env["PORT"]) == (8501, "8501")


def test_a_file_may_be_relative_to_the_home(tmp_path: Path) -> None:
    app = replace(APP, input="file", extensions=[".py"], command=["run", "{file}"])
    (tmp_path / "apps").mkdir()
    file = tmp_path / "apps/my {base}.py"
    file.touch()
    for path in (str(file), "apps/my {base}.py", "~/apps/my {base}.py"):
        made = launch(app, AppInput(file=path), tmp_path)
        assert made.argv[-1] == str(file)
        assert made.folder == str(file.parent)


@pytest.mark.parametrize("path", ["apps/demo.py", "~/apps/demo.py", "/home/alice/apps/demo.py"])
def test_the_same_file_is_the_same_input_however_it_is_written(path: str) -> None:
    expected = AppInput(file="/home/alice/apps/demo.py")
    assert AppInput(file=path).with_absolute_file("/home/alice") == expected
    assert AppInput(command="x").with_absolute_file("/home/alice") == AppInput(command="x")


def test_a_field_of_another_version_does_not_prevent_a_session() -> None:
    written = {"title": "Demo", "command": ["serve"], "port": None, "new": 1}
    config = SessionAppsConfig.parse({"declared": {"demo": written}, "new": 1}, "/user/alice/s1/")
    assert config.declared["demo"] == DeclaredApp("demo", "Demo", ["serve"], None)
    assert SessionAppsConfig.parse({}, "/user/alice/s1/").declared == {}


def test_the_keys_of_earlier_versions_are_read() -> None:
    written = {"title": "Demo", "command": ["serve"], "port": 1, "stripped": False, "active": False}
    app = DeclaredApp.parse("demo", written)
    assert (app.strips_prefix, app.counts_as_activity) == (False, False)


def test_an_unsuitable_input_names_its_field(tmp_path: Path) -> None:
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "notes.txt").touch()
    of_file = replace(APP, input="file", extensions=[".py"])
    for path in (None, "", "missing.py", "folder.py", "notes.txt", "a\0.py", "x" * 5000, "a\n.py"):
        assert refusal(of_file, AppInput(file=path), tmp_path) == (422, "file"), path
    own = replace(APP, input="command")
    for command in (None, "", "  ", "a\0b", "x" * 5000):
        given = AppInput(command=command, port=8080)
        assert refusal(own, given, tmp_path) == (422, "command"), command
    for port in (None, 0, 80, 65536):
        assert refusal(own, AppInput(command="x", port=port), tmp_path) == (422, "port"), port


@pytest.mark.parametrize("character", ["\u200b", "\u202e", "\u00a0", "\u3000", "\x1b", "\ud800"])
def test_a_character_that_pages_do_not_show_is_named(tmp_path: Path, character: str) -> None:
    """The pages remove it, so they would offer another path or command for the next start."""
    code = f"U+{ord(character):04X}"
    if character != "\ud800":
        (tmp_path / f"a{character}.py").touch()
    of_file = replace(APP, input="file", extensions=[".py"], command=["run", "{file}"])
    with pytest.raises(AppRefusal, match=re.escape(code)) as caught:
        launch(of_file, AppInput(file=f"a{character}.py"), tmp_path)
    assert caught.value.field == "file"
    own = replace(APP, input="command", command=["sh", "-c", "{command}"])
    with pytest.raises(AppRefusal, match=re.escape(code)) as caught:
        launch(own, AppInput(command=f"serve {character}x", port=8080))
    assert caught.value.field == "command"


def test_a_command_may_have_lines_and_visible_characters_of_any_script() -> None:
    own = replace(APP, input="command", command=["sh", "-c", "{command}"])
    text = "cat <<-END\n\t数据 é “x”\n\tEND"
    assert launch(own, AppInput(command=text, port=8080)).argv[-1] == text
