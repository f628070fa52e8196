"""Job templates that a site offers, loaded from YAML files and validated.

The files are `templates/NAME.yaml` in the shipped catalog and in the site's own folder, each
validated against catalog/template.schema.json. Only `load_templates` and the functions it calls
read files. docs/templates.md is the documentation for authors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import jsonschema
import yaml

from spawner.catalog import benchmarks
from spawner.catalog import parameters as parameter_rules
from spawner.catalog.benchmarks import Benchmark
from spawner.catalog.environment import SHIPPED, CatalogFolders, list_files, read_yaml
from spawner.slurm.model import Resources

Category = Literal["train", "scale_out", "sweep", "inference", "benchmark", "other"]
"""The heading under which users find a template."""
SCHEMA = SHIPPED / "template.schema.json"
MAX_TASKS = 1000
MAX_PROGRAMS_BYTES = 512 * 1024  # all files of a job are sent to the launcher in one frame
JOB_VARIABLES = frozenset({"home", "logdir", "nodes", "gpus", "cpus", "username"})
"""Variables that every script has, in addition to its parameters: see jobscript.JobContext."""
RESERVED_NAMES = frozenset(
    {"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"}  # may be in the environment
    | {"auto_resume", "histchars", "ignoreeof"}  # bash interprets these
    | {"portal_values"}  # see jobscript.py
)
"""Variables that change the behavior of bash or other programs: no names for parameters."""

_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_JINJA = re.compile(r"\{\{([^{}]*)\}\}|\{%[-+]?\s*[a-z]{2}[^{}]*%\}|\{##[^{}]*##\}")
_WIDGETS = {"boolean": "flag", "array": "list", "string": "text"}
_NUMBER_LIMITS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
_LIMITS_OF: dict[str, set[str]] = {
    "number": _NUMBER_LIMITS,
    "integer": _NUMBER_LIMITS,
    "string": {"minLength", "maxLength", "pattern"},
    "array": {"minItems", "maxItems", "uniqueItems"},
}
_PAIRS = (
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minimum", "maximum"),
    ("minimum", "exclusiveMaximum"),
    ("exclusiveMinimum", "maximum"),
    ("exclusiveMinimum", "exclusiveMaximum"),
)


class TemplateError(Exception):
    """Templates are invalid; `problems` are lines of the form `file: field: problem`."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class Template:
    """One template, with the fields described in template.schema.json.

    `parameters` is a JSON Schema (draft 2020-12) of the object that a user fills in; each property
    has `title`, `x-widget` and `x-order`. `array` names the list parameters that are spread over
    tasks, one task per combination of their values. `programs` is file name → text. `environments`
    permits the user to choose another environment than `environment`; "kernel" permits those with a
    kernel. `notebook` is the text of the notebook that `starter` names. `benchmark` describes the
    measurements of a benchmark template.
    """

    name: str
    title: str
    description: str
    environment: str
    script: str
    environments: Literal["kernel"] | None = None
    framework: str | None = None
    parameters: Mapping[str, Any] = field(
        default_factory=lambda: MappingProxyType({"type": "object", "properties": {}})
    )
    default_resources: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    array: tuple[str, ...] = ()
    requeue: bool = False
    signal: str | None = None
    category: Category = "other"
    tags: tuple[str, ...] = ()
    starter: str | None = None
    notebook: str | None = field(default=None, repr=False)
    programs: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    benchmark: Benchmark | None = None

    def resources(self) -> Resources:
        """Return the resources of a job without explicit requests."""
        return Resources(**self.default_resources)


def load_templates(shipped: Path = SHIPPED, site_dir: Path | None = None) -> dict[str, Template]:
    """Load every template by name; a site's file replaces the shipped one of the same name.

    Raises TemplateError with every problem of every file. A site folder need not contain templates.
    """
    catalog_folders = CatalogFolders(image_dirs=(), site_dir=site_dir, shipped=shipped)
    folders = program_folders(catalog_folders)
    problems: list[str] = []
    templates: dict[str, Template] = {}
    for name, path in list_files(catalog_folders, "templates").items():
        try:
            templates[name] = load_template(path, folders)
        except TemplateError as error:
            problems.extend(error.problems)
    if problems:
        raise TemplateError(problems)
    return templates


def program_folders(folders: CatalogFolders) -> list[Path]:
    """Return the folders in which to search for a template's programs and starters, in order."""
    return list(reversed(folders.catalogs()))


