"""Private network namespace from which programs reach other hosts, but no other user reaches them.

slirp4netns, a program of the node, carries their connections as its own, without privileges. It
forwards no port into the namespace, and gives no access to the node's loopback interface. Standard
library only.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import NoReturn

from spawner.node.network import namespace

PROGRAM = "slirp4netns"
SEARCHED = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
READY_S = 10.0
RESOLVER = Path("/etc/resolv.conf")
FORWARDING_RESOLV_CONF = "nameserver 10.0.2.3\n"
"""A resolv.conf: slirp4netns forwards the queries that it gets at this address to the node's
resolver."""
MISSING = f"it reaches no other host, because this node has no {PROGRAM}"
FAILED = f"it reaches no other host, because {PROGRAM} failed; users need access to /dev/net/tun"


@dataclass(frozen=True)
class OutwardConnection:
    """The program that connects the namespace, or why none does."""

    pid: int | None = None
    problem: str | None = None


def enter_connected_network() -> OutwardConnection:
    """Move this process, which must have one thread, into a network namespace of its own.

    Its connection lasts until this process ends. Raises OSError if the node does not permit user
    namespaces.
    """
    program = shutil.which(PROGRAM, path=SEARCHED)
    if program is None:
        namespace.enter_private_network()
        return OutwardConnection(problem=MISSING)
    go, start = os.pipe()
    ready, report = os.pipe()
    ended, alive = os.pipe()  # slirp4netns ends once no process holds the second half
    child = os.fork()
    if child == 0:
        for ours in (start, ready, alive):
            os.close(ours)
        _exec_once_entered(program, os.getppid(), go, report, ended)
    for theirs in (go, report, ended):
        os.close(theirs)
    try:
        namespace.enter_private_network()
        os.write(start, b"x")
        connected = bool(select.select([ready], [], [], READY_S)[0] and os.read(ready, 1))
    finally:
        os.close(start)
        os.close(ready)
    if connected:
        return OutwardConnection(pid=child)
    os.close(alive)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return OutwardConnection(problem=FAILED)


def use_forwarding_resolver(folder: Path, resolver: Path = RESOLVER) -> None:
    """Make names resolvable where the node's resolver is on its own loopback interface.

    `folder` is this user's alone. Raises OSError.
    """
    if needs_forwarding(resolver.read_text(encoding="utf-8", errors="replace")):
        file = folder / resolver.name
        file.write_text(FORWARDING_RESOLV_CONF, encoding="ascii")
        namespace.show_file_at(file, resolver)


def needs_forwarding(text: str) -> bool:
    """Return whether all nameservers of a resolv.conf(5) are loopback addresses."""
    lines = [line.split() for line in text.splitlines()]
    servers = [words[1] for words in lines if words[:1] == ["nameserver"] and len(words) > 1]
    return bool(servers) and all(_is_loopback(server) for server in servers)


def _is_loopback(server: str) -> bool:
    try:
        return ip_address(server).is_loopback
    except ValueError:
        return False


def _exec_once_entered(program: str, target: int, go: int, report: int, ended: int) -> NoReturn:
    """Become slirp4netns for the process `target`, once that has entered its namespace."""
    try:
        if os.read(go, 1):
            silence = os.open(os.devnull, os.O_RDWR)
            for standard in (0, 1, 2):
                os.dup2(silence, standard)
            for passed_on in (report, ended):
                os.set_inheritable(passed_on, True)
            words = [program, "--configure", "--mtu=65520", "--disable-host-loopback"]
            words += [f"--ready-fd={report}", f"--exit-fd={ended}", str(target), "tap0"]
            os.execv(program, words)  # noqa: S606 - an argument list, no shell
    finally:
        os._exit(1)
