"""Conversion of every error to a response: one shape on the wire, RFC 9457's problem document."""

from collections.abc import Callable, Sequence
from dataclasses import asdict

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from portal.errors.base import (
    FieldError,
    Forbidden,
    Internal,
    InvalidInput,
    MethodNotAllowed,
    NotFound,
    PortalError,
    TooLarge,
    invalid_input,
)
from portal.errors.login import LoginRequired
from portal.errors.words import field_errors
from spawner import request_id

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"


class Problem(BaseModel):
    """The body of every error response."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldError] = []


def problem_response(error: PortalError) -> JSONResponse:
    """Return the response to a request that failed with this error, for handlers and middleware."""
    return JSONResponse(
        {
            **error.extension,
            "type": f"urn:portal:{error.slug}",
            "title": error.title,
            "status": error.status,
            "detail": error.detail,
            "errors": [asdict(item) for item in error.errors],
        },
        status_code=error.status,
        headers={"Cache-Control": "no-store", **error.headers},
        media_type=MEDIA_TYPE,
    )


def from_http(error: HTTPException) -> PortalError:
    """Convert Starlette's own errors (unknown route, wrong method, body too large) to a
    PortalError.
    """
    known: dict[int, PortalError] = {
        401: LoginRequired(),
        403: Forbidden(),
        404: NotFound(),
        405: MethodNotAllowed(),
        413: TooLarge(),
        422: InvalidInput(),
    }
    problem = known.get(error.status_code)
    if problem is None:
        problem = (
            InvalidInput("The request can't be read.") if error.status_code < 500 else Internal()
        )
    problem.headers.update(error.headers or {})
    return problem


def install_error_handlers(
    app: FastAPI,
    failed: Callable[[PortalError], None],
    allowed_methods: Callable[[str], Sequence[str]],
) -> None:
    """Make every error of this application a problem document.

    `failed` is called with each error that is not the caller's fault (status 500 and above);
    `allowed_methods` returns the methods of a path over all its routes.
    """

    @app.exception_handler(PortalError)
    async def _portal_error(_request: Request, error: PortalError) -> JSONResponse:
        if error.status >= 500:
            cause = getattr(error, "cause", None) or error.__cause__
            log.warning("unavailable", slug=error.slug, detail=error.detail, cause=str(cause)[:500])
            failed(error)
        return problem_response(error)

    @app.exception_handler(RequestValidationError)
    async def _invalid(_request: Request, error: RequestValidationError) -> JSONResponse:
        return problem_response(invalid_input(field_errors(error.errors())))

    @app.exception_handler(HTTPException)
    async def _http_error(request: Request, error: HTTPException) -> JSONResponse:
        problem = from_http(error)
        if error.status_code == 405:  # the framework names the methods of one route only
            methods = allowed_methods(request.url.path)
            problem = MethodNotAllowed(headers={"Allow": ", ".join(methods)})
            if not methods:
                problem = NotFound()
        return problem_response(problem)

    @app.exception_handler(Exception)
    async def _unexpected(_request: Request, _error: Exception) -> JSONResponse:
        # The server logs the traceback itself; the caller must not learn internals.
        error = Internal("The portal had an internal error, which was logged. Try again.")
        # the middleware no longer runs here
        error.headers[request_id.HEADER] = request_id.current()
        failed(error)
        return problem_response(error)
