"""Calling home: the few requests that a node program sends to the portal.

It knows the portal's address and the secret of its own job, both from config.json, and nothing of
Jupyter or TensorBoard. Standard library only, for it runs before anything else is imported.
`http.client` rather than urllib: no proxy from the user's environment ever sees the secret, and no
redirect carries it away.

    HomeError
    ├── NotWanted     the portal no longer wants this process: end quietly
    ├── Refused       the portal doesn't know this secret or this request; repeating is no use
    └── OutOfReach    no answer within the time given
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
"""How long the portal may hold a request for the server's environment."""
GIVE_UP_S = 900.0
"""An allocation nobody can use is given back after this long without the portal."""
REPORT_CHARS = 2000


class HomeError(Exception):
    """A call home came to nothing."""


class NotWanted(HomeError):
    """The portal answered 410."""


class Refused(HomeError):
    """The portal answered with a status that asking again won't change."""


class OutOfReach(HomeError):
    """The portal didn't answer in time."""


@dataclass(frozen=True)
class Answer:
    """A status and the JSON object that came with it, if one did."""

    status: int
    body: dict[str, Any]


@dataclass(frozen=True)
class Home:
    """The portal, as one node program sees it. `kind` is "sessions" or "tensorboards"."""

    portal_url: str
    kind: str
    uuid: str
    secret: str = field(repr=False)
    give_up_s: float = GIVE_UP_S
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    ca: str | None = field(default=None, repr=False)
    """Who signs the portal's certificate (PEM); None: somebody whom the node trusts anyway."""

    def hello(
        self, port: int, timings: dict[str, str] | None = None, request: str | None = None
    ) -> str | None:
        """Say where we listen; returns once the portal has taken it, with the certificate that was
        asked for if the portal gives any. Raises HomeError."""
        body: dict[str, Any] = {"port": port, "timings": timings or {}}
        if request is not None:
            body["csr"] = request
        return _certificate(self._until_taken("POST", "hello", body))

    def certificate(self, request: str) -> str:
        """A certificate in place of one that ends soon; one try. Raises HomeError."""
        answer = self.ask("POST", "certificate", {"csr": request})
        found = _certificate(answer) if answer.status == 200 else None
        if found is None:
            raise OutOfReach(f"no certificate now: {_judge(answer)}")
        return found

    def server(self) -> dict[str, Any]:
        """Wait for the single-user server's `env`, `args` and `base_url`. Raises HomeError."""
        return self._until_taken("GET", f"server?wait_s={WAIT_S}", None, WAIT_S).body

    def while_wanted(self) -> None:
        """Return once the portal doesn't want this program any more, doesn't know its secret any
        more, or has been out of reach for too long. For a program that nobody else ends."""
        pauses = _pauses()
        deadline = time.monotonic() + self.give_up_s
        while time.monotonic() < deadline:
            try:
                asked = self._send(
                    "GET", f"wanted?wait_s={WAIT_S}", None, REQUEST_TIMEOUT_S + WAIT_S
                )
                _judge(asked)
            except (NotWanted, Refused) as answer:
                log.info("%s", answer)
                return
            except (OSError, http.client.HTTPException, ValueError):
                self.sleep(next(pauses))
                continue
            if asked.status >= 300:
                self.sleep(next(pauses))
                continue
            pauses = _pauses()
            deadline = time.monotonic() + self.give_up_s
        log.warning("the portal has been out of reach for %.0f s", self.give_up_s)

    def ask(self, method: str, act: str, body: dict[str, Any] | None = None) -> Answer:
        """One request for whoever sits in the session: the portal's answer, a refusal's problem
        document too. Raises OutOfReach."""
        try:
            return self._send(method, act, body, REQUEST_TIMEOUT_S)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise OutOfReach(f"the portal could not be reached at {self.portal_url}") from error

    def report(self, event: str, message: str, timeout_s: float = 3.0) -> bool:
        """Tell that we failed or are leaving; one try, for there may be little time. Whether the
        portal heard it is returned, never raised: the process ends either way."""
        body = {"event": event, "message": message[:REPORT_CHARS]}
        try:
            return self._send("POST", "report", body, timeout_s).status < 300
        except (OSError, http.client.HTTPException, ValueError):
            return False

    def _until_taken(
        self, method: str, act: str, body: dict[str, Any] | None, held_s: float = 0.0
    ) -> Answer:
        """Repeat until 200. 204 and 409 mean "not yet"; 429, 5xx and no answer mean the same."""
        deadline = time.monotonic() + self.give_up_s
        pauses = _pauses()
        trouble = "no answer"
        while time.monotonic() < deadline:
            try:
                answer = self._send(method, act, body, REQUEST_TIMEOUT_S + held_s)
            except (OSError, http.client.HTTPException, ValueError) as error:
                trouble = f"{type(error).__name__}: {error}"
                self.sleep(next(pauses))
                continue
            if answer.status == 200:
                return answer
            trouble = _judge(answer)
            if answer.status == 204:
                pauses = _pauses()  # the portal held the request: ask again at once
                continue
            self.sleep(next(pauses))
        raise OutOfReach(f"the portal could not be reached at {self.portal_url} ({trouble})")

    def _send(self, method: str, act: str, body: dict[str, Any] | None, timeout_s: float) -> Answer:
        url = urlsplit(self.portal_url)
        path = f"{url.path.rstrip('/')}/node/{self.kind}/{self.uuid}/{act}"
        headers = {"Authorization": f"Bearer {self.secret}", "Content-Type": "application/json"}
        connection = self._connection(url.scheme, url.netloc, timeout_s)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, body=content, headers=headers)
            response = connection.getresponse()
            text = response.read(ANSWER_LIMIT_BYTES + 1)
        finally:
            connection.close()
        if len(text) > ANSWER_LIMIT_BYTES:
            raise ValueError("the answer is too long")
        if response.status == 200:
            return Answer(response.status, _object(text))
        return Answer(response.status, _problem(text))

    def _connection(self, scheme: str, netloc: str, timeout_s: float) -> http.client.HTTPConnection:
        """Over TLS the portal must prove its name, to the site's own authority where it has one."""
        if scheme == "https":
            context = ssl.create_default_context(cadata=self.ca)
            return http.client.HTTPSConnection(netloc, timeout=timeout_s, context=context)
        return http.client.HTTPConnection(netloc, timeout=timeout_s)


def _judge(answer: Answer) -> str:
    """Words for a status that isn't 200 but may become it; raises for one that won't."""
    if answer.status == 410:
        raise NotWanted("the portal no longer wants this job")
    if answer.status in (200, 204, 409, 425, 429) or answer.status >= 500:
        return f"it answered {answer.status}"
    raise Refused(f"the portal refused the call home with status {answer.status}")


def _certificate(answer: Answer) -> str | None:
    found = answer.body.get("certificate")
    return found if isinstance(found, str) else None


def _object(text: bytes) -> dict[str, Any]:
    value = json.loads(text) if text else {}
    if not isinstance(value, dict):
        raise ValueError("the answer is not a JSON object")  # noqa: TRY004 - same as bad JSON
    return value


def _problem(text: bytes) -> dict[str, Any]:
    """What came with a refusal; whoever stands in the way may have answered in HTML."""
    try:
        return _object(text)
    except ValueError:
        return {}


def _pauses() -> Iterator[float]:
    """Seconds between tries: brisk at first, for an answer usually comes at once."""
    return chain(repeat(0.1, 10), repeat(0.3, 10), repeat(1.0, 20), repeat(3.0))