def load_template(path: Path, folders: list[Path]) -> Template:
    """Load and validate one file; its programs are searched for in each folder's jobs/, in order.

    Raises TemplateError.
    """
    if not _NAME.fullmatch(path.stem):
        raise TemplateError(
            [
                f"{path}: the file's name is the template's: a lowercase letter, then at most 39"
                " lowercase letters, digits and -"
            ]
        )
    try:
        fields = read_yaml(path)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise TemplateError([f"{path}: {error}"]) from error
    problems = sorted(_schema_problems(fields)) or list(_semantic_problems(fields, folders))
    if problems:
        raise TemplateError([f"{path}: {problem}" for problem in problems])
    return _build_template(path.stem, fields, folders)


def check_parameters(
    template: Template, parameters: object
) -> tuple[dict[str, Any], list[parameter_rules.Problem]]:
    """Return the parameters with defaults filled in, and (field, sentence) for each problem.

    With problems, the parameters must not be rendered.
    """
    values, problems = parameter_rules.check_values(template.parameters, parameters)
    if not problems and template.array:
        tasks = len(array_tasks(template, values))
        if not 0 < tasks <= MAX_TASKS:
            problems = [
                (f"parameters.{name}", f"That makes {tasks} tasks; 1 to {MAX_TASKS} are allowed.")
                for name in template.array
            ]
    return values, problems


def array_tasks(template: Template, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parameters of each task, in the order of their indices.

    Of the lists that are spread, the last one changes fastest. Empty for a template without an
    array.
    """
    if not template.array:
        return []
    tasks = [dict(parameters)]
    for name in template.array:
        tasks = [{**task, name: value} for task in tasks for value in parameters[name]]
    return tasks


# --- one file -----------------------------------------------------------------------------------


@cache
def _validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )


def _schema_problems(fields: object) -> Iterator[str]:
    for error in _validator().iter_errors(fields):
        path = [str(part) for part in error.absolute_path]
        if error.schema is False:  # the only use of `false` in the schema; its path is not reported
            path.append("items")
        yield f"{'.'.join(path)}: {_format_error(error)}" if path else _format_error(error)


def _format_error(error: jsonschema.ValidationError) -> str:
    """Return the error's message, with the schema's description if the message alone is unclear."""
    schema = error.schema if isinstance(error.schema, dict) else {}
    about = schema.get("description")
    if error.validator in {"pattern", "enum", "anyOf", "format", "type"} and about:
        return f"{error.message[:300]}. {about}"
    if error.schema is False:
        return "only a list (type: array) has items"
    return error.message[:300]


def _semantic_problems(fields: Mapping[str, Any], folders: list[Path]) -> Iterator[str]:
    """Yield the problems that a schema cannot express, for fields that conform to the schema."""
    properties = fields.get("parameters", {})
    for name, rule in properties.items():
        if name in JOB_VARIABLES:
            yield f"parameters.{name}: this name is reserved for a property of the job"
        if name in RESERVED_NAMES:
            yield f"parameters.{name}: this name is reserved: bash or other programs use it"
        yield from (f"parameters.{name}.{problem}" for problem in _rule_problems(rule))
    for name in _as_names(fields.get("array")):
        if "array" not in parameter_rules.permitted_types(properties.get(name, {})):
            yield f"array: {name} is not a parameter that is a list"
    for name in fields.get("programs", []):
        problems = _file_problems("jobs", name, folders)
        yield from (f"programs: {name}: {problem}" for problem in problems)
    if starter := fields.get("starter"):
        problems = _file_problems("starters", starter, folders)
        yield from (f"starter: {starter}: {problem}" for problem in problems)
    if measures := fields.get("benchmark"):
        yield from benchmarks.problems(Benchmark.from_fields(measures), properties)
    yield from (f"script: {problem}" for problem in _script_problems(fields))


def _script_problems(fields: Mapping[str, Any]) -> Iterator[str]:
    script: str = fields["script"]
    if any(ord(character) < 32 and character not in "\n\t" for character in script):
        yield "it contains control characters"
    for number, line in enumerate(script.split("\n"), start=1):
        if line.startswith("#SBATCH"):
            yield f"line {number}: request resources in default_resources, not by #SBATCH"
    yield from _find_jinja(script, _list_variables(fields))


def _list_variables(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return how a script expands each of its variables."""
    lists = {
        name
        for name, rule in fields.get("parameters", {}).items()
        if "array" in parameter_rules.permitted_types(rule)
        and name not in _as_names(fields.get("array"))
    }
    names = {*fields.get("parameters", {}), *JOB_VARIABLES}
    return {name: f'"${{{name}[@]}}"' if name in lists else f'"${name}"' for name in names}


def _find_jinja(script: str, variables: Mapping[str, str]) -> Iterator[str]:
    """Yield the Jinja2 tags of a template that was written for an earlier version.

    bash has {{a,b},c} and other programs have {{.ID}}, so braces count only around a variable.
    """
    for match in _JINJA.finditer(script):
        line = script.count("\n", 0, match.start()) + 1
        if match[1] is None:
            yield f"line {line}: write bash instead of {{% … %}} or {{## … ##}}: if, case, for, #"
        elif used := [name for name in re.findall(r"\w+", match[1]) if name in variables]:
            yield f"line {line}: write the variable {variables[used[0]]} instead of {{{{ … }}}}"


def _rule_problems(rule: Mapping[str, Any]) -> Iterator[str]:
    kinds = parameter_rules.permitted_types(rule)
    allowed = {_WIDGETS.get(kinds[0], "number"), "choice" if "enum" in rule else ""}
    if kinds[0] == "string":
        allowed |= {"path"}
    widget = rule.get("x-widget")
    if widget and widget not in allowed:
        yield f"x-widget: {widget} is not valid for type {kinds[0]}"
    yield from _limit_problems(rule)
    yield from (f"items.{problem}" for problem in _limit_problems(rule.get("items", {})))
    if "default" in rule:
        value = parameter_rules.restore_integers(rule["default"], rule)
        problem = next(parameter_rules.find_problems(value, rule), None)
        if problem:
            yield f"default: it {problem}"


def _limit_problems(rule: Mapping[str, Any]) -> Iterator[str]:
    """Yield limits that no value can satisfy, or that do not apply to the type."""
    kinds = parameter_rules.permitted_types(rule)
    if not kinds:
        return
    allowed = _LIMITS_OF.get(kinds[0], set())
    for word in sorted((set().union(*_LIMITS_OF.values()) - allowed) & rule.keys()):
        yield f"{word}: it is not valid for type {kinds[0]}"
    limits = {"maxLength": parameter_rules.MAX_TEXT, "maxItems": parameter_rules.MAX_ITEMS, **rule}
    for low, high in _PAIRS:
        if low in rule and high in limits:
            if rule[low] > limits[high]:
                yield f"{low}: it exceeds the {high}, {limits[high]}"
            elif rule[low] == limits[high] and "exclusive" in low + high:
                yield f"{low}: no number lies between it and the {high}"


def _file_problems(kind: str, name: str, folders: list[Path]) -> Iterator[str]:
    path = _find_file(folders, kind, name)
    if path is None:
        yield f"there is no such file in {kind}/"
        return
    try:
        if len(path.read_text(encoding="utf-8")) > MAX_PROGRAMS_BYTES // 4:
            yield f"it is longer than {MAX_PROGRAMS_BYTES // 4} characters"
    except (OSError, UnicodeDecodeError) as error:
        yield f"it can't be read: {error}"


def _find_file(folders: list[Path], kind: str, name: str) -> Path | None:
    paths = (folder / kind / name for folder in folders)
    return next((path for path in paths if path.is_file()), None)


def _read_file(folders: list[Path], kind: str, name: str) -> str:
    path = _find_file(folders, kind, name)
    assert path is not None, "checked before"  # noqa: S101
    return path.read_text(encoding="utf-8")


def _as_names(value: str | list[str] | None) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value or ())


