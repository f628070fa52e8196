"""Templates: the shipped ones are valid, and errors name the file and the field."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from spawner.catalog.environment import SHIPPED, Catalog
from spawner.catalog.template import (
    SCHEMA,
    Template,
    TemplateError,
    check_parameters,
    load_template,
    load_templates,
)
from tests.paths import CHECKOUT
from tests.unit.spawner.catalog.template_site import LIST, empty_site, problems_of, put


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return empty_site(tmp_path)


# --- shipped templates --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shipped() -> dict[str, Template]:
    return load_templates()


def test_what_is_shipped_loads_and_its_defaults_are_good(shipped: dict[str, Template]) -> None:
    assert "python-training" in shipped
    for template in shipped.values():
        jsonschema.Draft202012Validator.check_schema(dict(template.parameters))
        needed = dict.fromkeys(template.parameters["required"], "~/x.ipynb")
        assert check_parameters(template, needed)[1] == [], template.name


def test_every_shipped_template_names_a_shipped_environment(
    shipped: dict[str, Template], tmp_path: Path
) -> None:
    environments = Catalog.load(image_dir=tmp_path).environments
    assert {template.environment for template in shipped.values()} <= set(environments)


def test_every_shipped_program_is_used(shipped: dict[str, Template]) -> None:
    used = {program for template in shipped.values() for program in template.programs}
    assert {path.name for path in (SHIPPED / "jobs").iterdir() if path.is_file()} == used


def test_the_manual_lists_what_is_shipped(shipped: dict[str, Template]) -> None:
    manual = (CHECKOUT / "docs/templates.md").read_text()
    _, _, table = manual.partition("## Built-in templates\n")
    rows = re.findall(r"^\| `(\S+)` \| (\w+)[^|]* \| (.+) \|$", table, flags=re.MULTILINE)
    assert rows == [(t.name, t.environment, t.title) for t in shipped.values()]


def test_every_environment_with_a_starter_has_a_template_that_names_it(
    shipped: dict[str, Template],
) -> None:
    named = {(template.environment, template.starter) for template in shipped.values()}
    for path in (SHIPPED / "starters").glob("*.ipynb"):
        assert (path.stem, path.name) in named


def test_every_field_is_described() -> None:
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert [n for n, rule in schema["properties"].items() if "description" not in rule] == []


# --- a site's own templates ---------------------------------------------------------------------


def test_a_site_adds_and_replaces(site: Path) -> None:
    put(site)
    put(site, "python-training", title="Ours")
    templates = load_templates(site_dir=site)
    assert templates["mine"].parameters["properties"]["count"]["x-widget"] == "number"
    assert templates["python-training"].title == "Ours"
    assert list(templates) == sorted(templates)


def test_a_sites_program_goes_before_the_shipped_one(site: Path) -> None:
    (site / "jobs" / "toy.py").write_text("ours")
    template = load_template(put(site, programs=["toy.py", "preflight.py"]), [site, SHIPPED])
    assert template.programs["toy.py"] == "ours"
    assert "all-reduce" in template.programs["preflight.py"]


def test_every_problem_of_every_file_is_reported(site: Path) -> None:
    put(site, "one", title=5)
    put(site, "two", script="true\r\n")
    with pytest.raises(TemplateError) as error:
        load_templates(site_dir=site)
    assert len(error.value.problems) == 2
    assert "one.yaml: title: 5 is not of type 'string'" in error.value.problems[0]
    assert "two.yaml: script: it contains control characters" in error.value.problems[1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"title": ...}, "'title' is a required property"),
        ({"title": ""}, "title: '' should be non-empty"),
        ({"titel": "x"}, "'titel' was unexpected"),
        ({"environment": "No Such!"}, "environment: "),
        ({"tags": ["A B"]}, "tags.0: "),
        ({"signal": "B:KILL@10"}, "signal: "),
        ({"requeue": "yes"}, "requeue: 'yes' is not of type 'boolean'"),
        ({"default_resources": {"gpus": -1}}, "default_resources.gpus: -1 is less than"),
        ({"default_resources": {"gpu": 1}}, "default_resources: "),
        ({"starter": "../x.ipynb"}, "starter: "),
        ({"starter": "none.ipynb"}, "starter: none.ipynb: there is no such file"),
        ({"programs": ["none.py"]}, "programs: none.py: there is no such file in jobs/"),
        ({"programs": ["../toy.py"]}, "programs.0: "),
        ({"array": "count"}, "array: count is not a parameter that is a list"),
        ({"array": "nothing"}, "array: nothing is not a parameter that is a list"),
        ({"script": ""}, "script: "),
        ({"script": "#SBATCH --mem=1G\ntrue\n"}, "script: line 1: request resources in"),
        ({"script": "true\r\n"}, "script: it contains control characters"),
        ({"parameters": {"Count": {"type": "integer", "title": "C"}}}, "parameters: 'Count' "),
        ({"parameters": {"home": {"type": "string", "title": "H"}}}, "parameters.home: this name"),
        ({"parameters": {"no_proxy": {"type": "string", "title": "N"}}}, "bash or other programs"),
        ({"parameters": {"histchars": {"type": "string", "title": "H"}}}, "bash or other programs"),
        ({"parameters": {"count": {"type": "integer"}}}, "parameters.count: 'title' is a required"),
        ({"parameters": {"count": {"type": "int", "title": "C"}}}, "parameters.count.type: "),
        ({"parameters": {"count": {"type": "array", "title": "C"}}}, "parameters.count: 'items' "),
        (
            {
                "parameters": {
                    "count": {"type": "string", "title": "C", "items": {"type": "string"}}
                }
            },
            "parameters.count.items: only a list",
        ),
        (
            {"parameters": {"count": {"type": "string", "title": "C", "pattern": "("}}},
            "parameters.count.pattern: '(' is not a 'regex'",
        ),
        (
            {"parameters": {"count": {"type": "integer", "title": "C", "default": "x"}}},
            "parameters.count.default: it must be a whole number",
        ),
        (
            {
                "parameters": {
                    "count": {"type": "integer", "title": "C", "default": 0, "minimum": 1}
                }
            },
            "parameters.count.default: it must be at least 1",
        ),
        (
            {
                "parameters": {
                    "count": {"type": "integer", "title": "C", "minimum": 2, "maximum": 1}
                }
            },
            "parameters.count.minimum: it exceeds the maximum",
        ),
        (
            {"parameters": {"count": {"type": "integer", "title": "C", "x-widget": "path"}}},
            "parameters.count.x-widget: path is not valid for type integer",
        ),
    ],
)
def test_a_wrong_field_is_named(site: Path, changes: dict[str, Any], message: str) -> None:
    assert message in problems_of(put(site, **changes))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"type": "string", "minLength": 3, "maxLength": 2}, "minLength: it exceeds the maxLength"),
        ({"type": "string", "minLength": 5000}, "minLength: it exceeds the maxLength, 4096"),
        ({**LIST, "minItems": 3, "maxItems": 2}, "minItems: it exceeds the maxItems, 2"),
        ({"type": "number", "minimum": 2, "exclusiveMaximum": 2}, "minimum: no number lies"),
        ({"type": "number", "exclusiveMinimum": 3, "maximum": 2}, "exclusiveMinimum: it exceeds"),
        ({"type": "string", "minimum": 2}, "minimum: it is not valid for type string"),
        ({"type": "integer", "maxLength": 2}, "maxLength: it is not valid for type integer"),
        (
            {"type": "array", "items": {"type": "string", "maximum": 2}},
            "items.maximum: it is not valid",
        ),
    ],
)
def test_limits_that_no_value_can_keep(site: Path, rule: dict[str, Any], message: str) -> None:
    path = put(site, parameters={"count": {"title": "C", **rule}})
    assert f"parameters.count.{message}" in problems_of(path)


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        ({"memory_gb": float("inf")}, "a number must be finite"),
        ({"memory_gb": float("nan")}, "a number must be finite"),
        ({"memory_gb": 10**7}, "default_resources.memory_gb: 10000000 is greater than"),
        ({"cpus": 100_001}, "default_resources.cpus: 100001 is greater than"),
        ({"nodes": 10**400}, "this number is too large"),
        ({"partition": "gpu "}, "default_resources.partition: "),
        ({"account": "a;b"}, "default_resources.account: "),
        ({"qos": "$(x)"}, "default_resources.qos: "),
        ({"gpu_type": "a100\n"}, "default_resources.gpu_type: "),
        ({"gpu_type": "--x"}, "default_resources.gpu_type: "),
    ],
)
def test_resources_that_can_not_be_had(site: Path, resources: dict[str, Any], message: str) -> None:
    assert message in problems_of(put(site, default_resources=resources))


def test_parameters_named_by_words_that_yaml_reads_otherwise(site: Path) -> None:
    path = put(site, parameters={True: {"type": "string", "title": "On"}}, script="true")
    assert "parameters: True is not of type 'string'. A parameter's name is" in problems_of(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"title: [", "while parsing"),
        (b"\xff\xfe", "can't decode"),
        (b"", "None is not of type 'object'"),
        (b"- a\n- b\n", "is not of type 'object'"),
        (b"5: x\n", "5"),
        (b"title: !!python/object:os.system x\n", "could not determine a constructor"),
    ],
)
def test_a_file_that_is_no_template(site: Path, text: bytes, message: str) -> None:
    path = site / "templates" / "mine.yaml"
    path.write_bytes(text)
    assert message in problems_of(path)


@pytest.mark.parametrize("name", ["Mine", "my_template", "1st", "x" * 41])
def test_a_wrong_name(site: Path, name: str) -> None:
    assert "the file's name is the template's" in problems_of(put(site, name))


def test_a_program_that_can_not_be_read(site: Path) -> None:
    (site / "jobs" / "run.py").write_bytes(b"\xff")
    (site / "jobs" / "long.py").write_text("x" * 200_000)
    message = problems_of(put(site, programs=["run.py", "long.py"]))
    assert "programs: run.py: it can't be read" in message
    assert "programs: long.py: it is longer than" in message
