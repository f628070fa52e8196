"""The base class of the portal's errors, and the kinds that belong to no particular part of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class FieldError:
    """A problem with one field; `field` is its dotted path in the request."""

    field: str
    message: str


class PortalError(Exception):
    """An error that is answered with a problem document instead of a result."""

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
        """Set the response's parts.

        `extension`: further members of the problem document (RFC 9457, 3.2).
        """
        self.detail = detail or self.title
        self.errors = tuple(errors)
        self.headers = dict(headers or {})
        self.extension = dict(extension or {})
        super().__init__(self.detail)


class OriginRefused(PortalError):
    status = 403
    slug = "origin-refused"
    title = "Request from another origin"


class Forbidden(PortalError):
    status = 403
    slug = "forbidden"
    title = "You don't have permission"


class NotFound(PortalError):
    status = 404
    slug = "not-found"
    title = "Not found"


class MethodNotAllowed(PortalError):
    status = 405
    slug = "method-not-allowed"
    title = "Method not allowed"


class Conflict(PortalError):
    status = 409
    slug = "conflict"
    title = "Conflict with existing data"


class Gone(PortalError):
    status = 410
    slug = "gone"
    title = "No longer available"


class TooLarge(PortalError):
    status = 413
    slug = "too-large"
    title = "The request is too large"


class InvalidInput(PortalError):
    status = 422
    slug = "invalid-input"
    title = "Invalid request"


class TooManyRequests(PortalError):
    status = 429
    slug = "too-many-requests"
    title = "Too many requests"


class Unreadable(InvalidInput):
    status = 400


class Internal(PortalError):
    title = "Internal server error"


class Unavailable(PortalError):
    status = 503
    slug = "unavailable"
    title = "Temporarily unavailable"


class DatabaseBusy(Unavailable):
    slug = "database-busy"
    title = "The database is busy"

    def __init__(self) -> None:
        super().__init__(
            "The database is busy. Try again in a few seconds.", headers={"Retry-After": "5"}
        )


class DatabaseFull(Unavailable):
    slug = "database-full"
    title = "The portal's disk is full"

    def __init__(self) -> None:
        super().__init__(
            "The portal's disk is full, so nothing can be saved. Contact your administrators.",
            headers={"Retry-After": "30"},
        )


def invalid_input(errors: Sequence[FieldError]) -> InvalidInput:
    """Return an InvalidInput with the message of a single error, or else the number of invalid
    fields.
    """
    if len(errors) == 1:
        return InvalidInput(errors[0].message, errors=errors)
    return InvalidInput(f"{len(errors)} fields have errors.", errors=errors)
