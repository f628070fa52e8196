"""The main workflow on a demo cluster, run by `make demo` with a printed transcript.

alice logs in, starts a session with a GPU, runs cells in a container inside the allocation, trains
a small model that writes event files, and reads the curve back through the portal's TensorBoard.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp

from cluster.client import Client, Kernel, RequestRefused
from cluster.config.paths import PYTHON
from cluster.status import confinement_lines

LOG_TAIL_BYTES = 4000
SESSION = {
    "name": "demo",
    "resources": {"gpus": 1, "cpus": 2, "memory_gb": 4, "time_limit_minutes": 60},
}

WHERE_AM_I = """
import os, platform
print("node            ", platform.node())
print("SLURM_JOB_ID    ", os.environ.get("SLURM_JOB_ID"))
print("CUDA_VISIBLE_DEVICES", os.environ.get("CUDA_VISIBLE_DEVICES"))
print("container       ", os.environ.get("APPTAINER_NAME"))
"""

TRAIN = """
import os, numpy as np
from tensorboardX import SummaryWriter
rng = np.random.default_rng(0)
x = rng.normal(size=(512, 8)); true = rng.normal(size=8); y = x @ true
w = np.zeros(8)
with SummaryWriter(os.environ["PORTAL_LOGDIR"]) as log:
    for step in range(60):
        error = x @ w - y
        log.add_scalar("loss", float(np.mean(error**2)), step)
        w -= 0.05 * 2 * x.T @ error / len(x)
print(f"loss {np.mean((x @ w - y)**2):.6f} after {step + 1} steps")
print("event files in", os.environ["PORTAL_LOGDIR"])
"""


class MainJobFailed(Exception):
    """A part of the workflow failed; the message names it and quotes its log."""


class Transcript:
    """Printed lines with the time since the start."""

    def __init__(self) -> None:
        self.begun = time.monotonic()

    def write(self, text: str) -> None:
        for line in text.rstrip().splitlines():
            print(f"[{time.monotonic() - self.begun:6.1f} s] {line}", flush=True)


def run_cluster_command(state: Path, *arguments: str) -> dict[str, Any]:
    """Run a command of the cluster's command line and return its JSON output."""
    command = [PYTHON, "-m", "cluster", "--state", str(state), *arguments]
    output: dict[str, Any] = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )
    return output


async def main_job(transcript: Transcript, base_url: str, username: str, password: str) -> None:
    """Run the main workflow, from login to a scalar read back through TensorBoard."""
    async with Client(base_url) as client:
        user = await client.login(username, password)
        transcript.write(f"{user['display_name']} logged in with the directory password")
        await _stop_earlier_session(client)
        clicked = time.monotonic()
        session = await client.start_session(**SESSION)
        transcript.write(f"session “{session['name']}” is Slurm job {session['job_id']}")
        session = await _wait_until_running(transcript, client, session["id"])
        await client.open_lab(session)
        opened = time.monotonic() - clicked
        transcript.write(f"JupyterLab answers at {client.address(session['url'])}lab")
        try:
            await _use_kernel(transcript, client, session, opened)
        except (ConnectionError, TimeoutError, aiohttp.ClientError) as error:
            raise await _describe_kernel_failure(client, session, error) from error
        await _read_scalars(transcript, client, session)


async def _use_kernel(
    transcript: Transcript, client: Client, session: Any, opened_s: float
) -> None:
    begun = time.monotonic()
    async with client.kernel(session) as kernel:
        await kernel.run("None")
        transcript.write(_describe_speed(session, opened_s, time.monotonic() - begun))
        await _run_cell(transcript, kernel, WHERE_AM_I)
        await _run_cell(transcript, kernel, TRAIN)


