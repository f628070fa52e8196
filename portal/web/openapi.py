"""The API's description, openapi.json: FastAPI's own, with the real error responses."""

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.openapi.utils import get_openapi
from fastapi.routing import iter_route_contexts
from pydantic import TypeAdapter

from portal.errors import MEDIA_TYPE, Problem
from portal.web import dependencies
from portal.web.request_origin import SAFE_METHODS

SECURITY_SCHEMES: dict[str, Any] = {
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-portal",
        "description": "A browser's login. Without TLS the cookie is called portal_session.",
    },
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "An access token, created on the Account page. Each operation names the "
        "scope that it needs: read, sessions, jobs, files or admin.",
    },
    "metrics": {
        "type": "http",
        "scheme": "bearer",
        "description": "The token of metrics_token_file; programs on the portal's host need none.",
    },
}


def api_schema(app: FastAPI) -> dict[str, Any]:
    """Return the schema, which is deterministic; every operation may respond with a Problem."""
    if app.openapi_schema:
        return app.openapi_schema
    schema = get_openapi(
        title=app.title,
        version=app.version,
        description="Errors are problem documents (RFC 9457): see Problem.",
        routes=app.routes,
    )
    schemas = schema["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    problem = TypeAdapter(Problem).json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(problem.pop("$defs"), Problem=problem)
    for path in schema["paths"].values():
        for operation in path.values():
            _describe_problems(operation)
    schema["components"]["securitySchemes"] = SECURITY_SCHEMES
    for route in iter_route_contexts(app.routes):
        for method in route.methods or ():
            described = schema["paths"].get(route.path_format, {}).get(method.lower())
            if described is not None:
                described["security"] = _to_security(method, set(_iterate_calls(route.dependant)))
    app.openapi_schema = schema
    return schema


def _iterate_calls(dependant: Dependant) -> Iterator[Any]:
    yield dependant.call
    for inner in dependant.dependencies:
        yield from _iterate_calls(inner)


def _to_security(method: str, calls: set[Any]) -> list[dict[str, list[str]]]:
    """Return the security requirement: the cookie's user, or a token with one of these scopes."""
    if dependencies.anyone in calls:
        return []
    if dependencies.metrics_reader in calls:
        return [{}, {"metrics": []}]
    if dependencies.access_token in calls:
        return [{"token": []}]
    by_cookie: dict[str, list[str]] = {"cookie": []}
    refuses_tokens = dependencies.current_user in calls and method not in SAFE_METHODS
    if dependencies.web_session in calls or refuses_tokens:
        return [by_cookie]
    scopes = sorted({scope.value for guard, scope in dependencies.SCOPES.items() if guard in calls})
    return [by_cookie, *({"token": [scope]} for scope in scopes)]


def _describe_problems(operation: dict[str, Any]) -> None:
    """Describe errors as problem documents, including those that a route declares itself."""
    responses = operation["responses"]
    responses.pop("422", None)
    for status, response in responses.items():
        content = response.get("content", {})
        if status.startswith("4") and "application/json" in content:
            content[MEDIA_TYPE] = content.pop("application/json")
    responses["default"] = {
        "description": "Error",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
