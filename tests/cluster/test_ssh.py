"""SSH into a session with OpenSSH's own programs, as a user's computer does it.

The program that the portal serves is the ProxyCommand; nginx, the gate, the node program and sshd
are the real ones.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cluster.client import Client
from tests.cluster.ssh_tools import Laptop, access_token, set_up
from tests.live import Live
from tests.polling import PATIENCE_S, until

pytestmark = pytest.mark.anyio

GPU = {"gpus": 1, "cpus": 1, "memory_gb": 2, "time_limit_minutes": 30}
SMALL = {"cpus": 1, "memory_gb": 1, "time_limit_minutes": 15}
CUT_S = 20
"""Longer than the three seconds of the docs, because the machine may be busy."""
SERVE = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    while True:
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"from the node")
"""
KNOCK = """
import http.client, socket
asked = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
         "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "X-Portal-Ssh-Grant": "x"}
for line in open("/proc/net/tcp").read().splitlines()[1:]:
    local, _, state = line.split()[1:4]
    host = socket.inet_ntoa(bytes.fromhex(local[:8])[::-1])
    port = int(local[9:], 16)
    if state == "0A" and not host.startswith("127.") and port not in (53, 6818):
        ask = http.client.HTTPConnection(host, port, timeout=120)
        ask.request("GET", "/user/alice/ssh-main/ssh", headers=asked)
        print(ask.getresponse().status)
"""


@pytest.fixture(scope="module")
async def alice(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("alice") as client:
        yield client


async def start_session(alice: Client, name: str, resources: dict[str, int]) -> Any:
    made = await alice.start_session(name=name, resources=resources)
    session = await alice.wait_session(made["id"], "running", "ended", timeout_s=PATIENCE_S)
    assert session["state"] == "running", session["reason"]
    return session


@pytest.fixture(scope="module")
async def running(alice: Client) -> AsyncIterator[Any]:
    session = await start_session(alice, "ssh-main", GPU)
    yield session
    await alice.stop_session(session["id"])


@pytest.fixture(scope="module")
async def laptop(alice: Client, running: Any) -> AsyncIterator[Laptop]:
    made = await set_up(alice, running)
    async with access_token(alice, "ssh") as token:
        made.write_token(token["token"])
        yield made
    shutil.rmtree(made.folder)


# --- what ssh does --------------------------------------------------------------------------------


async def test_commands_run_in_the_sessions_job(laptop: Laptop, running: Any) -> None:
    shown = await laptop.ssh(
        laptop.host,
        "id -un; hostname; echo $SLURM_JOB_ID $CUDA_VISIBLE_DEVICES; cat /proc/self/cgroup",
    )
    user, node, variables, *cgroups = shown.splitlines()
    assert (user, node) == ("alice", running["node"])
    assert variables.split()[0] == str(running["job_id"])
    assert variables.split()[1] in {"0", "1", "2", "3"}
    assert any(f"job_{running['job_id']}" in line for line in cgroups)
    await laptop.ssh(laptop.host, "exit 7", status=7)


async def test_no_secret_of_the_session_is_in_the_environment(laptop: Laptop) -> None:
    names = {line.partition("=")[0] for line in (await laptop.ssh(laptop.host, "env")).splitlines()}
    assert "SLURM_JOB_ID" in names
    hidden = ("JUPYTERHUB_", "JPY_", "PYTHON", "SLURM_JWT")
    assert [name for name in names if name.startswith(hidden)] == []


async def test_a_terminal_is_one(laptop: Laptop) -> None:
    shown = await laptop.ssh("-tt", laptop.host, "tty; stty size; exit 3", status=3)
    assert "/dev/pts/" in shown


async def test_a_script_on_standard_input_runs(laptop: Laptop) -> None:
    """An editor that works remotely starts like this."""
    assert await laptop.ssh("-T", laptop.host, "bash", sent="echo $((6 * 7))\n") == "42\n"


async def test_files_are_copied_both_ways(laptop: Laptop) -> None:
    sent, received = laptop.folder / "sent", laptop.folder / "received"
    sent.write_bytes(os.urandom(20_000_000))
    for options in ((), ("-O",)):
        scp = ("scp", *laptop.options, *options)
        await laptop.run(*scp, str(sent), f"{laptop.host}:ssh-copy")
        await laptop.run(*scp, f"{laptop.host}:ssh-copy", str(received))
        assert received.read_bytes() == sent.read_bytes()
        received.unlink()
    await laptop.ssh(laptop.host, "rm ssh-copy")


async def test_rsync_copies_a_folder(laptop: Laptop) -> None:
    tree = laptop.folder / "tree"
    (tree / "inner").mkdir(parents=True)
    (tree / "inner/file").write_text("content")
    rsync = ("rsync", "-a", "--rsh", f"ssh {' '.join(laptop.options)}")
    await laptop.run(*rsync, f"{tree}/", f"{laptop.host}:ssh-tree/")
    assert await laptop.ssh(laptop.host, "cat ssh-tree/inner/file; rm -r ssh-tree") == "content"


async def test_ports_are_forwarded_in_all_directions(laptop: Laptop) -> None:
    server = await laptop.start("ssh", *laptop.options, laptop.host, f"exec python3 -c '{SERVE}'")
    assert server.stdout
    port = int(await asyncio.wait_for(server.stdout.readline(), PATIENCE_S))
    local, socks = _free_port(), _free_port()
    async with laptop.forwarding("-L", f"{local}:127.0.0.1:{port}", "-D", str(socks)):
        assert await _read(local) == b"from the node"
        assert await _read(socks, _socks_request(port)) == b"from the node"
    answers = await asyncio.start_server(_answer, "127.0.0.1", 0)
    here = answers.sockets[0].getsockname()[1]
    path = f"{(await laptop.ssh(laptop.host, 'pwd')).strip()}/ssh.sock"
    read = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({path!r});"
    read += " print(s.recv(99).decode())"
    command = f"python3 -c {shlex.quote(read)}; rm {path}"
    shown = await laptop.ssh("-R", f"{path}:127.0.0.1:{here}", laptop.host, command)
    assert shown == "from the laptop\n"
    answers.close()
    server.kill()
    await server.wait()


async def _answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"from the laptop")
    await writer.drain()
    writer.close()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def _socks_request(port: int) -> bytes:
    """Return a SOCKS5 greeting and request (RFC 1928) for a port on the node's loopback."""
    return b"\x05\x01\x00" + b"\x05\x01\x00\x01\x7f\x00\x00\x01" + port.to_bytes(2)


