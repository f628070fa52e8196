"""Catalog of the environments that a site offers, loaded from YAML files and validated.

The files are `environments/NAME.yaml` in the shipped catalog and in the site's own folder, each
validated against catalog/environment.schema.json. This module reads files, and checks whether the
resources of an environment's runtime (containers/runtimes.py) exist; it is independent of Slurm,
Jupyter and the portal.
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

from spawner.containers.runtimes import SYSTEM_PATH, Container, Modules, Runtime, Virtualenv
from spawner.slurm.model import Resources

SHIPPED = Path(__file__).parent
SCHEMA = SHIPPED / "environment.schema.json"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
MAX_DEPTH = 50
MAX_NUMBER_BITS = 1024  # as in the largest float
Gpu = Literal["none", "optional", "required"]


class CatalogError(Exception):
    """The catalog is invalid; `problems` are lines of the form `file: field: problem`."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class Environment:
    """One environment, with the fields described in environment.schema.json.

    `kernel_argv` is empty for an environment without a kernel. `default_resources` has only the
    fields given in the file, with the names of `model.Resources`.
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
    def has_kernel(self) -> bool:
        return bool(self.kernel_argv)

    def resources(self) -> Resources:
        """Return the resources of a session without explicit requests."""
        return Resources(**self.default_resources)


@dataclass(frozen=True)
class CatalogFolders:
    """Absolute paths of a catalog's files and of what they refer to.

    An image is searched for in each of `image_dirs`, in order; `modules_init` defines `module` for
    bash on the nodes.
    """

    image_dirs: tuple[Path, ...]
    site_dir: Path | None = None
    shipped: Path = SHIPPED
    modules_init: Path | None = None

    def catalogs(self) -> tuple[Path, ...]:
        """Return the catalogs' folders; files in a later one replace those in an earlier one."""
        return (self.shipped, self.site_dir) if self.site_dir else (self.shipped,)


@dataclass(frozen=True)
class Catalog:
    """Environments by name, sorted by name."""

    environments: Mapping[str, Environment]

    @staticmethod
    def load(shipped: Path = SHIPPED, site_dir: Path | None = None, *, image_dir: Path) -> Catalog:
        """Load both folders; a site's file replaces the shipped one of the same name.

        Raises CatalogError with every problem of every file, or if the site folder does not exist.
        """
        folders = CatalogFolders(image_dirs=(image_dir,), site_dir=site_dir, shipped=shipped)
        problems: list[str] = []
        environments: dict[str, Environment] = {}
        for name, path in list_files(folders, "environments").items():
            try:
                environments[name] = load_environment(path, folders)
            except CatalogError as error:
                problems.extend(error.problems)
        if problems:
            raise CatalogError(problems)
        return Catalog(MappingProxyType(environments))


def list_files(folders: CatalogFolders, kind: str) -> dict[str, Path]:
    """Return the files KIND/NAME.yaml by name, sorted; a site's file replaces the shipped one.

    Raises CatalogError if the site folder does not exist, OSError if it cannot be read.
    """
    if folders.site_dir is not None and not folders.site_dir.is_dir():
        raise CatalogError([f"{folders.site_dir}: there is no such folder"])
    paths: dict[str, Path] = {}
    for folder in (folder / kind for folder in folders.catalogs()):
        if folder.is_dir():  # unlike glob, iterdir raises errors
            paths |= {path.stem: path for path in folder.iterdir() if _is_catalog_file(path.name)}
    return dict(sorted(paths.items()))


def _is_catalog_file(name: str) -> bool:
    """Return whether the name is that of a catalog file, as opposed to an editor's backup."""
    return name.endswith(".yaml") and not name.startswith(".")


def availability(environment: Environment) -> tuple[bool, str | None]:
    """Return whether a session in it can start now and, if not, a sentence for users."""
    try:
        reason = environment.runtime.unavailable()
    except OSError as error:  # a folder without permission to search it
        reason = f"The files of this environment can't be accessed: {error.strerror}."
    return reason is None, reason


def load_environment(path: Path, folders: CatalogFolders) -> Environment:
    """Load and validate one file. Raises CatalogError."""
    if not _NAME.fullmatch(path.stem):
        raise CatalogError(
            [
                f"{path}: the file's name is the environment's: a lowercase letter, then at most"
                " 31 lowercase letters, digits and _"
            ]
        )
    fields = read_fields(path, SCHEMA)
    try:
        return _build_environment(path.stem, fields, folders)
    except OSError as error:  # a name that no folder can hold
        raise CatalogError([f"{path}: the image can't be accessed: {error.strerror}"]) from error


