"""`Authorization: Bearer …`: read in one way by whoever asks for it."""

from starlette.requests import HTTPConnection


def has_bearer(connection: HTTPConnection) -> bool:
    """Whether a request says that it comes with a token, be the token good, bad or empty."""
    return _read(connection) is not None


def bearer(connection: HTTPConnection) -> str:
    """The token, or an empty string."""
    return _read(connection) or ""


def _read(connection: HTTPConnection) -> str | None:
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None
