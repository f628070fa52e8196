"""The program of the remote desktop, with short scripts in place of its servers and of Xfce."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from spawner.catalog.environment import SHIPPED
from tests.polling import wait_until

PROGRAM = SHIPPED / "images/desktop/portal_desktop.py"
WAITING = "while :; do sleep 0.05; done\n"
# reports like Xvnc on the descriptor after -displayfd, and like dbus-daemon on that in an option
READY_XVNC = """
echo "$@" > seen-xvnc; env > seen-environ
trap 'echo > xvnc-ended; exit' TERM
while [ "$1" != -displayfd ]; do shift; done
eval "echo 5 >&$2"
"""
READY_BUS = """
for word; do case $word in --print-address=*) eval "echo bus >&${word#*=}";; esac; done
"""
SOUND = {
    "xauth": 'echo "$@" > seen-xauth; cat > cookie\n',
    "Xvnc": READY_XVNC + WAITING,
    "dbus-daemon": READY_BUS + WAITING,
    "xfsettingsd": WAITING,
    "xfwm4": WAITING,
    "xfce4-panel": WAITING,
    "xfdesktop": "echo >> seen-xfdesktop; exit 1\n",
    "python3": 'echo "$@" > web; mv web seen-web\n' + WAITING,
}
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts the program; its arguments replace scripts."""
    started = []

    def start(**changed: str) -> subprocess.Popen[bytes]:
        (tmp_path / "bin").mkdir()
        for name, script in {**SOUND, **changed}.items():
            file = tmp_path / "bin" / name
            file.write_text(f"#!/bin/sh\n{script}")
            file.chmod(0o700)
        (tmp_path / "app").mkdir()
        path = f"{tmp_path}/bin:/usr/bin:/bin"
        with (tmp_path / "output").open("w") as output:
            desktop = subprocess.Popen(
                [sys.executable, "-I", PROGRAM, tmp_path / "app", "8080"],
                cwd=tmp_path,
                env={"PATH": path, "PS1": "x", "PORTAL_ENVIRONMENT": "desk"},
                stderr=output,
                start_new_session=True,
            )
        started.append(desktop)
        return desktop

    yield start
    for desktop in started:  # in a session, the app's runner kills the programs of Xfce
        with suppress(ProcessLookupError):
            os.killpg(desktop.pid, signal.SIGKILL)
        desktop.wait()


def test_x_listens_on_no_port_and_its_cookie_is_in_no_command(start: Start, tmp_path: Path) -> None:
    start()
    wait_until((tmp_path / "seen-web").is_file)
    web, xvnc = ((tmp_path / f"seen-{name}").read_text() for name in ("web", "xvnc"))
    assert web.endswith(f"--unix-target {tmp_path}/app/vnc 127.0.0.1:8080\n")
    for option in ("-rfbport -1", "-nolisten tcp", "-nolisten unix", f"-auth {tmp_path}/app/"):
        assert option in xvnc
    added = re.fullmatch(r"add (:\d+) \. ([0-9a-f]{32})\n", (tmp_path / "cookie").read_text())
    assert added
    assert xvnc.startswith(f"{added[1]} ")
    assert added[2] not in xvnc + web + (tmp_path / "seen-xauth").read_text()


def test_its_programs_get_its_own_variables(start: Start, tmp_path: Path) -> None:
    start()
    wait_until((tmp_path / "seen-web").is_file)
    lines = (tmp_path / "seen-environ").read_text().splitlines()
    environ = dict(line.split("=", 1) for line in lines)
    assert environ["XDG_RUNTIME_DIR"] == f"{tmp_path}/app/run"
    assert (environ["debian_chroot"], environ["SHELL"]) == ("desk", "/bin/bash")
    assert "PS1" not in environ
    assert (tmp_path / "app/run").stat().st_mode & 0o777 == 0o700


def test_its_x_server_ends_by_itself_before_it(start: Start, tmp_path: Path) -> None:
    desktop = start()
    wait_until((tmp_path / "seen-web").is_file)
    desktop.terminate()
    assert desktop.wait(30) == 0
    assert (tmp_path / "xvnc-ended").is_file()


@pytest.mark.parametrize(
    ("name", "script", "reason"),
    [
        ("Xvnc", "echo no fonts >&2; exit 1", "the X server could not be started"),
        ("Xvnc", READY_XVNC + "exit 1", "the X server has ended"),
        ("dbus-daemon", "exit 1", "D-Bus could not be started"),
        ("python3", "exit 1", "the web server has ended"),
    ],
)
def test_it_ends_with_each_server_and_gives_the_reason(
    start: Start, tmp_path: Path, name: str, script: str, reason: str
) -> None:
    assert start(**{name: script}).wait(30) == 1
    output = (tmp_path / "output").read_text()
    assert output.endswith(f"portal-desktop: {reason}\n")
    assert ("no fonts" in output) == ("no fonts" in script)


def test_a_program_of_xfce_is_started_again_unless_it_ends_at_once(
    start: Start, tmp_path: Path
) -> None:
    start(xfwm4="echo >> seen-xfwm4; sleep 1.1\n")
    started = tmp_path / "seen-xfwm4"
    wait_until(lambda: started.is_file() and len(started.read_text()) >= 2, "it is started again")
    assert (tmp_path / "seen-xfdesktop").read_text() == "\n"
