"""Time from the click until JupyterLab answers, compared with `sbatch` of the same JupyterLab.

Slurm's own time is excluded on both sides: from the submission until the job's script begins. The
script's first action leaves a folder behind in the portal's jobs, a file in the plain ones.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
import urllib.request
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.figure import Figure, Result, at_most, median, percentile
from bench.place import BenchFolder, Failed, connects, wait_until
from cluster.client import Client
from spawner.launcher.folders import JOBS_FOLDER

ROUNDS = 8
NODE = "node03"
RESOURCES = {"partition": "cpu", "cpus": 1, "memory_gb": 1, "time_limit_minutes": 20}
PLAIN = """#!/bin/sh
date +%s.%N > {began}
exec {runtime}/bin/jupyter lab --no-browser --ip=0.0.0.0 --port={port} \
--IdentityProvider.token={token}
"""
SUBMIT = "date +%s.%N; sbatch --parsable {options} {script}; date +%s.%N"


@dataclass(frozen=True)
class Start:
    """Durations of one start through the portal, in seconds."""

    beyond_queue: float
    portal: float
    process: float
    queue: float
    post: float
    page: float


async def measure(place: BenchFolder) -> Result:
    address = place.node_address(NODE)
    async with Client(place.base_url) as client:
        await client.login("alice", place.users["alice"])
        await _start_through_portal(place, client)  # warm up: page cache, launcher, single sign-on
        _start_plain(place, address)
        ours, plain = [], []
        for _ in range(ROUNDS):
            ours.append(await _start_through_portal(place, client))
            plain.append(await asyncio.to_thread(_start_plain, place, address))
    return Result(tuple(_to_figures(ours, plain)), _to_detail(ours, plain))


def _to_figures(ours: list[Start], plain: list[float]) -> list[Figure]:
    whole, own = [s.beyond_queue for s in ours], [s.portal for s in ours]
    beside = "sbatch jupyter lab"
    return [
        Figure(
            "click → JupyterLab answers, beyond Slurm's queue, median",
            median(whole), "s", median(plain), beside, at_most(1.5),
        ),
        Figure(
            "the same, 90th percentile",
            percentile(whole, 90), "s", percentile(plain, 90), beside,
        ),
        Figure("the portal's and hub's part of it, median", median(own), "s", budget=at_most(0.25)),
        Figure("the same, 90th percentile", percentile(own, 90), "s"),
        Figure("the server's process's part of it, median", median([s.process for s in ours]), "s"),
    ]  # fmt: skip


def _to_detail(ours: list[Start], plain: list[float]) -> dict[str, Any]:
    return {"portal": [asdict(start) for start in ours], "plain_s": plain}


async def _start_through_portal(place: BenchFolder, client: Client) -> Start:
    """Start a session, wait for it as a browser does (server-sent events), open JupyterLab, stop
    it."""
    began = time.monotonic()
    session = await client.start_session(resources=RESOURCES)
    posted = time.monotonic()
    session = await _wait_until_running(client, session["id"])
    shown = time.monotonic()
    await client.open_lab(session)
    opened = time.monotonic()
    claimed = place.paths.home / "alice" / JOBS_FOLDER / session["id"] / "claimed"
    at = {step["step"]: datetime.fromisoformat(step["at"]) for step in session["timeline"]}
    at["script"] = datetime.fromtimestamp(claimed.stat().st_mtime, UTC)
    await client.stop_session(session["id"])

    def between(first: str, second: str) -> float:
        return (at[second] - at[first]).total_seconds()

    total, queue = opened - began, between("submitted", "script")
    process = between("script", "called_home") + between("server", "ready")
    return Start(
        beyond_queue=total - queue,
        portal=total - queue - process,
        process=process,
        queue=queue,
        post=posted - began,
        page=opened - shown,
    )


async def _wait_until_running(client: Client, session_id: str) -> Any:
    """Return the running session as the event stream sends it. Raises Failed when it ends."""
    async with (
        asyncio.timeout(90),
        client.http.get(f"{client.base_url}/api/v1/events", timeout=None) as answer,
    ):
        buffer = b""
        async for chunk in answer.content.iter_any():
            *blocks, buffer = (buffer + chunk).split(b"\n\n")
            for block in blocks:
                found = _parse_session(block.decode(), session_id)
                if found and found["state"] == "ended":
                    raise Failed(f"the session ended: {found['reason']}")
                if found and found["state"] == "running":
                    return found
    raise Failed("the event stream ended")


def _parse_session(block: str, session_id: str) -> Any:
    fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line[1:])
    if fields.get("event") not in {"session", "snapshot"}:
        return None
    data = json.loads(fields["data"])
    found = data["sessions"] if fields["event"] == "snapshot" else [data]
    return next((session for session in found if session["id"] == session_id), None)


def _start_plain(place: BenchFolder, address: str) -> float:
    """Return the seconds of sbatch plus those from the job's first command to JupyterLab's page."""
    mark = secrets.token_hex(6)
    home = place.paths.home / "alice"
    script, began = home / f"bench-{mark}.sh", home / f"bench-{mark}.began"
    port = 20000 + secrets.randbelow(10000)
    text = PLAIN.format(began=began, runtime=place.paths.runtime, port=port, token=mark)
    script.write_text(text)
    script.chmod(0o644)
    options = f"--partition=cpu --nodelist={NODE} --cpus-per-task=1 --mem=1G --output=/dev/null"
    shell = SUBMIT.format(options=options, script=script)
    before, job_id, after = place.exec_as("alice", ["/bin/sh", "-c", shell]).split()
    try:
        answered = _wait_for_page(address, port, mark)
        return float(after) - float(before) + answered - _read_stamp(began)
    finally:
        place.exec_as("alice", ["scancel", "--full", job_id])
        wait_until(lambda: _has_ended(place, job_id), "the plain job's end")
        script.unlink()
        began.unlink(missing_ok=True)


def _wait_for_page(address: str, port: int, token: str) -> float:
    """Return the time (seconds since the epoch) at which JupyterLab's page was first served."""
    wait_until(lambda: connects(port, address), "the plain JupyterLab", 60)
    url = f"http://{address}:{port}/lab?token={token}"
    with urllib.request.urlopen(url, timeout=30) as answer:
        answer.read()
    return time.time()


def _read_stamp(path: Path) -> float:
    return float(path.read_text())


def _has_ended(place: BenchFolder, job_id: str) -> bool:
    states = place.exec_as(
        "alice", ["squeue", "--noheader", "--states=all", "-o", "%T", "-j", job_id]
    )
    return "RUNNING" not in states and "COMPLETING" not in states
