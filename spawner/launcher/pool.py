"""Pool of launchers, one kept open per active user, with typed methods for their operations.

It makes no decisions about what to do as the user, and passes on nothing of the environment. The
protocol, and the validation of answers, is in connection.py.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spawner.errors import HomeUnavailable, LauncherUnavailable
from spawner.launcher.connection import Channel, UserInfo, invalid_response, typed
from spawner.launcher.sbatch import sbatch_options
from spawner.names import USERNAME
from spawner.slurm import parse_usage
from spawner.slurm.model import JobPaths, JobSpec
from spawner.timing import Measure, measured, unmeasured

IDLE_S = 90.0
GRACE_S = 5.0  # time that a launcher gets beyond its own deadline
CLOSE_S = 2.0
MAX_ABANDONED = 3


class LauncherPool:
    """Pool of launchers that act as users.

    `answered_at` is the time of the last answer of any launcher, and `trouble` when and why one
    last could not be started. `home_problems` maps users whose last submission failed because of
    their home to the reason; any user's successful submission clears it. `measure` is called for
    each operation. Each method may raise LauncherUnavailable (the operation may or may not have
    been done), Unreachable (the same, for Slurm), Rejected, JobNotFound, HomeUnavailable or
    PathRefused.
    """

    def __init__(
        self,
        launcher_path: str | Path,
        sudo_path: str | Path = "/usr/bin/sudo",
        idle_s: float = IDLE_S,
        slurm_timeout_s: float = 10.0,
        measure: Measure = unmeasured,
    ) -> None:
        self._measure = measure
        self._command = [str(sudo_path), "-n", "-u"], ["--", str(launcher_path)]
        self._idle_s, self._slurm_timeout_s = idle_s, slurm_timeout_s
        self._channels: dict[str, Channel] = {}
        self._starting: dict[str, asyncio.Lock] = {}
        self._abandoned: set[Channel] = set()
        self.answered_at: datetime | None = None
        self.trouble: tuple[datetime, str] | None = None
        self.home_problems: dict[str, str] = {}

    async def call(
        self, username: str, op: str, timeout_s: float | None = None, **arguments: Any
    ) -> dict[str, Any]:
        """Run one operation, by its name in the launcher, whose own deadline is `timeout_s`."""
        with measured(self._measure, op, LauncherUnavailable):
            return await self._call(username, op, timeout_s, arguments)

    async def _call(
        self, username: str, op: str, timeout_s: float | None, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        channel = await self._get_channel(username)
        timeout_s = timeout_s or self._slurm_timeout_s
        frame = {"op": op, "timeout_s": timeout_s, **arguments}
        try:
            response = await channel.request(frame, timeout_s + GRACE_S)
            self.answered_at = datetime.now(UTC)
            return response
        finally:
            if channel.closed:
                self._retire(username, channel)

    async def info(self, username: str) -> UserInfo:
        """Return the user's account data; start the launcher if it does not run."""
        return (await self._get_channel(username)).user

    async def submit(self, username: str, spec: JobSpec, files: Mapping[str, str]) -> int:
        """Run sbatch as the user; the job's folder is created, and deleted if Slurm refuses."""
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
            self.home_problems[username] = error.message
            raise
        self.home_problems.clear()
        return typed(result, "job_id", int)

    async def withdraw(self, username: str, uuid: str) -> bool:
        """Make every copy of a job that Slurm may have accepted, or may yet accept, exit at once.

        Return False if one has already begun.
        """
        return typed(await self.call(username, "withdraw", uuid=uuid), "withdrawn", bool)

    async def is_unclaimed(self, username: str, uuid: str) -> bool:
        """Return whether a job's script has not begun; False if its folder is gone."""
        return typed(await self.call(username, "unclaimed", uuid=uuid), "unclaimed", bool)

    async def cancel(self, username: str, job_id: int) -> None:
        """Run scancel as the user.

        An ended job is not an error; raises JobNotFound if Slurm has no such job.
        """
        await self.call(username, "cancel", job_id=job_id)

    async def step(
        self,
        username: str,
        job_id: int,
        node: str,
        uuid: str,
        files: Mapping[str, str],
        script: str,
        *,
        gpus: bool = False,
    ) -> None:
        """Start a program in a running job's allocation, beside the job; `gpus`: with its GPUs."""
        await self.call(
            username, "step", uuid=uuid, job_id=job_id, node=node, files=dict(files), script=script,
            gpus=gpus,
        )  # fmt: skip

    async def end_step(self, username: str, job_id: int, uuid: str) -> None:
        """End the program that `step` started; no error if it has ended."""
        await self.call(username, "end_step", uuid=uuid, job_id=job_id)

    async def read(
        self, username: str, path: str, offset: int, limit: int
    ) -> tuple[bytes, int, int]:
        """Return part of a file below the jobs' folder: its bytes, the file's size, next offset.

        A negative offset counts from the end; a missing file is reported as empty.
        """
        result = await self.call(username, "read", path=path, offset=offset, limit=limit)
        return _parse_part(result, limit)

    async def read_file(
        self, username: str, path: str, offset: int, limit: int
    ) -> tuple[bytes, int, int]:
        """Return, like `read`, part of any file that the user may read, by its absolute path."""
        result = await self.call(username, "read_file", path=path, offset=offset, limit=limit)
        return _parse_part(result, limit)

    async def folder_exists(self, username: str, folder: str) -> bool:
        """Return whether a folder exists; raises PathRefused if the user may not read it."""
        return typed(await self.call(username, "look", path=folder), "exists", bool)

    async def job_paths(self, username: str, job_id: int) -> JobPaths:
        """Return the working directory and output files of one of the user's own jobs."""
        result = await self.call(username, "paths", job_id=job_id)
        paths = parse_usage.parse_paths(typed(result, "text", str))
        if typed(result, "live", bool) or not paths.workdir:
            return paths
        # Accounting does not record the output file; assume sbatch's default.
        return replace(paths, stdout=f"{paths.workdir.rstrip('/')}/slurm-{job_id}.out")

    async def forecast(self, username: str, spec: JobSpec) -> datetime | None:
        """Return when Slurm expects such a job to start, or None if it does not say.

        Raises Rejected for a job that Slurm would refuse.
        """
        result = await self.call(username, "forecast", options=sbatch_options(spec))
        return parse_usage.parse_forecast(typed(result, "stderr", str))

    async def mkdir(self, username: str, path: str) -> None:
        """Create a folder below the user's home, with its parents."""
        await self.call(username, "mkdir", path=path)

    async def delete_job_folder(self, username: str, uuid: str) -> None:
        """Remove a job's folder."""
        await self.call(username, "forget", uuid=uuid)

    def dismiss(self, username: str) -> None:
        """Close a user's launcher, even if it is busy; the next request starts another."""
        channel = self._channels.get(username)
        if channel is not None:
            self._retire(username, channel)

    async def close(self) -> None:
        """Close every launcher's input, wait briefly for them to end, and close the pipes of those
        that don't.
        """
        for username, channel in list(self._channels.items()):
            self._retire(username, channel)
        waits = [channel.wait() for channel in self._abandoned]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await asyncio.gather(*waits)
        for channel in self._abandoned:
            channel.release()

    def close_idle(self) -> None:
        """Close launchers that were not used for a while; called every few seconds."""
        now_s = time.monotonic()
        for username, channel in list(self._channels.items()):
            if not channel.busy and now_s - channel.used_s > self._idle_s:
                self._retire(username, channel)
        self._abandoned = {channel for channel in self._abandoned if not channel.gone}

    def _retire(self, username: str, channel: Channel) -> None:
        channel.close()
        self._abandoned.add(channel)
        if self._channels.get(username) is channel:
            del self._channels[username]

    async def _get_channel(self, username: str) -> Channel:
        if not USERNAME.fullmatch(username):
            raise LauncherUnavailable("This username can't be used on the cluster.")
        async with self._starting.setdefault(username, asyncio.Lock()):
            channel = self._channels.get(username)
            if channel is not None and channel.usable:
                return channel
            if channel is not None:
                self._retire(username, channel)
            self._abandoned = {channel for channel in self._abandoned if not channel.gone}
            if sum(channel.username == username for channel in self._abandoned) >= MAX_ABANDONED:
                raise LauncherUnavailable(
                    "Your home directory doesn't answer, and neither do programs that wait for it."
                )
            channel = await self._start(username)
            self._channels[username] = channel
            return channel

    async def _start(self, username: str) -> Channel:
        """Start a launcher and wait until it serves requests."""
        before, after = self._command
        try:
            channel = await Channel.start(username, [*before, username, *after])
            try:
                await self._prepare(channel)
            except BaseException:
                self._retire(username, channel)
                raise
        except LauncherUnavailable as error:
            self.trouble = datetime.now(UTC), error.message
            raise
        self.answered_at = datetime.now(UTC)
        return channel

    async def _prepare(self, channel: Channel) -> None:
        await channel.receive_greeting()


def _parse_part(result: Mapping[str, Any], limit: int) -> tuple[bytes, int, int]:
    try:
        data = base64.b64decode(typed(result, "data_b64", str), validate=True)
    except binascii.Error as error:
        raise invalid_response() from error
    return data[:limit], typed(result, "size", int), typed(result, "next_offset", int)
