"""TensorBoard's node program with a real TensorBoard, as an ordinary account on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from spawner import signing
from tests.paths import CHECKOUT
from tests.polling import PATIENCE_S, until
from tests.servers.jupyterhub import RUNTIME, account, give, write_private
from tests.servers.slapd import free_port

pytestmark = pytest.mark.anyio

BOARD = "11111111-2222-4333-8444-555555555555"
PREFIX = f"/tensorboard/{BOARD}"
EVENTS = """
import sys
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
writer = EventFileWriter(sys.argv[1])
for step in range(10):
    value = Summary.Value(tag="loss", simple_value=1.0 / (step + 1))
    writer.add_event(Event(step=step, summary=Summary(value=[value])))
writer.close()
"""


def _set() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass
class Portal:
    """The portal's /node routes for one TensorBoard."""

    secret: str = "s" * 43
    port: int | None = None
    not_yet: int = 2
    unwanted: asyncio.Event = field(default_factory=asyncio.Event)
    reports: list[dict[str, str]] = field(default_factory=list)
    hold: asyncio.Event = field(default_factory=_set)
    """Reports are answered once it is set."""
    url: str = ""

    async def hello(self, request: web.Request) -> web.Response:
        self._check(request)
        self.not_yet -= 1
        if self.not_yet >= 0:
            return web.Response(status=409)
        self.port = (await request.json())["port"]
        return web.json_response({})

    async def wanted(self, request: web.Request) -> web.Response:
        self._check(request)
        with suppress(TimeoutError):
            async with asyncio.timeout(float(request.query["wait_s"])):
                await self.unwanted.wait()
        return web.Response(status=410 if self.unwanted.is_set() else 204)

    async def report(self, request: web.Request) -> web.Response:
        self._check(request)
        self.reports.append(await request.json())
        await self.hold.wait()
        return web.Response(status=204)

    def _check(self, request: web.Request) -> None:
        if request.headers.get("Authorization") != f"Bearer {self.secret}":
            raise web.HTTPUnauthorized


@dataclass
class Board:
    """The node program and the portal that it calls."""

    folder: Path
    portal: Portal
    config: dict[str, Any]
    process: subprocess.Popen[bytes]

    def signed(self, path: str, key: str | None = None) -> dict[str, str]:
        """Return the headers of a request signed as the portal does."""
        signature = signing.sign(key or self.config["guard_key"], "GET", path, time.time())
        return {signing.SIGNATURE_HEADER: signature}

    @property
    def node_dir(self) -> Path:
        return Path(f"/tmp/portal-{self.config['uuid'][:13]}")

    def log(self) -> str:
        return (self.folder / "node.log").read_text()

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        url = f"http://127.0.0.1:{self.portal.port}{path}"
        async with (
            aiohttp.ClientSession() as client,
            client.get(url, headers=headers) as response,
        ):
            return response.status, await response.text()

    async def up(self) -> None:
        async def port() -> int | None:
            assert self.process.poll() is None, self.log()
            return self.portal.port

        await until(port, "hello")

    async def ended(self) -> int:
        async def status() -> tuple[int] | None:
            code = self.process.poll()
            return None if code is None else (code,)

        found = await until(status, "the end")
        assert found is not None
        return found[0]

    def family(self) -> list[int]:
        """Return the pids of the serving process and of its data server."""
        return [pid for child in children(self.process.pid) for pid in (child, *children(child))]

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.node_dir, ignore_errors=True)


