"""What a data scientist could put in their server's place: it keeps all it is sent, and lies.

Standard library only: tests hand its text to `python3 -c` on a node. It prints its port, lives on
in the background, and ends when asked or after its time.

    hostile_server.py SECONDS            a server
    hostile_server.py ask [REQUEST, …]   send requests from where it runs; prints the answers
"""

import http.server
import json
import os
import sys
import threading
import urllib.error
import urllib.request

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
    """Answers everything with the same page; `seen` and `quit` are for the test alone."""

    seen: list[dict[str, object]] = []  # noqa: RUF012 - one list for all requests is the point

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
        self.send(b"hostile page", LIES)

    do_GET = do_POST = do_PUT = do_DELETE = do_OPTIONS = answer  # noqa: N815

    def send(self, body: bytes, headers: tuple[tuple[str, str], ...]) -> None:
        self.send_response(200)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Its output is closed."""


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
        serve(float(sys.argv[1]))
