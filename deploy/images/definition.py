"""The definition of an image, parsed and hashed, and the host's pip settings.

Standard library only; runs no programs.
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

# Part of every hash: increment it when a change of the build changes the content of images.
RECIPE = 3
SUFFIX = ".toml"
DEFINITIONS = Path(__file__).resolve().parents[2] / "spawner" / "catalog" / "images"
_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,62}")
_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "title": str,
    "suites": list,
    "packages": list,
    "pip": (dict, list),
    "programs": list,
    "files": dict,
    "links": dict,
    "check": dict,
    "only_by_name": bool,
}
_PIP_FIELDS = frozenset({"python", "lock", "otherwise", "options", "env"})


class DefinitionError(Exception):
    """The definition cannot be used; the message names the file and the field."""


@dataclass(frozen=True)
class PipStep:
    """One run of pip. `lock` and `otherwise` are the texts of requirements files with hashes.

    `otherwise` is used on machines whose package sources lack something that `lock` names.
    """

    python: str
    lock: str
    otherwise: str | None = None
    options: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Definition:
    """One image.

    `programs` are the texts of Python programs to run in it after pip; `files` maps the path of
    each additional file to its text, and `links` that of each symbolic link to its target. An image
    that is built `only_by_name` isn't among "all".
    """

    name: str
    title: str
    suites: tuple[str, ...]
    packages: tuple[str, ...]
    pip: tuple[PipStep, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    check: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    only_by_name: bool = False

    @property
    def hash(self) -> str:
        """Twelve hex digits that change with everything that goes into the image."""
        parts = {**asdict(self), "recipe": RECIPE}
        del parts["only_by_name"]
        for name in ("programs", "files"):
            if not parts[name]:  # images that were built before the field existed keep their names
                del parts[name]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.hash}.sif"


def load(folder: Path, names: Iterable[str] = ()) -> list[Definition]:
    """Return the named definitions of a folder, or all of them. Raises DefinitionError."""
    selected = list(names) or sorted(path.stem for path in folder.glob(f"*{SUFFIX}"))
    return [read(folder / f"{name}{SUFFIX}") for name in selected]


def read(path: Path) -> Definition:
    """Return one definition, with the lock files it names. Raises DefinitionError."""
    if not _NAME.fullmatch(path.stem):
        raise DefinitionError(f"{path}: an image's name is lowercase letters, digits, . _ and -")
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DefinitionError(f"{path}: no such definition") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DefinitionError(f"{path}: {error}") from error
    for name, value in fields.items():
        if name not in _FIELDS:
            raise DefinitionError(f"{path}: {name}: unknown field")
        if not isinstance(value, _FIELDS[name]):
            raise DefinitionError(f"{path}: {name}: has the wrong type: {value!r:.80}")
    suites = _parse_texts(path, "suites", fields.get("suites"))
    if not suites:
        raise DefinitionError(f"{path}: suites: must contain at least the release")
    pip = fields.get("pip", [])
    return Definition(
        name=path.stem,
        title=fields.get("title", path.stem),
        suites=suites,
        packages=_parse_texts(path, "packages", fields.get("packages", [])),
        pip=tuple(
            _parse_pip_step(path, step) for step in (pip if isinstance(pip, list) else [pip])
        ),
        programs=tuple(
            _read_beside(path, "programs", name)
            for name in _parse_texts(path, "programs", fields.get("programs", []))
        ),
        files={
            target: _read_beside(path, f"files.{target}", name)
            for target, name in _parse_pairs(path, "files", fields.get("files", {})).items()
        },
        links=_parse_pairs(path, "links", fields.get("links", {})),
        check=_parse_texts(path, "check.command", fields.get("check", {}).get("command", [])),
        only_by_name=fields.get("only_by_name", False),
    )


def _parse_pip_step(path: Path, step: object) -> PipStep:
    if not isinstance(step, dict):
        raise DefinitionError(f"{path}: pip: must be tables")
    if unknown := sorted(step.keys() - _PIP_FIELDS):
        raise DefinitionError(f"{path}: pip.{unknown[0]}: unknown field")
    otherwise = "otherwise" in step
    return PipStep(
        python=_parse_text(path, "pip.python", step.get("python")),
        lock=_read_lock(path, "pip.lock", step.get("lock")),
        otherwise=_read_lock(path, "pip.otherwise", step["otherwise"]) if otherwise else None,
        options=_parse_texts(path, "pip.options", step.get("options", [])),
        env=_parse_pairs(path, "pip.env", step.get("env", {})),
    )


def _read_lock(path: Path, field: str, value: object) -> str:
    name = _parse_text(path, field, value)
    text = _read_beside(path, field, name)
    if "--hash=sha256:" not in text:
        raise DefinitionError(f"{path}: {field}: {name} has no hashes")
    return text


def _read_beside(path: Path, field: str, name: str) -> str:
    """Return the text of a file in the definition's folder."""
    try:
        return (path.parent / name).read_text(encoding="utf-8")
    except OSError as error:
        raise DefinitionError(f"{path}: {field}: {error.strerror}: {name}") from error


def _parse_pairs(path: Path, field: str, value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise DefinitionError(f"{path}: {field}: must be a table of strings")
    return {name: _parse_text(path, f"{field}.{name}", text) for name, text in value.items()}


def _parse_text(path: Path, field: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise DefinitionError(f"{path}: {field}: must be a string")
    return value


def _parse_texts(path: Path, field: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise DefinitionError(f"{path}: {field}: must be a list of strings")
    return tuple(_parse_text(path, field, item) for item in value)


def pip_environment(configs: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the host's pip settings as variables, for a pip elsewhere that reads no file.

    `configs` are the texts of pip's configuration files, weakest first; variables take precedence
    (pip's user guide, "Configuration"). Only the sections that apply to `pip install` are used.
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
    # these would put the packages outside the image
    for name in ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_REQUIRE_VIRTUALENV"):
        settings.pop(name, None)
    return settings


def local_paths(settings: Iterable[str]) -> list[str]:
    """Return the host's files and folders to which pip's settings refer.

    For an index given as file:///a/b/simple, this is /a/b, because its pages link to files beside
    it.
    """
    paths: set[str] = set()
    for word in (word for value in settings for word in value.split()):
        if word.startswith("file:///"):
            path = Path(word.removeprefix("file://").rstrip("/"))
            paths.add(str(path.parent if path.parent != Path("/") else path))
        elif word.startswith("/") and word != "/dev/null":
            paths.add(word.rstrip("/"))
    return sorted(paths)
