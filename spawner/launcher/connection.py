"""Connection to one user's launcher: one JSON object per line, with validation of the answers.

The launcher runs as its user, so its answers are untrusted: lines are bounded, types are checked,
and a misbehaving launcher is abandoned. The portal may not signal a process that sudo started; to
end one, it closes the launcher's input, and the launcher exits. The launcher enforces the
deadlines; the one enforced here is longer, and only for launchers that do not answer at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import itertools
import json
import logging
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar

from spawner import request_id, subprocesses
from spawner.command import ENVIRONMENT
from spawner.errors import (
    BadRequest,
    FileProblem,
    HomeUnavailable,
    JobNotFound,
    LauncherUnavailable,
    NoFilesProgram,
    PathRefused,
    Rejected,
    SpawnerError,
    Unreachable,
)
from spawner.launcher.log import LogRelay
from spawner.slurm.reasons.rejections import explain_rejection

log = logging.getLogger(__name__)

MAX_LINE = 1 << 20
MAX_REQUEST = 1 << 20
START_S = 10.0
MAX_DISCARDED = 1 << 23
_MAX_STDERR = 2000

_T = TypeVar("_T")


@dataclass(frozen=True)
class UserInfo:
    """User's account data on the launcher's host."""

    username: str
    uid: int
    gid: int
    home: str
    shell: str


class Channel:
    """Connection to one launcher: one request at a time, answers matched by their number."""

    def __init__(self, username: str, process: asyncio.subprocess.Process) -> None:
        assert process.stdin and process.stdout and process.stderr  # noqa: S101 - PIPE in `start`
        self.username = username
        self.closed = False  # whether its input is closed, as opposed to `gone`
        self.used_s = time.monotonic()
        self.user: UserInfo
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self._numbers = itertools.count(1)
        self._turn = asyncio.Lock()
        self._exchanges: set[asyncio.Task[dict[str, Any]]] = set()
        self._stderr = b""
        self._relay = LogRelay(username)
        self._stderr_reader = asyncio.create_task(
            self._read_stderr(process.stderr),
            context=contextvars.Context(),  # it serves further requests than the one that starts it
        )

    @classmethod
    async def start(cls, username: str, command: list[str]) -> Channel:
        """Start a launcher in its own process session, out of reach of the terminal's signals."""
        pipe = asyncio.subprocess.PIPE
        try:
            process = await subprocesses.start(
                *command,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                env=ENVIRONMENT,  # an empty one crashes some builds of sudo 1.9.13
                cwd="/",
                limit=MAX_LINE,
                start_new_session=True,
            )
        except OSError as error:
            raise LauncherUnavailable(
                f"The program {command[0]} can't be run: {error.strerror}."
            ) from error
        return cls(username, process)

    async def receive_greeting(self) -> None:
        """Receive and check the greeting with the user's identity."""
        self.user = _parse_user(self.username, await self._receive(START_S))

    @property
    def busy(self) -> bool:
        return bool(self._exchanges)

    @property
    def usable(self) -> bool:
        """Return whether it still reads requests: users may end their own processes at any time."""
        return not self.closed and not self.gone and not self._stdout.at_eof()

    @property
    def gone(self) -> bool:
        """Return whether the process has exited."""
        return self._process.returncode is not None

    async def request(self, frame: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """Return the result of one request.

        If the caller is cancelled, the exchange still completes.
        """
        exchange = asyncio.create_task(self._exchange(frame, timeout_s))
        self._exchanges.add(exchange)
        exchange.add_done_callback(self._finish_exchange)
        return await asyncio.shield(exchange)

    def _finish_exchange(self, exchange: asyncio.Task[dict[str, Any]]) -> None:
        self._exchanges.discard(exchange)
        if not exchange.cancelled() and (error := exchange.exception()):
            log.debug("launcher of %s: %s", self.username, error)

    async def _exchange(self, frame: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        async with self._turn:
            if self.closed:
                raise LauncherUnavailable("The launcher has exited.")
            self.used_s = time.monotonic()
            number = next(self._numbers)
            line = json.dumps({"id": number, "request": request_id.current(), **frame}).encode()
            line += b"\n"
            if len(line) > MAX_REQUEST:
                raise BadRequest("This request is too large.")
            with contextlib.suppress(ConnectionError):  # then there is no answer to read
                self._relay.expect()
                self._stdin.write(line)
                await self._stdin.drain()
            response = await self._receive(timeout_s)
            self.used_s = time.monotonic()
            if type(response.get("id")) is not int or response["id"] != number:
                self.close()
                raise invalid_response()
            return _parse_result(response)

    async def pieces(
        self, frame: Mapping[str, Any], timeout_s: float, piece_s: float
    ) -> AsyncGenerator[bytes]:
        """Yield the stream that a request starts, piece by piece; each may take `piece_s`.

        The launcher ends afterwards, or when the iteration is abandoned. Raises the same errors as
        `request`, also at the end if the stream is incomplete.
        """
        await self.request(frame, timeout_s)
        async with self._turn:
            try:
                async with aclosing(self._read_pieces(piece_s)) as pieces:
                    async for piece in pieces:
                        yield piece
            finally:
                self.close()

    async def _read_pieces(self, piece_s: float) -> AsyncGenerator[bytes]:
        try:
            while length := int.from_bytes(await self._read_exactly(4, piece_s), "big"):
                if length > MAX_LINE:
                    raise invalid_response()
                yield await self._read_exactly(length, piece_s)
        except asyncio.IncompleteReadError as error:
            raise await self._report_death() from error
        except TimeoutError as error:
            text = "The file system doesn't answer, so the file could not be read completely."
            raise LauncherUnavailable(text) from error
        _parse_result(await self._receive(piece_s))

    async def _read_exactly(self, count: int, timeout_s: float) -> bytes:
        async with asyncio.timeout(timeout_s):
            return await self._stdout.readexactly(count)

    async def _receive(self, timeout_s: float) -> dict[str, Any]:
        try:
            async with asyncio.timeout(timeout_s):
                line = await self._stdout.readuntil(b"\n")
            response = json.loads(line)
        except asyncio.IncompleteReadError as error:
            self.close()
            raise await self._report_death() from error
        except TimeoutError as error:
            self.close()
            raise LauncherUnavailable(
                "The launcher doesn't answer. Your home directory may be the cause."
            ) from error
        except (asyncio.LimitOverrunError, ValueError, RecursionError) as error:
            self.close()
            raise invalid_response() from error
        if not isinstance(response, dict):
            self.close()
            raise invalid_response()
        return response

    async def _report_death(self) -> LauncherUnavailable:
        """Log that the launcher has ended unexpectedly, and return the error to raise."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await asyncio.shield(self._stderr_reader)
        stderr = self._stderr.decode(errors="replace")
        log.warning("launcher of %s ended: %s", self.username, stderr[-300:].strip())
        return LauncherUnavailable("The portal could not act for you on the cluster.", stderr)

    async def _read_stderr(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(4096):
            self._stderr = (self._stderr + self._relay.filter_reports(chunk))[-_MAX_STDERR:]
        self._stderr = (self._stderr + self._relay.flush())[-_MAX_STDERR:]

    def close(self) -> None:
        """Close its input: the launcher exits once its pending output is read."""
        if not self.closed:
            self.closed = True
            self._stdin.close()
            self._drain = asyncio.create_task(self._discard())

    async def _discard(self) -> None:
        async with self._turn:
            bytes_left = MAX_DISCARDED
            while bytes_left > 0 and (chunk := await self._stdout.read(1 << 16)):
                bytes_left -= len(chunk)
        if bytes_left <= 0:
            self.release()

    def release(self) -> None:
        """Close its pipes, for a launcher that does not end although its input is closed: its next
        output fails.
        """
        transport = self._process._transport  # type: ignore[attr-defined]  # no public method
        for fd in (0, 1, 2):
            transport.get_pipe_transport(fd).close()
        # it also tries to kill the process, which sudo runs as root
        with contextlib.suppress(PermissionError):
            transport.close()

    async def wait(self) -> None:
        """Wait until the launcher has ended."""
        await self._process.wait()


def invalid_response() -> LauncherUnavailable:
    return LauncherUnavailable("The launcher returned an invalid response.")


def typed(fields: Mapping[str, Any], key: str, kind: type[_T]) -> _T:
    """Return a field of exactly this type; an answer without it is invalid."""
    value = fields.get(key)
    if type(value) is not kind:
        raise invalid_response()
    return value


def _parse_user(username: str, hello: Mapping[str, Any]) -> UserInfo:
    if hello.get("hello") != 1 or hello.get("username") != username:
        raise invalid_response()
    home, shell = typed(hello, "home", str), typed(hello, "shell", str)
    if not home.startswith("/") or not home.isprintable():
        raise invalid_response()
    return UserInfo(username, typed(hello, "uid", int), typed(hello, "gid", int), home, shell)


def _parse_result(response: Mapping[str, Any]) -> dict[str, Any]:
    if response.get("ok") is True:
        return typed(response, "result", dict)
    error = typed(response, "error", dict)
    kind, message = typed(error, "type", str), typed(error, "message", str)[:500]
    stderr = str(error.get("stderr") or "")[:8192]
    if kind == "Rejected":
        why = explain_rejection(stderr)
        raise Rejected(why.code, why.text, why.suggestion, stderr)
    if kind == "File":
        more = error.get("more")
        more = more if isinstance(more, dict) else {}
        raise FileProblem(str(more.get("code"))[:40], message, more)
    raise _ERRORS.get(kind, LauncherUnavailable)(message, stderr)


_ERRORS: Mapping[str, type[SpawnerError]] = {
    "Unreachable": Unreachable,
    "NotFound": JobNotFound,
    "HomeUnavailable": HomeUnavailable,
    "PathRefused": PathRefused,
    "BadRequest": BadRequest,
    "NoFilesProgram": NoFilesProgram,
}
