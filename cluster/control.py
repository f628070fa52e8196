"""How a supervisor is told what to run, and how it is spoken to; shared by both ends.

A specification is a JSON file, a command one JSON line over a unix socket that root alone reaches.
"""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cluster.errors import ControlError

SOCKET = "{socket}"


@dataclass(frozen=True)
class Spec:
    """One service. `user`: uid, gid and further groups, already resolved."""

    name: str
    argv: tuple[str, ...]
    log: str
    user: tuple[int, int, tuple[int, ...]] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = "/"
    umask: int = 0o022
    # what a dead service leaves in its process group would hold its ports: kill it too
    kill_group: bool = True
    stop_timeout_s: float = 10.0
    # until the first restart; doubled at each one that doesn't last
    backoff_s: float = 0.1
    stop_signal: int = signal.SIGTERM
    # a listening socket, whose number is put in for `SOCKET` in argv; it is there for as long as
    # the service is wanted, so that who connects during a restart waits instead of being refused
    listen: tuple[str, int] | None = None

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Spec:
        values = dict(raw)
        values["argv"] = tuple(values["argv"])
        if values.get("user") is not None:
            uid, gid, groups = values["user"]
            values["user"] = (uid, gid, tuple(groups))
        if values.get("listen") is not None:
            host, port = values["listen"]
            values["listen"] = (host, port)
        return cls(**values)


def dump_specs(specs: Sequence[Spec]) -> str:
    return json.dumps([asdict(spec) for spec in specs], indent=1) + "\n"


def load_specs(path: Path) -> list[Spec]:
    return [Spec.parse(raw) for raw in json.loads(path.read_text())]


def ask(control: Path, op: str, names: Sequence[str] = (), timeout_s: float = 60.0) -> Any:
    """Send one command (status, reload, start, stop, restart); raises ControlError.

    `stop` and `restart` are answered once the services named are down.
    """
    try:
        reply = _exchange(control, {"op": op, "names": list(names)}, timeout_s)
    except (OSError, ValueError) as error:
        raise ControlError(f"{control} doesn't answer: {error}") from error
    if not reply["ok"]:
        raise ControlError(reply["error"])
    return reply


def _exchange(control: Path, request: Mapping[str, Any], timeout_s: float) -> Any:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(timeout_s)
        client.connect(str(control))
        client.sendall(json.dumps(request).encode() + b"\n")
        with client.makefile("rb") as answers:
            return json.loads(answers.readline())
