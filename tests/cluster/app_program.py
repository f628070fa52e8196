"""A user's web server, run as an app: serves pages, a websocket and what it reaches itself.

Standard library only. Its argument is the port; all other tests read its output.
"""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import os
import sys
import urllib.error
import urllib.request
from urllib.parse import parse_qs, urlsplit

MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
PAGE = """<!doctype html><title>My app</title><h1>Served from {base}</h1>
<p id="socket">waiting</p><p id="portal">waiting</p>
<script>
  const socket = new WebSocket(location.href.replace(/^http/, 'ws') + 'socket');
  socket.onmessage = (event) => {{ document.getElementById('socket').textContent = event.data; }};
  const portal = new URLSearchParams(location.search).get('portal');
  if (portal) fetch(portal + '/api/v1/me', {{credentials: 'include'}})
    .then((answer) => answer.type, (error) => error.name)
    .then((text) => {{ document.getElementById('portal').textContent = text; }});
</script>
"""


class Handler(http.server.BaseHTTPRequestHandler):
    """GET: a page, `socket`, `reach?url=…`, or the request itself as JSON."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        if path == "/socket":
            self._open_websocket()
        elif path == "/reach":
            self._send(self._reach(query["url"][0]), "text/plain")
        elif path == "/seen":
            self._send(json.dumps(self.headers.items()), "application/json")
        else:
            base = os.environ["PORTAL_APP_BASE"]
            self.send_response(200)
            self.send_header("Set-Cookie", "portal_session=planted; Path=/")
            self._send(PAGE.format(base=base), "text/html", begun=True)

    def _send(self, text: str, kind: str, *, begun: bool = False) -> None:
        if not begun:
            self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def _reach(self, url: str) -> str:
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:  # noqa: S310 - a test's own
                return f"status {answer.status}"
        except urllib.error.HTTPError as error:
            return f"status {error.code}"
        except OSError as error:
            return f"unreachable: {error}"

    def _open_websocket(self) -> None:
        key = self.headers["Sec-WebSocket-Key"] + MAGIC
        accept = base64.b64encode(hashlib.sha1(key.encode(), usedforsecurity=False).digest())
        self.send_response(101)
        for name, value in (
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Accept", accept.decode()),
        ):
            self.send_header(name, value)
        self.end_headers()
        text = b"over the websocket"
        self.wfile.write(bytes([0x81, len(text)]) + text)
        self.rfile.read(1)  # until the browser closes it


if __name__ == "__main__":
    print("my app listens", flush=True)
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
