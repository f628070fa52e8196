"""Calls home to a portal with named behaviors."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from spawner.node.portal_client import (
    REPORT_CHARS,
    NotWanted,
    OutOfReach,
    PortalClient,
    PortalRefused,
    PortalResponse,
)

SECRET = "a-secret-of-this-job"


@dataclass
class Portal:
    """A portal that returns the given statuses in turn, repeating the last one."""

    answers: list[tuple[int, bytes]] = field(default_factory=list)
    seen: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    url: str = ""

    def next(self) -> tuple[int, bytes]:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.fixture
def portal() -> Iterator[Portal]:
    fake = Portal()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            fake.seen.append((self.command, self.path, dict(self.headers), body))
            status, text = fake.next()
            self.send_response(status)
            if status in (301, 302):
                self.send_header("Location", f"{fake.url}/stolen")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = _answer  # noqa: N815

        def log_message(self, *args: Any) -> None:
            """Discard log messages."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield fake
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass
class Pauses:
    """Sleeps that take no time, and their requested durations."""

    asked: list[float] = field(default_factory=list)

    def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)


def home(
    url: str, sleep: Callable[[float], None] | None = None, give_up_s: float = 30
) -> PortalClient:
    return PortalClient(url, "sessions", "some-id", SECRET, give_up_s, sleep or Pauses())


def test_hello_sends_port_and_secret(portal: Portal) -> None:
    portal.answers = [(200, b"{}")]
    home(portal.url).hello(40123, {"bound": "2026-01-01T00:00:00+00:00"})
    method, path, headers, body = portal.seen[0]
    assert (method, path) == ("POST", "/node/sessions/some-id/hello")
    assert headers["Authorization"] == f"Bearer {SECRET}"
    assert json.loads(body) == {"port": 40123, "timings": {"bound": "2026-01-01T00:00:00+00:00"}}


def test_each_body_contains_the_run(portal: Portal) -> None:
    portal.answers = [(200, b'{"certificate": "PEM"}')]
    client = PortalClient(portal.url, "jobs", "abc", SECRET, run_id="run-1")
    client.hello(40123)
    client.certificate("a request")
    client.report("failed", "The disk is full.")
    client.ask("GET", "ssh/1")
    *bodies, empty = [body for _, _, _, body in portal.seen]
    assert [json.loads(body)["run_id"] for body in bodies] == ["run-1"] * 3
    assert empty == b""


def test_a_portal_under_a_path(portal: Portal) -> None:
    portal.answers = [(200, b"{}")]
    home(portal.url + "/cluster/").hello(1)
    assert portal.seen[0][1] == "/cluster/node/sessions/some-id/hello"


@pytest.mark.parametrize("status", [409, 429, 500, 502, 503])
def test_not_yet_is_asked_again(portal: Portal, status: int) -> None:
    pauses = Pauses()
    portal.answers = [(status, b""), (status, b""), (200, b"{}")]
    home(portal.url, pauses).hello(1)
    assert len(portal.seen) == 3
    assert pauses.asked == [0.1, 0.1]


@pytest.mark.parametrize("text", [b"", b"<html>", b"[1]", b"null"])
def test_an_answer_that_is_no_object(portal: Portal, text: bytes) -> None:
    portal.answers = [(200, text), (200, b'{"env": {}}')]
    answer = home(portal.url).server()
    assert answer == ({} if text == b"" else {"env": {}})


def test_an_endless_answer(portal: Portal) -> None:
    portal.answers = [(200, b"[" * ((1 << 20) + 2)), (200, b"{}")]
    assert home(portal.url).server() == {}


def test_not_wanted(portal: Portal) -> None:
    portal.answers = [(409, b""), (410, b"")]
    with pytest.raises(NotWanted):
        home(portal.url).hello(1)


@pytest.mark.parametrize("status", [301, 302, 400, 401, 403, 404, 422])
def test_refused_for_good(portal: Portal, status: int) -> None:
    portal.answers = [(status, b"")]
    with pytest.raises(PortalRefused):
        home(portal.url).hello(1)
    assert [path for _, path, _, _ in portal.seen] == ["/node/sessions/some-id/hello"]


def test_204_is_asked_again_at_once(portal: Portal) -> None:
    pauses = Pauses()
    portal.answers = [(204, b""), (204, b""), (200, b'{"args": []}')]
    assert home(portal.url, pauses).server() == {"args": []}
    assert pauses.asked == []


def test_the_reason_of_repeated_requests_is_logged_once(
    portal: Portal, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "portal")
    portal.answers = [(409, b""), (409, b""), (503, b""), (200, b"{}")]
    home(portal.url, Pauses()).hello(40123)
    statuses = [record.getMessage()[-3:] for record in caplog.records]
    assert statuses == ["409", "503"]


def test_unreachable_portal_raises_after_giving_up() -> None:
    pauses = Pauses()
    with pytest.raises(OutOfReach, match="doesn't answer"):
        home("http://127.0.0.1:1", pauses, give_up_s=0.2).hello(1)
    assert pauses.asked[0] == 0.1


def test_no_proxy_is_asked(portal: Portal, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    portal.answers = [(200, b"{}")]
    home(portal.url).hello(1)
    assert len(portal.seen) == 1


def test_a_report_is_bounded_and_never_raises(portal: Portal) -> None:
    portal.answers = [(204, b"")]
    assert home(portal.url).report("failed", "x" * 5000)
    assert len(json.loads(portal.seen[0][3])["message"]) == REPORT_CHARS
    assert not home("http://127.0.0.1:1").report("failed", "x")


@pytest.mark.parametrize("last", [410, 401])
def test_wanted_until_it_is_not(portal: Portal, last: int) -> None:
    portal.answers = [(204, b""), (503, b""), (204, b""), (last, b"")]
    home(portal.url).wait_until_unwanted()
    assert len(portal.seen) == 4


def test_a_connection_is_asked_about_until_it_is_over(portal: Portal) -> None:
    portal.answers = [(204, b""), (204, b"")]
    home(portal.url).wait_until_unwanted("ssh/1", lambda: len(portal.seen) == 2)
    paths = {path.partition("?")[0] for _, path, _, _ in portal.seen}
    assert (len(portal.seen), paths) == (2, {"/node/sessions/some-id/ssh/1"})


def test_the_secret_is_in_no_repr() -> None:
    assert SECRET not in repr(home("http://127.0.0.1:1"))


def test_a_question_is_asked_once_and_a_refusal_comes_with_its_words(portal: Portal) -> None:
    portal.answers = [
        (200, b'{"a": 1}'),
        (422, b'{"detail": "Too much."}'),
        (502, b"<html>Bad gateway</html>"),
    ]
    asking = home(portal.url)
    assert asking.ask("GET", "facts") == PortalResponse(200, {"a": 1})
    assert asking.ask("POST", "extend", {"minutes": 5}) == PortalResponse(
        422, {"detail": "Too much."}
    )
    assert asking.ask("GET", "facts") == PortalResponse(502, {})
    assert [path for _, path, _, _ in portal.seen] == [
        f"/node/sessions/some-id/{act}" for act in ("facts", "extend", "facts")
    ]
    assert portal.seen[1][3] == b'{"minutes": 5}'


def test_a_question_to_a_portal_that_is_away_fails_at_once() -> None:
    pauses = Pauses()
    with pytest.raises(OutOfReach):
        home("http://127.0.0.1:1", pauses).ask("GET", "facts")
    assert pauses.asked == []