def read_fields(path: Path, schema: Path) -> Any:
    """Return the fields of one file, validated against the schema. Raises CatalogError."""
    try:
        fields = read_yaml(path)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise CatalogError([f"{path}: {error}"]) from error
    if problems := sorted(_list_problems(path, fields, schema)):
        raise CatalogError(problems)
    return fields


_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SafeLoader):  # type: ignore[misc]
    """Safe loader that reports invalid values, such as the date 2024-13-45, with their line.

    The base class lets Python's exceptions through instead.
    """

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Construct a value. Raises yaml.constructor.ConstructorError."""
        try:
            value = super().construct_object(node, deep)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise _value_error(node, f"this is not a valid value of its type ({error})") from error
        if isinstance(value, float) and not math.isfinite(value):
            raise _value_error(node, "a number must be finite")
        if isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
            raise _value_error(node, "this number is too large")
        return value


def _value_error(node: yaml.Node | yaml.Event, why: str) -> yaml.YAMLError:
    mark: Any = node.start_mark
    return yaml.constructor.ConstructorError(None, None, why, mark)


def read_yaml(path: Path) -> Any:
    """Load a YAML file, with libyaml if available, which is ten times as fast.

    Raises OSError, UnicodeDecodeError or yaml.YAMLError.
    """
    text = path.read_text(encoding="utf-8")
    check_depth(text)
    return yaml.load(text, _Loader)  # noqa: S506 - a safe one


def check_depth(text: str) -> None:
    """Raise yaml.YAMLError for nesting so deep that libyaml would crash the process."""
    depth = 0
    for event in yaml.parse(text, _SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise _value_error(event, "lists and mappings are nested too deeply here")


@cache
def _validator(schema: Path) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(schema.read_text(encoding="utf-8")))


def _list_problems(path: Path, fields: object, schema: Path) -> Iterator[str]:
    for error in _validator(schema).iter_errors(fields):
        location = ".".join(str(part) for part in error.absolute_path)
        yield f"{path}: {location + ': ' if location else ''}{_format_error(error)}"


def _format_error(error: jsonschema.ValidationError) -> str:
    """Return the error's message, with the schema's description if the message alone is unclear."""
    about = error.schema.get("description") if isinstance(error.schema, dict) else None
    if error.validator == "not":  # a field of another runtime
        return str(about)
    message = error.message[:300]
    if about and error.validator in {"pattern", "contains", "enum"}:
        return f"{message}. {about}"
    return message


def _build_runtime(fields: Mapping[str, Any], folders: CatalogFolders) -> Runtime:
    path = fields.get("path", SYSTEM_PATH)
    match fields["runtime"]:
        case "modules":
            return Modules(tuple(fields["modules"]), folders.modules_init)
        case "virtualenv":
            return Virtualenv(Path(fields["prefix"]), path)
        case _:
            return Container(
                image=_find_image(fields["image"], folders),
                path=path,
                binds=tuple(fields.get("binds", [])),
                public_image=fields.get("public_image"),
                needs=fields.get("needs"),
            )


def _find_image(name: str, folders: CatalogFolders) -> Path:
    """Return the path where an image is, or would be; an absolute path stays unchanged."""
    candidates = [folder / name for folder in folders.image_dirs]
    return next((path for path in candidates if _exists(path)), candidates[0])


def _exists(path: Path) -> bool:
    """Return whether a session would find it. Raises OSError for a name that is too long."""
    try:
        return path.exists()
    except PermissionError:
        return False  # `availability` reports this until the folder can be searched


def _build_environment(
    name: str, fields: Mapping[str, Any], folders: CatalogFolders
) -> Environment:
    kernel = fields.get("kernel") or {}
    return Environment(
        name=name,
        title=fields["title"],
        description=fields.get("description", ""),
        language=fields["language"],
        framework=fields.get("framework"),
        version=fields["version"],
        runtime=_build_runtime(fields, folders),
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
    """Return where the language's own package tool installs a user's packages."""
    patterns = {"python": "lib/python{}/site-packages", "R": "lib/R/{}", "lua": "share/lua/{}"}
    return patterns[language].format(version)
