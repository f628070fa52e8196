"""The pool of launchers: one per active user, kept open, spoken to in one JSON object a line.

A launcher runs as its user, so what it answers is that user's word: lines are bounded, types are
checked, and a launcher that misbehaves is left. The portal may not signal what sudo started: one
that is no longer wanted has its input closed, and then ends by itself. Deadlines are kept by the
launcher; the one kept here is longer, and only for launchers that no longer answer at all.

Nothing here decides what to do as the user, and nothing of the environment is passed on.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import itertools
import json
import logging
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from spawner import parse, parse_usage
from spawner.errors import (
    BadRequest,
    HomeUnavailable,
    LauncherUnavailable,
    NotFound,
    PathRefused,
    Rejected,
    SpawnerError,
    Unreachable,
)
from spawner.model import JobPaths, JobSpec
from spawner.reasons import explain_rejection

log = logging.getLogger(__name__)

USERNAME = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
MAX_LINE = 1 << 20
MAX_REQUEST = 1 << 20
START_S = 10.0
GRACE_S = 5.0  # what a launcher needs beyond the deadline it was given
MAX_ABANDONED = 3
MAX_TAGS = 32
MAX_DISCARDED = 1 << 23
_MAX_STDERR = 2000

_T = TypeVar("_T")


@dataclass(frozen=True)
class UserInfo:
    """A user as the machine that launches knows them."""

    username: str
    uid: int
    gid: int
    home: str
    shell: str


class Agents:
    """Acts as users. Each call may raise LauncherUnavailable (it may or may not have been done),
    Unreachable (the same, of Slurm), Rejected, NotFound, HomeUnavailable, PathRefused."""

    def __init__(
        self,
        launcher_path: str | Path,
        sudo_path: str | Path = "/usr/bin/sudo",
        idle_s: float = 90.0,
        slurm_timeout_s: float = 10.0,
    ) -> None:
        self._command = [str(sudo_path), "-n", "-u"], ["--", str(launcher_path)]
        self._idle_s, self._slurm_timeout_s = idle_s, slurm_timeout_s
        self._channels: dict[str, _Channel] = {}
        self._starting: dict[str, asyncio.Lock] = {}
        self._left: set[_Channel] = set()

    async def call(
        self, username: str, op: str, timeout_s: float | None = None, **arguments: Any
    ) -> dict[str, Any]:
        """One operation, by the launcher's own words for it; `timeout_s` is the launcher's."""
        channel = await self._channel(username)
        timeout_s = timeout_s or self._slurm_timeout_s
        frame = {"op": op, "timeout_s": timeout_s, **arguments}
        try:
            return await channel.request(frame, timeout_s + GRACE_S)
        finally:
            if channel.ended:
                self._leave(username, channel)

    async def info(self, username: str) -> UserInfo:
        """Who a user is; starts their launcher if it doesn't run."""
        return (await self._channel(username)).user

    async def submit(self, username: str, spec: JobSpec, files: Mapping[str, str]) -> int:
        """sbatch as the user; the job's folder is made, and goes again if Slurm refuses."""
        options = parse.sbatch_options(spec)
        result = await self.call(
            username,
            "submit",
            uuid=spec.uuid,
            files=dict(files),
            script=spec.script,
            options=options,
        )
        return _typed(result, "job_id", int)

    async def cancel(self, username: str, job_id: int) -> None:
        """scancel as the user. Ended already is no error; NotFound if Slurm doesn't know it."""
        await self.call(username, "cancel", job_id=job_id)

    async def step(
        self,
        username: str,
        job_id: int,
        node: str,
        uuid: str,
        files: Mapping[str, str],
        script: str,
    ) -> None:
        """Start a program beside a running job, in its allocation, without its GPUs."""
        await self.call(
            username, "step", uuid=uuid, job_id=job_id, node=node, files=dict(files), script=script
        )

    async def end_step(self, username: str, job_id: int, uuid: str) -> None:
        """End what `step` started; no error if it has ended."""
        await self.call(username, "end_step", uuid=uuid, job_id=job_id)

    async def read(
        self, username: str, path: str, offset: int, limit: int
    ) -> tuple[bytes, int, int]:
        """Part of a file below the jobs' folder: its bytes, the file's size, the next offset.

        A negative offset counts from the end; a file that isn't there is empty."""
        result = await self.call(username, "read", path=path, offset=offset, limit=limit)
        return _part(result, limit)

    async def read_file(
        self, username: str, path: str, offset: int, limit: int
    ) -> tuple[bytes, int, int]:
        """As `read`, of any file that the user may read, by its whole path."""
        result = await self.call(username, "read_file", path=path, offset=offset, limit=limit)
        return _part(result, limit)

    async def look(self, username: str, folder: str) -> bool:
        """Whether there is such a folder; PathRefused if the user may not look into it."""
        return _typed(await self.call(username, "look", path=folder), "exists", bool)

    async def job_paths(self, username: str, job_id: int) -> JobPaths:
        """Where one of the user's own jobs works and writes."""
        result = await self.call(username, "paths", job_id=job_id)
        found = parse_usage.parse_paths(_typed(result, "text", str))
        if _typed(result, "live", bool) or not found.workdir:
            return found
        # Accounting doesn't keep it; this is what sbatch does unless it is told otherwise.
        return replace(found, stdout=f"{found.workdir.rstrip('/')}/slurm-{job_id}.out")

    async def forecast(self, username: str, spec: JobSpec) -> datetime | None:
        """When Slurm thinks that a job like this would start; None if it doesn't say. Raises
        Rejected for one that it would refuse."""
        result = await self.call(username, "forecast", options=parse.sbatch_options(spec))
        return parse_usage.parse_forecast(_typed(result, "stderr", str))

    async def scalars(
        self, username: str, folders: list[str], timeout_s: float | None = None
    ) -> list[dict[str, float | None]]:
        """For each folder the last value of each scalar in its event files, within a time for all
        of them; None for what is no number any more."""
        result = await self.call(username, "scalars", timeout_s, folders=folders)
        found = _typed(result, "scalars", list)
        return [_scalars(item) for item in found[: len(folders)]]

    async def mkdir(self, username: str, path: str) -> None:
        """A folder below the user's home, with those above it."""
        await self.call(username, "mkdir", path=path)

    async def forget(self, username: str, uuid: str) -> None:
        """Remove a job's folder."""
        await self.call(username, "forget", uuid=uuid)

    async def run(self) -> None:
        """Close launchers that have nothing to do, until cancelled; then close all."""
        try:
            while True:
                await asyncio.sleep(self._idle_s / 4)
                self._close_idle()
        finally:
            await self.close()

    async def close(self) -> None:
        """Close every launcher's input, and give them a moment to end."""
        for username, channel in list(self._channels.items()):
            self._leave(username, channel)
        waits = [channel.wait() for channel in self._left]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2):
                await asyncio.gather(*waits)

    def _close_idle(self) -> None:
        now_s = time.monotonic()
        for username, channel in list(self._channels.items()):
            if not channel.busy and now_s - channel.used_s > self._idle_s:
                self._leave(username, channel)
        self._left = {channel for channel in self._left if not channel.gone}

    def _leave(self, username: str, channel: _Channel) -> None:
        channel.close()
        self._left.add(channel)
        if self._channels.get(username) is channel:
            del self._channels[username]

    async def _channel(self, username: str) -> _Channel:
        if not USERNAME.fullmatch(username):
            raise LauncherUnavailable("This user name can't be used on the cluster.")
        async with self._starting.setdefault(username, asyncio.Lock()):
            channel = self._channels.get(username)
            if channel is not None and channel.usable:
                return channel
            if channel is not None:
                self._leave(username, channel)
            self._left = {left for left in self._left if not left.gone}
            if sum(left.username == username for left in self._left) >= MAX_ABANDONED:
                raise LauncherUnavailable(
                    "Your home directory doesn't answer, and neither do programs that wait for it."
                )
            before, after = self._command
            channel = await _Channel.start(username, [*before, username, *after])
            try:
                await channel.greet()
            except BaseException:
                self._leave(username, channel)
                raise
            self._channels[username] = channel
            return channel


