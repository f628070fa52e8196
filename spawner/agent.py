"""The pool of launchers: one per active user, kept open; and what each can be asked, typed.

Nothing here decides what to do as the user, and nothing of the environment is passed on. How a
launcher is spoken to, and how little of its answers is believed, stands in channel.py.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import math
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spawner import parse_usage
from spawner.channel import Channel, UserInfo, nonsense, typed
from spawner.errors import HomeUnavailable, LauncherUnavailable
from spawner.measured import Measure, measured, unmeasured
from spawner.model import JobPaths, JobSpec
from spawner.sbatch import sbatch_options

USERNAME = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
GRACE_S = 5.0  # what a launcher needs beyond the deadline it was given
MAX_ABANDONED = 3
MAX_TAGS = 32


class Agents:
    """Acts as users. `answered_at` is when any launcher did last, `trouble` when and why one last
    couldn't be started; `homeless` whose home couldn't be used, and why, since somebody's could
    last; `measure` hears of each operation. Each call may raise LauncherUnavailable
    (it may or may not have been done), Unreachable (the same, of Slurm), Rejected, NotFound,
    HomeUnavailable, PathRefused."""

    def __init__(
        self,
        launcher_path: str | Path,
        sudo_path: str | Path = "/usr/bin/sudo",
        idle_s: float = 90.0,
        slurm_timeout_s: float = 10.0,
        measure: Measure = unmeasured,
    ) -> None:
        self._measure = measure
        self._command = [str(sudo_path), "-n", "-u"], ["--", str(launcher_path)]
        self._idle_s, self._slurm_timeout_s = idle_s, slurm_timeout_s
        self._channels: dict[str, Channel] = {}
        self._starting: dict[str, asyncio.Lock] = {}
        self._left: set[Channel] = set()
        self.answered_at: datetime | None = None
        self.trouble: tuple[datetime, str] | None = None
        self.homeless: dict[str, str] = {}

    async def call(
        self, username: str, op: str, timeout_s: float | None = None, **arguments: Any
    ) -> dict[str, Any]:
        """One operation, by the launcher's own words for it; `timeout_s` is the launcher's."""
        with measured(self._measure, op, LauncherUnavailable):
            return await self._call(username, op, timeout_s, arguments)

    async def _call(
        self, username: str, op: str, timeout_s: float | None, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        channel = await self._channel(username)
        timeout_s = timeout_s or self._slurm_timeout_s
        frame = {"op": op, "timeout_s": timeout_s, **arguments}
        try:
            answer = await channel.request(frame, timeout_s + GRACE_S)
            self.answered_at = datetime.now(UTC)
            return answer
        finally:
            if channel.ended:
                self._leave(username, channel)

    async def info(self, username: str) -> UserInfo:
        """Who a user is; starts their launcher if it doesn't run."""
        return (await self._channel(username)).user

    async def submit(self, username: str, spec: JobSpec, files: Mapping[str, str]) -> int:
        """sbatch as the user; the job's folder is made, and goes again if Slurm refuses."""
        options = sbatch_options(spec)
        try:
            result = await self.call(
                username,
                "submit",
                uuid=spec.uuid,
                files=dict(files),
                script=spec.script,
                options=options,
            )
        except HomeUnavailable as error:
            self.homeless[username] = error.message
            raise
        self.homeless.clear()
        return typed(result, "job_id", int)

    async def withdraw(self, username: str, uuid: str) -> bool:
        """Have every copy of a job that Slurm may have, or may yet get, exit before it does
        anything. False if one has begun already."""
        return typed(await self.call(username, "withdraw", uuid=uuid), "withdrawn", bool)

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
        return typed(await self.call(username, "look", path=folder), "exists", bool)

    async def job_paths(self, username: str, job_id: int) -> JobPaths:
        """Where one of the user's own jobs works and writes."""
        result = await self.call(username, "paths", job_id=job_id)
        found = parse_usage.parse_paths(typed(result, "text", str))
        if typed(result, "live", bool) or not found.workdir:
            return found
        # Accounting doesn't keep it; this is what sbatch does unless it is told otherwise.
        return replace(found, stdout=f"{found.workdir.rstrip('/')}/slurm-{job_id}.out")

    async def forecast(self, username: str, spec: JobSpec) -> datetime | None:
        """When Slurm thinks that a job like this would start; None if it doesn't say. Raises
        Rejected for one that it would refuse."""
        result = await self.call(username, "forecast", options=sbatch_options(spec))
        return parse_usage.parse_forecast(typed(result, "stderr", str))

    async def scalars(
        self, username: str, folders: list[str], timeout_s: float | None = None
    ) -> list[dict[str, float | None]]:
        """For each folder the last value of each scalar in its event files, within a time for all
        of them; None for what is no number any more."""
        result = await self.call(username, "scalars", timeout_s, folders=folders)
        found = typed(result, "scalars", list)
        return [_scalars(item) for item in found[: len(folders)]]

    async def mkdir(self, username: str, path: str) -> None:
        """A folder below the user's home, with those above it."""
        await self.call(username, "mkdir", path=path)

    async def forget(self, username: str, uuid: str) -> None:
        """Remove a job's folder."""
        await self.call(username, "forget", uuid=uuid)

    def dismiss(self, username: str) -> None:
        """Close a user's launcher, whatever it is doing; the next request would start another."""
        channel = self._channels.get(username)
        if channel is not None:
            self._leave(username, channel)

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

    def _leave(self, username: str, channel: Channel) -> None:
        channel.close()
        self._left.add(channel)
        if self._channels.get(username) is channel:
            del self._channels[username]

    async def _channel(self, username: str) -> Channel:
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
            channel = await self._start(username)
            self._channels[username] = channel
            return channel

    async def _start(self, username: str) -> Channel:
        """A launcher that has said who it is."""
        before, after = self._command
        try:
            channel = await Channel.start(username, [*before, username, *after])
            try:
                await channel.greet()
            except BaseException:
                self._leave(username, channel)
                raise
        except LauncherUnavailable as error:
            self.trouble = datetime.now(UTC), error.message
            raise
        self.answered_at = datetime.now(UTC)
        return channel


def _part(result: Mapping[str, Any], limit: int) -> tuple[bytes, int, int]:
    try:
        data = base64.b64decode(typed(result, "data_b64", str), validate=True)
    except binascii.Error as error:
        raise nonsense() from error
    return data[:limit], typed(result, "size", int), typed(result, "next_offset", int)


def _scalars(found: object) -> dict[str, float | None]:
    if not isinstance(found, dict):
        raise nonsense()
    numbers = {str(tag)[:100]: value for tag, value in list(found.items())[:MAX_TAGS]}
    return {
        tag: float(value) if type(value) in {int, float} and math.isfinite(value) else None
        for tag, value in numbers.items()
    }
