"""What holds again within BOUND_S after a fault: the portal shows what Slurm and the hub have.

Each function returns sentences about what does not hold, none if all is well.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from cluster.config.paths import Paths
from spawner.names import JOB_COMMENT
from tests.cluster.job_tools import AWAY
from tests.faults.parts import FIRST_USER, list_processes, node_names
from tests.faults.world import World, is_ticking
from tests.live import Live, command

BOUND_S = 30.0
GIVE_UP_S = 180.0
WORKING = ("alice", "bob")
BOARD = "portal-tensorboard"
ENDING = "COMPLETING"
FITTING = {
    "queued": {"PENDING", "CONFIGURING"},
    "starting": {"RUNNING", "CONFIGURING"},
    "running": {"RUNNING"},
    "suspended": {"SUSPENDED"},
}


@dataclass(frozen=True)
class SlurmJob:
    job_id: int
    user: str
    state: str
    uuid: str = ""
    name: str = ""


def parse_queue(text: str) -> list[SlurmJob]:
    """Parse squeue's output; the tasks of an array have the array's number."""
    rows = (line.split("|", 4) for line in text.splitlines())
    return [
        SlurmJob(int(job_id), user, state, comment.removeprefix(JOB_COMMENT), name)
        for job_id, user, state, comment, name in rows
    ]


def compare(
    rows: Iterable[Mapping[str, Any]], queue: Iterable[SlurmJob], boards: frozenset[str]
) -> list[str]:
    """Compare the live sessions and jobs that users see with Slurm's queue.

    `boards` are the owners of live TensorBoards, which may have jobs of their own.
    """
    rows, jobs = list(rows), [job for job in queue if job.user in WORKING]
    jobs = [job for job in jobs if job.name != BOARD or job.user not in boards]
    known = {row["id"] for row in rows}
    numbers = {row["job_id"] for row in rows}
    found = [problem for row in rows for problem in _compare_row(row, jobs)]
    for job in jobs:
        if job.uuid not in known and job.job_id not in numbers and job.state != ENDING:
            found.append(f"orphan: {job.user}'s job {job.job_id} {job.state} has no live row")
    copies = Counter(uuid for uuid, _ in {(job.uuid, job.job_id) for job in jobs if job.uuid})
    return found + [f"doubled: {uuid} {n} times in Slurm" for uuid, n in copies.items() if n > 1]


def _compare_row(row: Mapping[str, Any], jobs: list[SlurmJob]) -> list[str]:
    name = f"{row['owner']}'s {row['name']} ({row['job_id']})"
    if row["stale_since"]:
        return [f"stale: {name} since {row['stale_since']}"]
    states = {job.state for job in jobs if job.uuid == row["id"] or job.job_id == row["job_id"]}
    if row["state"] == "stopping" and states == {ENDING}:
        return []  # Slurm may take minutes to end a job on a node that failed
    if row["state"] in {"submitting", "stopping"}:
        return [f"unsettled: {name} is {row['state']}"]
    if not states:
        return [f"lost: {name} is {row['state']}, but Slurm has no such job"]
    if not states & FITTING[row["state"]] and not row.get("array"):
        return [f"untrue: {name} is {row['state']}, Slurm says {', '.join(sorted(states))}"]
    return []


async def check(world: World, loses: frozenset[str]) -> list[str]:
    """Check everything that the end of a fault leaves to hold."""
    try:
        rows = await _load_rows(world)
        return [*await check_rows(world), *await _check_standing(world, rows, loses)]
    except (*AWAY, RuntimeError) as error:
        return [f"no answer: {type(error).__name__}: {str(error)[:300]}"]


async def check_rows(world: World) -> list[str]:
    """Check that users see what Slurm, the hub and the nodes have, whatever that is.

    Raises AWAY's errors, and RuntimeError while Slurm does not answer.
    """
    live = world.live
    squeue = ["squeue", "-h", "-o", "%F|%u|%T|%k|%j"]
    queue = parse_queue(await asyncio.to_thread(live.exec_as, "root", squeue))
    rows = await _load_rows(world)
    boards = frozenset(
        [one["owner"] for user in (world.alice, world.bob) for one in await _load_boards(user)]
    )
    return [
        *compare(rows, queue, boards),
        *await _check_hub(live, rows),
        *find_orphans(live, await asyncio.to_thread(_load_numbers, live)),
    ]


def _load_numbers(live: Live) -> set[int]:
    """Return the numbers of all jobs; each task of an array has its own in its processes."""
    text = live.exec_as("root", ["squeue", "-h", "--array", "-o", "%A"])
    return set(map(int, text.split()))


async def _load_rows(world: World) -> list[Any]:
    rows = []
    for client in (world.alice, world.bob):
        for path in ("/sessions?state=live", "/jobs?state=live&limit=200"):
            rows += (await client.api("GET", path))["items"]
    return rows


async def _load_boards(client: Any) -> list[Any]:
    boards: list[Any] = (await client.api("GET", "/tensorboards"))["items"]
    return [board for board in boards if board["state"] in {"queued", "starting", "running"}]


async def _check_hub(live: Live, rows: list[Any]) -> list[str]:
    """Check that the hub has a server for each running session, and no others."""
    wanted = {
        urlsplit(row["url"]).path.strip("/")
        for row in rows
        if row["state"] == "running" and row.get("url")
    }
    port = json.loads((await asyncio.to_thread(command, live.state, "status", "--json")).stdout)
    token = (live.state / "portal/secrets/hub_token").read_text().strip()
    url = f"http://127.0.0.1:{port['ports']['hub']}/hub/api/users/alice"
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"token {token}"}) as http,
        http.get(url) as answer,
    ):
        if answer.status != 200:
            return [f"the hub answers {answer.status}"]
        servers = (await answer.json())["servers"].values()
    active = {server["url"].strip("/") for server in servers if not server["stopped"]}
    return [
        *(f"the hub has no server {name}" for name in sorted(wanted - active)),
        *(f"orphan: the hub's server {name}" for name in sorted(active - wanted)),
    ]


async def _check_standing(world: World, rows: list[Any], loses: frozenset[str]) -> list[str]:
    """Check the work that the fault must not have ended."""
    found, by_id = [], {row["id"]: row for row in rows}
    for title, row in (
        ("session", world.session), ("printing", world.printing), ("queued", world.queued),
    ):  # fmt: skip
        now = by_id.get(row["id"])
        if title in loses:
            continue
        if now is None:
            found.append(f"lost: the {title} has ended")
        elif (now["job_id"], now["state"]) != (row["job_id"], row["state"]):
            found.append(f"the {title} is {now['state']} as {now['job_id']}")
    if "cell" not in loses:
        found += check_ticks(world.ticks)
    if "session" not in loses:
        status = await world.alice.status_of(f"{world.session['url']}api/status")
        found += [f"JupyterLab answers {status}"] * (status != 200)
    if "board" not in loses:
        status = await world.alice.status_of(world.board_url)
        found += [f"TensorBoard answers {status}"] * (status != 200)
    return found


def check_ticks(path: Path) -> list[str]:
    """Check the numbers that the cell has written: no gap, and the last one is fresh."""
    numbers = [int(line) for line in path.read_text().splitlines()]
    if numbers != list(range(len(numbers))):
        return ["the cell's output has a gap"]
    return [] if is_ticking(path) else ["the cell has stopped"]


def find_orphans(live: Live, active: set[int]) -> list[str]:
    """Find users' processes on nodes whose job Slurm no longer has."""
    paths = Paths(live.state)
    found = []
    for node in node_names(paths):
        for process in list_processes(paths, node):
            if process.uid >= FIRST_USER and (job := process.job_id()) and job not in active:
                found.append(f"orphan: {process.argv[:4]} of job {job} on {node}")
    return found


async def wait_for_truth(world: World, loses: frozenset[str]) -> tuple[float, list[str]]:
    """Return the seconds until everything held, and what still did not hold at BOUND_S.

    A fault whose consequences last longer is observed further, so that the report says how long.
    """
    began = time.monotonic()
    at_bound: list[str] = []
    while True:
        problems = await check(world, loses)
        passed = time.monotonic() - began  # with the check, which takes seconds itself
        if passed > BOUND_S and not at_bound:
            at_bound = problems or [f"users saw the truth only after {passed:.0f} s"]
        if not problems:
            return passed, at_bound
        if passed > GIVE_UP_S:
            return passed, [f"after {GIVE_UP_S:g} s: {problem}" for problem in problems]
        await asyncio.sleep(0.5)
