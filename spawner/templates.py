"""The templates that a site offers, from YAML files to checked objects.

`templates/NAME.yaml` of the shipped catalog and of the site's own folder, each held against
catalog/template.schema.json, and its script against what makes a script safe (jobscript.py). Only
`load_templates` and what it calls read files. docs/templates.md is for those who write them.
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

from spawner import benchmarks
from spawner import parameters as rules
from spawner.benchmarks import Benchmark
from spawner.catalog import SHIPPED, Places, files, read_yaml
from spawner.model import Resources
from spawner.shelltext import ShellWord, Unrenderable, render, script_problems

SCHEMA = SHIPPED / "template.schema.json"
MAX_TASKS = 1000
MAX_PROGRAMS_BYTES = 512 * 1024  # all of a job travels in one frame to the launcher
PLACE_NAMES = frozenset({"home", "logdir", "nodes", "gpus", "cpus", "username"})
"""What a script may use beside its parameters: see jobscript.JobPlace."""

_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
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
    """Templates that can't be used; `problems` are lines of the form `file: field: what`."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class Template:
    """One template, as template.schema.json describes its fields.

    `parameters` is a JSON Schema (draft 2020-12) of the object a user fills in; each property has
    `title`, `x-widget` and `x-order`. `array` names the list parameters that are spread over tasks,
    one for each combination of their values. `programs` is file name → text. `environments` says
    that a user may choose another environment than `environment`: "kernel", one with a kernel.
    `notebook` is the text of the notebook that `starter` names. `benchmark` is what a template that
    measures something measures.
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
    tags: tuple[str, ...] = ()
    starter: str | None = None
    notebook: str | None = field(default=None, repr=False)
    programs: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    benchmark: Benchmark | None = None

    def resources(self) -> Resources:
        """The resources of a job that asks for nothing."""
        return Resources(**self.default_resources)


def load_templates(shipped: Path = SHIPPED, site: Path | None = None) -> dict[str, Template]:
    """Every template by name; a site's file replaces the shipped one of the same name.

    Raises TemplateError with every problem of every file. A site folder without templates is fine.
    """
    places = Places(image_dirs=(), site=site, shipped=shipped)
    folders = program_folders(places)
    problems: list[str] = []
    found: dict[str, Template] = {}
    for name, path in files(places, "templates").items():
        try:
            found[name] = load_template(path, folders)
        except TemplateError as error:
            problems.extend(error.problems)
    if problems:
        raise TemplateError(problems)
    return found


def program_folders(places: Places) -> list[Path]:
    """Where a template's programs and starters are looked for, the first one first."""
    return list(reversed(places.folders()))


def load_template(path: Path, folders: list[Path]) -> Template:
    """One file, checked; its programs are looked for in each folder's jobs/, the first one first.
    Raises TemplateError."""
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
    problems = sorted(_shape_problems(fields)) or list(_sense_problems(fields, folders))
    if problems:
        raise TemplateError([f"{path}: {problem}" for problem in problems])
    return _template(path.stem, fields, folders)


def check_parameters(
    template: Template, parameters: object
) -> tuple[dict[str, Any], list[rules.Problem]]:
    """The parameters with defaults filled in, and (field, sentence) for all that is wrong.

    What comes with problems is not to be rendered.
    """
    values, problems = rules.check_values(template.parameters, parameters)
    if not problems and template.array:
        tasks = len(array_tasks(template, values))
        if not 0 < tasks <= MAX_TASKS:
            problems = [
                (f"parameters.{name}", f"That makes {tasks} tasks; 1 to {MAX_TASKS} can be had.")
                for name in template.array
            ]
    return values, problems


