"""Parsing of the `Authorization: Bearer …` header, in one place."""

from starlette.requests import HTTPConnection


def has_bearer(connection: HTTPConnection) -> bool:
    """Return whether a request has a bearer token, whether valid, invalid or empty."""
    return _parse_header(connection) is not None


def bearer(connection: HTTPConnection) -> str:
    """Return the token, or an empty string."""
    return _parse_header(connection) or ""


def _parse_header(connection: HTTPConnection) -> str | None:
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None
