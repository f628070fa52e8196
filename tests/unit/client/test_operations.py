"""The client's operations and models agree with openapi.json: a change of the API fails here."""

import json
import types
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from client import models
from client.operations import API, OPERATIONS, RESOURCES, SCOPES, SEND_CHUNK, NoAnswer, Operation
from tests.paths import CHECKOUT

SCHEMA = json.loads((CHECKOUT / "openapi.json").read_text())
PRIMITIVES = {"string": str, "integer": int, "number": float, "boolean": bool}


def resolve(schema: dict[str, Any], root: dict[str, Any] = SCHEMA) -> dict[str, Any]:
    """Follow a reference."""
    if "$ref" not in schema:
        return schema
    found: dict[str, Any] = root["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def operation_in(root: dict[str, Any], operation: Operation[Any]) -> dict[str, Any] | None:
    found: dict[str, Any] | None = (
        root["paths"].get(API + operation.path, {}).get(operation.method.lower())
    )
    return found


def request_problems(root: dict[str, Any], operation: Operation[Any]) -> Iterator[str]:
    """Yield the differences of what is sent."""
    described = operation_in(root, operation)
    if described is None:
        yield "there is no such operation"
        return
    scopes = [scope for entry in described["security"] for scope in entry.get("token", [])]
    if operation.scope is not None and operation.scope not in scopes:
        yield f"it needs the scopes {scopes}"
    parameters = [item for item in described.get("parameters", []) if item["in"] == "query"]
    names = {item["name"] for item in parameters}
    yield from (f"no parameter {name}" for name in operation.query if name not in names)
    required = {item["name"] for item in parameters if item.get("required")}
    yield from (f"needs {name}" for name in required - set(operation.query))
    content = described.get("requestBody", {}).get("content", {})
    body = resolve(content.get("application/json", {}).get("schema", {}), root)
    properties = body.get("properties", {})
    yield from (f"no field {name}" for name in operation.body if name not in properties)
    yield from (f"needs {name}" for name in set(body.get("required", ())) - set(operation.body))


def answer_problems(root: dict[str, Any], operation: Operation[Any]) -> Iterator[str]:
    """Yield the differences of what is read."""
    described = operation_in(root, operation)
    if described is None or operation.answer is NoAnswer:
        return
    (success,) = [
        answer for status, answer in described["responses"].items() if status.startswith("2")
    ]
    schema = success["content"]["application/json"]["schema"]
    yield from type_problems(root, operation.answer, schema, operation.answer.__name__)


def type_problems(root: dict[str, Any], hint: Any, schema: Any, where: str) -> Iterator[str]:
    """Yield where a value of this schema might not be of this type."""
    schema = resolve(schema, root)
    if hint is Any:
        return
    options = [resolve(option, root) for option in schema.get("anyOf", [schema])]
    hints = get_args(hint) if get_origin(hint) in {Union, types.UnionType} else (hint,)
    for option in options:
        if option.get("type") == "null":
            if type(None) not in hints:
                yield f"{where} may be null"
            continue
        (plain,) = (each for each in hints if each is not type(None))
        yield from plain_problems(root, plain, option, where)


def plain_problems(root: dict[str, Any], hint: Any, schema: Any, where: str) -> Iterator[str]:
    kind = schema.get("type")
    if is_dataclass(hint):
        if kind != "object":
            yield f"{where} is of type {kind}"
            return
        hints = get_type_hints(hint)
        for field in fields(hint):
            place = f"{where}.{field.name}"
            if field.name not in schema["properties"]:
                yield f"{place} does not exist"
                continue
            if field.default is MISSING and field.name not in schema.get("required", ()):
                yield f"{place} may be missing"
            described = schema["properties"][field.name]
            yield from type_problems(root, hints[field.name], described, place)
    elif get_origin(hint) is list:
        if kind != "array":
            yield f"{where} is of type {kind}"
            return
        yield from type_problems(root, get_args(hint)[0], schema["items"], f"{where}[]")
    elif get_origin(hint) is dict:
        if kind != "object":
            yield f"{where} is of type {kind}"
    elif PRIMITIVES.get(kind) is not hint and not (hint is float and kind == "integer"):
        yield f"{where} is of type {kind}"


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda it: f"{it.method} {it.path}")
def test_each_operation_is_as_openapi_json_describes_it(operation: Operation[Any]) -> None:
    assert list(request_problems(SCHEMA, operation)) == []
    assert list(answer_problems(SCHEMA, operation)) == []


def test_every_operation_is_compared() -> None:
    assert len(OPERATIONS) > 25
    assert SEND_CHUNK in OPERATIONS


@pytest.mark.parametrize(
    ("schema", "known"),
    [
        ("JobState", models.JOB_STATES),
        ("Outcome", models.OUTCOMES),
        ("TensorboardState", models.TENSORBOARD_STATES),
    ],
)
def test_values_are_those_of_the_api(schema: str, known: tuple[str, ...]) -> None:
    assert SCHEMA["components"]["schemas"][schema]["enum"] == list(known)


def test_scopes_and_resources_exist() -> None:
    schemas = SCHEMA["components"]["schemas"]
    assert {*SCOPES, "ssh"} <= set(schemas["Scope"]["enum"])
    assert set(RESOURCES) == schemas["JobResourcesIn"]["properties"].keys()
    assert schemas["EntryOut"]["properties"]["kind"]["enum"] == list(models.ENTRY_KINDS)


class TestTheComparisonItself:
    """A changed API is noticed: each change of a copy of openapi.json is a difference."""

    def changed(self) -> dict[str, Any]:
        copy: dict[str, Any] = json.loads(json.dumps(SCHEMA))
        return copy

    def problems(self, root: dict[str, Any]) -> list[str]:
        return [
            problem
            for operation in OPERATIONS
            for problem in (*request_problems(root, operation), *answer_problems(root, operation))
        ]

    def test_nothing_changed_is_no_difference(self) -> None:
        assert self.problems(self.changed()) == []

    def test_a_removed_operation(self) -> None:
        root = self.changed()
        del root["paths"]["/api/v1/jobs"]["post"]
        assert "there is no such operation" in self.problems(root)

    def test_a_new_required_field(self) -> None:
        root = self.changed()
        root["components"]["schemas"]["UploadIn"]["required"].append("owner")
        assert "needs owner" in self.problems(root)

    def test_a_renamed_field_of_an_answer(self) -> None:
        root = self.changed()
        properties = root["components"]["schemas"]["JobDetail"]["properties"]
        properties["result"] = properties.pop("outcome")
        assert "JobSummary.outcome does not exist" in self.problems(root)

    def test_a_field_of_another_type(self) -> None:
        root = self.changed()
        root["components"]["schemas"]["OffsetOut"]["properties"]["offset"] = {"type": "string"}
        assert "NextOffset.offset is of type string" in self.problems(root)

    def test_a_field_that_may_be_null(self) -> None:
        root = self.changed()
        schema = {"anyOf": [{"type": "string"}, {"type": "null"}]}
        root["components"]["schemas"]["SessionOut"]["properties"]["name"] = schema
        assert "SessionSummary.name may be null" in self.problems(root)

    def test_another_scope(self) -> None:
        root = self.changed()
        root["paths"]["/api/v1/jobs"]["post"]["security"] = [{"cookie": []}, {"token": ["run"]}]
        assert "it needs the scopes ['run']" in self.problems(root)
