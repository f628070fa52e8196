"""PostgreSQL rejects NUL in texts: requests with it are refused, not answered with 500."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from portal.app import bare_app
from portal.db import upgrade
from tests.portal.api.test_routes import methods, path_of, routes
from tests.portal.api.test_schema_fuzz import AWAY
from tests.portal.conftest import Browser, RunPortal

pytestmark = pytest.mark.anyio


@pytest.fixture
def database_url(postgresql_url: str) -> str:
    upgrade(postgresql_url)
    return postgresql_url


async def faults(browser: Browser) -> list[tuple[str, str]]:
    found = []
    for route in routes():
        at = re.sub(r"\{[^}]+\}", "a%00b", path_of(route))
        for method in sorted(methods(route) & {"GET", "DELETE"}):
            if at != path_of(route) and (await browser.send(method, at)).status >= 500:
                found.append((method, at))
    return found


@cache
def described() -> dict[str, Any]:
    """Return openapi.json."""
    return bare_app().openapi()


def resolve(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema behind references and choices, of which the first is taken."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return resolve(described()["components"]["schemas"][name])
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return resolve(schema[choice][0])
    return schema


def simplest(schema: dict[str, Any]) -> Any:
    """Return a small valid value of a schema."""
    found = resolve(schema)
    if "enum" in found or "const" in found:
        return found["const"] if "const" in found else found["enum"][0]
    match found.get("type"):
        case "object":
            fields = found.get("properties", {})
            return {name: simplest(fields[name]) for name in found.get("required", ())}
        case "array":
            return [simplest(found["items"])] * found.get("minItems", 0)
        case "integer" | "number":
            return found.get("minimum", 1)
        case "boolean":
            return False
    return "2030-01-31T00:00:00Z" if "format" in found else "a" * found.get("minLength", 1)


def with_nul(schema: dict[str, Any], value: Any) -> Iterator[Any]:
    """Yield the value once for each text in it that may be any text, with a NUL there."""
    found = resolve(schema)
    if found.get("type") == "string" and not found.keys() & {"enum", "const", "format"}:
        yield "a\0b"
    elif found.get("type") == "array":
        yield from ([one] for one in with_nul(found["items"], simplest(found["items"])))
    elif found.get("type") == "object":
        for name, field in found.get("properties", {}).items():
            for one in with_nul(field, value.get(name, simplest(field))):
                yield {**value, name: one}


def bodies() -> Iterator[tuple[str, str, Any]]:
    """Yield requests for each operation of the API with a JSON body."""
    for path, operations in described()["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" in content and path.startswith("/api/"):
                schema = content["application/json"]["schema"]
                for body in with_nul(schema, simplest(schema)):
                    yield method.upper(), re.sub(r"\{[^}]+\}", "a", path), body


async def test_a_nul_in_a_body_is_refused(run_portal: RunPortal, database_url: str) -> None:
    many = {"login_attempts": 1000, "login_attempts_known_browser": 1000}
    statuses: set[int] = set()
    wrong = []
    async with (
        run_portal(database_url=database_url, **many) as portal,
        portal.browser() as browser,
        portal.browser() as stranger,
    ):
        assert (await browser.login("carol")).status == 200
        await browser.confirm()
        for method, path, body in bodies():
            caller = stranger if path.startswith("/api/v1/login") else browser
            answer = await caller.send(method, path, json=body)
            statuses.add(answer.status)
            if answer.status >= 500 and answer.slug not in AWAY:
                wrong.append((method, path, body))
        assert (await browser.get("/api/v1/me")).status == 200
    assert wrong == []
    assert 422 in statuses


async def test_a_nul_in_a_request_is_refused(run_portal: RunPortal, database_url: str) -> None:
    async with run_portal(database_url=database_url) as portal, portal.browser() as browser:
        refused = await browser.login("car\0ol")
        assert (refused.status, refused.slug) == (422, "invalid-input")
        assert (await browser.login("carol")).status == 200
        assert await faults(browser) == []
