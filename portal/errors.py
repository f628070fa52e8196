"""One tree of errors, one shape on the wire (RFC 9457), and the words users read.

    PortalError
      LoginRequired            401 login-required
        InvalidToken           401 login-required, of an access token
      WrongCredentials         401 wrong-credentials
        AccountLocked          401 wrong-credentials, another sentence
          AccountDisabled      likewise
        PasswordExpired        401 wrong-credentials, another sentence
        WrongCode              401 wrong-code, of a second factor
      PasswordRequired         403 password-required
      EnrolmentRequired        403 second-factor-enrolment-required
      Forbidden                403 forbidden
        InsufficientScope      403 insufficient-scope, of an access token
      OriginRefused            403 origin-refused
      NotFound                 404 not-found
      MethodNotAllowed         405 method-not-allowed
      Conflict                 409 conflict
        LastAdmin              409 last-admin
        HomeProblem            409 home-unavailable
        LimitReached           409 limit-reached
        DirectoryReadOnly      409 directory-read-only
        DirectoryChanged       409 directory-changed
          ChangedMeanwhile     409 changed-meanwhile, with who it was
      Gone                     410 gone
      TooLarge                 413 too-large
      InvalidInput             422 invalid-input
        SlurmRejected          422 slurm-rejected
      NotRunning               424 not-running
      TooManyAttempts          429 too-many-attempts
      TooManyQuestions         429 too-many-questions
      Internal                 500 internal
      Unavailable              503
        DirectoryUnavailable   503 directory-unavailable
        DirectoryUnfinished    503 directory-unfinished
        SlurmUnreachable       503 slurm-unreachable
        LauncherProblem        503 launcher-unavailable
        HubUnavailable         503 hub-unavailable

It knows no database and no Slurm; services translate the spawner's errors into these.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"
MAX_FIELD_ERRORS = 50


@dataclass(frozen=True)
class FieldError:
    """What is wrong with one field; `field` is its dotted path in the request."""

    field: str
    message: str


class PortalError(Exception):
    """Anything the portal answers with a problem document instead of a result."""

    status: ClassVar[int] = 500
    slug: ClassVar[str] = "internal"
    title: ClassVar[str] = "Something went wrong"

    def __init__(
        self,
        detail: str = "",
        *,
        errors: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
        extension: Mapping[str, Any] | None = None,
    ) -> None:
        """`extension`: members of the problem document beside the usual ones (RFC 9457, 3.2)."""
        self.detail = detail or self.title
        self.errors = tuple(errors)
        self.headers = dict(headers or {})
        self.extension = dict(extension or {})
        super().__init__(self.detail)


class LoginRequired(PortalError):
    status = 401
    slug = "login-required"
    title = "Please log in"


class InvalidToken(LoginRequired):
    def __init__(
        self, detail: str = "This access token isn't valid. It may have expired or been revoked."
    ) -> None:
        super().__init__(
            detail,
            headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
        )


class WrongCredentials(PortalError):
    status = 401
    slug = "wrong-credentials"
    title = "The username or the password is wrong"


class AccountLocked(WrongCredentials):
    title = "This account is locked"


class AccountDisabled(AccountLocked):
    title = "This account is switched off"

    def __init__(self) -> None:
        super().__init__("This account is switched off; ask your administrators.")


class PasswordExpired(WrongCredentials):
    title = "The password has expired"


class WrongCode(WrongCredentials):
    slug = "wrong-code"
    title = "The code isn't right"


class PasswordRequired(PortalError):
    status = 403
    slug = "password-required"
    title = "Please enter your password again"


class EnrolmentRequired(PortalError):
    status = 403
    slug = "second-factor-enrolment-required"
    title = "Please set up a second factor first"


class Forbidden(PortalError):
    status = 403
    slug = "forbidden"
    title = "You may not do this"


class InsufficientScope(Forbidden):
    slug = "insufficient-scope"
    title = "This access token may not do this"

    def __init__(self, scope: str) -> None:
        challenge = f'Bearer error="insufficient_scope", scope="{scope}"'
        super().__init__(
            f"This access token doesn't have the scope {scope}.",
            headers={"WWW-Authenticate": challenge},
        )


class OriginRefused(PortalError):
    status = 403
    slug = "origin-refused"
    title = "This request doesn't come from the portal's own pages"


class NotFound(PortalError):
    status = 404
    slug = "not-found"
    title = "There is nothing here"


class MethodNotAllowed(PortalError):
    status = 405
    slug = "method-not-allowed"
    title = "This address doesn't take such requests"


class Conflict(PortalError):
    status = 409
    slug = "conflict"
    title = "This clashes with something that exists"


class LastAdmin(Conflict):
    slug = "last-admin"
    title = "This would leave the portal without an administrator"


class HomeProblem(Conflict):
    slug = "home-unavailable"
    title = "Your home directory can't be used"


class DirectoryReadOnly(Conflict):
    slug = "directory-read-only"
    title = "This can't be done in this directory"


class DirectoryChanged(Conflict):
    slug = "directory-changed"
    title = "Somebody else has changed this meanwhile"


class LimitReached(Conflict):
    """`what` is that of which somebody has as many as they may: sessions or jobs."""

    slug = "limit-reached"
    title = "You have as many as you may"

    def __init__(self, what: str, detail: str) -> None:
        super().__init__(detail, errors=[FieldError(what, detail)])


class ChangedMeanwhile(DirectoryChanged):
    slug = "changed-meanwhile"


class Gone(PortalError):
    status = 410
    slug = "gone"
    title = "This isn't wanted any more"


class TooLarge(PortalError):
    status = 413
    slug = "too-large"
    title = "The request is too large"


class InvalidInput(PortalError):
    status = 422
    slug = "invalid-input"
    title = "Something in the request isn't right"


class SlurmRejected(InvalidInput):
    slug = "slurm-rejected"
    title = "Slurm refused this"


class NotRunning(PortalError):
    status = 424
    slug = "not-running"
    title = "This session isn't running"


class TooManyAttempts(PortalError):
    status = 429
    slug = "too-many-attempts"
    title = "Too many attempts"

    def __init__(self, retry_after_s: int) -> None:
        minutes = max(1, -(-retry_after_s // 60))
        wait = "a minute" if minutes == 1 else f"{minutes} minutes"
        super().__init__(
            f"There were too many failed logins. Please try again in {wait}.",
            headers={"Retry-After": str(retry_after_s)},
        )


class TooManyQuestions(PortalError):
    status = 429
    slug = "too-many-questions"
    title = "Too many questions"

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(
            f"Slurm is asked only so often. Please try again in {retry_after_s} seconds.",
            headers={"Retry-After": str(retry_after_s)},
        )


class Internal(PortalError):
    title = "Something went wrong on our side"


class Unavailable(PortalError):
    status = 503
    slug = "unavailable"
    title = "This doesn't work at the moment"


class DirectoryUnavailable(Unavailable):
    """No server of the directory answered as it should; `cause` is for logs and `portal check`."""

    slug = "directory-unavailable"
    title = "The login service can't be reached"

    def __init__(self, cause: str) -> None:
        self.cause = cause
        super().__init__(
            "The directory that checks passwords can't be used at the moment. "
            "Your password is not the problem. Please try again in a few minutes.",
            headers={"Retry-After": "30"},
        )


class DirectoryUnfinished(Unavailable):
    """The directory stopped answering in the middle of a change; `detail` says how far it got."""

    slug = "directory-unfinished"
    title = "The directory may have made only a part of this change"


class SlurmUnreachable(Unavailable):
    slug = "slurm-unreachable"
    title = "Slurm doesn't answer"


class LauncherProblem(Unavailable):
    slug = "launcher-unavailable"
    title = "The portal can't act for you on the cluster"


class HubUnavailable(Unavailable):
    slug = "hub-unavailable"
    title = "The notebook service doesn't answer"


class Problem(BaseModel):
    """What every failed request is answered with."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldError] = []


