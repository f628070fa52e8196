"""The protocol between the command line and a supervisor, and the specifications of services.

A specification is an object in a JSON file. A command is one JSON line over a Unix socket that only
root can access.
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
    """One service. `user`: uid, gid and supplementary groups, already resolved."""

    name: str
    argv: tuple[str, ...]
    log: str
    user: tuple[int, int, tuple[int, ...]] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = "/"
    umask: int = 0o022
    # processes left in a dead service's process group would hold its ports: kill them too
    kill_group: bool = True
    stop_timeout_s: float = 10.0
    # the delay before the first restart; doubled for each restart that does not last
    backoff_s: float = 0.1
    stop_signal: int = signal.SIGTERM
    # A listening socket; its file descriptor replaces `SOCKET` in argv. It stays open for as long
    # as the service is wanted, so that clients connecting during a restart wait instead of being
    # refused.
    listen: tuple[str, int] | None = None
    # True if the service inherits the environment of the process that created the cluster, which
    # defines how this machine reaches package indexes. `env` takes precedence.
    inherits: bool = False

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


def send_command(
    control: Path, op: str, names: Sequence[str] = (), timeout_s: float = 300.0
) -> Any:
    """Send one command (status, reload, start, stop, restart). Raises ControlError.

    `stop` and `restart` return once the named services are down.
    """
    try:
        reply = _send_request(control, {"op": op, "names": list(names)}, timeout_s)
    except (OSError, ValueError) as error:
        raise ControlError(f"{control} doesn't answer: {error}") from error
    if not reply["ok"]:
        raise ControlError(reply["error"])
    return reply


def _send_request(control: Path, request: Mapping[str, Any], timeout_s: float) -> Any:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(timeout_s)
        client.connect(str(control))
        client.sendall(json.dumps(request).encode() + b"\n")
        with client.makefile("rb") as stream:
            return json.loads(stream.readline())
