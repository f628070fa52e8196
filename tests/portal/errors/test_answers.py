"""One error format for all failures, with readable messages."""

import asyncio
import json
import sys
from typing import Annotated, Any

import pytest
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from yarl import URL

from portal import errors
from portal.errors import PortalError, field_errors, invalid_input
from tests.portal.conftest import Answer, Browser, Portal

KEYS = {"type", "title", "status", "detail", "errors"}


def assert_problem(answer: Answer, status: int, slug: str) -> None:
    assert answer.status == status
    assert answer.headers["Content-Type"].startswith("application/problem+json")
    assert set(answer.body) == KEYS
    assert answer.body["status"] == status
    assert answer.slug == slug
    assert answer.body["detail"]


@pytest.mark.anyio
class TestOnTheWire:
    @pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/nothing", "/api", "/internal/x"])
    async def test_an_unknown_route(self, browser: Browser, path: str) -> None:
        assert_problem(await browser.get(path), 404, "not-found")
        assert_problem(await browser.send("PUT", path), 404, "not-found")

    async def test_a_wrong_method(self, browser: Browser) -> None:
        for method, path, allowed in (
            ("DELETE", "/api/v1/me", "GET"),
            ("GET", "/api/v1/login", "POST"),
            ("GET", "/api/v1/files/delete", "POST"),
            ("GET", "/api/v1/me/password", "POST"),
            ("PUT", "/api/v1/jobs", "GET, POST"),
            ("PATCH", "/api/v1/jobs/00000000-0000-4000-8000-000000000000", "DELETE, GET"),
            ("PUT", "/api/v1/me/preferences", "GET, PATCH"),
            ("POST", "/sessions", "GET, HEAD"),
        ):
            answer = await browser.send(method, path)
            assert_problem(answer, 405, "method-not-allowed")
            assert answer.headers["Allow"] == allowed, (method, path)

    @pytest.mark.parametrize("sent", [b"FOO / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x00\x01\r\n\r\n"])
    async def test_what_is_no_request(self, portal: Portal, sent: bytes) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", URL(portal.url).port)
        writer.write(sent)
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"content-type: application/problem+json" in head.lower()
        found = json.loads(body)
        assert (found["type"], found["status"]) == ("urn:portal:invalid-input", 400)
        assert set(found) == KEYS

    async def test_a_body_that_is_not_json(self, browser: Browser) -> None:
        headers = {"Origin": browser.origin, "Content-Type": "application/json"}
        async with browser.http.post("/api/v1/login", data=b"{", headers=headers) as response:
            body = await response.json(content_type=None)
        assert (response.status, body["type"]) == (422, "urn:portal:invalid-input")
        assert body["errors"] == [{"field": "body", "message": "The request isn't valid JSON."}]

    @pytest.mark.parametrize("body", [[], "x", 7, None])
    async def test_a_body_of_another_shape(self, browser: Browser, body: Any) -> None:
        assert_problem(await browser.post("/api/v1/login", body), 422, "invalid-input")

    async def test_anonymous_request_gets_login_required(self, browser: Browser) -> None:
        answer = await browser.get("/api/v1/me")
        assert_problem(answer, 401, "login-required")
        assert answer.headers["Cache-Control"] == "no-store"

    @pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
    async def test_a_fault_of_ours_shows_nothing_of_us(self, portal: Portal) -> None:
        app: FastAPI = portal.app

        async def broken() -> None:
            raise RuntimeError("the database password is hunter2")

        app.router.add_api_route("/api/v1/broken", broken)
        app.router.routes.insert(0, app.router.routes.pop())
        async with portal.browser() as browser:
            answer = await browser.get("/api/v1/broken")
        assert_problem(answer, 500, "internal")
        assert "hunter2" not in str(answer.body)


def leaves(kind: type[PortalError]) -> list[type[PortalError]]:
    return [kind, *(leaf for child in kind.__subclasses__() for leaf in leaves(child))]


def test_every_error_has_a_status_a_slug_and_a_title() -> None:
    for kind in leaves(PortalError):
        assert 400 <= kind.status < 600
        assert kind.slug == kind.slug.lower()
        assert kind.title[0].isupper()


def test_the_tree_at_the_top_of_the_package_names_every_error() -> None:
    for kind in leaves(PortalError):
        tree = f"{errors.__doc__}{sys.modules[kind.__module__].__doc__}"
        assert [line for line in tree.splitlines() if f" {kind.__name__} " in f"{line} "], kind


MEMORY = "resources.memory_gb"


class Resources(BaseModel):
    model_config = {"extra": "forbid"}

    gpus: Annotated[int, Field(ge=0, le=8)]
    memory_gb: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class Body(BaseModel):
    name: Annotated[str, Field(pattern="^[a-z]+$", max_length=5)]
    resources: Resources


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ({"name": "x"}, "resources", "This is required."),
        ({"name": "x", "resources": {}}, "resources.gpus", "This is required."),
        ({"name": "x", "resources": {"gpus": -1}}, "resources.gpus", "This must be at least 0."),
        ({"name": "x", "resources": {"gpus": 9}}, "resources.gpus", "This may be at most 8."),
        ({"name": "x", "resources": {"gpus": "many"}}, "resources.gpus", "a whole number"),
        ({"name": "x", "resources": {"gpus": 1.5}}, "resources.gpus", "a whole number"),
        ({"name": "x", "resources": {"gpus": None}}, "resources.gpus", "a whole number"),
        ({"name": "x", "resources": {"gpus": 1, "memory_gb": 0}}, MEMORY, "greater than 0"),
        ({"name": "x", "resources": {"gpus": 1, "memory_gb": "a"}}, MEMORY, "a number"),
        ({"name": "x", "resources": {"gpus": 1, "ram": 1}}, "resources.ram", "Unknown field"),
        ({"name": "x", "resources": 7}, "resources", "named fields"),
        ({"name": "", "resources": {"gpus": 1}}, "name", "required format"),
        ({"name": "abcdef", "resources": {"gpus": 1}}, "name", "at most 5 characters"),
        ({"name": 5, "resources": {"gpus": 1}}, "name", "must be text"),
    ],
)  # fmt: skip
def test_the_field_is_named_and_the_reason_is_plain(body: Any, field: str, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Body).validate_python(body)
    wire = RequestValidationError(
        [{**error, "loc": ("body", *error["loc"])} for error in caught.value.errors()]
    )
    (found,) = field_errors(wire.errors())
    assert found.field == field
    assert message in found.message
    assert invalid_input([found]).detail == found.message


def test_many_errors_are_counted_and_bounded() -> None:
    wrong = [{"loc": ("body", f"f{n}"), "type": "missing", "msg": "x"} for n in range(500)]
    found = field_errors(wrong)
    assert len(found) == errors.MAX_FIELD_ERRORS
    assert str(len(found)) in invalid_input(found).detail
