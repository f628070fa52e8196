"""Templates' parameters: the allowed positions of values, and the allowed parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spawner.catalog.template import array_tasks, check_parameters, load_template
from tests.unit.template_site import LIST, empty_site, problems_of, put, template_of


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return empty_site(tmp_path)


# --- positions of values ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo '{{ count }}'", "line 1: {{ … }} stands in single quotes"),
        ('true\necho "--x={{ count }}"', "line 2: {{ … }} stands in double quotes"),
        ("echo $'{{ count }}'", "stands in $'…'"),
        ("echo `seq {{ count }}`", "stands in backquotes"),
        ("# {{ count }}", "stands in a comment"),
        ("true # {{ count }}", "stands in a comment"),
        ("cat <<END\n{{ count }}\nEND\n", "line 2: a {{ … }} or {% … %} stands in a here-document"),
        ("cat <<-'END'\n\t{{ count }}\n\tEND\n", "stands in a here-document"),
        ("echo ${{ count }}", "stands beside '$'"),
        ("echo \\{{ count }}", "stands beside '\\\\'"),
        ("true {{ count }}>x", "stands beside"),
        ("echo $(( {{ count }} + 1 ))", "stands beside ((, which would read its value"),
        ("[[ {{ count }} -eq 1 ]]", "stands beside [["),
        ("eval echo {{ count }}", "stands beside eval"),
        ("bash -c {{ count }}", "stands beside bash -c"),
        ("sh -ec \\\n {{ count }}", "stands beside sh -ec"),
        ("echo '{% if count %}x{% endif %}'", "{% … %} stands in single quotes"),
        ("# x\n{%- if count %}\ntrue\n{% endif %}", "{% … %} stands in a comment"),
        ("cat <<A <<B\nA\n{{ count }}\nB\n", "stands in a here-document"),
        ("echo $[ {{ count }} ]", "line 1: {{ … }} stands beside $[, which would read its value"),
        ("echo $[ a[1] + {{ count }} ]", "stands beside $["),
        ("x=$(( (1) +\n (2) + {{ count }} ))", "line 2: {{ … }} stands beside (("),
        ("echo ${a:{{ count }}}", "stands beside ${"),
        ("echo ${a:-${b}{{ count }}}", "stands beside ${"),
        ("echo ${a[{{ count }}]}", "stands beside a["),
        ("a[{{ count }}]=1", "stands beside a["),
        ("true\n[[ -n x &&\n {{ count }} -eq 1 ]]", "line 3: {{ … }} stands beside [["),
        ("bash -x -c {{ count }}", "stands beside bash -x -c"),
        ("bash --norc -c {{ count }}", "stands beside bash --norc -c"),
        ("bash -euo pipefail -c {{ count }}", "stands beside bash -euo pipefail -c"),
        ("sh -e -c {{ count }}", "stands beside sh -e -c"),
        ("/bin/dash -c {{ count }}", "stands beside dash -c"),
        ("zsh -ce {{ count }}", "stands beside zsh -ce"),
        ("ksh {% if count %}-c{% endif %} {{ count }}", "stands beside ksh  -c"),
        ("source /dev/stdin <<< {{ count }}", "stands beside source /dev/"),
        ("true; . /dev/stdin <<< {{ count }}", "stands beside . /dev/"),
        (". <(echo {{ count }})", "stands beside . <("),
        ("bash <<< {{ count }}", "stands beside bash"),
        ("echo {{ count }} | in_env bash -s", "stands beside | in_env bash -s"),
        ("declare -i n={{ count }}", "stands beside declare"),
        ("f() { local -ri n={{ count }}; }", "stands beside local"),
        ("typeset -i n={{ count }}", "stands beside typeset"),
        ("export -i n={{ count }}", "stands beside export"),
        ("declare {{ count }}", "stands beside declare"),
        ("printf -v {{ count }} x", "stands beside printf -v"),
        ("let n={{ count }}", "stands beside let"),
        ("test -v {{ count }}", "stands beside test"),
        ("[ -n x -a -v {{ count }} ]", "stands beside ["),
        ("read -r {{ count }}", "stands beside read"),
        ("read -p 'a; b' {{ count }}", "stands beside read"),
        ("unset {{ count }}", "stands beside unset"),
        ("mapfile {{ count }}", "stands beside mapfile"),
        ("eval 'true\ntrue' {{ count }}", "stands beside eval"),
        ("ssh node {{ count }}", "stands beside ssh"),
        ("run {{ count | uper }}", "script: line 1: No filter named 'uper'"),
        ("run {{ " + "(" * 2000 + "count" + ")" * 2000 + " }}", "nested too deeply"),
        ("{% include home %}", "a file can't be included"),
        ("{% if count is even_odd %}x{% endif %}", "No test named 'even_odd'"),
        ("run {{ count.foo.bar }}", "script: it can't be rendered with the parameters' defaults"),
    ],
)
def test_a_value_may_not_stand_where_it_would_not_be_a_word(
    site: Path, script: str, message: str
) -> None:
    assert message in problems_of(put(site, script=script))


@pytest.mark.parametrize(
    "script",
    [
        "run --count={{ count }}",
        "run 'it' \"is\" {{ count }} # done",
        'run "it\'s" {{ count }}',
        "run it\\'s {{ count }}",
        "run <<< {{ count }}",
        "cat <<END\nit's $(x)\nEND\nrun {{ count }}",
        "x=$(run {{ count }})",
        "x=$(( 1 << 2 ))\nrun {{ count }}",
        "echo ${#x} {{ count }} $#",
        "{% if count > 3 %}\nrun 'a'\n{% else %}\nrun {{ count + 1 }}\n{% endif %}",
        "{% for n in range(count) %}run {{ n }}\n{% endfor %}",
        "run {{ nodes }} {{ gpus }} {{ cpus }} {{ home }} {{ logdir }} {{ username }}",
        "{## it's a remark ##}run {{ count }}",
        "in_env bash train.sh -c {{ count }}",
        "in_env python eval.py --read {{ count }} --let={{ count }}",
        'while read -r x; do run {{ count }} "$x"; done < {{ home }}',
        "read -r a b <<< {{ count }}",
        "export N={{ count }} M={{ count }}; run -i {{ count }}",
        "printf -v n '%s' {{ count }}",
        "[ {{ count }} -eq 1 ] && test -n {{ home }}",
        "echo ${x:-a} ${x[0]} $[ 1 + x[2] ] {{ count }}",
        "x=$((1 + (2)))\nrun {{ count }} # eval it's [[",
        "case {{ home }} in\n  [[:alpha:]]*) run {{ count }};;\nesac",
        "source {{ home }}",
    ],
)
def test_where_a_value_may_stand(site: Path, script: str) -> None:
    load_template(put(site, script=script), [site])


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
        ({"type": "string"}, ["x"], "x must be a text."),
        ({"type": "string"}, "a\0b", "x has a NUL character, which no program can be given."),
        ({"type": "string"}, "a\udc80", "x has a character that can't be written in UTF-8."),
        ({"type": "string"}, "a" * 4097, "x must have at most 4096 characters."),
        ({"type": "string", "minLength": 2}, "a", "x must have at least 2 characters."),
        ({"type": "string", "enum": ["a", "b"]}, "c", "x must be one of a, b."),
        (
            {"type": "string", "pattern": "^[a-z]+$", "description": "Small letters."},
            "A",
            "x does not have the right form (Small letters).",
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
         "x is wrong in element 2, which does not have the right form (Small letters)."),
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
    path = put(site, parameters=lists, array=["a", "b"], script="run {{ a }} {{ b }}")
    template = load_template(path, [site])
    values, problems = check_parameters(template, {})
    assert problems == []
    pairs = [(task["a"], task["b"]) for task in array_tasks(template, values)]
    assert pairs == [(1, 3), (1, 4), (1, 5), (2, 3), (2, 4), (2, 5)]
    _, problems = check_parameters(template, {"a": list(range(50)), "b": list(range(50))})
    assert problems[0] == ("parameters.a", "That makes 2500 tasks; 1 to 1000 can be had.")
    assert check_parameters(template, {"a": []})[1]
    assert array_tasks(template_of(), {}) == []
