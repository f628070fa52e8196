"""A supervisor that keeps a list of services running: pid 1 of the head, and of each node.

It reaps every orphan of its pid namespace, restarts dead services after a short backoff, and takes
commands over a Unix socket: one JSON line in, one out. It has no knowledge of particular services
and never resolves a name through NSS, because a directory that is down must not block it.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.host.control import SOCKET, Spec, load_specs

LAST_BACKOFF_S = 5.0
# a service that ran for this long restarts with the first backoff
HEALTHY_S = 10.0
REQUEST_LIMIT = 65536
BACKLOG = 2048


@dataclass
class Service:
    spec: Spec
    should_run: bool = False
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    restarts: int = 0
    backoff_s: float = 0.0
    start_at: float | None = None
    kill_at: float | None = None
    last_exit: int | None = None
    listener: socket.socket | None = None

    @property
    def state(self) -> str:
        if self.process is not None:
            return "running" if self.should_run else "stopping"
        return "restarting" if self.should_run else "stopped"

    def listens(self) -> int | None:
        """Return the file descriptor of the service's listening socket, or None. Raises OSError."""
        if self.spec.listen is None:
            return None
        if self.listener is None or self.listener.getsockname()[:2] != self.spec.listen:
            self.close_listener()
            self.listener = socket.create_server(self.spec.listen, backlog=BACKLOG)
        return self.listener.fileno()

    def close_listener(self) -> None:
        listener, self.listener = self.listener, None
        if listener is not None:
            listener.close()

    def describe(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "pid": self.process.pid if self.process else None,
            "restarts": self.restarts,
            "uptime_s": round(time.monotonic() - self.started, 1) if self.process else None,
            "last_exit": self.last_exit,
        }


@dataclass(frozen=True)
class Waiter:
    """A client whose `stop` or `restart` is answered once all these services are down."""

    client: socket.socket
    names: tuple[str, ...]
    then_start: bool


