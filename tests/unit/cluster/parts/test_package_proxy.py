"""The nodes' package proxy: its responses, and the data it hides.

The index behind it is a small server in this test.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from cluster.parts.package_proxy import ProxyServer, Upstream, default_index
from tests.polling import PATIENCE_S

WHEEL = b"a wheel" * 1000
SUM = hashlib.sha256(WHEEL).hexdigest()
POLL_S = 0.01  # how often a server checks whether it must end
PASSWORD = "index-password"
Ask = Callable[[str], tuple[int, str, bytes]]


class Index(BaseHTTPRequestHandler):
    """An index that requires a password, with files elsewhere on the same server."""

    def do_GET(self) -> None:
        wanted = base64.b64encode(f"reader:{PASSWORD}".encode()).decode()
        if self.headers.get("Authorization") != f"Basic {wanted}":
            self.send_error(401)
        elif self.path == "/private/simple/demo/":
            page = (
                f'<a href="../../../files/demo-1.0-py3-none-any.whl#sha256={SUM}"'
                ' data-requires-python="&gt;=3.9">demo-1.0-py3-none-any.whl</a>'
            )
            self._answer("text/html", page.encode())
        elif self.path == "/private/simple/json/":
            file = {"filename": "j-1.zip", "url": "/files/j-1.zip", "hashes": {"sha256": SUM}}
            body = json.dumps({"files": [file]}).encode()
            self._answer("application/vnd.pypi.simple.v1+json", body)
        elif self.path.startswith("/files/"):
            self._answer("application/zip", WHEEL)
        elif self.path == "/private/simple/broken/":
            self.send_error(500)
        else:
            self.send_error(404)

    def _answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Discard log messages."""


@pytest.fixture
def index() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Index) as server:
        threading.Thread(target=server.serve_forever, args=(POLL_S,)).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """Create an index in a folder, as pip accepts it."""
    (tmp_path / "simple/local").mkdir(parents=True)
    (tmp_path / "simple/local/index.html").write_text('<a href="../../local-2.0.zip">local</a>')
    (tmp_path / "local-2.0.zip").write_bytes(WHEEL)
    return tmp_path / "simple"


@pytest.fixture
def ask(index: int, local: Path) -> Iterator[Ask]:
    settings = {
        "PIP_INDEX_URL": f"http://reader:{PASSWORD}@127.0.0.1:{index}/private/simple",
        "PIP_EXTRA_INDEX_URL": f"file://{local}",
    }
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    with ProxyServer(listener, Upstream(settings)) as server:
        threading.Thread(target=server.serve_forever, args=(POLL_S,)).start()

        def get(path: str) -> tuple[int, str, bytes]:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
            connection.request("GET", path)
            answer = connection.getresponse()
            seen = answer.status, str(answer.headers), answer.read()
            connection.close()
            return seen

        yield get
        server.shutdown()


def href(page: bytes) -> str:
    return page.decode().split('href="', 1)[1].split('"', 1)[0]


@pytest.mark.parametrize("project", ["demo", "json", "local"])
def test_proxy_file_named_by_page_is_fetched(ask: Ask, project: str) -> None:
    status, _, page = ask(f"/simple/{project}/")
    assert status == 200
    path, _, fragment = href(page).partition("#")
    assert fragment == ("" if project == "local" else f"sha256={SUM}")
    status, _, body = ask(path)
    assert (status, body) == (200, WHEEL)


def test_proxy_page_keeps_what_pip_chooses_by(ask: Ask) -> None:
    _, _, page = ask("/simple/demo/")
    assert b'data-requires-python="&gt;=3.9"' in page
    assert b"demo-1.0-py3-none-any.whl" in page


def test_proxy_answers_hold_neither_address_nor_password_of_the_index(
    ask: Ask, index: int, capfd: pytest.CaptureFixture[str]
) -> None:
    seen = [ask(path) for path in ("/simple/demo/", "/simple/broken/", "/simple/absent/")]
    assert [status for status, _, _ in seen] == [200, 502, 404]
    text = "".join(headers + body.decode() for _, headers, body in seen) + "".join(
        capfd.readouterr()
    )
    for secret in (PASSWORD, "reader", str(index), "private", "file:"):
        assert secret not in text


@pytest.mark.parametrize(
    "path",
    [
        f"/files/{hashlib.sha256(b'file:///etc/passwd').hexdigest()[:40]}/passwd",
        "/files/../../etc/passwd",
        "/simple/../files/x",
        "/simple/%2e%2e/",
        "http://192.0.2.1/",
        "/",
    ],
)
def test_proxy_fetches_nothing_else(ask: Ask, path: str) -> None:
    assert ask(path)[0] == 404


def test_default_index_is_named_by_pip_itself() -> None:
    assert default_index().startswith("https://")
