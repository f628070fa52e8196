#!/usr/bin/python3 -I
"""Desktop in a browser: `portal-desktop FOLDER PORT`, an app of a session.

FOLDER is the user's alone. PORT is on the loopback interface of a network namespace that no other
user enters: X listens there on an abstract socket, and websockify on the port. websockify serves
noVNC's page and connects it to Xvnc, the X server, whose VNC socket is in FOLDER.

Ends with any of its servers, and ends them. Restarts Xfce's programs.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

PAGES = "/usr/local/share/portal-desktop"
PROGRAMS = ("xfsettingsd", "xfwm4", "xfce4-panel", "xfdesktop")
# While an X server starts, its keymap is in /tmp, in a file named after the display. No other user
# can foresee and occupy one of so many names.
DISPLAYS = range(100, 50000)
END_S = 3.0
RESTART_S = 1.0
# the prompt of Apptainer, and variables of another desktop
NOT_PASSED = {"PROMPT_COMMAND", "PS1", "SESSION_MANAGER", "WAYLAND_DISPLAY", "XDG_SESSION_ID"}


class Desktop:
    """The processes of one desktop."""

    def __init__(self, folder: Path, port: str) -> None:
        self.folder = folder
        self.port = port
        self.environ = make_environ(folder, f":{secrets.choice(DISPLAYS)}")
        self.servers: dict[str, subprocess.Popen[bytes]] = {}
        self.programs: dict[str, subprocess.Popen[bytes]] = {}
        self.started: dict[str, float] = {}

    def run(self) -> NoReturn:
        """Start everything, and wait until a server ends."""
        (self.folder / "run").mkdir(mode=0o700)
        self.write_cookie()
        self.start_server("the X server", self.command_xvnc)
        self.start_server("D-Bus", self.command_bus)
        self.servers["the web server"] = subprocess.Popen(self.command_web(), env=self.environ)
        for name in PROGRAMS:
            self.start_program(name)
        while True:
            self.handle_end(os.wait()[0])

    def command_xvnc(self, ready: int) -> list[str]:
        """Return the command of the X server, which listens on no port and on no path in /tmp."""
        return [
            *("Xvnc", self.environ["DISPLAY"], "-auth", self.environ["XAUTHORITY"]),
            *("-nolisten", "tcp", "-nolisten", "unix", "-displayfd", str(ready)),
            # VNC needs no password where only the owner reaches the socket
            *("-rfbport", "-1", "-rfbunixpath", f"{self.folder}/vnc", "-rfbunixmode", "0600"),
            *("-SecurityTypes", "None", "-AlwaysShared"),
            *("-geometry", "1280x800", "-depth", "24", "-dpi", "96", "-desktop", "Desktop"),
        ]

    def command_bus(self, ready: int) -> list[str]:
        """Return the command of the session bus, through which Xfce's programs find each other."""
        return [
            *("dbus-daemon", "--session", "--nofork", "--nopidfile", f"--print-address={ready}"),
            f"--address={self.environ['DBUS_SESSION_BUS_ADDRESS']}",
        ]

    def command_web(self) -> list[str]:
        """Return the command of the web server; the user's packages don't influence it."""
        return [
            *("python3", "-I", "-m", "websockify", "--web", PAGES, "--heartbeat", "30"),
            *("--unix-target", f"{self.folder}/vnc", f"127.0.0.1:{self.port}"),
        ]

    def write_cookie(self) -> None:
        """Create the key to the X server; it is in no command line, which others could read."""
        Path(self.environ["XAUTHORITY"]).touch(mode=0o600)
        xauth = ["xauth", "-q", "-f", self.environ["XAUTHORITY"], "source", "-"]
        line = f"add {self.environ['DISPLAY']} . {secrets.token_hex(16)}\n"
        subprocess.run(xauth, input=line.encode(), check=True, env=self.environ)

    def start_server(self, name: str, make_command: Callable[[int], list[str]]) -> None:
        """Start a server, and wait until it reports on a descriptor that it is ready."""
        report, ready = os.pipe()
        command = make_command(ready)
        self.servers[name] = subprocess.Popen(command, env=self.environ, pass_fds=(ready,))
        os.close(ready)
        with os.fdopen(report, encoding="ascii") as lines:
            if not lines.readline():
                sys.exit(f"portal-desktop: {name} could not be started")

    def start_program(self, name: str) -> None:
        self.started[name] = time.monotonic()
        self.programs[name] = subprocess.Popen([name], env=self.environ)

    def handle_end(self, pid: int) -> None:
        """End with a server; start a program again, unless it ended at once."""
        for name, server in self.servers.items():
            if server.pid == pid:
                sys.exit(f"portal-desktop: {name} has ended")
        for name, program in self.programs.items():
            if program.pid == pid and time.monotonic() - self.started[name] > RESTART_S:
                self.start_program(name)

    def end(self) -> None:
        """End the servers; the runner of the app ends what else is left."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for server in self.servers.values():
            server.terminate()
        for server in self.servers.values():
            try:
                server.wait(END_S)
            except subprocess.TimeoutExpired:
                server.kill()


def make_environ(folder: Path, display: str) -> dict[str, str]:
    """Return the variables of everything in the desktop."""
    passing = {name: value for name, value in os.environ.items() if name not in NOT_PASSED}
    return {
        **passing,
        "DISPLAY": display,
        "XAUTHORITY": f"{folder}/xauthority",
        "XDG_RUNTIME_DIR": f"{folder}/run",
        "DBUS_SESSION_BUS_ADDRESS": f"unix:path={folder}/run/bus",
        "XDG_CURRENT_DESKTOP": "XFCE",
        "XDG_MENU_PREFIX": "xfce-",
        "XDG_SESSION_TYPE": "x11",
        "NO_AT_BRIDGE": "1",  # the image has no screen reader
        "SHELL": "/bin/bash",  # the image may lack the user's
        "debian_chroot": os.environ.get("PORTAL_ENVIRONMENT", ""),  # shown in bash's prompt
    }


def main() -> None:
    folder, port = sys.argv[1:]
    desktop = Desktop(Path(folder), port)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        desktop.run()
    finally:
        desktop.end()


if __name__ == "__main__":
    main()
