"""Client for the requests that a node program sends to the portal.

It uses only the portal's address and the job's own secret, both from config.json, and is
independent of Jupyter and TensorBoard. Standard library only, because it runs before anything else
is imported. `http.client` rather than urllib: the secret is never sent to a proxy that the user's
environment variables name, nor to the target of a redirect.

  PortalRequestError
  ├── NotWanted     the portal no longer wants this process: end quietly
  ├── PortalRefused the portal does not accept this secret or this request: do not repeat
  └── OutOfReach    no answer within the time limit
"""

from __future__ import annotations

import http.client
import json
import logging
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any
from urllib.parse import urlsplit

log = logging.getLogger("portal")

ANSWER_LIMIT_BYTES = 1 << 20
REQUEST_TIMEOUT_S = 10.0
WAIT_S = 20
"""Maximum time that the portal may hold a request."""
GIVE_UP_S = 900.0
"""An unusable allocation is released after this time without the portal."""
REPORT_CHARS = 2000


class PortalRequestError(Exception):
    """A request to the portal failed."""


class NotWanted(PortalRequestError):
    """The portal answered 410."""


class PortalRefused(PortalRequestError):
    """The portal answered with a status that repeating the request will not change."""


class OutOfReach(PortalRequestError):
    """The portal did not answer in time."""


@dataclass(frozen=True)
class PortalResponse:
    """Status, and the JSON object in the body, if there was one."""

    status: int
    body: dict[str, Any]


@dataclass(frozen=True)
class PortalClient:
    """Portal client of one node program.

    `kind` is "sessions", "tensorboards" or "jobs"; `resource_id` is the id of one of them.
    """

    portal_url: str
    kind: str
    resource_id: str
    secret: str = field(repr=False)
    give_up_s: float = GIVE_UP_S
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    ca: str | None = field(default=None, repr=False)
    """CA (PEM) that issued the portal's certificate; None if it is in the node's trust store."""
    run_id: str | None = None
    """Id of this run of the program, sent in each body, where several runs share a `resource_id`
    and secret.
    """

    def hello(
        self, port: int, timings: dict[str, str] | None = None, request: str | None = None
    ) -> str | None:
        """Report the listening port; return once the portal has accepted it.

        Return the requested certificate, if the portal issues one. Raises PortalRequestError.
        """
        body: dict[str, Any] = {"port": port, "timings": timings or {}}
        if request is not None:
            body["csr"] = request
        return _get_certificate(self._repeat_until_accepted("POST", "hello", body))

    def certificate(self, request: str) -> str:
        """Request a replacement for a certificate that ends soon; one attempt.

        Raises PortalRequestError.
        """
        response = self.ask("POST", "certificate", {"csr": request})
        certificate = _get_certificate(response) if response.status == 200 else None
        if certificate is None:
            raise OutOfReach(f"no certificate now: {_check_status(response)}")
        return certificate

    def server(self) -> dict[str, Any]:
        """Wait for the single-user server's `env`, `args` and `base_url`.

        Raises PortalRequestError.
        """
        return self._repeat_until_accepted("GET", f"server?wait_s={WAIT_S}", None, WAIT_S).body

    def wait_until_unwanted(
        self, action: str = "wanted", is_over: Callable[[], bool] = lambda: False
    ) -> None:
        """Wait until the portal answers that this program should end.

        `action` is the address to ask: another than "wanted" asks for a part of the program, such
        as the SSH connections of a token. Return also if the portal no longer accepts the secret,
        has been out of reach for too long, or if `is_over`.
        """
        pauses = _pauses()
        deadline = time.monotonic() + self.give_up_s
        while time.monotonic() < deadline:
            if is_over():
                return
            try:
                response = self._send(
                    "GET", f"{action}?wait_s={WAIT_S}", None, REQUEST_TIMEOUT_S + WAIT_S
                )
                _check_status(response)
            except (NotWanted, PortalRefused) as refusal:
                log.info("%s", refusal)
                return
            except (OSError, http.client.HTTPException, ValueError):
                self.sleep(next(pauses))
                continue
            if response.status >= 300:
                self.sleep(next(pauses))
                continue
            pauses = _pauses()
            deadline = time.monotonic() + self.give_up_s
        log.warning("the portal has been unreachable for %.0f s", self.give_up_s)

    def ask(self, method: str, action: str, body: dict[str, Any] | None = None) -> PortalResponse:
        """Send one request, once; return the answer, including errors.

        The body of an error is a problem document. Raises OutOfReach.
        """
        try:
            return self._send(method, action, body, REQUEST_TIMEOUT_S)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise OutOfReach(f"the portal doesn't answer at {self.portal_url}") from error

    def report(self, event: str, message: str, timeout_s: float = 3.0) -> bool:
        """Report a failure or the exit; one attempt, because there may be little time.

        Return whether the portal received it, and raise nothing: the process ends either way.
        """
        body = {"event": event, "message": message[:REPORT_CHARS]}
        try:
            return self._send("POST", "report", body, timeout_s).status < 300
        except (OSError, http.client.HTTPException, ValueError):
            return False

    def _repeat_until_accepted(
        self, method: str, action: str, body: dict[str, Any] | None, held_s: float = 0.0
    ) -> PortalResponse:
        """Repeat a request until status 200; retry after 204, 409, 425, 429, 5xx or no answer."""
        deadline = time.monotonic() + self.give_up_s
        pauses = _pauses()
        trouble = "no answer"
        while time.monotonic() < deadline:
            try:
                response = self._send(method, action, body, REQUEST_TIMEOUT_S + held_s)
            except (OSError, http.client.HTTPException, ValueError) as error:
                trouble = _log_change(trouble, f"{type(error).__name__}: {error}")
                self.sleep(next(pauses))
                continue
            if response.status == 200:
                return response
            answer = _check_status(response)
            if response.status == 204:
                pauses = _pauses()  # The portal held the request, so repeat it at once.
                continue
            trouble = _log_change(trouble, answer)
            self.sleep(next(pauses))
        raise OutOfReach(f"the portal doesn't answer at {self.portal_url} ({trouble})")

    def _send(
        self, method: str, action: str, body: dict[str, Any] | None, timeout_s: float
    ) -> PortalResponse:
        url = urlsplit(self.portal_url)
        path = f"{url.path.rstrip('/')}/node/{self.kind}/{self.resource_id}/{action}"
        headers = {"Authorization": f"Bearer {self.secret}", "Content-Type": "application/json"}
        connection = self._connect(url.scheme, url.netloc, timeout_s)
        try:
            run = {} if self.run_id is None else {"run_id": self.run_id}
            content = None if body is None else json.dumps({**body, **run})
            connection.request(method, path, body=content, headers=headers)
            response = connection.getresponse()
            text = response.read(ANSWER_LIMIT_BYTES + 1)
        finally:
            connection.close()
        if len(text) > ANSWER_LIMIT_BYTES:
            raise ValueError("the response is too long")
        if response.status == 200:
            return PortalResponse(response.status, _parse_object(text))
        return PortalResponse(response.status, _parse_problem(text))

    def _connect(self, scheme: str, netloc: str, timeout_s: float) -> http.client.HTTPConnection:
        """Return a connection; with TLS the portal must prove its name, to the site's CA if any."""
        if scheme == "https":
            context = ssl.create_default_context(cadata=self.ca)
            return http.client.HTTPSConnection(netloc, timeout=timeout_s, context=context)
        return http.client.HTTPConnection(netloc, timeout=timeout_s)


