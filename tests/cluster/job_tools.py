"""Shared helpers of the job tests: submitting, waiting, and inspection that bypasses the portal."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

import aiohttp

from cluster.client import Client, RequestRefused
from tests.live import Live
from tests.polling import PATIENCE_S, until

SMALL = {"cpus": 1, "memory_gb": 0.25, "time_limit_minutes": 10}
AWAY = (aiohttp.ClientError, ConnectionError, TimeoutError, RequestRefused)
AWAY_STATUSES = frozenset({502, 503, 504})


def is_away(error: BaseException, *more: int) -> bool:
    """Return whether one of the errors in AWAY comes from a service that restarts.

    `more`: further statuses to retry. The portal's own 500 is a bug and never retried.
    """
    if not isinstance(error, RequestRefused):
        return True
    if error.problem.get("type") == "urn:portal:internal":
        return False
    return error.status in AWAY_STATUSES.union(more)


async def submit(client: Client, script: str = "true", key: str | None = None, **body: Any) -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    body = {"script": script, "resources": SMALL, **body}
    return await client.api("POST", "/jobs", body, headers=headers)


async def settled(
    client: Client, batch_job_id: str, *states: str, timeout_s: float = PATIENCE_S
) -> Any:
    """Return the job once it is in one of these states (by default: ended).

    Errors while a service restarts are retried.
    """
    expected = states or ("ended",)

    async def load() -> Any:
        try:
            return await client.api("GET", f"/jobs/{batch_job_id}")
        except AWAY as error:
            if not is_away(error):
                raise
            return None

    return await until(
        load,
        f"job {batch_job_id} is {' or '.join(expected)}",
        timeout_s,
        done=lambda job: job and job["state"] in expected,
        pause_s=0.1,
    )


async def found(client: Client, name: str) -> Any:
    """Return the job with this name, once it is in the user's list."""
    items = (
        await until(
            lambda: client.api("GET", f"/jobs?q={name}"),
            f"the job {name}",
            done=lambda answer: answer["items"],
            pause_s=0.2,
        )
    )["items"]
    (job,) = items
    return job


async def log_of(client: Client, job: Any, **query: Any) -> str:
    """Return a short job log completely."""
    rest = "".join(f"&{name}={value}" for name, value in query.items())
    piece = await client.api("GET", f"/jobs/{job['id']}/log?offset=0{rest}")
    return str(piece["text"])


async def refused(client: Client, **body: Any) -> RequestRefused:
    try:
        await client.api("POST", "/jobs", {"resources": SMALL, **body})
    except RequestRefused as error:
        return error
    raise AssertionError("it was accepted")


def without_labels(text: str) -> str:
    """Return the output of ranks under `srun --label --unbuffered`, without labels and line ends.

    srun ends a line wherever a read ended, so that a text may be split anywhere.
    """
    return re.sub(r"^\s*\d+: |\n", "", text, flags=re.MULTILINE)


def lines(live: Live, user: str, file: str) -> list[str]:
    """Return the lines of a file in a user's home directory; none if the file does not exist."""
    path = live.state / "home" / user / file
    return path.read_text().splitlines() if path.exists() else []


def slurm_jobs(live: Live, user: str) -> list[str]:
    """Return the ids of all of a user's jobs that Slurm remembers."""
    shown = live.exec_as(user, ["squeue", "-h", "--states=all", "-u", user, "-o", "%A"])
    return shown.split()


async def scalars(
    client: Client, board: Any, tag: str = "loss", run: str = ".", timeout_s: float = PATIENCE_S
) -> Any:
    """Return the points of a scalar, once TensorBoard has read its folder."""
    async with asyncio.timeout(timeout_s):
        url = f"{await client.open_tensorboard(board)}data/plugin/scalars/scalars"
        while True:
            async with client.http.get(url, params={"run": run, "tag": tag}) as answer:
                if answer.status == 200 and (points := await answer.json()):
                    return points
            await asyncio.sleep(0.1)


async def board_of(
    client: Client, batch_job_id: str, body: Any = None, timeout_s: float = PATIENCE_S
) -> Any:
    """Request a job's TensorBoard and wait until it runs."""
    await client.api("PUT", f"/jobs/{batch_job_id}/tensorboard", body)
    return await until(
        lambda: client.api("GET", f"/jobs/{batch_job_id}/tensorboard"),
        "the TensorBoard runs",
        timeout_s,
        done=lambda board: board["state"] in {"running", "failed"},
        pause_s=0.05,
    )


async def submit_until_answered(client: Client, script: str, key: str, **body: Any) -> Any:
    """Submit with one key until there is a response, as a careful client does."""
    deadline = time.monotonic() + 120
    while True:
        try:
            return await submit(client, script, key=key, **body)
        except AWAY as error:
            if not is_away(error) or time.monotonic() > deadline:
                raise
        await asyncio.sleep(0.2)


def begin_submitting(client: Client, script: str, key: str) -> asyncio.Task[Any]:
    """Start a submission that is repeated until there is a response; the task returns the job."""
    return asyncio.create_task(submit_until_answered(client, script, key))
