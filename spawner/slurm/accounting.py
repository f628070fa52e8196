"""Client for Slurm's accounting: reads it by sacctmgr and sacct, and changes it by sacctmgr.

The commands run as the portal's own account, which is a Slurm operator. Changes are lines on
sacctmgr's standard input, many in one run: each run costs about as much as a hundred lines. Its
exit code is unreliable, so callers read back after a change (docs/limits.md). Commands that change
something run one at a time: slurmdbd processes them sequentially anyway.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from spawner.errors import Unreachable
from spawner.launcher.program import is_unreachable  # defined there: see client.py
from spawner.slurm import parse_accounting as parse
from spawner.slurm.client import Slurm, run_parser
from spawner.slurm.parse_accounting import (
    AssociationKey,
    AssociationValues,
    ClusterFacts,
    InUse,
    JobTime,
)
from spawner.timing import Measure, unmeasured

UPDATE_TIMEOUT_S = 120.0
READ_TIMEOUT_S = 60.0


class Accounting(Slurm):
    """Accounting of one cluster. Raises the same errors as `Slurm`."""

    def __init__(
        self,
        bin_dir: str | Path,
        slurm_conf: str | Path | None = None,
        timeout_s: float = 10.0,
        measure: Measure = unmeasured,
    ) -> None:
        super().__init__(bin_dir, slurm_conf, timeout_s, measure)
        self._change_lock = asyncio.Lock()

    async def facts(self) -> ClusterFacts:
        """Return the cluster's configuration: three commands, one of them to slurmctld."""
        config = await self.config()
        tres = await self._query(["sacctmgr", "-nP", "show", "tres", "format=type,name"])
        qos = await self._query(["sacctmgr", "-nP", "show", "qos", "format=name"])
        return await run_parser(lambda: parse.parse_facts(config, tres, qos))

    async def associations(self, cluster: str) -> dict[AssociationKey, AssociationValues]:
        """Return all associations: 5,000 take a quarter of a second."""
        fields = f"format={parse.ASSOCIATION_FIELDS}"
        command = ["sacctmgr", "-nP", "show", "assoc", f"cluster={cluster}", fields]
        text = await self._query(command, timeout_s=READ_TIMEOUT_S)
        return await run_parser(lambda: parse.parse_associations(text))

    async def default_accounts(self) -> dict[str, str]:
        """Return each user's default account."""
        command = ["sacctmgr", "-nP", "show", "user", "format=user,defaultaccount"]
        return parse.parse_default_accounts(await self._query(command, timeout_s=READ_TIMEOUT_S))

    async def in_use(self) -> Mapping[tuple[str, str], InUse]:
        """Return the current usage of running jobs, as slurmctld counts it against its limits."""
        command = ["scontrol", "show", "assoc_mgr", "flags=assoc"]
        text = await self._query(command, timeout_s=READ_TIMEOUT_S)
        return await run_parser(lambda: parse.parse_in_use(text))

    async def job_times(self, start: datetime, end: datetime) -> list[JobTime]:
        """Return every job that existed between these times, with each of its runs."""
        command = [
            "sacct", "--noheader", "--allusers", "--allocations", "--duplicates", "--parsable2",
            f"--format={parse.JOB_FIELDS}", f"--starttime={_to_utc(start)}",
            f"--endtime={_to_utc(end)}",
        ]  # fmt: skip
        text = await self._query(command, timeout_s=READ_TIMEOUT_S)
        return await run_parser(lambda: parse.parse_job_times(text))

    async def update(self, lines: Sequence[str]) -> str:
        """Send lines to sacctmgr, where a refused line does not stop the others.

        Return its error output, or "" if there is none; raise Unreachable if it could not finish.
        """
        with tempfile.TemporaryFile() as file:
            file.write("\n".join([*lines, "exit", ""]).encode())
            file.flush()
            file.seek(0)
            async with self._change_lock:
                result = await self._run(["sacctmgr", "-i"], stdin=file, timeout_s=UPDATE_TIMEOUT_S)
        if is_unreachable(result.stderr):
            raise Unreachable("Slurm's accounting (slurmdbd) doesn't answer.", result.stderr)
        return parse.refusal(result.stderr)


def _to_utc(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