async def _read(port: int, sent: bytes = b"") -> bytes:
    """Connect, send, and return what comes; without SOCKS's own 12 bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    received = await asyncio.wait_for(reader.read(), PATIENCE_S)
    writer.close()
    return received[12:] if sent else received


async def test_the_sessions_key_is_the_one_that_the_portal_states(
    alice: Client, laptop: Laptop, running: Any
) -> None:
    await laptop.ssh(laptop.host, "true")
    shown = await alice.api("GET", f"/sessions/{running['id']}/ssh")
    lines = (laptop.folder / "known_hosts").read_text().splitlines()
    assert lines == [f"{laptop.host} {shown['host_key']}"]


# --- who may not ----------------------------------------------------------------------------------


async def test_other_tokens_are_refused_with_the_reason(
    portal: Live, alice: Client, laptop: Laptop
) -> None:
    before = (laptop.folder / "token").read_text()
    try:
        async with access_token(alice, "read", "sessions", "jobs", "files") as token:
            laptop.write_token(token["token"])
            assert "scope ssh" in await laptop.ssh(laptop.host, "true", status=255)
        async with portal.login("bob") as bob, access_token(bob, "ssh") as token:
            laptop.write_token(token["token"])
            assert "another user" in await laptop.ssh(laptop.host, "true", status=255)
    finally:
        laptop.write_token(before.strip())


async def test_another_user_on_the_node_reaches_nothing(
    portal: Live, laptop: Laptop, running: Any
) -> None:
    async with laptop.forwarding():
        knocked = portal.exec_as("bob", ["/usr/bin/python3", "-c", KNOCK], node=running["node"])
        statuses = set(knocked.split())
        assert "403" in statuses
        assert statuses <= {"403", "404"}
        listing = ["sh", "-c", "ls /tmp/portal-*/ssh 2>&1; true"]
        seen = portal.exec_as("bob", listing, node=running["node"])
        assert "host_key" not in seen
        assert "ermission denied" in seen or "No such file" in seen


async def test_a_revoked_token_cuts_the_connection(alice: Client, laptop: Laptop) -> None:
    before = (laptop.folder / "token").read_text()
    try:
        async with access_token(alice, "ssh") as token:
            laptop.write_token(token["token"])
            process = await laptop.start(
                "ssh", *laptop.options, laptop.host, "echo open; exec sleep 600"
            )
            assert process.stdout
            assert await asyncio.wait_for(process.stdout.readline(), PATIENCE_S) == b"open\n"
            await alice.api("DELETE", f"/tokens/{token['id']}")
            _, errors = await asyncio.wait_for(process.communicate(), CUT_S)
            assert process.returncode == 255
            assert b"no longer valid" in errors
            assert "been revoked" in await laptop.ssh(laptop.host, "true", status=255)
    finally:
        laptop.write_token(before.strip())


async def test_a_stopped_session_cuts_the_connection(alice: Client) -> None:
    session = await start_session(alice, "ssh-ends", SMALL)
    laptop = await set_up(alice, session)
    async with access_token(alice, "ssh") as token:
        laptop.write_token(token["token"])
        process = await laptop.start("ssh", *laptop.options, laptop.host, "echo $$; exec sleep 600")
        assert process.stdout
        assert await asyncio.wait_for(process.stdout.readline(), PATIENCE_S)
        await alice.stop_session(session["id"])
        await asyncio.wait_for(process.communicate(), PATIENCE_S)
        assert process.returncode == 255
        assert "isn't running" in await laptop.ssh(laptop.host, "true", status=255)
    shutil.rmtree(laptop.folder)


async def test_connections_outlive_a_restart_of_the_portal(portal: Live, laptop: Laptop) -> None:
    process = await laptop.start("ssh", *laptop.options, laptop.host, "cat")
    assert process.stdin
    assert process.stdout
    process.stdin.write(b"before\n")
    assert await asyncio.wait_for(process.stdout.readline(), PATIENCE_S) == b"before\n"
    portal.kill("portal")
    process.stdin.write(b"meantime\n")
    assert await asyncio.wait_for(process.stdout.readline(), PATIENCE_S) == b"meantime\n"
    portal.wait_until_served()
    process.stdin.write(b"after\n")
    assert await asyncio.wait_for(process.stdout.readline(), PATIENCE_S) == b"after\n"
    process.stdin.close()
    await until(lambda: process.returncode is not None, "it ends")
