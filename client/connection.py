"""The connection to a portal: requests of the operations, and their errors.

Redirects are never followed, so a token reaches no other host. Requests that only read, and those
whose repetition changes nothing, are repeated after a lost connection: a laptop that slept wakes up
with all its connections dead.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import quote, urlencode
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.exceptions import HTTPError

from . import __version__
from .errors import (
    ClientError,
    NothingFound,
    NotLoggedIn,
    PortalUnreachable,
    RefusedByPortal,
)
from .models import decode
from .operations import API, NoAnswer, Operation
from .text import to_line

T = TypeVar("T")
TIMEOUT = urllib3.Timeout(connect=10, read=60)
CALL_WAITS_S = (0.5, 1, 2)
"""Pauses between the attempts of a request."""
WAITS_S = (1, 2, 4, 8, 15, 15)
"""Pauses between the attempts of a transfer or of a followed log, which have made progress."""
REPEATABLE = frozenset({"GET", "DELETE", "PUT"})
MAX_ANSWER_BYTES = 32 * 1024 * 1024
MAX_ERROR_BYTES = 64 * 1024
OCTETS = "application/octet-stream"
KEY = "Idempotency-Key"


class ConnectionLost(PortalUnreachable):
    """The connection failed before the answer was complete."""

    kind = "unreachable"


def ignore_retry(_error: ConnectionLost) -> None:
    """Report nothing about an attempt that failed."""


class PortalConnection:
    """Requests to one portal, with a token or without. `retrying` is called before each pause."""

    def __init__(
        self,
        url: str,
        token: str | None,
        retrying: Callable[[ConnectionLost], None] = ignore_retry,
        waits_s: tuple[float, ...] = WAITS_S,
    ) -> None:
        self.url = url
        self.retrying = retrying
        self.waits_s = waits_s
        self._headers = {"User-Agent": f"dsp/{__version__}", "Accept": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._pool = _open_pool(url)

    def call(
        self,
        operation: Operation[T],
        path: Mapping[str, str] | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        data: bytes | None = None,
        key: str | None = None,
    ) -> T:
        """Send a request and return the answer.

        `data` is a body of bytes. A request with an idempotency `key` is repeated like one that
        reads. Raises the errors of `errors.py`.
        """
        sent = self._prepare(operation, path, query, body)
        if data is not None:
            sent["body"] = data
            sent["headers"] = {**sent["headers"], "Content-Type": OCTETS}
        if key is not None:
            sent["headers"] = {**sent["headers"], KEY: key}

        def once() -> T:
            with self._answer(sent) as answer:
                content = _read(answer, MAX_ANSWER_BYTES)
            if operation.answer is NoAnswer:
                return operation.answer()
            return decode(operation.answer, _parse_json(content))

        if operation.method in REPEATABLE or key is not None:
            return self._attempt(once, CALL_WAITS_S)
        return once()

    @contextmanager
    def stream(
        self,
        operation: Operation[T],
        path: Mapping[str, str] | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        """Yield an answer whose body is read as it arrives. Raises the errors of `errors.py`."""
        sent = self._prepare(operation, path, query, None)
        sent["headers"] = {**sent["headers"], "Accept": "*/*", **(headers or {})}
        with self._answer(sent) as answer:
            yield answer

    def repeat(self, once: Callable[[], T]) -> T:
        """Return the result of a transfer; continue it after a lost connection."""
        return self._attempt(once, self.waits_s)

    def _attempt(self, once: Callable[[], T], waits_s: Sequence[float]) -> T:
        for pause in waits_s:
            try:
                return once()
            except ConnectionLost as error:
                self.pause_after(error, pause)
        return once()

    def pause_after(self, error: ConnectionLost, pause_s: float) -> None:
        """Report a lost connection, and wait before the next attempt."""
        self.retrying(error)
        time.sleep(pause_s)

    def _prepare(
        self,
        operation: Operation[T],
        path: Mapping[str, str] | None,
        query: Mapping[str, Any] | None,
        body: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        """Return the arguments of the request. Refuse names that the operation doesn't declare."""
        query = {name: value for name, value in (query or {}).items() if value is not None}
        unknown = (query.keys() - set(operation.query)) | (
            (body or {}).keys() - set(operation.body)
        )
        if unknown:
            raise ValueError(f"{operation.path} has no {', '.join(sorted(unknown))}")
        filled = operation.path.format_map(
            {name: quote(value, safe="") for name, value in (path or {}).items()}
        )
        texts = {name: _query_text(value) for name, value in query.items()}
        url = f"{self.url}{API}{filled}{f'?{urlencode(texts)}' if texts else ''}"
        sent: dict[str, Any] = {"method": operation.method, "url": url, "headers": self._headers}
        if body is not None:
            sent["body"] = json.dumps(body).encode()
            sent["headers"] = {**self._headers, "Content-Type": "application/json"}
        return sent

    @contextmanager
    def _answer(self, sent: Mapping[str, Any]) -> Iterator[urllib3.BaseHTTPResponse]:
        """Yield a successful answer; its connection is closed if it is not read to its end."""
        try:
            answer = self._pool.request(
                **sent, redirect=False, retries=False, preload_content=False, timeout=TIMEOUT
            )
        except HTTPError as error:
            raise _lost(self.url, error) from error
        try:
            if answer.status >= 300:
                raise _to_error(answer, self.url)
            yield answer
        except HTTPError as error:
            raise _lost(self.url, error) from error
        finally:
            answer.close()
            answer.release_conn()