async def _describe_kernel_failure(client: Client, session: Any, error: Exception) -> MainJobFailed:
    """Return the failure with the end of the session's log, where a dying kernel leaves the
    reason."""
    log = await client.api(
        "GET", f"/sessions/{session['id']}/log?offset=-{LOG_TAIL_BYTES}&limit={LOG_TAIL_BYTES}"
    )
    return MainJobFailed(
        f"the kernel of session “{session['name']}” failed: {error or type(error).__name__}\n"
        f"The end of the session's log:\n{log['text'].strip()}"
    )


async def _stop_earlier_session(client: Client) -> None:
    """Stop an earlier demo's session, which would have the same name."""
    for session in (await client.api("GET", "/sessions?state=live"))["items"]:
        if session["name"] == SESSION["name"]:
            await client.stop_session(session["id"])


async def _wait_until_running(transcript: Transcript, client: Client, session_id: str) -> Any:
    last_line = ""
    async for session in client.watch_session(session_id, timeout_s=120):
        line = session["state"] + (f": {session['reason']}" if session["reason"] else "")
        if line != last_line:
            transcript.write(f"  {line}")
            last_line = line
        if session["state"] == "running":
            return session
        if session["state"] == "ended":
            sys.exit(f"the session ended: {session['reason']} {session['suggestion'] or ''}")
    raise AssertionError("watch_session ends by an error only")


async def _run_cell(transcript: Transcript, kernel: Kernel, code: str) -> None:
    result = await kernel.run(code)
    if result.status != "ok":
        sys.exit(f"a cell failed: {result.error}")
    transcript.write("\n".join(f"  | {line}" for line in result.text.splitlines()))


def _describe_speed(session: Any, opened_s: float, kernel_s: float) -> str:
    """Break down the time from the click to JupyterLab, using the session's own timeline."""
    times = {entry["step"]: datetime.fromisoformat(entry["at"]) for entry in session["timeline"]}

    def between(first: str, second: str) -> float:
        return (times[second] - times[first]).total_seconds()

    queue = between("submitted", "program")
    portal = between("called_home", "server") + opened_s - between("submitted", "ready")
    return (
        f"click to JupyterLab {opened_s:.2f} s: Slurm's queue and start {queue:.2f} s, "
        f"process {between('program', 'called_home') + between('server', 'ready'):.2f} s, "
        f"portal and hub {portal:.2f} s; then the first kernel in {kernel_s:.2f} s"
    )


async def _read_scalars(transcript: Transcript, client: Client, session: Any) -> None:
    board = await client.wait_tensorboard(session["id"])
    if board["state"] != "running":
        sys.exit(f"TensorBoard failed: {board['reason']}")
    url = await client.open_tensorboard(board)
    data = f"{url}data/plugin/scalars/scalars?run=.&tag=loss"
    async with client.http.get(data) as response:
        points = await response.json()
    losses = f"shows loss {points[0][2]:.3f} → {points[-1][2]:.6f}"
    transcript.write(f"TensorBoard ({client.address(board['url'])}) {losses}")


def main() -> int:
    """Create the cluster, run the workflow, and print the address and the credentials."""
    parser = argparse.ArgumentParser(prog="python -m cluster.demo", description=__doc__)
    parser.add_argument("--state", type=Path, required=True)
    state = parser.parse_args().state
    raising = subprocess.run([PYTHON, "-m", "cluster", "--state", str(state), "up"], check=False)
    if raising.returncode != 0:
        return raising.returncode  # the command has printed the reason
    access = run_cluster_command(state, "credentials")
    transcript = Transcript()
    try:
        asyncio.run(main_job(transcript, access["base_url"], "alice", access["users"]["alice"]))
    except (RequestRefused, MainJobFailed, TimeoutError, aiohttp.ClientError) as error:
        print(f"the main job failed: {error}", file=sys.stderr)
        return 1
    print(f"\nThe portal is at {access['base_url']} until `make down`. Log in as")
    for username, password in access["users"].items():
        print(f"  {username:6} {password}")
    print("Its GPUs are device nodes without hardware: everything but CUDA itself is real.")
    print("\n".join(confinement_lines(run_cluster_command(state, "status", "--json"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