def _check_status(response: PortalResponse) -> str:
    """Return a description of a status that may change on retry; raise for one that will not."""
    if response.status == 410:
        raise NotWanted("the portal has stopped this job")
    if response.status in (200, 204, 409, 425, 429) or response.status >= 500:
        return f"it returned status {response.status}"
    raise PortalRefused(f"the portal refused the node program with status {response.status}")


def _log_change(before: str, trouble: str) -> str:
    """Log why a request is repeated, unless it is the reason of the attempt before; return it."""
    if trouble != before:
        log.info("a request to the portal is repeated: %s", trouble)
    return trouble


def _get_certificate(response: PortalResponse) -> str | None:
    certificate = response.body.get("certificate")
    return certificate if isinstance(certificate, str) else None


def _parse_object(text: bytes) -> dict[str, Any]:
    value = json.loads(text) if text else {}
    if not isinstance(value, dict):
        raise ValueError("the response is not a JSON object")  # noqa: TRY004 - same as bad JSON
    return value


def _parse_problem(text: bytes) -> dict[str, Any]:
    """Return the body of an error, empty if it is no JSON object: an intermediary may send HTML."""
    try:
        return _parse_object(text)
    except ValueError:
        return {}


def _pauses() -> Iterator[float]:
    """Yield the seconds between retries, short at first, as an answer usually comes at once."""
    return chain(repeat(0.1, 10), repeat(0.3, 10), repeat(1.0, 20), repeat(3.0))
