"""The launcher pool against misbehaving launchers; a script replaces sudo.

With the real sudo, launcher and Slurm: tests/cluster/test_launcher.py.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from spawner import request_id
from spawner.errors import (
    BadRequest,
    HomeUnavailable,
    JobNotFound,
    LauncherUnavailable,
    NoFilesProgram,
    PathRefused,
    Rejected,
    SpawnerError,
    Unreachable,
)
from spawner.launcher import connection
from spawner.launcher import pool as pool_module
from spawner.launcher.file_pool import FileProcessPool
from spawner.launcher.installed import files_edition
from spawner.launcher.pool import LauncherPool
from spawner.slurm.model import JobSpec, Resources
from tests.polling import until
from tests.unit.spawner.launcher.launcher_home import AS_ROOT, UID

pytestmark = pytest.mark.anyio
UUID = "12345678-1234-1234-1234-123456789abc"

GREETS = """
import json, os, sys, time
def say(frame): sys.stdout.write(json.dumps(frame) + "\\n"); sys.stdout.flush()
name = sys.argv[sys.argv.index("-u") + 1]
with open(sys.argv[0] + ".log", "a") as log: log.write(json.dumps(sys.argv[1:]) + "\\n")
hello = {"hello": 1, "uid": 20001, "gid": 20001, "username": name, "home": "/home/" + name,
         "shell": "/bin/bash"}
"""
# named behaviors of a launcher
ANSWERS = """
say(hello)
for line in sys.stdin:
    request = json.loads(line)
    say({"id": request.pop("id"), "ok": True, "result": RESULT})
"""
ECHOES = ANSWERS.replace("RESULT", "{'asked': request, 'pid': os.getpid()}")
FAILS = """
say(hello)
for line in sys.stdin:
    request = json.loads(line)
    say({"id": request["id"], "ok": False, "error": request["error"]})
"""
SLOW_ONCE = """
say(hello)
for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "slow": time.sleep(0.3)
    say({"id": request["id"], "ok": True, "result": {"op": request["op"]}})
"""
DIES = "say(hello); sys.stdin.readline(); sys.exit('launcher: out of memory')"
REFUSES_FILES = """
say(hello)
for line in sys.stdin:
    error = {"type": TYPE, "message": "The program is missing."}
    say({"id": json.loads(line)["id"], "ok": False, "error": error})
"""
OLD_LAUNCHER = REFUSES_FILES.replace("TYPE", "'BadRequest'")
NO_FILES_PROGRAM = REFUSES_FILES.replace("TYPE", "'NoFilesProgram'")
NEVER_ANSWERS = "say(hello)\nfor line in sys.stdin: pass"
NEVER_GREETS = "sys.stdin.read()"
REFUSED = "sys.exit('sudo: a password is required')"
SAYS = """
say(hello)
sys.stdin.readline()
sys.stdout.write(WORDS)
sys.stdout.flush()
sys.stdin.read()
"""


class Sudo:
    """A script that replaces sudo; `create_pool` creates a pool that uses it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "sudo"
        self.pools: list[LauncherPool] = []

    def behave(self, behaviour: str) -> None:
        self.path.write_text(f"#!{sys.executable} -IS\n{GREETS}\n{behaviour}\n")
        self.path.chmod(0o755)

    def create_pool(self, behaviour: str, idle_s: float = 60.0) -> LauncherPool:
        self.behave(behaviour)
        pool = LauncherPool("/opt/launcher", self.path, idle_s=idle_s)
        self.pools.append(pool)
        return pool

    def starts(self) -> list[list[str]]:
        log = self.path.with_name("sudo.log")
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture
async def sudo(tmp_path: Path) -> AsyncIterator[Sudo]:
    sudo = Sudo(tmp_path)
    yield sudo
    for pool in sudo.pools:
        await pool.close()
        await asyncio.gather(*(left.wait() for left in pool._abandoned))


