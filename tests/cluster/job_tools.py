"""What the tests of jobs share: submit, wait, and look behind the portal's back."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

import aiohttp

from cluster.client import Client, Refused
from tests.live import Live
from tests.patience import PATIENCE_S

SMALL = {"cpus": 1, "memory_gb": 0.25, "time_limit_minutes": 10}
AWAY = (aiohttp.ClientError, ConnectionError, TimeoutError, Refused)


async def submit(client: Client, script: str = "true", key: str | None = None, **body: Any) -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    body = {"script": script, "resources": SMALL, **body}
    return await client.api("POST", "/jobs", body, headers=headers)


async def settled(client: Client, job_id: str, *states: str, timeout_s: float = PATIENCE_S) -> Any:
    """The job, once it is in one of these states (by default: ended), through whatever answers
    meanwhile."""
    wanted = states or ("ended",)
    deadline = time.monotonic() + timeout_s
    job: Any = None
    while time.monotonic() < deadline:
        try:
            job = await client.api("GET", f"/jobs/{job_id}")
        except AWAY as error:
            if isinstance(error, Refused) and error.status < 500:
                raise
        else:
            if job["state"] in wanted:
                return job
        await asyncio.sleep(0.1)
    raise TimeoutError(f"still {job and (job['state'], job['reason'])}")


async def log_of(client: Client, job: Any, **query: Any) -> str:
    """A job's whole log, if it is short."""
    rest = "".join(f"&{name}={value}" for name, value in query.items())
    piece = await client.api("GET", f"/jobs/{job['id']}/log?offset=0{rest}")
    return str(piece["text"])


async def refused(client: Client, **body: Any) -> Refused:
    try:
        await client.api("POST", "/jobs", {"resources": SMALL, **body})
    except Refused as error:
        return error
    raise AssertionError("it was accepted")


def without_labels(text: str) -> str:
    """What ranks printed under `srun --label --unbuffered`, without the labels and line ends.

    Srun ends a line wherever it has read no further, so that a text may be cut anywhere."""
    return re.sub(r"^\s*\d+: |\n", "", text, flags=re.MULTILINE)


def lines(live: Live, user: str, file: str) -> list[str]:
    """The lines of a file in a user's home; none if there is no such file."""
    path = live.state / "home" / user / file
    return path.read_text().splitlines() if path.exists() else []


def slurm_jobs(live: Live, user: str) -> list[str]:
    """Slurm's ids of all of a user's jobs that it remembers."""
    shown = live.exec_as(user, ["squeue", "-h", "--states=all", "-u", user, "-o", "%A"])
    return shown.split()


async def scalars(
    client: Client, board: Any, tag: str = "loss", run: str = ".", timeout_s: float = PATIENCE_S
) -> Any:
    """The points of a scalar, once TensorBoard has read its folder."""
    url = f"{client.base_url}{board['url']}data/plugin/scalars/scalars"
    async with asyncio.timeout(timeout_s):
        while True:
            async with client.http.get(url, params={"run": run, "tag": tag}) as answer:
                if answer.status == 200 and (points := await answer.json()):
                    return points
            await asyncio.sleep(0.1)


async def board_of(
    client: Client, job_id: str, body: Any = None, timeout_s: float = PATIENCE_S
) -> Any:
    """Ask for a job's TensorBoard and wait until it runs."""
    await client.api("PUT", f"/jobs/{job_id}/tensorboard", body)
    deadline = time.monotonic() + timeout_s
    while True:
        board = await client.api("GET", f"/jobs/{job_id}/tensorboard")
        if board["state"] in {"running", "failed"}:
            return board
        assert time.monotonic() < deadline, f"still {board['state']} ({board['reason']})"
        await asyncio.sleep(0.05)
