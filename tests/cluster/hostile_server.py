"""A malicious replacement of a user's server: it records every request, and lies.

Standard library only: tests pass its text to `python3 -c` on a node. It prints its port, continues
in the background, and ends on request or after its time.

    hostile_server.py SECONDS [KEY]      a server; KEY: proves to the portal that it is the program
                                         of a TensorBoard, as spawner/signing.py does
    hostile_server.py ask [REQUEST, …]   send requests from its host; prints the responses
"""

import base64
import hashlib
import hmac
import http.server
import json
import os
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable

WEBSOCKET = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455
GREETING = b"hostile greeting"
LIES = (
    ("Set-Cookie", "portal_session=planted; Path=/"),
    ("Set-Cookie", "__Host-portal=planted; Path=/; Secure"),
    ("Set-Cookie", "everywhere=1; Path=/; HttpOnly"),
    ("Service-Worker-Allowed", "/"),
    ("Clear-Site-Data", '"*"'),
    ("Refresh", "0; url=/api/v1/logout"),
    ("X-Accel-Redirect", "/internal/whoami"),
    ("Access-Control-Allow-Origin", "*"),
)


class Hostile(http.server.BaseHTTPRequestHandler):
    """Responds to everything with the same page, or with the content of the query's `say`.

    `say` holds status, kind, headers and body. `seen` and `quit` are for the test alone.
    """

    seen: list[dict[str, object]] = []  # noqa: RUF012 - deliberately one list for all requests
    guard_key = ""

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode("latin-1")
        if self.path == "/seen":
            self.send(json.dumps(self.seen).encode(), ())
            return
        if self.path == "/quit":
            self.send(b"{}", ())
            threading.Thread(target=self.server.shutdown).start()
            return
        record = {"method": self.command, "path": self.path, "body": body}
        self.seen.append({**record, "headers": self.headers.items()})
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        if self.headers.get("Upgrade", "").lower() == "websocket":
            self.greet()
        elif "say" in query:
            self.say(**json.loads(query["say"][0]))
        else:
            self.send(b"hostile page", LIES)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer  # noqa: N815

    def say(
        self, body: str, kind: str, status: int = 200, headers: Iterable[tuple[str, str]] = ()
    ) -> None:
        self.send(body.encode(), tuple(headers), status, kind)

    def greet(self) -> None:
        """Send one message on a websocket."""
        key = self.headers.get("Sec-WebSocket-Key", "").encode() + WEBSOCKET
        accept = base64.b64encode(hashlib.sha1(key).digest())  # noqa: S324 - by the protocol
        self.wfile.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
            b"\x81" + bytes([len(GREETING)]) + GREETING
        )
        self.rfile.read(1)  # until the other side closes

    def send(
        self,
        body: bytes,
        headers: tuple[tuple[str, str], ...],
        status: int = 200,
        kind: str = "text/html",
    ) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        signature = self.headers.get("X-Portal-Signature", "")
        if self.guard_key and signature:
            proof = hmac.new(self.guard_key.encode(), f"answer\n{signature}".encode(), "sha256")
            self.send_header("X-Portal-Proof", proof.hexdigest())
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Discard log messages, because its output is closed."""


def serve(seconds: float) -> None:
    server = http.server.ThreadingHTTPServer(("0.0.0.0", 0), Hostile)  # noqa: S104
    sys.stdout.write(str(server.server_address[1]))
    sys.stdout.flush()
    if os.fork():
        return
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    timer = threading.Timer(seconds, server.shutdown)
    timer.daemon = True
    timer.start()
    server.serve_forever()


def ask(requests: list[dict[str, object]]) -> list[dict[str, object]]:
    return [_ask(**request) for request in requests]  # type: ignore[arg-type]


def _ask(
    url: str, method: str = "GET", headers: dict[str, str] | None = None, body: object = None
) -> dict[str, object]:
    data = None if body is None else json.dumps(body).encode()
    made = urllib.request.Request(url, data, headers or {}, method=method)  # noqa: S310
    made.add_header("Content-Type", "application/json")
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(made, timeout=120) as answer:
            return {"status": answer.status, "body": answer.read().decode()}
    except urllib.error.HTTPError as refused:
        with refused:
            return {"status": refused.code, "body": refused.read().decode()}


if __name__ == "__main__":
    if sys.argv[1] == "ask":
        print(json.dumps(ask(json.loads(sys.argv[2]))))
    else:
        Hostile.guard_key = "".join(sys.argv[2:])
        serve(float(sys.argv[1]))