def _build_template(name: str, fields: Mapping[str, Any], folders: list[Path]) -> Template:
    programs = {name: _read_file(folders, "jobs", name) for name in fields.get("programs", [])}
    starter = fields.get("starter")
    return Template(
        name=name,
        title=fields["title"],
        description=fields["description"].strip(),
        environment=fields["environment"],
        script=fields["script"],
        environments=fields.get("environments"),
        framework=fields.get("framework"),
        parameters=MappingProxyType(parameters_schema(fields.get("parameters", {}))),
        default_resources=MappingProxyType(dict(fields.get("default_resources", {}))),
        array=_as_names(fields.get("array")),
        requeue=fields.get("requeue", False),
        signal=fields.get("signal"),
        category=fields.get("category", "other"),
        tags=tuple(fields.get("tags", [])),
        starter=starter,
        notebook=_read_file(folders, "starters", starter) if starter else None,
        programs=MappingProxyType(programs),
        benchmark=Benchmark.from_fields(fields["benchmark"]) if fields.get("benchmark") else None,
    )


def parameters_schema(properties: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the JSON Schema of a template's parameters, with a widget and a position for each."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "required": [name for name, rule in properties.items() if "default" not in rule],
        "properties": {
            name: {"x-widget": _default_widget(rule), **rule, "x-order": order}
            for order, (name, rule) in enumerate(properties.items())
        },
    }


def _default_widget(rule: Mapping[str, Any]) -> str:
    if "enum" in rule:
        return "choice"
    return _WIDGETS.get(parameter_rules.permitted_types(rule)[0], "number")
