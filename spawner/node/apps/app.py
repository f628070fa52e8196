"""One app of a session: its process, from the start until it has ended, and its connections."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from spawner.node.apps.declared import AppInput, DeclaredApp, Launch
from spawner.node.apps.runner import GRACE_S, NOT_FOUND, NOT_PRIVATE, RunnerRequest
from spawner.tasks import end_all

if TYPE_CHECKING:
    import aiohttp

log = logging.getLogger("portal")

RUNNER = (sys.executable, "-I", "-m", "spawner.node.apps.runner")
POLL_S = 0.2
ANSWER_S = 5.0
END_S = 2 * GRACE_S + 5
RECENT_S = 60.0
"""A request counts as use of the app for this long."""
MAX_CONNECTIONS = 200
"""Requests and websockets of one app at the same time."""
NO_PROGRAM = "Its program isn't installed in this environment."
NO_NETWORK = (
    "This node can't give it a network of its own, without which other users could reach it. Ask "
    "your administrators to permit user namespaces."
)


class AppState(StrEnum):
    """States of an app; `failed` is the end of one that the user did not stop."""

    STOPPED = "stopped"
    STARTING = "starting"
    RUNNING = "running"
    FAILED = "failed"


@dataclass
class StartedApp:
    """An app that was started, also after its end, for its log."""

    declared: DeclaredApp
    given: AppInput
    launch: Launch
    folder: Path
    base: str
    runner: Sequence[str] = RUNNER
    state: AppState = AppState.STARTING
    problem: str | None = None
    started_at: float = field(default_factory=time.time)
    _connections: int = 0
    _used_at: float = float("-inf")
    _client: aiohttp.ClientSession | None = None
    _stop: asyncio.Event = field(default_factory=asyncio.Event)

    def start(self, after: StartedApp | None = None) -> None:
        """Start it, in the background, once the app whose place it takes has ended."""
        self._task = asyncio.create_task(self._run(after))

    @property
    def socket(self) -> Path:
        return socket_of(self.folder)

    @property
    def log_path(self) -> Path:
        return self.folder / "log"

    @property
    def is_alive(self) -> bool:
        return self.state in {AppState.STARTING, AppState.RUNNING}

    @property
    def is_wanted(self) -> bool:
        """Return whether it is alive and was not stopped."""
        return self.is_alive and not self._stop.is_set()

    @property
    def client(self) -> aiohttp.ClientSession:
        """Return the HTTP client for its socket. Only while it is alive."""
        if self._client is None:
            import aiohttp  # noqa: PLC0415 - takes a while, and few sessions have apps

            self._client = aiohttp.ClientSession(
                connector=aiohttp.UnixConnector(str(self.socket), limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
            )
        return self._client

    @property
    def is_full(self) -> bool:
        return self._connections >= MAX_CONNECTIONS

    def is_used(self) -> bool:
        """Return whether it has connections or had one recently, if that counts as activity."""
        recent = time.monotonic() - self._used_at < RECENT_S
        is_used = self._connections > 0 or recent
        return self.declared.counts_as_activity and self.is_alive and is_used

    @contextlib.contextmanager
    def connection(self) -> Iterator[None]:
        """Count a request or a websocket within the block."""
        self._connections += 1
        self._used_at = time.monotonic()
        try:
            yield
        finally:
            self._connections -= 1
            self._used_at = time.monotonic()

    async def stop(self) -> bool:
        """Stop it; return, once it has ended, whether this call ended it. Repeatable."""
        is_first = self.is_wanted
        self._stop.set()
        await asyncio.wait({self._task})
        return is_first

    async def _run(self, after: StartedApp | None) -> None:
        """Run the app to its end; every error ends as its state and problem."""
        try:
            if after is not None:
                await after.stop()
            self.state, self.problem = await self._supervise()
        except OSError as error:
            log.warning("an app could not be started: %s", error)
            self.state, self.problem = AppState.FAILED, f"It can't be started: {error.strerror}."
        except Exception:
            log.exception("an app failed unexpectedly")
            self.state, self.problem = AppState.FAILED, "It can't be run. See the session's log."
        finally:
            if self._client is not None:
                await self._client.close()

    async def _supervise(self) -> tuple[AppState, str | None]:
        """Return the state and the problem at the end."""
        if self._stop.is_set():
            return AppState.STOPPED, None
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700, parents=True)
        runner = await self._start_runner()
        ended = asyncio.create_task(runner.wait())
        ready = asyncio.create_task(self._wait_ready())
        stop = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({ended, ready, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not ended.done() and not stop.done() and ready.result():
                self.state = AppState.RUNNING
                await asyncio.wait({ended, stop}, return_when=asyncio.FIRST_COMPLETED)
            if stop.done():
                return AppState.STOPPED, None
            if ended.done():
                return AppState.FAILED, self._describe_end(ended.result())
            return AppState.FAILED, self._describe_silence()
        finally:
            await end_all((ready, stop))
            await _end(runner, ended)

    async def _start_runner(self) -> asyncio.subprocess.Process:
        request = RunnerRequest(
            parent=os.getpid(),
            argv=self.launch.argv,
            folder=self.launch.folder,
            socket=str(self.socket),
            log=str(self.log_path),
            port=self.launch.port,
        )
        runner = await asyncio.create_subprocess_exec(
            *self.runner,
            stdin=asyncio.subprocess.PIPE,
            env=self.launch.env,
            start_new_session=True,
        )
        assert runner.stdin  # noqa: S101 - a pipe
        runner.stdin.write(request.to_json())
        runner.stdin.close()
        return runner

    async def _wait_ready(self) -> bool:
        """Return whether it answers within its time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.declared.timeout_s):
                # there is no event for it
                while not await self._answers():  # noqa: ASYNC110
                    await asyncio.sleep(POLL_S)
                return True
        return False

    async def _answers(self) -> bool:
        import aiohttp  # noqa: PLC0415 - as above

        prefix = "" if self.declared.strips_prefix else self.base
        path = prefix + self.declared.ready
        timeout = aiohttp.ClientTimeout(total=ANSWER_S)
        try:
            async with self.client.get(
                f"http://app{path}", timeout=timeout, allow_redirects=False
            ) as answer:
                return answer.status < 500
        except (aiohttp.ClientError, TimeoutError):
            return False

    def _describe_silence(self) -> str:
        port, time_s = self.launch.port, self.declared.timeout_s
        if port is None:
            return f"It did not answer HTTP requests on its socket within {time_s} seconds."
        return f"It did not answer HTTP requests on port {port} within {time_s} seconds."

    def _describe_end(self, status: int) -> str:
        if status == NOT_PRIVATE:
            return NO_NETWORK
        if status == NOT_FOUND:
            return " ".join(filter(None, (NO_PROGRAM, self.declared.hint)))
        return f"It ended with status {status}."


async def _end(runner: asyncio.subprocess.Process, ended: asyncio.Task[int]) -> None:
    """End the runner, which first ends the app."""
    with contextlib.suppress(ProcessLookupError):
        runner.terminate()
    if not (await asyncio.wait({ended}, timeout=END_S))[0]:
        with contextlib.suppress(ProcessLookupError):
            runner.kill()  # the kernel then kills the app
        await ended


def socket_of(folder: Path) -> Path:
    """Return the path of the app's socket. Linux allows 107 bytes."""
    return folder / "socket"
