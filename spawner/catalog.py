"""The catalog: the environments that a site offers, from its YAML files to checked objects.

`environments/NAME.yaml` of the shipped catalog and of the site's own folder, each held against
catalog/environment.schema.json. It reads files, and looks whether what an environment runs from
(runtimes.py) is there; it knows neither Slurm nor Jupyter nor the portal.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import jsonschema
import yaml

from spawner.model import Resources
from spawner.runtimes import SYSTEM_PATH, Container, Modules, Runtime, Virtualenv

SHIPPED = Path(__file__).parent / "catalog"
SCHEMA = SHIPPED / "environment.schema.json"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
MAX_DEPTH = 50
MAX_NUMBER_BITS = 1024  # as many as the largest float has
Gpu = Literal["none", "optional", "required"]


class CatalogError(Exception):
    """The catalog can't be used; `problems` are lines of the form `file: field: what is wrong`."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class Environment:
    """One environment, as environment.schema.json describes its fields.

    `kernel_argv` is empty for an environment without a kernel. `default_resources` has only what
    the file says, by the names of `model.Resources`.
    """

    name: str
    title: str
    description: str
    language: str
    framework: str | None
    version: str
    runtime: Runtime
    gpu: Gpu
    cuda: str | None
    min_driver: str | None
    packages: tuple[str, ...]
    kernel_argv: tuple[str, ...]
    kernel_display_name: str
    shell: tuple[str, ...] = ("bash",)
    user_site: str = ""
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    default_resources: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def kernel(self) -> bool:
        return bool(self.kernel_argv)

    def resources(self) -> Resources:
        """The resources of a session that asks for nothing."""
        return Resources(**self.default_resources)


@dataclass(frozen=True)
class Places:
    """Where a catalog's files lie, and what they refer to, by absolute paths. An image is looked
    for in each of `image_dirs`, the first one first; `modules_init` makes `module` known to bash
    on the nodes."""

    image_dirs: tuple[Path, ...]
    site: Path | None = None
    shipped: Path = SHIPPED
    modules_init: Path | None = None

    def folders(self) -> tuple[Path, ...]:
        """The catalogs' folders; what lies in a later one replaces what an earlier one has."""
        return (self.shipped, self.site) if self.site else (self.shipped,)


@dataclass(frozen=True)
class Catalog:
    """The environments by name, in the order of their names."""

    environments: Mapping[str, Environment]

    @staticmethod
    def load(shipped: Path = SHIPPED, site: Path | None = None, *, image_dir: Path) -> Catalog:
        """Read both folders; a site's file replaces the shipped one of the same name.

        Raises CatalogError with every problem of every file, or for a site folder that isn't
        there.
        """
        places = Places(image_dirs=(image_dir,), site=site, shipped=shipped)
        problems: list[str] = []
        found: dict[str, Environment] = {}
        for name, path in files(places, "environments").items():
            try:
                found[name] = load_environment(path, places)
            except CatalogError as error:
                problems.extend(error.problems)
        if problems:
            raise CatalogError(problems)
        return Catalog(MappingProxyType(found))


def files(places: Places, kind: str) -> dict[str, Path]:
    """The files KIND/NAME.yaml by name, in that order; a site's file replaces the shipped one.

    Raises CatalogError for a site folder that isn't there, OSError for one that can't be read.
    """
    if places.site is not None and not places.site.is_dir():
        raise CatalogError([f"{places.site}: there is no such folder"])
    found: dict[str, Path] = {}
    for folder in (folder / kind for folder in places.folders()):
        if folder.is_dir():  # unlike glob, iterdir tells what is wrong
            found |= {path.stem: path for path in folder.iterdir() if _is_shown(path.name)}
    return dict(sorted(found.items()))


def _is_shown(name: str) -> bool:
    """Whether it is one of the catalog's files, and no editor's backup."""
    return name.endswith(".yaml") and not name.startswith(".")


def availability(environment: Environment) -> tuple[bool, str | None]:
    """Whether a session in it can start now; if not, why, in a sentence for its user."""
    try:
        reason = environment.runtime.unavailable()
    except OSError as error:  # a folder that may not be looked into
        reason = f"What this environment runs from can't be looked at: {error.strerror}."
    return reason is None, reason


