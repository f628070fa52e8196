"""Slurm's accounting by sacctmgr and sacct, run as the portal's own account, an operator: reading
what it has, and telling it otherwise.

Changes are lines on sacctmgr's standard input, many in one run: each run costs about as much as a
hundred lines. Its exit code says little, so that whoever tells reads back (docs/limits.md). One
command runs at a time: slurmdbd takes changes one after the other anyway.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from spawner import parse_accounting as parse
from spawner.errors import Unreachable
from spawner.measured import Measure, unmeasured
from spawner.parse_accounting import Facts, Figures, InUse, JobTime, Place
from spawner.slurm import Slurm, no_answer, parsed

TELL_S = 120.0
READ_S = 60.0


class Accounting(Slurm):
    """One cluster's accounting. Raises what `Slurm` does."""

    def __init__(
        self,
        bin_dir: str | Path,
        slurm_conf: str | Path | None = None,
        timeout_s: float = 10.0,
        measure: Measure = unmeasured,
    ) -> None:
        super().__init__(bin_dir, slurm_conf, timeout_s, measure)
        self._one = asyncio.Lock()

    async def facts(self) -> Facts:
        """How this cluster is set up: three commands, one of them to slurmctld."""
        config = await self._ask(["scontrol", "show", "config"])
        tres = await self._ask(["sacctmgr", "-nP", "show", "tres", "format=type,name"])
        qos = await self._ask(["sacctmgr", "-nP", "show", "qos", "format=name"])
        return await parsed(lambda: parse.parse_facts(config, tres, qos))

    async def associations(self, cluster: str) -> dict[Place, Figures]:
        """All of them: 5,000 take a quarter of a second."""
        fields = f"format={parse.ASSOCIATION_FIELDS}"
        command = ["sacctmgr", "-nP", "show", "assoc", f"cluster={cluster}", fields]
        text = await self._ask(command, timeout_s=READ_S)
        return await parsed(lambda: parse.parse_associations(text))

    async def default_accounts(self) -> dict[str, str]:
        """Each user's default account."""
        command = ["sacctmgr", "-nP", "show", "user", "format=user,defaultaccount"]
        return parse.parse_default_accounts(await self._ask(command, timeout_s=READ_S))

    async def in_use(self) -> Mapping[tuple[str, str], InUse]:
        """What running jobs hold at this moment, as slurmctld counts it against its limits."""
        command = ["scontrol", "show", "assoc_mgr", "flags=assoc"]
        text = await self._ask(command, timeout_s=READ_S)
        return await parsed(lambda: parse.parse_in_use(text))

    async def job_times(self, start: datetime, end: datetime) -> list[JobTime]:
        """Every job that was there between these times, with each of its runs."""
        command = [
            "sacct", "--noheader", "--allusers", "--allocations", "--duplicates", "--parsable2",
            f"--format={parse.JOB_FIELDS}", f"--starttime={_utc(start)}", f"--endtime={_utc(end)}",
        ]  # fmt: skip
        text = await self._ask(command, timeout_s=READ_S)
        return await parsed(lambda: parse.parse_job_times(text))

    async def tell(self, lines: Sequence[str]) -> str:
        """Say these lines to sacctmgr, each by itself: one that is refused stops none. What it
        complained of, "" for nothing; Unreachable when it didn't come to an end."""
        with tempfile.TemporaryFile() as file:
            file.write("\n".join([*lines, "exit", ""]).encode())
            file.flush()
            file.seek(0)
            async with self._one:
                answer = await self._run(["sacctmgr", "-i"], stdin=file, timeout_s=TELL_S)
        if no_answer(answer.stderr):
            raise Unreachable("Slurm's accounting can't be reached at the moment.", answer.stderr)
        return parse.refusal(answer.stderr)


def _utc(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