def problem_response(error: PortalError) -> JSONResponse:
    """The answer to a request that ended in this error; for handlers and middleware."""
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


# Plain words for pydantic's error types; {…} comes from the error's context.
_WORDS = {
    "missing": "This is required.",
    "extra_forbidden": "There is no such field.",
    "int_parsing": "This must be a whole number.",
    "int_type": "This must be a whole number.",
    "int_from_float": "This must be a whole number.",
    "int_parsing_size": "This number is too large.",
    "float_parsing": "This must be a number.",
    "float_type": "This must be a number.",
    "finite_number": "This must be a number.",
    "string_type": "This must be text.",
    "string_too_long": "This may have at most {max_length} characters.",
    "string_too_short": "This must have at least {min_length} characters.",
    "string_pattern_mismatch": "This has characters, or an order of them, that can't be used here.",
    "string_unicode": "This isn't valid text.",
    "bool_type": "This must be true or false.",
    "bool_parsing": "This must be true or false.",
    "greater_than": "This must be more than {gt}.",
    "greater_than_equal": "This must be at least {ge}.",
    "less_than": "This must be less than {lt}.",
    "less_than_equal": "This may be at most {le}.",
    "literal_error": "This must be one of: {expected}.",
    "enum": "This must be one of: {expected}.",
    "uuid_parsing": "This isn't an id.",
    "uuid_type": "This isn't an id.",
    "json_invalid": "The request isn't valid JSON.",
    "json_type": "The request isn't valid JSON.",
    "model_attributes_type": "This must be an object with named fields.",
    "model_type": "This must be an object with named fields.",
    "dict_type": "This must be an object with named fields.",
    "list_type": "This must be a list.",
    "too_long": "This may have at most {max_length} entries.",
    "too_short": "This must have at least {min_length} entries.",
}


