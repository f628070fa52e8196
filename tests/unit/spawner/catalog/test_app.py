"""Declarations of apps: the shipped ones are valid, and errors name the file and the field."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import yaml

from deploy.images.definition import read
from spawner.catalog.app import (
    App,
    explain_missing_program,
    list_variables,
    load_app,
    resolve_programs,
    to_config,
)
from spawner.catalog.environment import SHIPPED, Catalog, CatalogError, Environment
from spawner.node.apps.declared import SessionAppsConfig

SOUND: dict[str, Any] = {"title": "Mine", "command": ["serve", "--port", "{port}"]}


@pytest.fixture
def python3(tmp_path: Path) -> Environment:
    return Catalog.load(image_dir=tmp_path).environments["python3"]


def put(folder: Path, name: str = "mine", **changes: Any) -> Path:
    path = folder / f"{name}.yaml"
    fields = {field: value for field, value in (SOUND | changes).items() if value is not ...}
    path.write_text(yaml.safe_dump(fields))
    return path


def problem(folder: Path, name: str = "mine", **changes: Any) -> str:
    with pytest.raises(CatalogError) as caught:
        load_app(put(folder, name, **changes))
    (line,) = caught.value.problems
    return line.removeprefix(f"{folder}/{name}.yaml: ")


def test_the_shipped_apps_load_and_are_offered_in_python(python3: Environment) -> None:
    apps = {path.stem: load_app(path) for path in (SHIPPED / "apps").glob("*.yaml")}
    assert {"own", "marimo", "streamlit", "gradio", "mlflow", "vscode"} <= apps.keys()
    elsewhere = {name for name, app in apps.items() if not app.is_offered_in(python3)}
    assert elsewhere == {"desktop"}
    old = replace(python3, version="3.9")
    assert {name for name, app in apps.items() if app.is_offered_in(old)} == {"own", "vscode"}


def test_the_desktop_has_a_network_of_its_own_and_is_offered_in_its_environment(
    tmp_path: Path,
) -> None:
    """Its X server listens on an abstract socket, which every user of a shared network reaches."""
    environments = Catalog.load(image_dir=tmp_path).environments
    app = load_app(SHIPPED / "apps/desktop.yaml")
    assert [name for name, each in environments.items() if app.is_offered_in(each)] == ["desktop"]
    assert (app.listens, app.path, app.input) == ("port", "stripped", None)
    definition = read(SHIPPED / "images/desktop.toml")
    assert definition.only_by_name
    assert f"/usr/local/bin/{app.command[0]}" in definition.files


def test_an_app_has_its_fields_and_defaults(tmp_path: Path) -> None:
    app = load_app(put(tmp_path, env={"MODE": "x"}, environments=["python3"]))
    assert app == App(
        "mine", "Mine", ("serve", "--port", "{port}"), environments=("python3",), env={"MODE": "x"}
    )
    assert (app.listens, app.path, app.ready, app.timeout_s) == ("port", "stripped", "/", 60)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"command": ...}, "'command' is a required property"),
        ({"command": []}, "command: [] should be non-empty"),
        ({"command": ["serve", "{prot}"]}, "command.1: '{prot}' does not match"),
        ({"command": ["serve", "{port"]}, "command.1: '{port' does not match"),
        ({"command": ["a\0b"]}, "command.0: 'a\\x00b' does not match"),
        ({"listens": "anywhere"}, "listens: 'anywhere' is not one of"),
        (
            {"listens": "socket", "command": ["x"]},
            "command: with `listens: socket` it has to contain the placeholder {socket}",
        ),
        (
            {"command": ["x", "{socket}"]},
            "command: the placeholder {socket} needs `listens: socket`",
        ),
        ({"command": ["x", "{file}"]}, "command: the placeholder {file} needs `input: file`"),
        ({"input": "file"}, "command: with `input: file` it has to contain the placeholder {file}"),
        ({"program": "a/b"}, "program: it is needed if, and only if, the command contains"),
        ({"command": ["{program}"]}, "program: it is needed if, and only if, the command contains"),
        ({"program": "../b", "command": ["{program}"]}, "program: '../b' does not match"),
        ({"program": "/bin/b", "command": ["{program}"]}, "program: '/bin/b' does not match"),
        ({"extensions": [".py"]}, "extensions: these need `input: file`"),
        ({"min_version": "3.10"}, "min_version: it needs `language`"),
        ({"port": 80}, "port: 80 is less than the minimum of 1024"),
        ({"ready": "health"}, "ready: 'health' does not match"),
        ({"timeout_s": 0}, "timeout_s: 0 is less than the minimum of 1"),
        ({"timeout_s": 100_000}, "timeout_s: 100000 is greater than the maximum of 600"),
        ({"env": {"LD_PRELOAD": "x"}}, "env: A name of letters, digits and _; not PATH"),
        ({"env": {"PORTAL_APP_BASE": "x"}}, "env: A name of letters, digits and _; not PATH"),
        ({"title": ""}, "title: '' should be non-empty"),
        ({"icon": "x"}, "Additional properties are not allowed ('icon' was unexpected)"),
    ],
)
def test_an_error_names_the_field(tmp_path: Path, changes: dict[str, Any], expected: str) -> None:
    assert problem(tmp_path, **changes).startswith(expected)


@pytest.mark.parametrize("name", ["Mine", "1mine", "mine-", "mi--ne", "a" * 21, "my_app"])
def test_a_name_that_is_no_part_of_an_address_is_refused(tmp_path: Path, name: str) -> None:
    assert "the file's name is the app's" in problem(tmp_path, name)


def test_an_app_is_offered_where_its_declaration_says(python3: Environment) -> None:
    app = App("mine", "Mine", ("serve",))
    assert app.is_offered_in(python3)
    assert not replace(app, environments=("other",)).is_offered_in(python3)
    assert not replace(app, language="R").is_offered_in(python3)
    assert replace(app, language="python", min_version="3.9").is_offered_in(python3)
    assert not replace(app, language="python", min_version="3.12").is_offered_in(python3)


def test_an_app_whose_program_is_missing_is_left_out(tmp_path: Path) -> None:
    apps = [
        App("own", "Own", ("serve",)),
        App("mine", "Mine", ("{program}", "--with={program}"), program="mine/bin/serve"),
    ]
    program = tmp_path / "mine/bin/serve"
    assert [app.name for app in resolve_programs(apps, None)] == ["own"]
    assert [app.name for app in resolve_programs(apps, tmp_path)] == ["own"]
    program.parent.mkdir(parents=True)
    program.touch()
    own, mine = resolve_programs(apps, tmp_path)
    assert (own, mine.command) == (apps[0], (f"{program}", f"--with={program}"))


def test_a_missing_program_is_explained(tmp_path: Path) -> None:
    vscode = App("vscode", "VS Code", ("{program}",), program="vscode/bin/vscode")
    mine = App("mine", "Mine", ("{program}",), program="mine/bin/serve")
    for app, named in ((vscode, "“portal vscode”"), (mine, "the app's program")):
        reason = explain_missing_program(app, None)
        assert reason is not None
        assert "Set app_dir" in reason
        assert named in reason
    for app, fix in ((vscode, "Run “portal vscode”"), (mine, "Install it")):
        reason = explain_missing_program(app, tmp_path)
        assert reason is not None
        assert f"Its program, {tmp_path}/{app.program}, isn't there. {fix}" in reason
        (tmp_path / str(app.program)).parent.mkdir(parents=True)
        (tmp_path / str(app.program)).touch()
        assert explain_missing_program(app, tmp_path) is None
    assert explain_missing_program(App("own", "Own", ("serve",)), None) is None


def test_a_program_that_can_t_be_seen_is_not_installed(tmp_path: Path) -> None:
    apps = [App("mine", "Mine", ("{program}",), program="mine/serve"), App("own", "Own", ("x",))]
    with patch.object(Path, "is_file", side_effect=PermissionError):
        assert [app.name for app in resolve_programs(apps, tmp_path)] == ["own"]


def test_a_session_reads_what_the_portal_writes(python3: Environment) -> None:
    apps = [App("mine", "Mine", ("serve", "{socket}"), listens="socket", env={"MODE": "x"})]
    assert list_variables(apps) == ["MODE", "PORT", "PORTAL_APP_BASE"]
    written = to_config(apps, python3, "https://jupyter.test", ({"A": "1"}, ["wrapper", "--"]))
    read = SessionAppsConfig.parse(written, "/user/alice/s1/")
    assert (read.prefix, read.env, read.origin) == (
        ["wrapper", "--"], {"A": "1"}, "https://jupyter.test",
    )  # fmt: skip
    assert read.declared["mine"].port is None
    assert read.base_of("mine") == "/user/alice/s1/app/mine"