def _open_pool(url: str) -> urllib3.PoolManager:
    """Return the pool, through the proxy that the environment names for this host.

    Without TLS, which only this machine may be, a proxy could read the token.
    """
    parts = urllib3.util.parse_url(url)
    proxy = getproxies().get("https") if parts.scheme == "https" else None
    if proxy and not proxy_bypass(parts.host or ""):
        return urllib3.ProxyManager(proxy)
    return urllib3.PoolManager()


def _query_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(answer: urllib3.BaseHTTPResponse, limit: int) -> bytes:
    content = answer.read(limit + 1)
    if len(content) > limit:
        raise PortalUnreachable("The portal's answer is too large.", kind="unknown-answer")
    return content


def _parse_json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError as error:
        raise PortalUnreachable(
            "The answer is not from a portal.",
            "Check the address with --portal.",
            kind="unknown-answer",
        ) from error


def _lost(url: str, error: Exception) -> ConnectionLost:
    reason = to_line(str(error.args[-1] if error.args else error))
    return ConnectionLost(
        f"The portal at {url} does not answer: {reason}",
        "Check your network and the address, and try again.",
    )


def _to_error(answer: urllib3.BaseHTTPResponse, url: str) -> ClientError:
    """Return the error of an answer that reports a problem."""
    status = answer.status
    problem = _read_problem(answer)
    if status < 400 or (problem is None and status not in {502, 503, 504}):
        return PortalUnreachable(
            f"No portal answers at {url} (HTTP {status}).",
            "Check the address with --portal.",
            kind="unknown-answer",
        )
    problem = problem or {}
    detail = to_line(str(problem.get("detail") or f"The portal is not available (HTTP {status})."))
    kind = str(problem.get("type", "")).removeprefix("urn:portal:")
    if status == 401:
        return NotLoggedIn(detail, "Run: dsp login", kind=kind)
    if status == 404:
        return NothingFound(detail, kind=kind)
    if status >= 500:
        return PortalUnreachable(detail, "Try again in a minute.", kind=kind)
    suggestion = (
        "Run: dsp login, which asks for this scope." if kind == "insufficient-scope" else ""
    )
    return RefusedByPortal(detail, suggestion, kind=kind, fields=_field_errors(problem))


def _read_problem(answer: urllib3.BaseHTTPResponse) -> dict[str, Any] | None:
    if answer.headers.get("Content-Type", "").split(";")[0] != "application/problem+json":
        return None
    try:
        problem = json.loads(answer.read(MAX_ERROR_BYTES))
    except ValueError:
        return None
    return problem if isinstance(problem, dict) else None


def _field_errors(problem: Mapping[str, Any]) -> list[tuple[str, str]]:
    errors = problem.get("errors")
    if not isinstance(errors, list):
        return []
    return [
        (to_line(str(error.get("field", ""))), to_line(str(error.get("message", ""))))
        for error in errors
        if isinstance(error, dict)
    ]
