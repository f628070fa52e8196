"""The API's description, openapi.json: FastAPI's own, with errors as they really are."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from portal.errors import MEDIA_TYPE, Problem


def api_schema(app: FastAPI) -> dict[str, Any]:
    """The schema, the same for the same code; every operation may answer with a Problem."""
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
    app.openapi_schema = schema
    return schema


def _describe_problems(operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    responses.pop("422", None)
    responses["default"] = {
        "description": "What went wrong",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
