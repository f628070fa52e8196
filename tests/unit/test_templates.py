"""Templates: what is shipped is sound, what is wrong is named with file and field."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from spawner.catalog import SHIPPED, Catalog
from spawner.templates import (
    SCHEMA,
    Template,
    TemplateError,
    array_tasks,
    check_parameters,
    load_template,
    load_templates,
    parameters_schema,
)

SOUND: dict[str, Any] = {
    "title": "Mine",
    "description": "Counts.",
    "environment": "python3",
    "parameters": {"count": {"type": "integer", "title": "Count", "default": 3, "minimum": 1}},
    "script": "in_env seq {{ count }}\n",
}
LIST = {"type": "array", "title": "Some", "items": {"type": "integer"}, "default": [1, 2]}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    for folder in ("templates", "jobs", "starters"):
        (tmp_path / folder).mkdir()
    return tmp_path


def put(site: Path, name: str = "mine", **changes: Any) -> Path:
    path = site / "templates" / f"{name}.yaml"
    fields = {field: value for field, value in (SOUND | changes).items() if value is not ...}
    path.write_text(yaml.safe_dump(fields, allow_unicode=True))
    return path


def problems_of(path: Path, *folders: Path) -> str:
    with pytest.raises(TemplateError) as error:
        load_template(path, [path.parent.parent, *folders])
    assert all(problem.startswith(f"{path}: ") for problem in error.value.problems)
    return str(error.value).replace(f"{path}: ", "")


def template_of(**parameters: dict[str, Any]) -> Template:
    schema = parameters_schema({name: {"title": name, **rule} for name, rule in parameters.items()})
    return Template("t", "T", "…", "python3", "true", parameters=schema)


# --- what is shipped ----------------------------------------------------------------------------


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
    manual = (Path(__file__).parents[2] / "docs/templates.md").read_text()
    _, _, table = manual.partition("## What is shipped\n")
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


# --- a site's own -------------------------------------------------------------------------------


def test_a_site_adds_and_replaces(site: Path) -> None:
    put(site)
    put(site, "python-training", title="Ours")
    templates = load_templates(site=site)
    assert templates["mine"].parameters["properties"]["count"]["x-widget"] == "number"
    assert templates["python-training"].title == "Ours"
    assert list(templates) == sorted(templates)


def test_a_sites_program_goes_before_the_shipped_one(site: Path) -> None:
    (site / "jobs" / "toy.py").write_text("ours")
    template = load_template(put(site, programs=["toy.py", "preflight.py"]), [site, SHIPPED])
    assert template.programs["toy.py"] == "ours"
    assert "all-reduce" in template.programs["preflight.py"]


def test_every_problem_of_every_file_is_told(site: Path) -> None:
    put(site, "one", title=5)
    put(site, "two", script="{{ nothing }}")
    with pytest.raises(TemplateError) as error:
        load_templates(site=site)
    assert len(error.value.problems) == 2
    assert "one.yaml: title: 5 is not of type 'string'" in error.value.problems[0]
    assert "two.yaml: script: nothing is not one of the parameters" in error.value.problems[1]


@pytest.mark.parametrize(
    ("changes", "said"),
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
        ({"script": "{{ count"}, "script: line 1: "),
        ({"script": "{% if count %}\ntrue\n"}, "script: line "),
        ({"script": "{{ nothing }}"}, "script: nothing is not one of the parameters"),
        ({"script": "{% include 'x' %}"}, "script: x can't be included"),
        ({"script": "#SBATCH --mem=1G\ntrue\n"}, "script: line 1: resources are asked for in"),
        ({"script": "echo 'a\n"}, "script: single quotes isn't closed"),
        ({"script": "true\r\n"}, "script: it holds control characters"),
        ({"parameters": {"Count": {"type": "integer", "title": "C"}}}, "parameters: 'Count' "),
        ({"parameters": {"home": {"type": "string", "title": "H"}}}, "parameters.home: this name"),
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
            "parameters.count.minimum: it is more than the maximum",
        ),
        (
            {"parameters": {"count": {"type": "integer", "title": "C", "x-widget": "path"}}},
            "parameters.count.x-widget: path does not go with the type integer",
        ),
    ],
)
def test_a_wrong_field_is_named(site: Path, changes: dict[str, Any], said: str) -> None:
    assert said in problems_of(put(site, **changes))


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"type": "string", "minLength": 3, "maxLength": 2}, "minLength: it is more than the maxL"),
        ({"type": "string", "minLength": 5000}, "minLength: it is more than the maxLength, 4096"),
        ({**LIST, "minItems": 3, "maxItems": 2}, "minItems: it is more than the maxItems, 2"),
        ({"type": "number", "minimum": 2, "exclusiveMaximum": 2}, "minimum: no number lies"),
        ({"type": "number", "exclusiveMinimum": 3, "maximum": 2}, "exclusiveMinimum: it is more"),
        ({"type": "string", "minimum": 2}, "minimum: it does not go with the type string"),
        ({"type": "integer", "maxLength": 2}, "maxLength: it does not go with the type integer"),
        ({"type": "array", "items": {"type": "string", "maximum": 2}}, "items.maximum: it does"),
    ],
)
def test_limits_that_no_value_can_keep(site: Path, rule: dict[str, Any], said: str) -> None:
    path = put(site, parameters={"count": {"title": "C", **rule}})
    assert f"parameters.count.{said}" in problems_of(path)


@pytest.mark.parametrize(
    ("resources", "said"),
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
def test_resources_that_can_not_be_had(site: Path, resources: dict[str, Any], said: str) -> None:
    assert said in problems_of(put(site, default_resources=resources))


def test_parameters_named_by_words_that_yaml_reads_otherwise(site: Path) -> None:
    path = put(site, parameters={True: {"type": "string", "title": "On"}}, script="true")
    assert "parameters: True is not of type 'string'. A parameter's name is" in problems_of(path)


def test_a_script_is_tried_with_simple_values(site: Path) -> None:
    rule = {"type": "string", "title": "Day"}
    script = "run {{ count.split('-')[1].upper() }}"
    said = problems_of(put(site, parameters={"count": rule}, script=script))
    assert "script: it can't be rendered with the parameters' defaults" in said
    dated = {**rule, "pattern": "^[0-9]+-[0-9]+$"}
    load_template(put(site, parameters={"count": dated}, script=script), [site])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"title: [", "while parsing"),
        (b"\xff\xfe", "can't decode"),
        (b"", "None is not of type 'object'"),
        (b"- a\n- b\n", "is not of type 'object'"),
        (b"5: x\n", "5"),
        (b"title: !!python/object:os.system x\n", "could not determine a constructor"),
    ],
)
def test_a_file_that_is_no_template(site: Path, text: bytes, said: str) -> None:
    path = site / "templates" / "mine.yaml"
    path.write_bytes(text)
    assert said in problems_of(path)


@pytest.mark.parametrize("name", ["Mine", "my_template", "1st", "x" * 41])
def test_a_wrong_name(site: Path, name: str) -> None:
    assert "the file's name is the template's" in problems_of(put(site, name))


def test_a_program_that_can_not_be_read(site: Path) -> None:
    (site / "jobs" / "run.py").write_bytes(b"\xff")
    (site / "jobs" / "long.py").write_text("x" * 200_000)
    said = problems_of(put(site, programs=["run.py", "long.py"]))
    assert "programs: run.py: it can't be read" in said
    assert "programs: long.py: it is longer than" in said


# --- where values may stand ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "said"),
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
    site: Path, script: str, said: str
) -> None:
    assert said in problems_of(put(site, script=script))


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
    ("rule", "value", "said"),
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
        ({"type": "string"}, ["x"], "x must be text."),
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
def test_what_is_wrong_is_said_in_words(rule: dict[str, Any], value: object, said: str) -> None:
    _, problems = check_parameters(template_of(x=rule), {"x": value})
    assert problems == [("parameters.x", said)]


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