class _Channel:
    """One launcher: a request at a time, answers matched by their number."""

    def __init__(self, username: str, process: asyncio.subprocess.Process) -> None:
        assert process.stdin and process.stdout and process.stderr  # noqa: S101 - asked for
        self.username = username
        self.ended = False
        self.used_s = time.monotonic()
        self.user: UserInfo
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self._numbers = itertools.count(1)
        self._turn = asyncio.Lock()
        self._exchanges: set[asyncio.Task[dict[str, Any]]] = set()
        self._stderr = b""
        self._complaints = asyncio.create_task(self._read_stderr(process.stderr))

    @classmethod
    async def start(cls, username: str, command: list[str]) -> _Channel:
        """Start one, in a session of its own: a signal to the portal's terminal isn't for it."""
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                env={},
                cwd="/",
                limit=MAX_LINE,
                start_new_session=True,
            )
        except OSError as error:
            raise LauncherUnavailable(f"{command[0]} can't be run: {error.strerror}.") from error
        return cls(username, process)

    async def greet(self) -> None:
        """Hear who it says it is."""
        self.user = _user(self.username, await self._receive(START_S))

    @property
    def busy(self) -> bool:
        return bool(self._exchanges)

    @property
    def usable(self) -> bool:
        """Whether it still listens: users end their own processes as they like."""
        return not self.ended and not self.gone and not self._stdout.at_eof()

    @property
    def gone(self) -> bool:
        return self._process.returncode is not None

    async def request(self, frame: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """The result of one request. A caller who goes away doesn't leave half an exchange."""
        exchange = asyncio.create_task(self._exchange(frame, timeout_s))
        self._exchanges.add(exchange)
        exchange.add_done_callback(self._done)
        return await asyncio.shield(exchange)

    def _done(self, exchange: asyncio.Task[dict[str, Any]]) -> None:
        self._exchanges.discard(exchange)
        if not exchange.cancelled() and (error := exchange.exception()):
            log.debug("launcher of %s: %s", self.username, error)

    async def _exchange(self, frame: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        async with self._turn:
            if self.ended:
                raise LauncherUnavailable("The program that acts for you has ended.")
            self.used_s = time.monotonic()
            number = next(self._numbers)
            line = json.dumps({"id": number, **frame}).encode() + b"\n"
            if len(line) > MAX_REQUEST:
                raise BadRequest("This is too much at once.")
            with contextlib.suppress(ConnectionError):  # then there is no answer to be read
                self._stdin.write(line)
                await self._stdin.drain()
            answer = await self._receive(timeout_s)
            self.used_s = time.monotonic()
            if type(answer.get("id")) is not int or answer["id"] != number:
                self.close()
                raise _nonsense()
            return _result(answer)

    async def _receive(self, timeout_s: float) -> dict[str, Any]:
        try:
            async with asyncio.timeout(timeout_s):
                line = await self._stdout.readuntil(b"\n")
            answer = json.loads(line)
        except asyncio.IncompleteReadError as error:
            self.close()
            raise await self._died() from error
        except TimeoutError as error:
            self.close()
            raise LauncherUnavailable(
                "The program that acts for you does not answer; perhaps your home directory "
                "doesn't."
            ) from error
        except (asyncio.LimitOverrunError, ValueError, RecursionError) as error:
            self.close()
            raise _nonsense() from error
        if not isinstance(answer, dict):
            self.close()
            raise _nonsense()
        return answer

    async def _died(self) -> LauncherUnavailable:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await asyncio.shield(self._complaints)
        stderr = self._stderr.decode(errors="replace")
        log.warning("launcher of %s ended: %s", self.username, stderr[-300:].strip())
        return LauncherUnavailable("The portal could not act for you on the cluster.", stderr)

    async def _read_stderr(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(4096):
            self._stderr = (self._stderr + chunk)[-_MAX_STDERR:]

    def close(self) -> None:
        """Take its input away: it ends by itself, once it is rid of what it has to say."""
        if not self.ended:
            self.ended = True
            self._stdin.close()
            self._drain = asyncio.create_task(self._discard())

    async def _discard(self) -> None:
        async with self._turn:
            left = MAX_DISCARDED
            while left > 0 and (chunk := await self._stdout.read(1 << 16)):
                left -= len(chunk)

    async def wait(self) -> None:
        """Until it has ended."""
        await self._process.wait()


def _nonsense() -> LauncherUnavailable:
    return LauncherUnavailable("The program that acts for you answered nonsense.")


def _typed(fields: Mapping[str, Any], key: str, kind: type[_T]) -> _T:
    value = fields.get(key)
    if type(value) is not kind:
        raise _nonsense()
    return value


def _part(result: Mapping[str, Any], limit: int) -> tuple[bytes, int, int]:
    try:
        data = base64.b64decode(_typed(result, "data_b64", str), validate=True)
    except binascii.Error as error:
        raise _nonsense() from error
    return data[:limit], _typed(result, "size", int), _typed(result, "next_offset", int)


def _scalars(found: object) -> dict[str, float | None]:
    if not isinstance(found, dict):
        raise _nonsense()
    numbers = {str(tag)[:100]: value for tag, value in list(found.items())[:MAX_TAGS]}
    return {
        tag: float(value) if type(value) in {int, float} and math.isfinite(value) else None
        for tag, value in numbers.items()
    }


def _user(username: str, hello: Mapping[str, Any]) -> UserInfo:
    if hello.get("hello") != 1 or hello.get("username") != username:
        raise _nonsense()
    home, shell = _typed(hello, "home", str), _typed(hello, "shell", str)
    if not home.startswith("/") or not home.isprintable():
        raise _nonsense()
    return UserInfo(username, _typed(hello, "uid", int), _typed(hello, "gid", int), home, shell)


def _result(answer: Mapping[str, Any]) -> dict[str, Any]:
    if answer.get("ok") is True:
        return _typed(answer, "result", dict)
    error = _typed(answer, "error", dict)
    kind, message = _typed(error, "type", str), _typed(error, "message", str)[:500]
    stderr = str(error.get("stderr") or "")[:8192]
    if kind == "Rejected":
        why = explain_rejection(stderr)
        raise Rejected(why.code, why.text, why.advice, stderr)
    raise _ERRORS.get(kind, LauncherUnavailable)(message, stderr)


_ERRORS: Mapping[str, type[SpawnerError]] = {
    "Unreachable": Unreachable,
    "NotFound": NotFound,
    "HomeUnavailable": HomeUnavailable,
    "PathRefused": PathRefused,
    "BadRequest": BadRequest,
}
