"""What a node is like, for `portal check`: `python -I -m spawner.node.look CONFIG.json`, in a job
of whoever the check was told to be. Prints one line of JSON after MARK, and changes nothing.

config.json: `node_url`, `ca` (PEM or None), `folders`, `programs`. Standard library only.
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

from spawner.sources import edition

MARK = "portal-check: "
REQUEST_S = 10.0
PROGRAM_S = 20.0
TEXT = 300
# Nobody's: the portal answers that it doesn't know the caller, and only the portal does.
NOBODY = "/node/sessions/00000000-0000-0000-0000-000000000000/server"
HUB = "/hub/api/"


def look(config: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that was asked for, and the node's own time."""
    url, authority = str(config["node_url"]), config.get("ca")
    return {
        "node": socket.gethostname(),
        "python": platform.python_version(),
        "edition": edition(),
        "home": os.access(Path.home(), os.W_OK | os.X_OK),
        "portal": ask(url, NOBODY, authority),
        "hub": ask(url, HUB, authority),
        "folders": {name: os.access(name, os.R_OK | os.X_OK) for name in config["folders"]},
        "programs": {name: version(name) for name in config["programs"]},
        "time": time.time(),
    }


def ask(url: str, path: str, authority: str | None) -> dict[str, Any]:
    """A GET's status, type and time, as the server says it; or why there is no answer."""
    where = urlsplit(url)
    host = where.hostname or ""
    connection: http.client.HTTPConnection
    if where.scheme == "https":
        context = ssl.create_default_context(cadata=authority)
        connection = http.client.HTTPSConnection(
            host, where.port, timeout=REQUEST_S, context=context
        )
    else:
        connection = http.client.HTTPConnection(host, where.port, timeout=REQUEST_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read(65536)
    except (OSError, http.client.HTTPException) as error:
        return {"error": (str(error) or type(error).__name__)[:TEXT]}
    finally:
        connection.close()
    said = answer.headers.get("Date")
    return {
        "status": answer.status,
        "type": (answer.headers.get_content_type())[:TEXT],
        "date": parsedate_to_datetime(said).timestamp() if said else None,
        "here": time.time(),
    }


def version(program: str) -> str | None:
    """The first line that it prints for --version; None if it can't be run."""
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
    print(MARK + json.dumps(look(config)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
