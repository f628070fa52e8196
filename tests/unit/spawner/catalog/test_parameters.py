"""Templates' scripts without Jinja2, and the allowed values of parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spawner.catalog.template import array_tasks, check_parameters, load_template
from tests.unit.spawner.catalog.template_site import LIST, empty_site, problems_of, put, template_of


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return empty_site(tmp_path)


# --- scripts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("run {{ count }}", 'script: line 1: write the variable "$count" instead of {{ … }}'),
        ("true\nrun --x={{count|string}}", 'line 2: write the variable "$count" instead'),
        ("run {{ [gpus, 1] | max }}", 'line 1: write the variable "$gpus" instead'),
        ("run {{ some }}", 'line 1: write the variable "${some[@]}" instead'),
        ("run {{ each }}", 'line 1: write the variable "$each" instead'),
        ("true\n{% if count %}\nx\n{% endif %}", "line 2: write bash instead of {% … %}"),
        ("{%- for n in range(3) -%}x{% endfor %}", "line 1: write bash instead of {% … %}"),
        ("{## it's a remark ##}", "line 1: write bash instead of {% … %} or {## … ##}"),
    ],
)
def test_jinja_is_refused(site: Path, script: str, message: str) -> None:
    rules = {"count": {"type": "integer", "title": "Count"}, "some": LIST, "each": LIST}
    path = put(site, parameters=rules, array="each", script=script)
    assert message in problems_of(path)


@pytest.mark.parametrize(
    "script",
    [
        'run "${#count}" "${count##*/}" "${count%%%}"',
        "run {{a,b},c} {{count,b},c} ${count:+{$count}}",
        "printf '{%s} {%d%%}' a 5; date +{%s}",
        "podman ps --format '{{.ID}}'",
        "awk '{{ print $1 }}'",
        "cat <<END\n{{ other }}\nEND",
        "f() { { run; }; }",
    ],
)
def test_other_braces_are_allowed(site: Path, script: str) -> None:
    assert load_template(put(site, script=script), [site]).script == script


# --- parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "value", "message"),
    [
        ({"type": "integer"}, "5", "x must be a whole number."),
        ({"type": "integer"}, 5.5, "x must be a whole number."),
        ({"type": "integer"}, True, "x must be a whole number."),
        ({"type": "integer", "minimum": 1}, 0, "x must be at least 1."),
        ({"type": "integer", "maximum": 9}, 10**40, "x must be at most 9."),
        ({"type": "number", "exclusiveMinimum": 0}, 0, "x must be more than 0."),
        ({"type": "number", "exclusiveMaximum": 1}, 1.0, "x must be less than 1."),
        ({"type": "number"}, float("nan"), "x must be a finite number."),
        ({"type": "number"}, float("inf"), "x must be a finite number."),
        ({"type": "number"}, None, "x must be a number."),
        ({"type": ["number", "null"]}, "x", "x must be a number, or be left empty."),
        ({"type": "boolean"}, 1, "x must be yes or no."),
        ({"type": "string"}, ["x"], "x must be a string."),
        ({"type": "string"}, "a\0b", "x has a NUL character, which no program can be given."),
        ({"type": "string"}, "a\udc80", "x has a character that can't be written in UTF-8."),
        ({"type": "string"}, "a" * 4097, "x must have at most 4096 characters."),
        ({"type": "string", "minLength": 2}, "a", "x must have at least 2 characters."),
        ({"type": "string", "enum": ["a", "b"]}, "c", "x must be one of a, b."),
        (
            {"type": "string", "pattern": "^[a-z]+$", "description": "Small letters."},
            "A",
            "x has the wrong format (Small letters).",
        ),
        ({"type": "array", "items": {"type": "string"}}, "a", "x must be a list."),
        ({"type": "array", "items": {"type": "integer"}}, [1, "a"],
         "x is wrong in element 2, which must be a whole number."),
        ({"type": "array", "items": {"type": "string"}}, ["a"] * 1001,
         "x must have at most 1000 elements."),
        ({"type": "array", "items": {"type": "string"}}, ["\udfff"],
         "x has a character that can't be written in UTF-8."),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 1}, [],
         "x must have at least 1 element."),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [],
         "x must have at least 2 elements."),
        ({"type": "string", "minLength": 1}, "", "x must have at least 1 character."),
        ({"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"},
          "description": "Small letters."}, ["a", "B"],
         "x is wrong in element 2, which has the wrong format (Small letters)."),
        ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, [1, 1],
         "x must not have the same element twice."),
    ],
)  # fmt: skip
def test_invalid_value_is_explained(rule: dict[str, Any], value: object, message: str) -> None:
    _, problems = check_parameters(template_of(x=rule), {"x": value})
    assert problems == [("parameters.x", message)]


def test_defaults_are_filled_in_and_whole_numbers_are_whole() -> None:
    template = template_of(
        one={"type": "integer", "default": 1},
        two={"type": "number", "default": 0.5},
        three={"type": ["string", "null"], "default": None},
        four={"type": "array", "items": {"type": "integer"}, "default": []},
    )
    values, problems = check_parameters(template, {"one": 5.0, "four": [1.0, 2]})
    assert problems == []
    assert values == {"one": 5, "two": 0.5, "three": None, "four": [1, 2]}
    assert [type(value) for value in (values["one"], *values["four"])] == [int, int, int]


def test_what_is_missing_and_what_is_too_much() -> None:
    _, problems = check_parameters(template_of(x={"type": "integer"}), {"y\n": 1})
    assert problems == [
        ("parameters.y?", "This template has no such parameter."),
        ("parameters.x", "x must be filled in."),
    ]


@pytest.mark.parametrize("given", [None, [], "x", 5])
def test_parameters_that_are_no_object(given: object) -> None:
    assert check_parameters(template_of(), given)[1][0][0] == "parameters"


def test_an_array_has_every_combination_and_a_limit(site: Path) -> None:
    lists = {"a": LIST, "b": {**LIST, "title": "B", "default": [3, 4, 5]}}
    path = put(site, parameters=lists, array=["a", "b"], script='run "$a" "$b"')
    template = load_template(path, [site])
    values, problems = check_parameters(template, {})
    assert problems == []
    pairs = [(task["a"], task["b"]) for task in array_tasks(template, values)]
    assert pairs == [(1, 3), (1, 4), (1, 5), (2, 3), (2, 4), (2, 5)]
    _, problems = check_parameters(template, {"a": list(range(50)), "b": list(range(50))})
    assert problems[0] == ("parameters.a", "That makes 2500 tasks; 1 to 1000 are allowed.")
    assert check_parameters(template, {"a": []})[1]
    assert array_tasks(template_of(), {}) == []
