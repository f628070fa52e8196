"""The demo's supervisor holds a service's socket open across restarts."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.host.control import SOCKET, Spec, dump_specs, send_command
from tests.paths import CHECKOUT
from tests.polling import wait_until
from tests.servers.slapd import free_port

RUN = """
import sys
from pathlib import Path
from cluster.host.supervisor import Supervisor
supervisor = Supervisor(Path(sys.argv[1]), Path(sys.argv[2]))
supervisor.run()
"""
SERVICE = """
import os, socket, sys
held = socket.socket(fileno=int(sys.argv[1]))
while True:
    connection, _ = held.accept()
    connection.sendall(str(os.getpid()).encode())
    connection.close()
"""


class Managed:
    """A service that sends its number to each client."""

    def __init__(self, folder: Path) -> None:
        self.port, self.control = free_port(), folder / "control"
        argv = (sys.executable, "-c", SERVICE, SOCKET)
        at = ("127.0.0.1", self.port)
        spec = Spec("one", argv, str(folder / "one.log"), env=dict(os.environ), listen=at)
        self.specs = folder / "specs.json"
        self.specs.write_text(dump_specs([spec]))

    def asked(self) -> int:
        with socket.create_connection(("127.0.0.1", self.port)) as client:
            return int(client.makefile("rb").read())

    def ask(self, op: str) -> None:
        send_command(self.control, op, ["one"])


@pytest.fixture
def managed(tmp_path: Path) -> Iterator[Managed]:
    made = Managed(tmp_path)
    argv = [sys.executable, "-c", RUN, str(made.specs), str(made.control)]
    with subprocess.Popen(argv, cwd=CHECKOUT) as process:
        try:
            wait_until(made.control.exists, "the supervisor listens")
            yield made
        finally:
            process.terminate()


def test_who_connects_during_a_restart_waits_for_the_next(managed: Managed) -> None:
    managed.ask("start")
    first = managed.asked()
    with socket.create_connection(("127.0.0.1", managed.port)) as taken:
        assert int(taken.makefile("rb").read()) == first
    managed.ask("restart")
    assert managed.asked() != first


def test_one_that_was_killed_is_not_refused_either(managed: Managed) -> None:
    managed.ask("start")
    first = managed.asked()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{first}").exists(), "it is gone")
    assert managed.asked() != first


def test_the_socket_goes_with_a_service_that_is_stopped(managed: Managed) -> None:
    managed.ask("start")
    assert managed.asked()
    managed.ask("stop")
    with pytest.raises(ConnectionRefusedError):
        managed.asked()
    managed.ask("start")
    assert managed.asked()