class Supervisor:
    def __init__(self, specs_file: Path, control: Path) -> None:
        self._specs_file = specs_file
        self._services: dict[str, Service] = {}
        self._waiters: list[Waiter] = []
        self._selector = selectors.DefaultSelector()
        self._leaving = False
        self._listener = _listen(control)
        self._wakeup = _wakeup_on_signals()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wakeup, selectors.EVENT_READ)
        self.reload()

    def reload(self) -> None:
        """Load new and changed specifications; running services keep theirs until a restart."""
        for spec in load_specs(self._specs_file):
            if spec.name in self._services:
                self._services[spec.name].spec = spec
            else:
                self._services[spec.name] = Service(spec, backoff_s=spec.backoff_s)

    def start(self, name: str) -> None:
        service = self._services[name]
        service.should_run = True
        service.backoff_s = service.spec.backoff_s
        if service.process is None:
            self._spawn(service)

    def stop(self, name: str, *, restarts: bool = False) -> None:
        service = self._services[name]
        service.should_run = False
        service.start_at = None
        if not restarts:
            service.close_listener()
        if service.process is not None and service.kill_at is None:
            service.kill_at = time.monotonic() + service.spec.stop_timeout_s
            with suppress(ProcessLookupError):
                os.kill(service.process.pid, service.spec.stop_signal)

    def run(self) -> None:
        """Run until a SIGTERM has stopped every service."""
        while not (self._leaving and all(s.process is None for s in self._services.values())):
            for key, _ in self._selector.select(self._pause_s()):
                if key.fileobj is self._wakeup:
                    self._on_signals()
                else:
                    self._on_client()
            self._on_deadlines()
            self._answer_waiters()

    def _pause_s(self) -> float | None:
        deadlines = [
            deadline
            for service in self._services.values()
            for deadline in (service.start_at, service.kill_at)
            if deadline is not None
        ]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def _on_signals(self) -> None:
        with suppress(BlockingIOError):
            received = self._wakeup.recv(4096)
            if signal.SIGTERM in received:
                self._leaving = True
                for name in self._services:
                    self.stop(name)
        self._reap()

    def _reap(self) -> None:
        by_pid = {s.process.pid: s for s in self._services.values() if s.process is not None}
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in by_pid:
                self._on_exit(by_pid[pid], os.waitstatus_to_exitcode(status))

    def _on_exit(self, service: Service, code: int) -> None:
        process = service.process
        assert process is not None  # noqa: S101  `_reap` looked it up by its pid
        process.returncode = code  # reaped here, not by subprocess
        if service.spec.kill_group:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        service.process, service.kill_at, service.last_exit = None, None, code
        if not service.should_run:
            return
        service.restarts += 1
        if time.monotonic() - service.started > HEALTHY_S:
            service.backoff_s = service.spec.backoff_s
        _log(f"{service.spec.name} ended with {code}, again in {service.backoff_s:g} s")
        self._start_later(service)

    @staticmethod
    def _start_later(service: Service) -> None:
        service.start_at = time.monotonic() + service.backoff_s
        longest_s = max(LAST_BACKOFF_S, service.spec.backoff_s)
        service.backoff_s = min(service.backoff_s * 2, longest_s)

    def _on_deadlines(self) -> None:
        now = time.monotonic()
        for service in self._services.values():
            if service.start_at is not None and service.start_at <= now:
                self._spawn(service)
            if service.kill_at is not None and service.kill_at <= now:
                service.kill_at = None
                if service.process is not None:
                    _log(f"{service.spec.name} didn't stop in time")
                    os.kill(service.process.pid, signal.SIGKILL)

    def _spawn(self, service: Service) -> None:
        spec = service.spec
        service.start_at = None
        service.started = time.monotonic()
        uid, gid, groups = spec.user or (None, None, None)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        with os.fdopen(os.open(spec.log, flags, 0o640), "ab") as log:
            try:
                fd = service.listens()
                service.process = subprocess.Popen(
                    [str(fd) if word == SOCKET else word for word in spec.argv],
                    pass_fds=() if fd is None else (fd,),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**(os.environ if spec.inherits else {}), **spec.env},
                    cwd=spec.cwd,
                    umask=spec.umask,
                    user=uid,
                    group=gid,
                    extra_groups=groups,
                    start_new_session=True,
                )
            except OSError as error:
                _log(f"{spec.name} can't be started: {error}")
                self._start_later(service)

    def _on_client(self) -> None:
        client, _ = self._listener.accept()
        client.settimeout(2.0)
        try:
            request = json.loads(client.makefile("rb").readline(REQUEST_LIMIT))
            self._serve(client, request["op"], tuple(request.get("names", ())))
        except (OSError, ValueError, KeyError, TypeError) as error:
            _send_reply(client, {"ok": False, "error": f"{type(error).__name__}: {error}"})

    def _serve(self, client: socket.socket, op: str, names: tuple[str, ...]) -> None:
        unknown = [name for name in names if name not in self._services]
        if unknown:
            _send_reply(client, {"ok": False, "error": f"unknown service {', '.join(unknown)}"})
            return
        if op == "status":
            descriptions = {name: service.describe() for name, service in self._services.items()}
            _send_reply(client, {"ok": True, "services": descriptions})
        elif op == "reload":
            self.reload()
            _send_reply(client, {"ok": True})
        elif op == "start":
            for name in names:
                self.start(name)
            _send_reply(client, {"ok": True})
        elif op in ("stop", "restart"):
            for name in names:
                self.stop(name, restarts=op == "restart")
            self._waiters.append(Waiter(client, names, then_start=op == "restart"))
        else:
            _send_reply(client, {"ok": False, "error": f"unknown operation {op}"})

    def _answer_waiters(self) -> None:
        for waiter in list(self._waiters):
            if any(self._services[name].process is not None for name in waiter.names):
                continue
            self._waiters.remove(waiter)
            if waiter.then_start:
                for name in waiter.names:
                    self.start(name)
            _send_reply(waiter.client, {"ok": True})


def _listen(path: Path) -> socket.socket:
    """Bind the socket under a temporary name and rename it once it listens.

    A client that finds the socket is thus never refused.
    """
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    previous = os.umask(0o177)
    try:
        listener.bind(str(fresh))
    finally:
        os.umask(previous)
    listener.listen(16)
    fresh.rename(path)
    return listener


def _wakeup_on_signals() -> socket.socket:
    """Return a socket that becomes readable after SIGCHLD or SIGTERM.

    The loop selects on it, so it never misses a signal.
    """
    reader, writer = socket.socketpair()
    reader.setblocking(False)
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.detach())
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return reader


def _send_reply(client: socket.socket, reply: Mapping[str, Any]) -> None:
    with suppress(OSError), client:  # the client may have disconnected
        client.sendall(json.dumps(reply).encode() + b"\n")


def _log(message: str) -> None:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    sys.stderr.write(f"{stamp} {message}\n")
    sys.stderr.flush()
