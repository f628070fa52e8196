"""What an image is made of: its definition, read and hashed, and the host's pip settings.

Standard library only; it runs nothing. The build itself is deploy/images.py.
"""

from __future__ import annotations

import configparser
import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

# Part of every hash: raise it when the way images are built changes what is in them.
RECIPE = 3
SUFFIX = ".toml"
_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,62}")
_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "title": str,
    "suites": list,
    "packages": list,
    "pip": (dict, list),
    "links": dict,
    "check": dict,
}
_PIP_FIELDS = frozenset({"python", "lock", "otherwise", "options", "env"})


class DefinitionError(Exception):
    """The definition can't be used; the message names the file and the field."""


@dataclass(frozen=True)
class PipStep:
    """One run of pip. `lock` and `otherwise` are texts of requirements files with hashes.

    `otherwise` is for a machine whose package sources lack something that `lock` names.
    """

    python: str
    lock: str
    otherwise: str | None = None
    options: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Definition:
    """One image. `links` are symbolic links to make in it: where, and to what."""

    name: str
    title: str
    suites: tuple[str, ...]
    packages: tuple[str, ...]
    pip: tuple[PipStep, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    check: tuple[str, ...] = ()

    @property
    def hash(self) -> str:
        """Twelve hex digits that change with all that goes into the image."""
        parts = {**asdict(self), "recipe": RECIPE}
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.hash}.sif"


def load(folder: Path, names: Iterable[str] = ()) -> list[Definition]:
    """The named definitions of a folder, or all of them. Raises DefinitionError."""
    wanted = list(names) or sorted(path.stem for path in folder.glob(f"*{SUFFIX}"))
    return [read(folder / f"{name}{SUFFIX}") for name in wanted]


def read(path: Path) -> Definition:
    """One definition, with the lock file it names. Raises DefinitionError."""
    if not _NAME.fullmatch(path.stem):
        raise DefinitionError(f"{path}: an image's name is lowercase letters, digits, . _ and -")
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DefinitionError(f"{path}: there is no such definition") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DefinitionError(f"{path}: {error}") from error
    for name, value in fields.items():
        if name not in _FIELDS:
            raise DefinitionError(f"{path}: {name}: there is no such field")
        if not isinstance(value, _FIELDS[name]):
            raise DefinitionError(f"{path}: {name}: is of the wrong kind: {value!r:.80}")
    suites = _texts(path, "suites", fields.get("suites"))
    if not suites:
        raise DefinitionError(f"{path}: suites: must name at least the release")
    pip = fields.get("pip", [])
    return Definition(
        name=path.stem,
        title=fields.get("title", path.stem),
        suites=suites,
        packages=_texts(path, "packages", fields.get("packages", [])),
        pip=tuple(_pip_step(path, step) for step in (pip if isinstance(pip, list) else [pip])),
        links=_pairs(path, "links", fields.get("links", {})),
        check=_texts(path, "check.command", fields.get("check", {}).get("command", [])),
    )


def _pip_step(path: Path, step: object) -> PipStep:
    if not isinstance(step, dict):
        raise DefinitionError(f"{path}: pip: must be tables")
    if unknown := sorted(step.keys() - _PIP_FIELDS):
        raise DefinitionError(f"{path}: pip.{unknown[0]}: there is no such field")
    otherwise = "otherwise" in step
    return PipStep(
        python=_text(path, "pip.python", step.get("python")),
        lock=_lock(path, "pip.lock", step.get("lock")),
        otherwise=_lock(path, "pip.otherwise", step["otherwise"]) if otherwise else None,
        options=_texts(path, "pip.options", step.get("options", [])),
        env=_pairs(path, "pip.env", step.get("env", {})),
    )


def _lock(path: Path, field: str, value: object) -> str:
    name = _text(path, field, value)
    try:
        text = (path.parent / name).read_text(encoding="utf-8")
    except OSError as error:
        raise DefinitionError(f"{path}: {field}: {error.strerror}: {name}") from error
    if "--hash=sha256:" not in text:
        raise DefinitionError(f"{path}: {field}: {name} pins no hashes")
    return text


def _pairs(path: Path, field: str, value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise DefinitionError(f"{path}: {field}: must be a table of texts")
    return {name: _text(path, f"{field}.{name}", text) for name, text in value.items()}


def _text(path: Path, field: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise DefinitionError(f"{path}: {field}: must be a text")
    return value


def _texts(path: Path, field: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise DefinitionError(f"{path}: {field}: must be a list of texts")
    return tuple(_text(path, field, item) for item in value)


def pip_environment(configs: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """The host's pip settings as variables for a pip elsewhere that reads no file.

    `configs` are the texts of pip's configuration files, weakest first; variables are stronger
    (pip's user guide, "Configuration"). Of the sections only those that matter to `pip install`.
    """
    settings: dict[str, str] = {}
    for section in ("global", "install"):
        for text in configs:
            parser = configparser.RawConfigParser()
            parser.read_string(text)
            if parser.has_section(section):
                settings |= {
                    f"PIP_{name.upper().replace('-', '_')}": " ".join(value.split())
                    for name, value in parser.items(section)
                }
    settings |= {
        k: v for k, v in environ.items() if k.startswith("PIP_") and k != "PIP_CONFIG_FILE"
    }
    passed = {"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"}
    passed |= {f"{kind}_proxy" for kind in ("http", "https", "no", "all")}
    settings |= {k: v for k, v in environ.items() if k in passed or k.lower() in passed}
    # They would put the packages elsewhere than into the image.
    for name in ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_REQUIRE_VIRTUALENV"):
        settings.pop(name, None)
    return settings


def local_paths(settings: Iterable[str]) -> list[str]:
    """The files and folders of the host that pip's settings point into.

    Of an index given as file:///a/b/simple all of /a/b is taken: its pages link to files beside it.
    """
    found: set[str] = set()
    for word in (word for value in settings for word in value.split()):
        if word.startswith("file:///"):
            path = Path(word.removeprefix("file://").rstrip("/"))
            found.add(str(path.parent if path.parent != Path("/") else path))
        elif word.startswith("/") and word != "/dev/null":
            found.add(word.rstrip("/"))
    return sorted(found)