def array_tasks(template: Template, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parameters of each task, in the order of their indices: of the lists that are spread,
    the last one changes fastest. Empty for a template without an array."""
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


def _shape_problems(fields: object) -> Iterator[str]:
    for error in _validator().iter_errors(fields):
        where = [str(part) for part in error.absolute_path]
        if error.schema is False:  # the one place that has it; no path is told
            where.append("items")
        yield f"{'.'.join(where)}: {_sentence(error)}" if where else _sentence(error)


def _sentence(error: jsonschema.ValidationError) -> str:
    """What is wrong, with what the schema says of the field where a rule would say little."""
    schema = error.schema if isinstance(error.schema, dict) else {}
    about = schema.get("description")
    if error.validator in {"pattern", "enum", "anyOf", "format", "type"} and about:
        return f"{error.message[:300]}. {about}"
    if error.schema is False:
        return "only a list (type: array) has items"
    return error.message[:300]


def _sense_problems(fields: Mapping[str, Any], folders: list[Path]) -> Iterator[str]:
    """What a schema can't say. The shape is sound already."""
    properties = fields.get("parameters", {})
    for name, rule in properties.items():
        if name in PLACE_NAMES:
            yield f"parameters.{name}: this name is taken: it is where or with what the job runs"
        yield from (f"parameters.{name}.{wrong}" for wrong in _rule_problems(rule))
    for name in _names(fields.get("array")):
        if "array" not in rules.types(properties.get(name, {})):
            yield f"array: {name} is not a parameter that is a list"
    for name in fields.get("programs", []):
        problems = _file_problems("jobs", name, folders)
        yield from (f"programs: {name}: {wrong}" for wrong in problems)
    if starter := fields.get("starter"):
        problems = _file_problems("starters", starter, folders)
        yield from (f"starter: {starter}: {wrong}" for wrong in problems)
    if measures := fields.get("benchmark"):
        yield from benchmarks.problems(Benchmark.of(measures), properties)
    in_script = list(script_problems(fields["script"], {*properties, *PLACE_NAMES}))
    yield from (f"script: {wrong}" for wrong in in_script)
    if not in_script:
        yield from _rehearsal(fields)


def _rehearsal(fields: Mapping[str, Any]) -> Iterator[str]:
    """What hinders the script of its defaults, with the simplest values where there are none.
    Nothing is said where it isn't plain what a good value would be."""
    properties: Mapping[str, Mapping[str, Any]] = fields.get("parameters", {})
    values = {name: _sample(rule) for name, rule in properties.items()}
    if any(next(rules.faults(values[name], rule), None) for name, rule in properties.items()):
        return
    spread = {name: ShellWord('"$value"') for name in _names(fields.get("array"))}
    asked = Resources(**fields.get("default_resources", {}))
    place = {"home": "/home/user", "username": "user", "logdir": "/home/user/runs/job"}
    numbers = {"nodes": asked.nodes, "gpus": asked.gpus, "cpus": asked.cpus}
    try:
        render(fields["script"], {**place, **numbers, **values, **spread})
    except Unrenderable as error:
        yield f"script: it can't be rendered with the parameters' defaults: {error}"


def _sample(rule: Mapping[str, Any]) -> Any:
    """The default, or a simple value that may be good."""
    if "default" in rule:
        return rules.plain(rule["default"], rule)
    if "enum" in rule:
        return rule["enum"][0]
    match rules.types(rule)[0]:
        case "string":
            return "x" * max(1, rule.get("minLength", 1))
        case "boolean":
            return False
        case "array":
            return [_sample(rule["items"])] * max(1, rule.get("minItems", 1))
        case _:
            return rule.get("minimum", rule.get("maximum", rule.get("exclusiveMinimum", 0) + 1))


def _rule_problems(rule: Mapping[str, Any]) -> Iterator[str]:
    kinds = rules.types(rule)
    allowed = {_WIDGETS.get(kinds[0], "number"), "choice" if "enum" in rule else ""}
    if kinds[0] == "string":
        allowed |= {"path"}
    widget = rule.get("x-widget")
    if widget and widget not in allowed:
        yield f"x-widget: {widget} does not go with the type {kinds[0]}"
    yield from _limit_problems(rule)
    yield from (f"items.{wrong}" for wrong in _limit_problems(rule.get("items", {})))
    if "default" in rule:
        wrong = next(rules.faults(rules.plain(rule["default"], rule), rule), None)
        if wrong:
            yield f"default: it {wrong}"


def _limit_problems(rule: Mapping[str, Any]) -> Iterator[str]:
    """Limits that no value can keep, or that no value of this type has."""
    kinds = rules.types(rule)
    if not kinds:
        return
    own = _LIMITS_OF.get(kinds[0], set())
    for word in sorted((set().union(*_LIMITS_OF.values()) - own) & rule.keys()):
        yield f"{word}: it does not go with the type {kinds[0]}"
    limits = {"maxLength": rules.MAX_TEXT, "maxItems": rules.MAX_ITEMS, **rule}
    for low, high in _PAIRS:
        if low in rule and high in limits:
            if rule[low] > limits[high]:
                yield f"{low}: it is more than the {high}, {limits[high]}"
            elif rule[low] == limits[high] and "exclusive" in low + high:
                yield f"{low}: no number lies between it and the {high}"


def _file_problems(kind: str, name: str, folders: list[Path]) -> Iterator[str]:
    path = _find(folders, kind, name)
    if path is None:
        yield f"there is no such file in {kind}/"
        return
    try:
        if len(path.read_text(encoding="utf-8")) > MAX_PROGRAMS_BYTES // 4:
            yield f"it is longer than {MAX_PROGRAMS_BYTES // 4} characters"
    except (OSError, UnicodeDecodeError) as error:
        yield f"it can't be read: {error}"


def _find(folders: list[Path], kind: str, name: str) -> Path | None:
    paths = (folder / kind / name for folder in folders)
    return next((path for path in paths if path.is_file()), None)


def _text(folders: list[Path], kind: str, name: str) -> str:
    path = _find(folders, kind, name)
    assert path is not None, "checked before"  # noqa: S101
    return path.read_text(encoding="utf-8")


def _names(value: str | list[str] | None) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value or ())


def _template(name: str, fields: Mapping[str, Any], folders: list[Path]) -> Template:
    programs = {name: _text(folders, "jobs", name) for name in fields.get("programs", [])}
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
        array=_names(fields.get("array")),
        requeue=fields.get("requeue", False),
        signal=fields.get("signal"),
        tags=tuple(fields.get("tags", [])),
        starter=starter,
        notebook=_text(folders, "starters", starter) if starter else None,
        programs=MappingProxyType(programs),
        benchmark=Benchmark.of(fields["benchmark"]) if fields.get("benchmark") else None,
    )


def parameters_schema(properties: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The JSON Schema of a template's parameters, with a widget and a place for each."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "required": [name for name, rule in properties.items() if "default" not in rule],
        "properties": {
            name: {"x-widget": _widget(rule), **rule, "x-order": order}
            for order, (name, rule) in enumerate(properties.items())
        },
    }


def _widget(rule: Mapping[str, Any]) -> str:
    return "choice" if "enum" in rule else _WIDGETS.get(rules.types(rule)[0], "number")