def field_errors(found: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    """pydantic's findings in plain words: `("body", "resources", "gpus")` → `resources.gpus`.

    What the caller sent is never repeated.
    """
    return [
        FieldError(_field_name(item["loc"], item["type"]), _words(item))
        for item in found[:MAX_FIELD_ERRORS]
    ]


def _field_name(loc: Sequence[Any], kind: str) -> str:
    place, *rest = loc or ("body",)
    if kind == "json_invalid" or not rest:
        return str(place)
    return ".".join(str(part)[:100] for part in rest)


def _words(item: Mapping[str, Any]) -> str:
    if item["type"] == "value_error":
        return str(item["msg"]).removeprefix("Value error, ")
    if item["type"] == "string_too_short" and item["ctx"]["min_length"] == 1:
        return _WORDS["missing"]
    words = _WORDS.get(item["type"])
    context = {
        key: f"{value:g}" if isinstance(value, float) else value
        for key, value in item.get("ctx", {}).items()
    }
    return words.format(**context) if words else f"{item['msg']}."


def invalid_input(errors: Sequence[FieldError]) -> InvalidInput:
    """An InvalidInput whose detail says how many fields to look at."""
    if len(errors) == 1:
        return InvalidInput(errors[0].message, errors=errors)
    return InvalidInput(f"{len(errors)} fields need another look.", errors=errors)


def from_http(error: HTTPException) -> PortalError:
    """Starlette's own refusals (unknown route, wrong method, body too large) as ours."""
    known: dict[int, PortalError] = {
        401: LoginRequired(),
        403: Forbidden(),
        404: NotFound(),
        405: MethodNotAllowed(),
        413: TooLarge(),
        422: InvalidInput(),
    }
    found = known.get(error.status_code)
    if found is None:
        found = (
            InvalidInput("The request can't be read.") if error.status_code < 500 else Internal()
        )
    found.headers.update(error.headers or {})
    return found


def install_error_handlers(app: FastAPI, failed: Callable[[PortalError], None]) -> None:
    """Make every error of this application a problem document. `failed` hears of those that are
    not the caller's."""

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
    async def _http_error(_request: Request, error: HTTPException) -> JSONResponse:
        return problem_response(from_http(error))

    @app.exception_handler(Exception)
    async def _unexpected(_request: Request, _error: Exception) -> JSONResponse:
        # The server logs the traceback itself; the caller learns nothing of our insides.
        detail = "The portal has a fault; it has been logged. Please try again."
        return problem_response(Internal(detail))
