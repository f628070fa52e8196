"""Apps that a site offers in its sessions, loaded from YAML files and validated.

The files are `apps/NAME.yaml` in the shipped catalog and in the site's own folder, each validated
against catalog/app.schema.json. docs/apps.md is the documentation for authors. Only `load_app`,
`resolve_programs` and `explain_missing_program` access files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from spawner.catalog.environment import SHIPPED, CatalogError, Environment, read_fields
from spawner.node.apps.declared import BASE_VARIABLE, PORT_VARIABLE

SCHEMA = SHIPPED / "app.schema.json"
_NAME = re.compile(r"[a-z](?:[a-z0-9]|-(?=[a-z0-9])){0,19}")
_PLACEHOLDER = re.compile(r"\{([a-z]+)\}")
_PROGRAM = "{program}"
NEEDS_APP_DIR = "Set app_dir in the portal's settings to the folder with the app's program."
NEEDS_APP_DIR_AND_VSCODE = (
    "Set app_dir in the portal's settings, restart the portal, and run “portal vscode”."
)
VSCODE = "vscode/"
"""The folder in `app_dir` to which `portal vscode` installs."""
_ADDRESSES = {"port", "socket"}
_INPUTS = {"file", "command"}


@dataclass(frozen=True)
class App:
    """One app, with the fields described in app.schema.json."""

    name: str
    title: str
    command: tuple[str, ...]
    program: str | None = None
    description: str = ""
    listens: Literal["port", "socket"] = "port"
    port: int = 8080
    path: Literal["stripped", "absolute"] = "stripped"
    ready: str = "/"
    timeout_s: int = 60
    input: Literal["file", "command"] | None = None
    extensions: tuple[str, ...] = ()
    activity: Literal["connections", "none"] = "connections"
    hint: str | None = None
    environments: tuple[str, ...] = ()
    language: str | None = None
    min_version: str | None = None
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def is_offered_in(self, environment: Environment) -> bool:
        """Return whether a session with this environment offers it."""
        if self.environments and environment.name not in self.environments:
            return False
        if self.language is not None and environment.language != self.language:
            return False
        needed = self.min_version
        return needed is None or _to_numbers(environment.version) >= _to_numbers(needed)


def load_app(path: Path) -> App:
    """Load and validate one file. Raises CatalogError."""
    if not _NAME.fullmatch(path.stem):
        raise CatalogError(
            [
                f"{path}: the file's name is the app's: a lowercase letter, then at most 19 "
                "lowercase letters, digits and -"
            ]
        )
    fields = read_fields(path, SCHEMA)
    if problems := [f"{path}: {problem}" for problem in _semantic_problems(fields)]:
        raise CatalogError(problems)
    return _build_app(path.stem, fields)


def resolve_programs(apps: Iterable[App], app_dir: Path | None) -> list[App]:
    """Return the apps whose program is installed, with its path in their command.

    Apps without the field `program` are among them: whether their environment has the program is
    not checked here.
    """
    return [
        _insert_program(app, app_dir) if app.program is not None and app_dir is not None else app
        for app in apps
        if explain_missing_program(app, app_dir) is None
    ]


def explain_missing_program(app: App, app_dir: Path | None) -> str | None:
    """Return why the app's program isn't installed, for administrators.

    None if it is installed. Also None for an app without the field `program`, which relies on its
    environment.
    """
    if app.program is None:
        return None
    is_vscode = app.program.startswith(VSCODE)
    if app_dir is None:
        return NEEDS_APP_DIR_AND_VSCODE if is_vscode else NEEDS_APP_DIR
    program = app_dir / app.program
    if _is_installed(program):
        return None
    if is_vscode:
        return f"Its program, {program}, isn't there. Run “portal vscode” to install it."
    return f"Its program, {program}, isn't there. Install it, or let the portal's account read it."


def _is_installed(program: Path) -> bool:
    """Return whether the program is there and can be seen; a folder may be closed to the portal."""
    try:
        return program.is_file()
    except OSError:
        return False


def to_config(
    apps: Iterable[App],
    environment: Environment,
    origin: str,
    env_and_prefix: tuple[dict[str, str], list[str]],
) -> dict[str, Any]:
    """Return the apps of a session for its config.json (see launch_files.py).

    `env_and_prefix` are the variables, and the words before a command, with which it runs in the
    environment. `origin` is that of the session's address in the browser.
    """
    env, prefix = env_and_prefix
    offered = [app for app in apps if app.is_offered_in(environment)]
    return {
        "origin": origin,
        "prefix": list(prefix),
        "env": dict(env),
        "declared": {app.name: _to_json(app) for app in offered},
    }


def list_variables(apps: Iterable[App]) -> list[str]:
    """Return the names of all variables that the apps' processes get."""
    return sorted({PORT_VARIABLE, BASE_VARIABLE, *(name for app in apps for name in app.env)})


def _insert_program(app: App, app_dir: Path) -> App:
    program = f"{app_dir}/{app.program}"
    return replace(app, command=tuple(word.replace(_PROGRAM, program) for word in app.command))


def _to_json(app: App) -> dict[str, Any]:
    return {
        "title": app.title,
        "description": app.description,
        "command": list(app.command),
        "port": app.port if app.listens == "port" else None,
        "stripped": app.path == "stripped",
        "ready": app.ready,
        "timeout_s": app.timeout_s,
        "input": app.input,
        "extensions": list(app.extensions),
        "active": app.activity == "connections",
        "hint": app.hint,
        "env": dict(app.env),
    }


def _semantic_problems(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield the problems that a schema cannot express, for fields that conform to the schema."""
    used = {name for word in fields["command"] for name in _PLACEHOLDER.findall(word)}
    listens, given = fields.get("listens", "port"), fields.get("input")
    if listens == "socket" and "socket" not in used:
        yield "command: with `listens: socket` it has to contain the placeholder {socket}"
    for name in sorted(used & _ADDRESSES - {listens}):
        yield f"command: the placeholder {{{name}}} needs `listens: {name}`"
    for name in sorted(used & _INPUTS - {given}):
        yield f"command: the placeholder {{{name}}} needs `input: {name}`"
    if given is not None and given not in used:
        yield f"command: with `input: {given}` it has to contain the placeholder {{{given}}}"
    if ("program" in used) != ("program" in fields):
        yield "program: it is needed if, and only if, the command contains {program}"
    if given == "command" and listens == "socket":
        yield "listens: with `input: command` it is always a port"
    if "extensions" in fields and given != "file":
        yield "extensions: these need `input: file`"
    if "min_version" in fields and "language" not in fields:
        yield "min_version: it needs `language`"


def _build_app(name: str, fields: Mapping[str, Any]) -> App:
    lists = {
        key: tuple(fields[key])
        for key in ("command", "extensions", "environments")
        if key in fields
    }
    env = MappingProxyType(dict(fields.get("env", {})))
    return App(name=name, **{**fields, **lists, "env": env})


def _to_numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
