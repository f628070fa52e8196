"""A replacement of systemd: starts a unit's command with the unit's account and protections.

The protections are limited to those possible with namespaces and capabilities alone. `argv` is for
the head's own namespaces. It ignores system call filters, cgroups, and everything that needs
systemd's own services.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence

# Runs as root in a separate mount namespace: makes protected folders read-only, then switches to
# the account. Its argument is {"read_only": […], "private_tmp": …, "then": argv}, and with a socket
# "listen": host:port, which the program inherits as systemd would pass it.
ENTER = """
import json, os, socket, subprocess, sys
order = json.loads(sys.argv[1])
for place in order["read_only"]:
    if os.path.isdir(place):
        subprocess.run(["mount", "--rbind", place, place], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", place], check=True)
if order["private_tmp"]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777,size=512m", "tmp", "/tmp"], check=True)
if order["listen"]:
    host, port = order["listen"].rsplit(":", 1)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, int(port)))
    listener.listen()
    os.dup2(listener.fileno(), 3)
    os.set_inheritable(3, True)  # where it was 3 already
    at = order["then"].index("-i") + 1
    order["then"][at:at] = ["LISTEN_FDS=1", f"LISTEN_PID={os.getpid()}"]
os.chdir(order["cwd"])
os.umask(int(order["umask"], 8))
os.execvp(order["then"][0], order["then"])
"""
READ_ONLY = {"full": ["/usr", "/boot", "/etc"], "strict": ["/usr", "/boot", "/etc", "/opt"]}


def parse(text: str) -> dict[str, list[str]]:
    """Return each setting's values, in their order."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith(("#", "[")):
            found.setdefault(key, []).append(value)
    return found


def argv(
    unit: Mapping[str, Sequence[str]], key: str = "ExecStart", listen: str | None = None
) -> list[str]:
    """Return the argv to run as root for the unit's command."""

    def one(name: str, otherwise: str = "") -> str:
        return unit.get(name, [otherwise])[-1]

    environment = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
    environment += unit.get("Environment", [])
    setpriv = ["setpriv", f"--reuid={one('User')}", f"--regid={one('Group')}", "--init-groups"]
    allowed = [name.lower().removeprefix("cap_") for name in one("CapabilityBoundingSet").split()]
    if "CapabilityBoundingSet" in unit:
        setpriv.append("--bounding-set=" + ",".join(["-all", *(f"+{name}" for name in allowed)]))
    ambient = [name.lower().removeprefix("cap_") for name in one("AmbientCapabilities").split()]
    if ambient:
        names = ",".join(f"+{name}" for name in ambient)
        setpriv += [f"--inh-caps={names}", f"--ambient-caps={names}"]
    if one("NoNewPrivileges") == "yes":
        setpriv.append("--no-new-privs")
    order = {
        "read_only": READ_ONLY[one("ProtectSystem")],
        "private_tmp": one("PrivateTmp") == "yes",
        "listen": listen,
        "umask": one("UMask"),
        "cwd": one("WorkingDirectory", "/"),
        "then": [*setpriv, "env", "-i", *environment, *shlex.split(one(key))],
    }
    enter = ["/usr/bin/python3", "-c", ENTER, json.dumps(order)]
    return ["unshare", "--mount", "--propagation", "slave", *enter]
