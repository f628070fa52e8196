"""Apps as processes: from the start to the end, in networks of their own."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from spawner.node.apps import app as app_module
from spawner.node.apps import session_apps as module
from spawner.node.apps.declared import AppInput, AppRefusal, DeclaredApp
from spawner.node.apps.session_apps import SessionApps
from tests.needs import needs_program, needs_root
from tests.polling import until
from tests.portal.spawner.node.apps.programs import SERVE, declared, session_apps, start

pytestmark = pytest.mark.anyio

FLOOD = "import os\nwhile True: os.write(1, b'flood ' * 10000 + b'\\n')"
SLEEP = "import time; print('waiting', flush=True); time.sleep(600)"
GARBAGE = """
import socket
with socket.create_server(("127.0.0.1", 8080)) as server:
    while True:
        connection, _ = server.accept()
        connection.sendall(b"this is no HTTP" * 10000)
        connection.close()
"""
CHILDREN = """
import os, subprocess, sys, time
stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
for _ in range(2):
    child = subprocess.Popen([sys.executable, "-c", stubborn], start_new_session=True)
    print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[list[SessionApps]]:
    """A list of sessions' apps to stop at the end."""
    made: list[SessionApps] = []
    yield made
    for apps in made:
        await apps.stop_all()


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def mode_of(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


async def ask(apps: SessionApps, name: str) -> Any:
    app = apps.find(name)
    assert app is not None
    async with app.client.get("http://app/") as answer:
        return json.loads(await answer.text())


@pytest.mark.parametrize("where", ["{port}", "{socket}"])
async def test_an_app_starts_answers_and_stops(
    tmp_path: Path, running: list[SessionApps], where: str
) -> None:
    apps = session_apps(tmp_path, declared("demo", SERVE, where))
    running.append(apps)
    shown = await start(apps, "demo")
    assert (shown["state"], shown["problem"]) == ("running", None)
    assert (await ask(apps, "demo"))["path"] == "/"
    assert mode_of(tmp_path / "apps/demo") == 0o700
    assert "listening on" in "\n".join(shown["log"])
    pid = (await ask(apps, "demo"))["pid"]
    await apps.stop("demo")
    assert apps.describe("demo")["state"] == "stopped"
    assert not is_alive(pid)


async def test_no_port_of_the_node_is_opened(tmp_path: Path, running: list[SessionApps]) -> None:
    """Two apps listen on the same port, and the node's loopback interface has neither."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    apps = session_apps(
        tmp_path, declared("one", SERVE, port=port), declared("two", SERVE, port=port)
    )
    running.append(apps)
    assert (await start(apps, "one"))["state"] == "running"
    assert (await start(apps, "two"))["state"] == "running"
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
        pass


@pytest.mark.parametrize(
    ("script", "expected", "logged"),
    [
        (SLEEP, "did not answer HTTP requests on port 8080 within 2 seconds", "waiting"),
        (GARBAGE, "did not answer HTTP requests on port 8080 within 2 seconds", None),
        (FLOOD, "did not answer HTTP requests on port 8080 within 2 seconds", "flood flood"),
        ("print('no module'); raise SystemExit(3)", "It ended with status 3.", "no module"),
        ("import os; os.kill(os.getpid(), 9)", "It ended with status 137.", None),
    ],
    ids=["silent", "garbage", "flood", "exits", "killed"],
)
async def test_an_app_that_does_not_become_ready_says_why(
    tmp_path: Path, running: list[SessionApps], script: str, expected: str, logged: str | None
) -> None:
    apps = session_apps(tmp_path, declared("bad", script, timeout_s=2))
    running.append(apps)
    shown = await start(apps, "bad")
    await until(lambda: apps.describe("bad")["state"] == "failed", "it has ended")
    shown = apps.describe("bad")
    assert expected in shown["problem"]
    assert logged is None or logged in "\n".join(shown["log"])
    size = sum(file.stat().st_size for file in (tmp_path / "apps/bad").glob("log*"))
    assert size < 300_000


@pytest.mark.parametrize(
    ("program", "words"),
    [("no-such-program", "this node has no slirp4netns"), ("false", "slirp4netns failed")],
)
async def test_an_app_runs_without_a_connection_to_other_hosts(
    tmp_path: Path, running: list[SessionApps], program: str, words: str
) -> None:
    """Its port stays private where slirp4netns is missing or refused, and its output says so."""
    start_runner = (
        "from spawner.node.network import outward\n"
        f"outward.PROGRAM = {program!r}\n"
        "from spawner.node.apps import runner\n"
        "raise SystemExit(runner.main())"
    )
    apps = session_apps(
        tmp_path, declared("demo", SERVE), runner=(sys.executable, "-c", start_runner)
    )
    running.append(apps)
    shown = await start(apps, "demo")
    assert shown["state"] == "running"
    assert words in "\n".join(shown["log"])


@needs_root("mounts a file")
@needs_program("slirp4netns")
async def test_an_app_finds_names_through_the_nodes_own_resolver(
    tmp_path: Path, running: list[SessionApps]
) -> None:
    """The runner gets a resolv.conf like that of systemd-resolved, in a mount namespace."""
    resolver = tmp_path / "resolv.conf"
    resolver.write_text("nameserver 127.0.0.53\n")
    command = f'mount --bind {resolver} /etc/resolv.conf && exec "$0" -m spawner.node.apps.runner'
    shell = ("/usr/bin/unshare", "--mount", "/bin/sh", "-c", command, sys.executable)
    script = f"print(open('/etc/resolv.conf').read(), flush=True)\n{SERVE}"
    apps = session_apps(tmp_path, declared("demo", script), runner=shell)
    running.append(apps)
    shown = await start(apps, "demo")
    assert shown["state"] == "running"
    assert shown["log"][0] == "nameserver 10.0.2.3"


async def test_a_missing_program_has_a_hint(tmp_path: Path, running: list[SessionApps]) -> None:
    hint = "Install it: pip install demo"
    missing = declared("missing", "", command=["no-such-program"], hint=hint)
    apps = session_apps(tmp_path, missing)
    running.append(apps)
    shown = await start(apps, "missing")
    assert shown["problem"] == f"Its program isn't installed in this environment. {hint}"


async def test_stopping_ends_every_process_of_the_app(
    tmp_path: Path, running: list[SessionApps], monkeypatch: pytest.MonkeyPatch
) -> None:
    apps = session_apps(tmp_path, declared("many", CHILDREN))
    running.append(apps)
    apps.start("many", AppInput())
    await until(lambda: len(_pids(apps)) == 2, "both children run")
    pids = _pids(apps)
    await apps.stop("many")
    assert not [pid for pid in pids if is_alive(pid)]


def _pids(apps: SessionApps) -> list[int]:
    return [int(line) for line in apps.describe("many").get("log", []) if line.isdigit()]


async def test_an_end_is_noticed_though_a_child_keeps_the_output_open(
    tmp_path: Path, running: list[SessionApps]
) -> None:
    script = CHILDREN.removesuffix("time.sleep(600)\n") + "raise SystemExit(3)\n"
    apps = session_apps(tmp_path, declared("many", script))
    running.append(apps)
    shown = await start(apps, "many")
    assert shown["problem"] == "It ended with status 3."
    assert not [pid for pid in _pids(apps) if is_alive(pid)]


async def test_an_app_that_dies_later_is_failed(tmp_path: Path, running: list[SessionApps]) -> None:
    apps = session_apps(tmp_path, declared("demo", SERVE))
    running.append(apps)
    await start(apps, "demo")
    os.kill((await ask(apps, "demo"))["pid"], 15)
    await until(lambda: apps.describe("demo")["state"] == "failed", "its end is noticed")
    assert apps.describe("demo")["problem"] == "It ended with status 143."
    assert (await start(apps, "demo"))["state"] == "running"


async def test_starting_twice_is_starting_once(tmp_path: Path, running: list[SessionApps]) -> None:
    own = declared("own", "", command=["sh", "-c", "{command}"], input="command", timeout_s=60)
    apps = session_apps(tmp_path, own)
    running.append(apps)
    given = AppInput(command="sleep 600", port=9000)
    assert apps.start("own", given)
    first = apps.find("own")
    assert not apps.start("own", given)
    assert not apps.start("own", given, replace=True)
    assert apps.find("own") is first
    assert (apps.describe("own")["command"], apps.describe("own")["port"]) == ("sleep 600", 9000)
    with pytest.raises(AppRefusal) as caught:
        apps.start("own", AppInput(command="sleep 601", port=9000))
    assert caught.value.status == 409


OF_FILE = ["sh", "-c", f'exec "{sys.executable}" -c "$0" "$1"', SERVE, "{port}", "{file}"]


async def test_a_replacement_starts_once_the_app_before_it_has_ended(
    tmp_path: Path, running: list[SessionApps], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It needs no place of its own among the running apps."""
    monkeypatch.setattr(module, "MAX_RUNNING", 1)
    for name in ("one.py", "two.py"):
        (tmp_path / name).touch()
    apps = session_apps(tmp_path, declared("demo", "", command=OF_FILE, input="file"))
    running.append(apps)
    await start(apps, "demo", file="one.py")
    before = (await ask(apps, "demo"))["pid"]
    assert apps.start("demo", AppInput(file="two.py"), replace=True)
    assert apps.describe("demo")["state"] == "starting"
    await until(lambda: apps.describe("demo")["state"] == "running", "its replacement runs")
    assert not is_alive(before)
    assert apps.describe("demo")["file"] == str(tmp_path / "two.py")


async def test_a_refused_replacement_or_restart_leaves_the_app_running(
    tmp_path: Path, running: list[SessionApps]
) -> None:
    file = tmp_path / "one.py"
    file.touch()
    apps = session_apps(
        tmp_path, declared("demo", "", command=OF_FILE, input="file", extensions=[".py"])
    )
    running.append(apps)
    await start(apps, "demo", file="one.py")
    pid = (await ask(apps, "demo"))["pid"]
    for wrong in ("missing.py", "one.txt", ""):
        with pytest.raises(AppRefusal) as caught:
            apps.start("demo", AppInput(file=wrong), replace=True)
        assert (caught.value.status, caught.value.field) == (422, "file")
    file.unlink()
    with pytest.raises(AppRefusal):
        apps.restart("demo")
    assert (await ask(apps, "demo"))["pid"] == pid
    assert apps.describe("demo")["file"] == str(file)


async def test_an_app_that_is_stopped_in_its_turn_never_starts(
    tmp_path: Path, running: list[SessionApps]
) -> None:
    apps = session_apps(tmp_path, declared("demo", SERVE))
    running.append(apps)
    await start(apps, "demo")
    apps.restart("demo")
    assert await apps.stop("demo")
    assert not await apps.stop("demo")
    assert apps.describe("demo")["state"] == "stopped"
    assert "listening on" in "\n".join(apps.describe("demo")["log"])  # of the app before it


async def test_a_start_while_the_app_ends_starts_it_again(
    tmp_path: Path, running: list[SessionApps]
) -> None:
    apps = session_apps(tmp_path, declared("demo", SERVE))
    running.append(apps)
    await start(apps, "demo")
    stopping = asyncio.create_task(apps.stop("demo"))
    await asyncio.sleep(0)
    assert (await start(apps, "demo"))["state"] == "running"
    assert await stopping


async def test_a_restart_is_another_process_with_the_same_input(
    tmp_path: Path, running: list[SessionApps]
) -> None:
    apps = session_apps(tmp_path, declared("demo", SERVE))
    running.append(apps)
    with pytest.raises(AppRefusal):
        apps.restart("demo")
    await start(apps, "demo")
    before = (await ask(apps, "demo"))["pid"]
    apps.restart("demo")
    await until(lambda: apps.describe("demo")["state"] == "running", "it runs again")
    assert (await ask(apps, "demo"))["pid"] != before


async def test_the_number_of_apps_is_limited(
    tmp_path: Path, running: list[SessionApps], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_RUNNING", 1)
    sleeping: list[DeclaredApp] = [declared(name, SLEEP) for name in ("one", "two")]
    apps = session_apps(tmp_path, *sleeping)
    running.append(apps)
    apps.start("one", AppInput())
    with pytest.raises(AppRefusal) as caught:
        apps.start("two", AppInput())
    assert caught.value.status == 409
    await apps.stop("one")
    apps.start("two", AppInput())


async def test_an_unknown_app_is_refused(tmp_path: Path) -> None:
    apps = session_apps(tmp_path)
    with pytest.raises(AppRefusal) as caught:
        apps.start("nothing", AppInput())
    assert caught.value.status == 404


async def test_use_keeps_a_session_active(
    tmp_path: Path, running: list[SessionApps], monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = declared("quiet", SERVE, counts_as_activity=False)
    apps = session_apps(tmp_path, declared("demo", SERVE), quiet)
    running.append(apps)
    await start(apps, "demo")
    await start(apps, "quiet")
    demo, other = apps.find("demo"), apps.find("quiet")
    assert demo and other
    assert not apps.are_used()
    with other.connection():
        assert not apps.are_used()
    with demo.connection():
        assert apps.are_used()
    assert apps.are_used()  # just before
    monkeypatch.setattr(app_module, "RECENT_S", 0.0)
    await asyncio.sleep(0.01)
    assert not apps.are_used()