async def test_sudo_gets_a_short_environment_and_never_an_empty_one(
    sudo: Sudo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some builds of sudo crash on an empty environment; the portal's own variables are not
    passed."""
    monkeypatch.setenv("PORTAL_SECRET_OF_THIS_TEST", "secret")
    pool = sudo.create_pool(ANSWERS.replace("RESULT", "dict(os.environ)"))
    answer = await pool.call("alice", "ping")
    assert answer.keys() == {"PATH", "LANG"}


async def test_sudo_is_asked_for_one_program_as_one_user(sudo: Sudo) -> None:
    pool = sudo.create_pool(ECHOES)
    info = await pool.info("alice")
    assert (info.uid, info.home) == (20001, "/home/alice")
    assert sudo.starts() == [["-n", "-u", "alice", "--", "/opt/launcher"]]


async def test_a_launcher_hears_for_which_request_and_not_for_its_first_one_only(
    sudo: Sudo,
) -> None:
    pool = sudo.create_pool(ECHOES)

    async def asked() -> str:
        name = request_id.set_request_id()
        answer = await pool.call("alice", "ping")
        assert answer["asked"]["request"] == name
        return name

    names = await asyncio.gather(*(asyncio.create_task(asked()) for _ in range(3)))
    assert len(set(names)) == 3


async def test_each_operation_is_measured(sudo: Sudo, tmp_path: Path) -> None:
    heard: list[tuple[str, bool]] = []

    def measure(what: str, seconds: float, answered: bool) -> None:
        assert seconds >= 0
        heard.append((what, answered))

    sudo.behave(FAILS)
    for path in (sudo.path, tmp_path / "nowhere"):
        pool = LauncherPool("/opt/launcher", path, measure=measure)
        sudo.pools.append(pool)
        with pytest.raises(SpawnerError):
            await pool.call("alice", "submit", error={"type": "NotFound", "message": "No."})
    assert heard == [("submit", True), ("submit", False)]


async def test_one_launcher_each_however_many_ask(sudo: Sudo) -> None:
    pool = sudo.create_pool(ECHOES)
    answers = await asyncio.gather(*(pool.call("alice", "ping", n=n) for n in range(50)))
    assert [answer["asked"]["n"] for answer in answers] == list(range(50))
    await pool.call("bob", "ping")
    assert len(sudo.starts()) == 2


@pytest.mark.parametrize(
    "name", ["", "#0", "-x", "Alice", "a" * 33, "alice\n", "a b", "root;id", "../x", "ä"]
)
async def test_only_names(sudo: Sudo, name: str) -> None:
    pool = sudo.create_pool(ECHOES)
    with pytest.raises(LauncherUnavailable):
        await pool.call(name, "ping")
    assert sudo.starts() == []


@pytest.mark.parametrize("behaviour", [REFUSED, DIES])
async def test_it_dies(sudo: Sudo, behaviour: str) -> None:
    pool = sudo.create_pool(behaviour)
    with pytest.raises(LauncherUnavailable) as caught:
        await pool.call("alice", "ping")
    assert caught.value.stderr.strip() in behaviour


async def test_after_a_death_another_is_started(sudo: Sudo) -> None:
    pool = sudo.create_pool(DIES)
    with pytest.raises(LauncherUnavailable):
        await pool.call("alice", "ping")
    sudo.behave(ECHOES)
    await pool.call("alice", "ping")
    assert len(sudo.starts()) == 2


async def test_one_that_was_killed_at_rest_is_replaced_unnoticed(sudo: Sudo) -> None:
    pool = sudo.create_pool(ECHOES)
    pid = (await pool.call("alice", "ping"))["pid"]
    os.kill(pid, signal.SIGKILL)
    await until(lambda: not pool._channels["alice"].usable)
    assert (await pool.call("alice", "ping"))["pid"] != pid


async def test_no_sudo(tmp_path: Path) -> None:
    with pytest.raises(LauncherUnavailable, match="can't be run"):
        await LauncherPool("/opt/launcher", tmp_path / "nowhere").call("alice", "ping")


async def test_never_greets(sudo: Sudo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "START_S", 0.3)
    pool = sudo.create_pool(NEVER_GREETS)
    with pytest.raises(LauncherUnavailable, match="doesn't answer"):
        await pool.call("alice", "ping")


async def test_those_that_never_answer_are_left_but_not_without_end(
    sudo: Sudo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "GRACE_S", 0.1)
    pool = sudo.create_pool(IGNORES_ITS_END)
    for _ in range(pool_module.MAX_ABANDONED):
        await pool.info("alice")  # it has started, however long that takes
        with pytest.raises(LauncherUnavailable, match="doesn't answer"):
            await pool.call("alice", "ping", timeout_s=0.1)
    with pytest.raises(LauncherUnavailable, match="neither do programs"):
        await pool.call("alice", "ping", timeout_s=0.1)
    assert len(sudo.starts()) == pool_module.MAX_ABANDONED
    for left in pool._abandoned:
        left._process.kill()


FLOODS = """
say(hello)
sys.stdin.readline()
while True: sys.stdout.write("x" * 65536)
"""
IGNORES_ITS_END = "say(hello)\nwhile True: time.sleep(1)"


def pipes_of(channel: connection.Channel) -> list[bool]:
    """Return for each pipe of a launcher whether it is closed."""
    transport = channel._process._transport  # type: ignore[attr-defined]
    return [transport.get_pipe_transport(fd).is_closing() for fd in (0, 1, 2)]


async def test_a_launcher_that_never_stops_talking_loses_its_output(
    sudo: Sudo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_DISCARDED", 1 << 20)
    pool = sudo.create_pool(FLOODS)
    with pytest.raises(LauncherUnavailable, match="invalid"):
        await pool.call("alice", "ping")
    pool.close_idle()
    (channel,) = {*pool._abandoned, *pool._channels.values()}
    await until(lambda: pipes_of(channel) == [True] * 3, "its pipes are closed")
    await until(lambda: channel.gone, "it has ended")


async def test_closing_leaves_no_pipe_of_a_launcher_that_does_not_end(
    sudo: Sudo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "CLOSE_S", 0.1)
    pool = sudo.create_pool(IGNORES_ITS_END)
    await pool.info("alice")
    (channel,) = pool._channels.values()
    await pool.close()
    assert pipes_of(channel) == [True] * 3


@pytest.mark.skipif(not AS_ROOT, reason="only root can give up its rights")
async def test_a_launcher_of_root_loses_its_pipes_too(
    sudo: Sudo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The portal's account may not kill it."""
    monkeypatch.setattr(pool_module, "CLOSE_S", 0.1)
    pool = sudo.create_pool(IGNORES_ITS_END)
    await pool.info("alice")
    (channel,) = pool._channels.values()
    with as_other_account():
        with pytest.raises(PermissionError):
            os.kill(channel._process.pid, signal.SIGKILL)
        await pool.close()
    assert pipes_of(channel) == [True] * 3
    os.kill(channel._process.pid, signal.SIGKILL)


@contextmanager
def as_other_account() -> Iterator[None]:
    """Give up the right to end programs of root, as the portal's account has none."""
    os.setresuid(UID, UID, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.mark.parametrize(
    "words",
    [
        "nonsense\n", "[]\n", "1\n", "{}\n", "\n", "[" * 100_000 + "\n", "x" * (2 << 20) + "\n",
        '{"id": 2, "ok": true, "result": {}}\n', '{"id": 1}\n', '{"id": 1, "ok": 1}\n',
        '{"id": 1, "ok": true, "result": []}\n', '{"id": 1, "ok": false, "error": "no"}\n',
        '{"id": 1, "ok": false, "error": {"type": 1, "message": "x"}}\n',
        '{"id": true, "ok": true, "result": {}}\n',
    ],
    ids=lambda words: words[:20].strip() or "-",
)  # fmt: skip
async def test_what_a_user_could_make_it_say(sudo: Sudo, words: str) -> None:
    pool = sudo.create_pool(SAYS.replace("WORDS", repr(words)))
    with pytest.raises(LauncherUnavailable):
        await pool.call("alice", "ping")


@pytest.mark.parametrize(
    "change",
    [
        {"username": "bob"}, {"uid": "0"}, {"uid": True}, {"home": "relative"}, {"home": 5},
        {"home": "/home/a\nb"}, {"hello": 2}, {"shell": None},
    ],
)  # fmt: skip
async def test_greetings_of_someone_else(sudo: Sudo, change: dict[str, Any]) -> None:
    pool = sudo.create_pool(f"hello.update({change!r}); say(hello); sys.stdin.read()")
    with pytest.raises(LauncherUnavailable, match="invalid response"):
        await pool.info("alice")


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("Unreachable", Unreachable),
        ("NotFound", JobNotFound),
        ("HomeUnavailable", HomeUnavailable),
        ("PathRefused", PathRefused),
        ("BadRequest", BadRequest),
        ("Novel", LauncherUnavailable),
    ],
)
async def test_errors(sudo: Sudo, kind: str, error: type[SpawnerError]) -> None:
    pool = sudo.create_pool(FAILS)
    refusal = {"type": kind, "message": "A sentence.", "stderr": "details"}
    with pytest.raises(error) as caught:
        await pool.call("alice", "x", error=refusal)
    assert (caught.value.message, caught.value.stderr) == ("A sentence.", "details")


