"""Report about a node for `portal check`: `python -I -m spawner.node.node_report CONFIG.json`.

It runs in a job, as the user given to the check. It prints one line of JSON after MARK, and
changes nothing. config.json: `node_url` (the portal's address for nodes), `ca` (PEM or None),
`folders`, `programs`. Standard library only.
"""

from __future__ import annotations

import http.client
import json
import os
import platform
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from spawner.package_hash import hash_package

MARK = "portal-check: "
REQUEST_S = 10.0
PROGRAM_S = 20.0
TEXT = 300
# No such session exists: only the real portal answers that the caller is unknown.
UNKNOWN_SESSION = "/node/sessions/00000000-0000-0000-0000-000000000000/server"
HUB = "/hub/api/"


def run_checks(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return all requested results, and the node's own time."""
    url, authority = str(config["node_url"]), config.get("ca")
    return {
        "node": socket.gethostname(),
        "python": platform.python_version(),
        "edition": hash_package(),
        "home": os.access(Path.home(), os.W_OK | os.X_OK),
        "portal": probe(url, UNKNOWN_SESSION, authority),
        "hub": probe(url, HUB, authority),
        "folders": {name: os.access(name, os.R_OK | os.X_OK) for name in config["folders"]},
        "programs": {name: version(name) for name in config["programs"]},
        "time": time.time(),
    }


def probe(url: str, path: str, authority: str | None) -> dict[str, Any]:
    """Send a GET; return the answer's status, type and time, or the reason why there is none."""
    address = urlsplit(url)
    host = address.hostname or ""
    connection: http.client.HTTPConnection
    if address.scheme == "https":
        context = ssl.create_default_context(cadata=authority)
        connection = http.client.HTTPSConnection(
            host, address.port, timeout=REQUEST_S, context=context
        )
    else:
        connection = http.client.HTTPConnection(host, address.port, timeout=REQUEST_S)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        response.read(65536)
    except (OSError, http.client.HTTPException) as error:
        return {"error": (str(error) or type(error).__name__)[:TEXT]}
    finally:
        connection.close()
    date = response.headers.get("Date")
    return {
        "status": response.status,
        "type": (response.headers.get_content_type())[:TEXT],
        "date": parsedate_to_datetime(date).timestamp() if date else None,
        "here": time.time(),
    }


def version(program: str) -> str | None:
    """Return the first line that a program prints for --version; None if it cannot be run."""
    try:
        done = subprocess.run(
            [program, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROGRAM_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return (done.stdout.splitlines() or [""])[0][:TEXT]


def main(arguments: list[str]) -> int:
    config = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    print(MARK + json.dumps(run_checks(config)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