def seen_by_others(pid: int) -> bytes:
    """Return a process's arguments and initial environment."""
    return b"".join(Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ"))


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def list_local_routes(pid: int, family: str) -> list[dict[str, Any]]:
    """Return a process's routes to its own addresses; `family` is -4 or -6."""
    argv = ["nsenter", f"--target={pid}", "--net", "ip", "-j", family, "route", "show"]
    found = subprocess.check_output([*argv, "table", "local", "type", "local"], text=True)
    routes: list[dict[str, Any]] = json.loads(found or "[]")
    return routes


def program(code: Path, module: str) -> list[str]:
    source = f"import sys; sys.path.insert(0, {str(code)!r}); import runpy; "
    return [str(RUNTIME), "-I", "-c", source + f"runpy.run_module({module!r}, run_name='__main__')"]


def lay_out(folder: Path, url: str) -> dict[str, Any]:
    folder.chmod(0o755)
    give(folder)
    shutil.copytree(
        CHECKOUT / "spawner", folder / "code" / "spawner", ignore=shutil.ignore_patterns("*.pyc")
    )
    runs = folder / "runs"
    runs.mkdir()
    give(runs)
    write = [str(RUNTIME), "-I", "-c", EVENTS, str(runs / "one")]
    subprocess.run(write, check=True, timeout=PATIENCE_S, **account())
    return {
        "uuid": os.urandom(16).hex(),
        "tensorboard_id": BOARD,
        "secret": "s" * 43,
        "guard_key": "g" * 43,
        "portal_url": url,
        "username": "alice",
        "logdir": str(runs),
        "path_prefix": PREFIX,
        "runtime_dir_prefix": "/tmp/portal-",
    }


def launch(folder: Path, config: dict[str, Any]) -> subprocess.Popen[bytes]:
    path = write_private(folder / "config.json", json.dumps(config))
    with (folder / "node.log").open("wb") as log:
        return subprocess.Popen(
            [*program(folder / "code", "spawner.node.tensorboard"), str(path)],
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            **account(),
        )


@pytest.fixture
async def portal() -> AsyncIterator[Portal]:
    found = Portal()
    app = web.Application()
    app.add_routes(
        [
            web.post(f"/node/tensorboards/{BOARD}/hello", found.hello),
            web.get(f"/node/tensorboards/{BOARD}/wanted", found.wanted),
            web.post(f"/node/tensorboards/{BOARD}/report", found.report),
        ]
    )
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    found.url = f"http://127.0.0.1:{port}"
    yield found
    await runner.cleanup()


@pytest.fixture
async def board(portal: Portal) -> AsyncIterator[Board]:
    with tempfile.TemporaryDirectory(prefix="board-") as name:
        folder = Path(name)
        config = lay_out(folder, portal.url)
        board = Board(folder, portal, config, launch(folder, config))
        try:
            yield board
        finally:
            board.end()


async def test_only_what_is_signed_with_the_guards_key(board: Board) -> None:
    await board.up()
    for path in ("/", f"{PREFIX}/", f"{PREFIX}/data/runs", f"{PREFIX}/index.html"):
        assert (await board.get(path))[0] == 403, path
        key = board.config["guard_key"]
        for wrong in (board.config["secret"], key + "x"):
            assert (await board.get(path, **board.signed(path, wrong)))[0] == 403, path
            assert (await board.get(path, **{signing.SIGNATURE_HEADER: wrong}))[0] == 403, path
        for other in (f"{path}?x", "/data/environment"):
            assert (await board.get(path, **board.signed(other)))[0] == 403, path


async def test_its_runs_and_scalars(board: Board) -> None:
    await board.up()
    for path, expected in ((f"{PREFIX}/", 200), ("/data/runs", 404)):
        assert (await board.get(path, **board.signed(path)))[0] == expected

    async def runs() -> str | None:
        path = f"{PREFIX}/data/runs"
        status, text = await board.get(path, **board.signed(path))
        assert status == 200
        return text if "one" in text else None

    await until(runs, "the run in TensorBoard")
    path = f"{PREFIX}/data/plugin/scalars/scalars?run=one&tag=loss"
    status, text = await board.get(path, **board.signed(path))
    assert (status, len(json.loads(text))) == (200, 10)


async def test_the_data_server_is_out_of_others_reach(board: Board) -> None:
    """Either it listens in a private network, or it does not run and the log has the reason."""
    await board.up()
    serving, *data_servers = board.family()
    if not data_servers:
        assert "no network namespace" in board.log()
        return
    mine = os.readlink("/proc/self/ns/net")  # noqa: PTH115 - not a path
    for pid in data_servers:
        assert os.readlink(f"/proc/{pid}/ns/net") != mine  # noqa: PTH115
        ports = set(listening(f"/proc/{pid}/net").values())
        assert ports, "the data server listens somewhere"
        # Another program here may listen on the same port, but none of the TensorBoard's.
        ours = {inode for own in (board.process.pid, *board.family()) for inode in sockets_of(own)}
        here = listening("/proc/self/net")
        assert here.keys() & ours, "TensorBoard's own port"
        assert ports.isdisjoint(port for inode, port in here.items() if inode in ours)
    assert serving != board.process.pid


@pytest.mark.parametrize("family", ["-4", "-6"])
async def test_the_data_server_is_acknowledged_at_once(board: Board, family: str) -> None:
    """Otherwise each of its answers takes 40 ms longer."""
    await board.up()
    for pid in board.family()[1:]:
        routes = list_local_routes(pid, family)
        assert routes or family == "-6"  # the machine may have no IPv6
        assert {json.dumps(route.get("metrics")) for route in routes} <= {'[{"quickack": 1}]'}


async def test_ends_when_the_portal_wants_it_no_more(board: Board) -> None:
    await board.up()
    family = board.family()
    board.portal.unwanted.set()
    assert await board.ended() == 0, board.log()
    assert board.portal.reports == [{"event": "exiting", "message": "TensorBoard was stopped"}]
    await until(lambda: gone(family), "the end of all its processes")
    assert not board.node_dir.exists()


async def test_port_stays_reserved_until_the_end_is_reported(board: Board) -> None:
    """After a kill, as for lack of memory, or an orderly end, another program could otherwise
    get requests."""
    await board.up()
    board.portal.hold.clear()
    os.kill(children(board.process.pid)[0], signal.SIGKILL)
    await until(lambda: bool(board.portal.reports), "the report")
    assert board.portal.port is not None
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", board.portal.port))
    board.portal.hold.set()
    assert await board.ended() == 1
    with socket.socket() as other:
        other.bind(("127.0.0.1", board.portal.port))


async def test_ends_with_its_step(board: Board) -> None:
    await board.up()
    family = board.family()
    board.process.send_signal(signal.SIGTERM)
    assert await board.ended() == 0, board.log()
    await until(lambda: gone(family), "the end of all its processes")
    assert not board.node_dir.exists()


async def test_leaves_nothing_running_when_killed(board: Board) -> None:
    await board.up()
    family = board.family()
    board.process.kill()
    await until(lambda: gone(family), "the end of all its processes")


async def test_nothing_is_left_lying_about(board: Board) -> None:
    await board.up()
    assert board.node_dir.stat().st_mode & 0o777 == 0o700
    assert {path.name for path in board.folder.iterdir()} == {
        "code",
        "config.json",
        "node.log",
        "runs",
    }
    for secret in ("secret", "guard_key"):
        assert board.config[secret] not in board.log()
        for pid in (board.process.pid, *board.family()):
            assert board.config[secret].encode() not in seen_by_others(pid)


async def test_a_logdir_that_can_not_be_made(portal: Portal) -> None:
    with tempfile.TemporaryDirectory(prefix="board-") as name:
        folder = Path(name)
        config = lay_out(folder, portal.url) | {"logdir": "/proc/nothing/here"}
        board = Board(folder, portal, config, launch(folder, config))
        try:
            assert await board.ended() == 1
        finally:
            board.end()
    assert [report["event"] for report in portal.reports] == ["failed"]
    assert "/proc/nothing" in portal.reports[0]["message"]


async def gone(pids: list[int]) -> bool | None:
    return all(not alive(pid) for pid in pids) or None


def alive(pid: int) -> bool:
    """Return whether a process runs; one that has ended but has not been reaped does not."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return not re.search(r"^State:\s+Z", status, re.M)


def listening(folder: str) -> dict[str, int]:
    """Return the ports of listening sockets, by inode, from the tables tcp and tcp6 (proc(5))."""
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(folder, table).read_text().splitlines()[1:]
    ]
    return {row[9]: int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == "0A"}


def sockets_of(pid: int) -> set[str]:
    """Return the inodes of a process's sockets."""
    targets = [os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()]  # noqa: PTH115
    return {target[8:-1] for target in targets if target.startswith("socket:[")}
