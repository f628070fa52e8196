"""A virtual machine under QEMU, without hardware virtualization, and the agent inside it.

QEMU's guest agent runs commands there and returns their output; the virtual machine has no network.
Its disks stay unchanged: its writes are discarded with the process.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEMORY_MIB = 6144
CORES = 2
# emulation is six to ten times slower than this machine, which may have other load, too
PATIENCE_S = 900.0
POLL_S = 1.0
ANSWER_S = 30.0
AGENT = "org.qemu.guest_agent.0"


class GuestError(RuntimeError):
    """A command in the virtual machine failed, or the virtual machine does not answer."""


@dataclass(frozen=True)
class Result:
    code: int
    output: str
    errors: str


class Guest:
    """`folder` contains its sockets and the log of its console."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self.folder = folder
        self.process = process
        self._stream: socket.socket | None = None

    @property
    def console(self) -> str:
        return (self.folder / "console.log").read_text(errors="replace")

    def run(self, script: str, *, check: bool = True, timeout_s: float = PATIENCE_S) -> Result:
        """Run a shell script as root, in a separate scope, as in a login session."""
        scope = ["--scope", "--quiet", "--collect", "--slice=user.slice"]
        words = ["systemd-run", *scope, "bash", "-c", f"set -euo pipefail\ncd /root\n{script}"]
        result = self._execute(words, time.monotonic() + timeout_s)
        if check and result.code != 0:
            printed = result.output[-4000:] + result.errors[-4000:]
            raise GuestError(f"{script}\nexit status {result.code}\n{printed}")
        return result

    def shell(self, script: str, *, timeout_s: float = PATIENCE_S) -> str:
        """Run a script and return its standard output."""
        return self.run(script, timeout_s=timeout_s).output

    def wait_until_booted(self) -> None:
        """Wait until systemd has started everything that it starts at boot."""
        deadline = time.monotonic() + PATIENCE_S
        words = ["systemctl", "is-system-running", "--wait"]
        while self._execute(words, deadline).output.strip() not in {"running", "degraded"}:
            if time.monotonic() > deadline:
                raise GuestError(f"it doesn't get ready: {self.console[-2000:]}")
            time.sleep(POLL_S)

    def reboot(self) -> None:
        boot = "cat /proc/sys/kernel/random/boot_id"
        before = self.shell(boot)
        with contextlib.suppress(GuestError, OSError):  # it may shut down before it has answered
            self.run("systemctl reboot --no-block")
        deadline = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(GuestError, OSError):
                if self.run(boot, timeout_s=20).output != before:
                    break
            if time.monotonic() > deadline:
                raise GuestError(f"it doesn't come back: {self.console[-2000:]}")
            time.sleep(POLL_S)
        self.wait_until_booted()

    def _execute(self, words: list[str], deadline: float) -> Result:
        environment = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        begin = {
            "path": f"/usr/bin/{words[0]}",
            "arg": words[1:],
            "env": [*environment, "HOME=/root", "LC_ALL=C.UTF-8"],
            "capture-output": True,
        }
        pid = self._ask("guest-exec", begin, deadline)["pid"]
        while True:
            status = self._ask("guest-exec-status", {"pid": pid}, deadline)
            if status["exited"]:
                return Result(
                    status.get("exitcode", 128 + status.get("signal", 0)),
                    _text(status.get("out-data", "")),
                    _text(status.get("err-data", "")),
                )
            if time.monotonic() > deadline:
                raise GuestError(f"it takes too long: {words}")
            time.sleep(POLL_S)

    def _ask(self, command: str, arguments: dict[str, Any], deadline: float) -> Any:
        """Send a command on the one connection for all: the agent busy-loops while there is
        none."""
        while True:
            stream = self._stream or self._connect(deadline)
            stream.settimeout(max(1.0, deadline - time.monotonic()))
            try:
                return _converse(stream, command, arguments)
            except OSError:
                self.hang_up()  # the guest has rebooted; the command was lost with it
                if command != "guest-exec":
                    raise

    def _connect(self, deadline: float) -> socket.socket:
        """Connect to the agent, once it answers.

        It does not run while the guest boots, and data sent then is lost.
        """
        while True:
            self._stream = socket.socket(socket.AF_UNIX)
            if self._synchronized(self._stream):
                return self._stream
            self.hang_up()
            if self.process.poll() is not None:
                raise GuestError(f"QEMU has ended with exit status {self.process.returncode}")
            if time.monotonic() > deadline:
                raise GuestError(f"its agent doesn't answer: {self.console[-2000:]}")
            time.sleep(POLL_S)

    def hang_up(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = None

    def _synchronized(self, stream: socket.socket) -> bool:
        """Return whether the agent answers with this connection's number, and not an earlier
        one's."""
        stream.settimeout(ANSWER_S)
        number = time.monotonic_ns() & 0x7FFFFFFF
        try:
            stream.connect(str(self.folder / "agent.sock"))
            stream.sendall(b"\xff")  # makes it discard an incomplete message
            sync = _converse(stream, "guest-sync-delimited", {"id": number}, after=b"\xff")
            return bool(sync == number)
        except (OSError, ValueError, GuestError):
            return False


def _converse(
    stream: socket.socket, command: str, arguments: dict[str, Any], *, after: bytes = b""
) -> Any:
    """Send a command and return the response.

    `after`: the byte that the agent sends before it. Lines before that byte are responses to
    invalid input.
    """
    stream.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
    received = b""
    while not (after in received and received.endswith(b"\n")):
        piece = stream.recv(1 << 20)
        if not piece:
            raise ConnectionError("the agent's connection ended")
        received += piece
    answer = json.loads(received.rpartition(b"\xff")[2])
    if "error" in answer:
        raise GuestError(str(answer["error"]))
    return answer["return"]


def _text(data: str) -> str:
    return base64.b64decode(data).decode(errors="replace")


@contextmanager
def booted(folder: Path, system: Path, data: Path) -> Iterator[Guest]:
    """Run a virtual machine with these disks until the block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    console = folder / "console.log"
    for old in (console, folder / "agent.sock"):
        old.unlink(missing_ok=True)
    disks = [
        word
        for disk in (system / "system.img", data)
        for word in ("-drive", f"file={disk},format=raw,if=virtio,snapshot=on,cache=unsafe")
    ]
    words = [
        *("qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none"),
        *("-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max"),
        *("-smp", str(CORES), "-m", str(MEMORY_MIB), "-nic", "none", *disks),
        *("-kernel", str(system / "vmlinuz"), "-initrd", str(system / "initrd.img")),
        *("-append", "root=/dev/vda rw console=ttyS0 quiet"),
        *("-serial", f"file:{console}", "-object", "rng-random,id=rng,filename=/dev/urandom"),
        *("-device", "virtio-rng-pci,rng=rng", "-device", "virtio-serial-pci"),
        *("-chardev", f"socket,id=agent,path={folder}/agent.sock,server=on,wait=off"),
        *("-device", f"virtserialport,chardev=agent,name={AGENT}"),
    ]
    environment = {**os.environ, "TMPDIR": str(folder)}  # where QEMU stores the discarded writes
    # PDEATHSIG: it ends with the tests, however they end
    process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *words], env=environment)
    guest = Guest(folder, process)
    try:
        guest.wait_until_booted()
        yield guest
    finally:
        guest.hang_up()
        process.kill()
        process.wait()
