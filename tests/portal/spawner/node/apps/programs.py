"""Programs in the role of an app: one that serves, and others that fail in their own ways."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spawner.node.apps.declared import AppInput, DeclaredApp, SessionAppsConfig
from spawner.node.apps.session_apps import SessionApps
from tests.paths import CHECKOUT
from tests.polling import until

BASE_URL = "/user/alice/s1/"
RUNNER = (sys.executable, "-m", "spawner.node.apps.runner")

# Serves what it was asked for on a port, or on a Unix socket.
SERVE = """
import http.server, json, os, socket, socketserver, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        while self.headers.get("Transfer-Encoding") == "chunked":
            chunk = self.rfile.read(int(self.rfile.readline(), 16) + 2)[:-2]
            body += chunk
            if not chunk:
                break
        text = json.dumps({"method": self.command, "path": self.path, "body": len(body),
                           "headers": self.headers.items(), "pid": os.getpid()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)
    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer
    def address_string(self):
        return "app"
class OnSocket(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
where = sys.argv[1]
print("listening on", where, flush=True)
if where.isdigit():
    http.server.ThreadingHTTPServer(("127.0.0.1", int(where)), Handler).serve_forever()
else:
    OnSocket(where, Handler).serve_forever()
"""


def declared(name: str, script: str, where: str = "{port}", **changes: Any) -> DeclaredApp:
    """Return an app that runs this text with Python; `where` is its argument."""
    fields: dict[str, Any] = {
        "title": name, "description": "", "command": [sys.executable, "-c", script, where],
        "port": None if where == "{socket}" else 8080, "strips_prefix": True, "ready": "/ready",
        "timeout_s": 30, "input": None, "extensions": [], "counts_as_activity": True, "hint": None,
        "env": {},
        **changes,
    }  # fmt: skip
    return DeclaredApp(name, **fields)


def session_apps(folder: Path, *apps: DeclaredApp, runner: Sequence[str] = RUNNER) -> SessionApps:
    """Return a session's apps, in a folder of their own."""
    config = SessionAppsConfig(BASE_URL, declared={app.name: app for app in apps})
    environ = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(CHECKOUT)}
    return SessionApps(config, folder / "apps", environ, runner)


async def start(apps: SessionApps, name: str, **given: Any) -> dict[str, Any]:
    """Start an app, and return it once it is ready or has ended."""
    apps.start(name, AppInput(**given))
    await until(lambda: apps.describe(name)["state"] != "starting", "the app is ready or has ended")
    return apps.describe(name)