async def test_refusals_are_explained(sudo: Sudo) -> None:
    pool = sudo.create_pool(FAILS)
    stderr = "sbatch: error: Batch job submission failed: Invalid partition name specified"
    refusal = {"type": "Rejected", "message": "Slurm refused it.", "stderr": stderr}
    with pytest.raises(Rejected) as caught:
        await pool.call("alice", "x", error=refusal)
    assert caught.value.code == "invalid-partition"
    assert caught.value.message == "There is no such partition."


async def test_long_messages_are_cut(sudo: Sudo) -> None:
    pool = sudo.create_pool(FAILS)
    refusal = {"type": "HomeUnavailable", "message": "x" * 100_000}
    with pytest.raises(HomeUnavailable) as caught:
        await pool.call("alice", "x", error=refusal)
    assert len(caught.value.message) <= 500


async def test_who_stops_waiting_leaves_no_half_exchange(sudo: Sudo) -> None:
    pool = sudo.create_pool(SLOW_ONCE)
    await pool.info("alice")
    slow = asyncio.create_task(pool.call("alice", "slow"))
    next_one = asyncio.create_task(pool.call("alice", "next"))
    await asyncio.sleep(0)
    slow.cancel()
    assert await next_one == {"op": "next"}
    assert len(sudo.starts()) == 1


