"""`make demo`: raise the cluster and do the main job before the reader's eyes.

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

from cluster.client import Client, Kernel, Refused

PYTHON = "/usr/bin/python3"
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


class Transcript:
    """Lines with the time since the start."""

    def __init__(self) -> None:
        self.begun = time.monotonic()

    def tell(self, text: str) -> None:
        for line in text.rstrip().splitlines():
            print(f"[{time.monotonic() - self.begun:6.1f} s] {line}", flush=True)


def credentials(state: Path) -> dict[str, Any]:
    """What `make credentials` prints."""
    command = [PYTHON, "-m", "cluster", "--state", str(state), "credentials"]
    found: dict[str, Any] = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )
    return found


async def main_job(tell: Transcript, base_url: str, username: str, password: str) -> None:
    """The main job, from login to a scalar read back through TensorBoard."""
    async with Client(base_url) as client:
        user = await client.login(username, password)
        tell.tell(f"{user['display_name']} logged in with the directory password")
        await _tidy(client)
        clicked = time.monotonic()
        session = await client.start_session(**SESSION)
        tell.tell(f"session “{session['name']}” is Slurm job {session['job_id']}")
        session = await _until_running(tell, client, session["id"])
        await client.open_lab(session)
        opened = time.monotonic() - clicked
        tell.tell(f"JupyterLab answers at {base_url}{session['url']}lab")
        begun = time.monotonic()
        async with client.kernel(session) as kernel:
            await kernel.run("None")
            tell.tell(_speed(session, opened, time.monotonic() - begun))
            await _cell(tell, kernel, WHERE_AM_I)
            await _cell(tell, kernel, TRAIN)
        await _read_back(tell, client, session)


async def _tidy(client: Client) -> None:
    """An earlier demo's session would have the same name."""
    for session in (await client.api("GET", "/sessions?state=live"))["items"]:
        if session["name"] == SESSION["name"]:
            await client.stop_session(session["id"])


async def _until_running(tell: Transcript, client: Client, session_id: str) -> Any:
    shown = ""
    async for session in client.watch_session(session_id, timeout_s=120):
        line = session["state"] + (f": {session['reason']}" if session["reason"] else "")
        if line != shown:
            tell.tell(f"  {line}")
            shown = line
        if session["state"] == "running":
            return session
        if session["state"] == "ended":
            sys.exit(f"the session ended: {session['reason']} {session['advice'] or ''}")
    raise AssertionError("watch_session ends by an error only")


async def _cell(tell: Transcript, kernel: Kernel, code: str) -> None:
    result = await kernel.run(code)
    if result.status != "ok":
        sys.exit(f"a cell failed: {result.error}")
    tell.tell("\n".join(f"  | {line}" for line in result.text.splitlines()))


def _speed(session: Any, opened_s: float, kernel_s: float) -> str:
    """Where the time from the click to JupyterLab went, from the session's own timeline."""
    at = {entry["step"]: datetime.fromisoformat(entry["at"]) for entry in session["timeline"]}

    def between(first: str, second: str) -> float:
        return (at[second] - at[first]).total_seconds()

    queue = between("submitted", "program")
    portal = between("called_home", "server") + opened_s - between("submitted", "ready")
    return (
        f"click to JupyterLab {opened_s:.2f} s: Slurm's queue and start {queue:.2f} s, "
        f"process {between('program', 'called_home') + between('server', 'ready'):.2f} s, "
        f"portal and hub {portal:.2f} s; then the first kernel in {kernel_s:.2f} s"
    )


async def _read_back(tell: Transcript, client: Client, session: Any) -> None:
    board = await client.wait_tensorboard(session["id"])
    if board["state"] != "running":
        sys.exit(f"TensorBoard failed: {board['reason']}")
    url = f"{client.base_url}{board['url']}"
    data = f"{url}data/plugin/scalars/scalars?run=.&tag=loss"
    async with client.http.get(data) as answer:
        points = await answer.json()
    tell.tell(f"TensorBoard at {url} shows loss {points[0][2]:.3f} → {points[-1][2]:.6f}")


def main() -> int:
    """Raise, run, and say where it is and who may enter."""
    parser = argparse.ArgumentParser(prog="python -m cluster.demo", description=__doc__)
    parser.add_argument("--state", type=Path, required=True)
    state = parser.parse_args().state
    subprocess.run([PYTHON, "-m", "cluster", "--state", str(state), "up"], check=True)
    found = credentials(state)
    tell = Transcript()
    try:
        asyncio.run(main_job(tell, found["base_url"], "alice", found["users"]["alice"]))
    except (Refused, TimeoutError) as error:
        print(f"the main job failed: {error}", file=sys.stderr)
        return 1
    print(f"\nThe portal is at {found['base_url']} until `make down`. Log in as")
    for username, password in found["users"].items():
        print(f"  {username:6} {password}")
    print("Its GPUs are device nodes without hardware: everything but CUDA itself is real.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
