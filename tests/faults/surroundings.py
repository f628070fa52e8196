"""Faults of what surrounds the processes: nodes, the network, disks.

What is mounted here is mounted on the head only, where portal and launcher run.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from cluster.config.paths import Paths
from cluster.host import namespaces
from tests.faults.faults import STOP_S, kill
from tests.faults.invariants import wait_for_truth
from tests.faults.moments import Round
from tests.faults.parts import find_service, node_names
from tests.faults.world import World

NODE = "node03"  # the node of the world's work
ROOM_BYTES = 24 << 20
"""What is free on a small disk before it is filled."""


async def cut_power(moments: Round) -> None:
    """Kill all processes of a node at once; it boots again."""
    pids = find_service(NODE)(Paths(moments.world.live.state))
    await moments.send()
    await kill(pids, moments.struck.set)


async def cut_network(moments: Round) -> None:
    """Take the node's cable out for a while."""
    paths = Paths(moments.world.live.state)
    cable = paths.cable(node_names(paths).index(NODE))
    await moments.send()
    await _run("ip", "link", "set", cable, "down")
    moments.struck.set()
    try:
        await asyncio.sleep(STOP_S)
    finally:
        await _run("ip", "link", "set", cable, "up")


async def make_home_read_only(moments: Round) -> None:
    world = moments.world
    home = Paths(world.live.state).home / "bob"
    await moments.send()
    await _run_on_head(world, "mount", "--bind", str(home), str(home))
    try:
        await _run_on_head(world, "mount", "-o", "remount,ro,bind", str(home))
        moments.struck.set()
        await asyncio.sleep(STOP_S)
    finally:
        await _run_on_head(world, "umount", "--lazy", str(home))


async def fill_home(moments: Round) -> None:
    """Show the head a full copy of a user's home directory for a while."""
    world = moments.world
    home = Paths(world.live.state).home / "bob"
    await moments.send()
    await _mount_copy(world, home, home.with_name("bob.small"))
    try:
        await asyncio.to_thread(_fill, _path_on_head(world, home / "full"))
        moments.struck.set()
        await asyncio.sleep(STOP_S)
    finally:
        await _run_on_head(world, "umount", "--lazy", str(home))


async def lock_database(moments: Round) -> None:
    """Keep the portal's database locked for a while, as another program may."""
    file = Paths(moments.world.live.state).portal_home / "portal.db"
    other = sqlite3.connect(file, isolation_level=None)
    try:
        await moments.send()
        other.execute("PRAGMA busy_timeout=10000")
        other.execute("BEGIN IMMEDIATE")
        moments.struck.set()
        await asyncio.sleep(STOP_S)
    finally:
        other.close()


async def fill_state_folder(moments: Round) -> None:
    """Let the portal run on a small disk, which is full for a while."""
    world = moments.world
    folder = Paths(world.live.state).portal_home
    async with _on_small_disk(world, folder):
        full = _path_on_head(world, folder / "full")
        await moments.send()
        await asyncio.to_thread(_fill, full)
        moments.struck.set()
        await asyncio.sleep(STOP_S)
        full.unlink()
        # before the disk is moved back, which restarts the portal: it recovers by itself
        _, problems = await wait_for_truth(world, REFUSING)
        assert not problems, problems


@asynccontextmanager
async def _on_small_disk(world: World, folder: Path) -> AsyncIterator[None]:
    """Mount a small file system with the folder's content in its place; keep what is written."""
    copy = folder.with_name(f"{folder.name}.small")
    await asyncio.to_thread(world.live.stop, "portal")
    await _mount_copy(world, folder, copy)
    await asyncio.to_thread(world.live.start, "portal")
    try:
        yield
    finally:
        await asyncio.to_thread(world.live.stop, "portal")
        await _run_on_head(world, "mount", "--move", str(folder), str(copy))
        await _run_on_head(world, "cp", "--archive", f"{copy}/.", str(folder))
        await _run_on_head(world, "umount", str(copy))
        shutil.rmtree(copy)
        await asyncio.to_thread(world.live.start, "portal")


async def _mount_copy(world: World, folder: Path, at: Path) -> None:
    """Mount a file system with the folder's content and little room over the folder."""
    await asyncio.to_thread(at.mkdir, exist_ok=True)
    owner = await asyncio.to_thread(folder.stat)
    du = ["du", "--summarize", "--block-size=1", str(folder)]
    used = await asyncio.to_thread(subprocess.check_output, du, text=True, timeout=60)
    size = int(used.split()[0]) + ROOM_BYTES
    options = f"size={size},mode=700,uid={owner.st_uid},gid={owner.st_gid}"
    await _run_on_head(world, "mount", "-t", "tmpfs", "-o", options, "tmpfs", str(at))
    await _run_on_head(world, "cp", "--archive", f"{folder}/.", str(at))
    await _run_on_head(world, "mount", "--move", str(at), str(folder))


def _path_on_head(world: World, path: Path) -> Path:
    return Path(f"/proc/{_head(world)}/root{path}")


def _fill(path: Path) -> None:
    # unbuffered: closing would write the rest, and fail
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def _head(world: World) -> int:
    head = namespaces.find_head(Paths(world.live.state))
    assert head, "the head is down"
    return head


async def _run_on_head(world: World, *argv: str) -> None:
    await _run(*namespaces.on_head(_head(world), argv))


async def _run(*argv: str) -> None:
    await asyncio.to_thread(subprocess.run, argv, check=True, timeout=60)


NOTHING: frozenset[str] = frozenset()
REFUSING = frozenset({"submissions"})
OF_NODE = frozenset({"session", "cell", "board", "printing", "jobs"})
FAULTS: dict[tuple[str, str], tuple[Callable[[Round], Awaitable[None]], frozenset[str]]] = {
    ("node", "power cut"): (cut_power, OF_NODE),
    ("network to a node", "cut"): (cut_network, OF_NODE),
    ("home directory", "read-only"): (make_home_read_only, REFUSING),
    ("home directory", "full"): (fill_home, REFUSING),
    ("state folder", "full"): (fill_state_folder, REFUSING),
    ("database", "locked"): (lock_database, NOTHING),
}