def load_environment(path: Path, places: Places) -> Environment:
    """One file, checked. Raises CatalogError."""
    if not _NAME.fullmatch(path.stem):
        raise CatalogError(
            [
                f"{path}: the file's name is the environment's: a lowercase letter, then at most"
                " 31 lowercase letters, digits and _"
            ]
        )
    try:
        fields = read_yaml(path)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise CatalogError([f"{path}: {error}"]) from error
    if problems := sorted(_problems(path, fields)):
        raise CatalogError(problems)
    try:
        return _environment(path.stem, fields, places)
    except OSError as error:  # a name that no folder can hold
        raise CatalogError([f"{path}: the image can't be looked at: {error.strerror}"]) from error


_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SafeLoader):  # type: ignore[misc]
    """The safe loader, which tells a value that can't be made, such as the date 2024-13-45, with
    its line; by itself it lets whatever Python says of it go through."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Raises yaml.constructor.ConstructorError."""
        try:
            value = super().construct_object(node, deep)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise _unmade(node, f"this is no value of its kind ({error})") from error
        if isinstance(value, float) and not math.isfinite(value):
            raise _unmade(node, "a number must be finite")
        if isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
            raise _unmade(node, "this number is too large")
        return value


def _unmade(place: yaml.Node | yaml.Event, why: str) -> yaml.YAMLError:
    mark: Any = place.start_mark
    return yaml.constructor.ConstructorError(None, None, why, mark)


def read_yaml(path: Path) -> Any:
    """What a file says, by libyaml where it is there: ten times as fast. Raises OSError,
    UnicodeDecodeError or yaml.YAMLError."""
    text = path.read_text(encoding="utf-8")
    check_depth(text)
    return yaml.load(text, _Loader)  # noqa: S506 - a safe one


def check_depth(text: str) -> None:
    """Raises yaml.YAMLError for what is nested so deeply that libyaml would end the process."""
    depth = 0
    for event in yaml.parse(text, _SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise _unmade(event, "lists and mappings are nested too deeply here")


@cache
def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def _problems(path: Path, fields: object) -> Iterator[str]:
    for error in _validator().iter_errors(fields):
        where = ".".join(str(part) for part in error.absolute_path)
        yield f"{path}: {where + ': ' if where else ''}{_sentence(error)}"


def _sentence(error: jsonschema.ValidationError) -> str:
    """What is wrong, with what the schema says of the field where a pattern would say little."""
    about = error.schema.get("description") if isinstance(error.schema, dict) else None
    if error.validator == "not":  # a field of another runtime
        return str(about)
    message = error.message[:300]
    if about and error.validator in {"pattern", "contains", "enum"}:
        return f"{message}. {about}"
    return message


def _runtime(fields: Mapping[str, Any], places: Places) -> Runtime:
    path = fields.get("path", SYSTEM_PATH)
    match fields["runtime"]:
        case "modules":
            return Modules(tuple(fields["modules"]), places.modules_init)
        case "virtualenv":
            return Virtualenv(Path(fields["prefix"]), path)
        case _:
            return Container(
                image=_image(fields["image"], places),
                path=path,
                binds=tuple(fields.get("binds", [])),
                public_image=fields.get("public_image"),
                needs=fields.get("needs"),
            )


def _image(name: str, places: Places) -> Path:
    """Where an image lies, or would; an absolute path stays what it is."""
    candidates = [folder / name for folder in places.image_dirs]
    return next((path for path in candidates if _is_there(path)), candidates[0])


def _is_there(path: Path) -> bool:
    """Whether a session would find it. Raises OSError for a name that is too long."""
    try:
        return path.exists()
    except PermissionError:
        return False  # `availability` says so, until the folder can be looked into


def _environment(name: str, fields: Mapping[str, Any], places: Places) -> Environment:
    kernel = fields.get("kernel") or {}
    return Environment(
        name=name,
        title=fields["title"],
        description=fields.get("description", ""),
        language=fields["language"],
        framework=fields.get("framework"),
        version=fields["version"],
        runtime=_runtime(fields, places),
        gpu=fields.get("gpu", "none"),
        cuda=fields.get("cuda"),
        min_driver=fields.get("min_driver"),
        packages=tuple(fields.get("packages", [])),
        kernel_argv=tuple(kernel.get("argv", [])),
        kernel_display_name=kernel.get("display_name", fields["title"]),
        shell=tuple(fields.get("shell", ["bash"])),
        user_site=fields.get("user_site", _user_site(fields["language"], fields["version"])),
        env=MappingProxyType(dict(fields.get("env", {}))),
        default_resources=MappingProxyType(dict(fields.get("default_resources", {}))),
    )


def _user_site(language: str, version: str) -> str:
    """Where the language's own tool puts a user's packages."""
    places = {"python": "lib/python{}/site-packages", "R": "lib/R/{}", "lua": "share/lua/{}"}
    return places[language].format(version)
