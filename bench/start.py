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

from bench.cluster_access import BenchCluster, Failed, connects, wait_until
from bench.figure import Figure, Result, at_most, median, percentile
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


async def measure(cluster: BenchCluster) -> Result:
    address = cluster.node_address(NODE)
    async with Client(cluster.base_url) as client:
        await client.login("alice", cluster.users["alice"])
        # warm up: page cache, launcher, single sign-on
        await _start_through_portal(cluster, client)
        _start_plain(cluster, address)
        starts, plain = [], []
        for _ in range(ROUNDS):
            starts.append(await _start_through_portal(cluster, client))
            plain.append(await asyncio.to_thread(_start_plain, cluster, address))
    return Result(tuple(_to_figures(starts, plain)), _to_detail(starts, plain))


def _to_figures(starts: list[Start], plain: list[float]) -> list[Figure]:
    beyond_queue, portal = [s.beyond_queue for s in starts], [s.portal for s in starts]
    beside = "sbatch jupyter lab"
    return [
        Figure(
            "click → JupyterLab answers, beyond Slurm's queue, median",
            median(beyond_queue), "s", median(plain), beside, at_most(1.5),
        ),
        Figure(
            "the same, 90th percentile",
            percentile(beyond_queue, 90), "s", percentile(plain, 90), beside,
        ),
        Figure(
            "the portal's and hub's part of it, median", median(portal), "s",
            budget=at_most(0.25),
        ),
        Figure("the same, 90th percentile", percentile(portal, 90), "s"),
        Figure(
            "the server's process's part of it, median", median([s.process for s in starts]), "s",
        ),
    ]  # fmt: skip


def _to_detail(starts: list[Start], plain: list[float]) -> dict[str, Any]:
    return {"portal": [asdict(start) for start in starts], "plain_s": plain}


async def _start_through_portal(cluster: BenchCluster, client: Client) -> Start:
    """Start a session, wait for it as a browser does (server-sent events), open JupyterLab, stop
    it."""
    began = time.monotonic()
    session = await client.start_session(resources=RESOURCES)
    posted = time.monotonic()
    session = await _wait_until_running(client, session["id"])
    shown = time.monotonic()
    await client.open_lab(session)
    opened = time.monotonic()
    claimed = cluster.paths.home / "alice" / JOBS_FOLDER / session["id"] / "claimed"
    times = {step["step"]: datetime.fromisoformat(step["at"]) for step in session["timeline"]}
    times["script"] = datetime.fromtimestamp(claimed.stat().st_mtime, UTC)
    await client.stop_session(session["id"])

    def between(first: str, second: str) -> float:
        return (times[second] - times[first]).total_seconds()

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
        client.http.get(f"{client.base_url}/api/v1/events", timeout=None) as response,
    ):
        buffer = b""
        async for chunk in response.content.iter_any():
            *blocks, buffer = (buffer + chunk).split(b"\n\n")
            for block in blocks:
                session = _parse_session(block.decode(), session_id)
                if session and session["state"] == "ended":
                    raise Failed(f"the session ended: {session['reason']}")
                if session and session["state"] == "running":
                    return session
    raise Failed("the event stream ended")


def _parse_session(block: str, session_id: str) -> Any:
    fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line[1:])
    if fields.get("event") not in {"session", "snapshot"}:
        return None
    data = json.loads(fields["data"])
    sessions = data["sessions"] if fields["event"] == "snapshot" else [data]
    return next((session for session in sessions if session["id"] == session_id), None)


def _start_plain(cluster: BenchCluster, address: str) -> float:
    """Return the seconds of sbatch plus those from the job's first command to JupyterLab's page."""
    mark = secrets.token_hex(6)
    home = cluster.paths.home / "alice"
    script, began = home / f"bench-{mark}.sh", home / f"bench-{mark}.began"
    port = 20000 + secrets.randbelow(10000)
    text = PLAIN.format(began=began, runtime=cluster.paths.runtime, port=port, token=mark)
    script.write_text(text)
    script.chmod(0o644)
    options = f"--partition=cpu --nodelist={NODE} --cpus-per-task=1 --mem=1G --output=/dev/null"
    shell = SUBMIT.format(options=options, script=script)
    before, job_id, after = cluster.exec_as("alice", ["/bin/sh", "-c", shell]).split()
    try:
        served_at = _wait_for_page(address, port, mark)
        return float(after) - float(before) + served_at - _read_stamp(began)
    finally:
        cluster.exec_as("alice", ["scancel", "--full", job_id])
        wait_until(lambda: _has_ended(cluster, job_id), "the plain job's end")
        script.unlink()
        began.unlink(missing_ok=True)


def _wait_for_page(address: str, port: int, token: str) -> float:
    """Return the time (seconds since the epoch) at which JupyterLab's page was first served."""
    wait_until(lambda: connects(port, address), "the plain JupyterLab", 60)
    url = f"http://{address}:{port}/lab?token={token}"
    with urllib.request.urlopen(url, timeout=30) as response:
        response.read()
    return time.time()


def _read_stamp(path: Path) -> float:
    return float(path.read_text())


def _has_ended(cluster: BenchCluster, job_id: str) -> bool:
    states = cluster.exec_as(
        "alice", ["squeue", "--noheader", "--states=all", "-o", "%T", "-j", job_id]
    )
    return "RUNNING" not in states and "COMPLETING" not in states
