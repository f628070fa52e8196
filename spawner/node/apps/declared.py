"""The apps that a session offers, from its config.json, and what the user enters to start one.

The declarations were validated when the portal loaded the apps' YAML files
(spawner/catalog/app.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from dataclasses import fields as dataclass_fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from spawner.names import remove_invisible

_FIELD = re.compile(r"\{([a-z]+)\}")
PORT_VARIABLE = "PORT"
BASE_VARIABLE = "PORTAL_APP_BASE"
"""Variables that each app gets: its port, and its address below the host."""
FIELD_NAMES = {"stripped": "strips_prefix", "active": "counts_as_activity"}
"""Keys of config.json whose field is called otherwise. The keys must not change: a session of
another version may still be queued."""
MIN_PORT = 1024
MAX_TEXT = 4000


class AppRefusal(Exception):
    """A request about an app can't be fulfilled; the message is for the user.

    `field` is the one of the request that is wrong, if any.
    """

    def __init__(self, status: int, detail: str, field: str | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.field = field


@dataclass(frozen=True)
class AppInput:
    """What the user entered: a file, or a command and its port."""

    file: str | None = None
    command: str | None = None
    port: int | None = None

    @classmethod
    def parse(cls, body: Mapping[str, Any]) -> AppInput:
        """Return the input in a request of the portal, which has validated the types."""
        return cls(**{name: body.get(name) for name in ("file", "command", "port")})

    def with_absolute_file(self, home: str) -> AppInput:
        """Return this input with the file's absolute path, so that it can be compared."""
        return replace(self, file=str(_expand(self.file, home))) if self.file else self


@dataclass(frozen=True)
class DeclaredApp:
    """One app, as `spawner/catalog/app.py` writes it into config.json.

    - `port` is None for a socket.
    - `ready` is the path, below the app's own address, that is requested until it answers with a
      status below 500.
    - `hint` is one sentence about what to do if the app's program is missing from the environment.
    """

    name: str
    title: str
    command: list[str]
    port: int | None
    description: str = ""
    strips_prefix: bool = True
    ready: str = "/"
    timeout_s: int = 60
    input: str | None = None
    extensions: list[str] = field(default_factory=list)
    counts_as_activity: bool = True
    hint: str | None = None
    env: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, name: str, fields: Mapping[str, Any]) -> DeclaredApp:
        """Return the app; fields of another version of the portal are ignored."""
        known = {one.name for one in dataclass_fields(cls)} - {"name"}
        named = {FIELD_NAMES.get(key, key): value for key, value in fields.items()}
        return cls(name, **{key: value for key, value in named.items() if key in known})


@dataclass(frozen=True)
class SessionAppsConfig:
    """The part `apps` of config.json.

    `base_url` is the session's path, with a final slash. `prefix` is the words before each command,
    which run it inside the environment; `env` their variables.
    """

    base_url: str
    origin: str = ""
    prefix: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    declared: dict[str, DeclaredApp] = field(default_factory=dict)

    @classmethod
    def parse(cls, config: Mapping[str, Any], base_url: str) -> SessionAppsConfig:
        declared = config.get("declared", {})
        return cls(
            base_url=base_url,
            origin=config.get("origin", ""),
            prefix=list(config.get("prefix", [])),
            env=dict(config.get("env", {})),
            declared={name: DeclaredApp.parse(name, fields) for name, fields in declared.items()},
        )

    def base_of(self, name: str) -> str:
        """Return the path of an app's address, without a final slash."""
        return f"{self.base_url}app/{name}"


@dataclass(frozen=True)
class Launch:
    """A start of an app: its command, variables, working folder and port."""

    argv: list[str]
    env: dict[str, str]
    folder: str
    port: int | None


def prepare_launch(
    config: SessionAppsConfig,
    app: DeclaredApp,
    given: AppInput,
    folder: Path,
    socket: Path,
    environ: Mapping[str, str],
) -> Launch:
    """Return how to start the app. Raises AppRefusal for an unsuitable input."""
    where = environ.get("HOME", "/")
    port = _check_port(given.port) if app.input == "command" else app.port
    base = config.base_of(app.name)
    values = {
        "port": str(port),
        "socket": str(socket),
        "base": base,
        "origin": config.origin,
        "host": urlsplit(config.origin).netloc,
        "folder": str(folder),
        "file": "",
        "command": "",
    }
    if app.input == "file":
        values["file"] = check_file(given.file, app.extensions, where)
        where = str(Path(values["file"]).parent)
    elif app.input == "command":
        values["command"] = _check_command(given.command)
    command = [_FIELD.sub(lambda match: values[match[1]], word) for word in app.command]
    own = {BASE_VARIABLE: base, **({PORT_VARIABLE: str(port)} if port is not None else {})}
    env = {**environ, **config.env, **app.env, **own}
    return Launch([*config.prefix, *command], env, where, port)


def check_file(path: str | None, extensions: list[str], home: str) -> str:
    """Return the absolute path of a regular file. Raises AppRefusal."""
    if not path or len(path) > MAX_TEXT:
        raise AppRefusal(422, "Enter the path of a file.", "file")
    if (character := _find_invisible(path)) is not None:
        raise AppRefusal(
            422,
            f"The path contains an invisible character or an unusual space, {character}. Rename "
            "the file, or enter the path again.",
            "file",
        )
    full = _expand(path, home)
    if extensions and not full.name.endswith(tuple(extensions)):
        wanted = ", ".join(extensions)
        raise AppRefusal(422, f"The name of the file has to end with {wanted}.", "file")
    try:
        if full.is_file():
            return str(full)
    except OSError as error:
        raise AppRefusal(422, f"The file can't be read: {error.strerror}.", "file") from error
    raise AppRefusal(422, "There is no such file.", "file")


def _expand(path: str, home: str) -> Path:
    return Path(home, path.removeprefix("~/"))


def _check_command(command: str | None) -> str:
    if not command or not command.strip() or len(command) > MAX_TEXT or "\0" in command:
        raise AppRefusal(422, "Enter a command.", "command")
    if (character := _find_invisible(command, kept="\n\t")) is not None:
        raise AppRefusal(
            422,
            f"The command contains an invisible character or an unusual space, {character}. Enter "
            "it again.",
            "command",
        )
    return command


def _find_invisible(text: str, kept: str = "") -> str | None:
    """Return the code of a character that the portal's pages don't show, if there is one.

    What they show and offer for the next start is thus exactly what was given.
    """
    visible = frozenset(remove_invisible(text, kept))
    return next((f"U+{ord(char):04X}" for char in text if char not in visible), None)


def _check_port(port: int | None) -> int:
    if port is None or not MIN_PORT <= port <= 65535:
        raise AppRefusal(422, "Enter a port from 1024 to 65535.", "port")
    return port