async def test_a_request_too_large_is_not_sent(sudo: Sudo) -> None:
    pool = sudo.create_pool(ECHOES)
    with pytest.raises(BadRequest):
        await pool.call("alice", "x", data="x" * (2 << 20))
    assert (await pool.call("alice", "ping"))["asked"]["op"] == "ping"


async def test_idle_ones_are_closed_and_started_again(sudo: Sudo) -> None:
    pool = sudo.create_pool(ECHOES, idle_s=0.1)
    first = (await pool.call("alice", "ping"))["pid"]

    def is_closed() -> bool:
        pool.close_idle()
        return not Path(f"/proc/{first}").exists()

    await until(is_closed)
    assert (await pool.call("alice", "ping"))["pid"] != first


async def test_one_is_dismissed(sudo: Sudo) -> None:
    pool = sudo.create_pool(ECHOES)
    pids = [(await pool.call(name, "ping"))["pid"] for name in ("alice", "bob")]
    pool.dismiss("alice")
    pool.dismiss("nobody")
    await until(lambda: not Path(f"/proc/{pids[0]}").exists())
    assert (await pool.call("bob", "ping"))["pid"] == pids[1]
    await pool.close()


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (ANSWERS.replace("RESULT", "{'edition': 'other'}"), "another version"),
        (ANSWERS.replace("RESULT", "{}"), "another version"),
        (OLD_LAUNCHER, "another version"),
        (NO_FILES_PROGRAM, "is missing"),
    ],
)
async def test_files_without_their_program(sudo: Sudo, behaviour: str, words: str) -> None:
    sudo.behave(behaviour)
    pool = FileProcessPool("/opt/launcher", sudo.path)
    sudo.pools.append(pool)
    with pytest.raises(NoFilesProgram, match=words):
        await pool.info("alice")
    with pytest.raises(NoFilesProgram, match=words):
        async with pool.stream("alice"):
            pass


async def test_the_files_program_is_requested_once(sudo: Sudo) -> None:
    sudo.behave(ANSWERS.replace("RESULT", f"{{'edition': '{files_edition()}', 'asked': request}}"))
    pool = FileProcessPool("/opt/launcher", sudo.path)
    sudo.pools.append(pool)
    for _ in range(2):
        assert (await pool.call("alice", "space"))["asked"]["op"] == "space"
    assert len(sudo.starts()) == 1


async def test_closing_ends_them_all(sudo: Sudo) -> None:
    pool = sudo.create_pool(ECHOES)
    pids = [(await pool.call(name, "ping"))["pid"] for name in ("alice", "bob")]
    await pool.close()
    await until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


async def test_submit(sudo: Sudo) -> None:
    pool = sudo.create_pool(ANSWERS.replace("RESULT", '{"job_id": 5, "asked": request}'))
    spec = JobSpec(UUID, "s1", Resources(gpus=1), "#!/bin/sh\n")
    assert await pool.submit("alice", spec, {"config.json": "{}"}) == 5
    asked = (await pool.call("alice", "look"))["asked"]
    assert asked["timeout_s"] > 0


async def test_submit_that_names_no_job(sudo: Sudo) -> None:
    pool = sudo.create_pool(ANSWERS.replace("RESULT", '{"job_id": "5"}'))
    with pytest.raises(LauncherUnavailable):
        await pool.submit("alice", JobSpec(UUID, "s1", Resources(), "#!"), {})


async def test_read(sudo: Sudo) -> None:
    result = {"data_b64": "AAEC", "size": 3, "next_offset": 3}
    pool = sudo.create_pool(ANSWERS.replace("RESULT", repr(result)))
    assert await pool.read("alice", f"{UUID}/stdout.log", 0, 100) == (b"\0\1\2", 3, 3)
    assert (await pool.read("alice", f"{UUID}/stdout.log", 0, 2))[0] == b"\0\1"


@pytest.mark.parametrize("data", ["!", "AA", 5, None])
async def test_read_of_nonsense(sudo: Sudo, data: Any) -> None:
    result = {"data_b64": data, "size": 3, "next_offset": 3}
    pool = sudo.create_pool(ANSWERS.replace("RESULT", repr(result)))
    with pytest.raises(LauncherUnavailable):
        await pool.read("alice", "x/y", 0, 100)
