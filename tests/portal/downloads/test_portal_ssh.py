"""The program that users download as their ssh's ProxyCommand, against a small server."""

import ast
import asyncio
import errno
import fcntl
import os
import stat
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import WSMsgType, web

from portal.downloads import portal_ssh
from spawner.ssh.grant import HOST_KEY_HEADER, KEY_HEADER, parse_public_key
from spawner.ssh.host_key import render_public_key
from tests.paths import CHECKOUT

pytestmark = pytest.mark.anyio

PROGRAM = CHECKOUT / "portal/downloads/portal_ssh.py"
HOST_KEY = render_public_key("the session's secret")


@dataclass
class Laptop:
    """A user's computer, and a portal that admits the token `good` and echoes."""

    folder: Path
    url: str = ""
    host_key: str = HOST_KEY
    seen: list[web.Request] = field(default_factory=list)

    async def start(self, host: str = "s1.portal", **environ: str) -> asyncio.subprocess.Process:
        program = self.folder / PROGRAM.name
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", str(program), self.url, host),
            env={"PATH": os.environ["PATH"], **environ}, stdin=pipe, stdout=pipe, stderr=pipe,
        )  # fmt: skip

    async def refusal(self, host: str = "s1.portal", **environ: str) -> str:
        """Return what the program prints when it fails."""
        process = await self.start(host, **environ)
        _, errors = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode == 1
        return errors.decode()

    async def echo(self, sent: bytes, **environ: str) -> None:
        """Send bytes, expect them back, and end the connection as ssh does."""
        process = await self.start(**environ)
        assert process.stdin
        assert process.stdout
        process.stdin.write(sent)
        assert await asyncio.wait_for(process.stdout.readexactly(len(sent)), 60) == sent
        process.stdin.close()
        assert await asyncio.wait_for(process.wait(), 60) == 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request)
        if request.headers["Authorization"] == "Bearer narrow":
            refusal = {"type": "urn:portal:insufficient-scope", "detail": "It lacks the scope ssh."}
            return web.json_response(refusal, status=403)
        if request.headers["Authorization"] != "Bearer good":
            return web.json_response({"detail": "It was \x1b[2Jrevoked."}, status=401)
        socket = web.WebSocketResponse(heartbeat=0.2)
        socket.headers[HOST_KEY_HEADER] = self.host_key
        await socket.prepare(request)
        async for message in socket:
            assert message.type is WSMsgType.BINARY
            if message.data == b"cut":
                await socket.close(code=1008, message=b"The access token was revoked.")
                break
            if message.data == b"lose":
                assert request.transport
                request.transport.abort()
                break
            await socket.send_bytes(message.data)
        return socket


@pytest.fixture
async def laptop(tmp_path: Path) -> AsyncIterator[Laptop]:
    made = Laptop(tmp_path)
    (tmp_path / PROGRAM.name).write_bytes(PROGRAM.read_bytes())
    (tmp_path / "token").touch(0o600)
    (tmp_path / "token").write_text("good\n")
    app = web.Application()
    app.router.add_get("/user/alice/s1/ssh", made.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/user/alice/"
    yield made
    await runner.cleanup()


async def test_bytes_pass_both_ways(laptop: Laptop) -> None:
    for size in (1, 125, 126, 65_535, 65_536, 1_000_000):
        await laptop.echo(os.urandom(size))


async def test_its_key_is_made_once_and_kept_private(laptop: Laptop) -> None:
    await laptop.echo(b"x")
    await laptop.echo(b"x")
    private = laptop.folder / "id_ed25519"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    keys = {parse_public_key(request.headers[KEY_HEADER]) for request in laptop.seen}
    assert keys == {parse_public_key(private.with_suffix(".pub").read_text())}


async def test_the_sessions_key_replaces_an_earlier_one(laptop: Laptop) -> None:
    file = laptop.folder / "known_hosts"
    file.write_text(f"s2.portal {HOST_KEY}\ns1.portal {render_public_key('an earlier one')}\n")
    await laptop.echo(b"x")
    assert file.read_text().splitlines() == [f"s2.portal {HOST_KEY}", f"s1.portal {HOST_KEY}"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_key_that_is_none_ends_the_connection(laptop: Laptop) -> None:
    laptop.host_key = "* ssh-ed25519 AAAA"
    assert "did not state the session's key" in await laptop.refusal()
    assert not (laptop.folder / "known_hosts").exists()


async def test_the_token_is_in_a_private_file_or_in_the_environment(laptop: Laptop) -> None:
    file = laptop.folder / "token"
    file.chmod(0o640)
    assert f"chmod 600 {file}" in await laptop.refusal()
    file.unlink()
    assert "no access token" in await laptop.refusal()
    assert laptop.seen == []
    await laptop.echo(b"x", PORTAL_TOKEN="good")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
async def test_a_token_of_another_user_is_refused(laptop: Laptop) -> None:
    os.chown(laptop.folder / "token", 12345, -1)
    assert "belongs to another user" in await laptop.refusal()
    assert laptop.seen == []


async def test_the_portals_reason_is_printed_without_control_characters(laptop: Laptop) -> None:
    text = await laptop.refusal(PORTAL_TOKEN="bad")
    assert text == "portal: It was  [2Jrevoked.\n"


async def test_a_token_without_the_scope_is_refused_with_what_to_do(laptop: Laptop) -> None:
    text = await laptop.refusal(PORTAL_TOKEN="narrow")
    assert text == (
        "portal: It lacks the scope ssh.\nportal: Create a token with the permission SSH.\n"
    )


async def test_a_cut_connection_ends_the_program_with_the_reason(laptop: Laptop) -> None:
    """Its input stays open: ssh waits for the program's end."""
    process = await laptop.start()
    assert process.stdin
    assert process.stderr
    process.stdin.write(b"cut")
    assert await asyncio.wait_for(process.wait(), 60) == 1
    assert await process.stderr.read() == b"portal: The access token was revoked.\n"


def test_keys_that_are_written_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    hosts = [f"s{number}.portal" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda host: portal_ssh.remember(tmp_path, host, HOST_KEY), hosts))
    lines = (tmp_path / "known_hosts").read_text().splitlines()
    assert sorted(lines) == sorted(f"{host} {HOST_KEY}" for host in hosts)


def test_a_key_is_written_once_no_other_program_has_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portal_ssh, "LOCK_S", 0.1)
    with (
        portal_ssh.locked(tmp_path / portal_ssh.LOCK),
        pytest.raises(portal_ssh.ConnectionRefusal, match="Another program"),
    ):
        portal_ssh.remember(tmp_path, "s1.portal", HOST_KEY)
    portal_ssh.remember(tmp_path, "s1.portal", HOST_KEY)
    assert stat.S_IMODE((tmp_path / portal_ssh.LOCK).stat().st_mode) == 0o600


def test_a_file_system_without_locks_is_used_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOSYS, "not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    portal_ssh.remember(tmp_path, "s1.portal", HOST_KEY)
    assert (tmp_path / "known_hosts").read_text() == f"s1.portal {HOST_KEY}\n"


async def test_a_lost_connection_ends_the_program(laptop: Laptop) -> None:
    process = await laptop.start()
    assert process.stdin
    assert process.stderr
    process.stdin.write(b"lose")
    assert await asyncio.wait_for(process.wait(), 60) == 1
    assert await process.stderr.read() == b"portal: The connection was lost.\n"


async def test_a_portal_out_of_reach_is_an_error(laptop: Laptop) -> None:
    laptop.url = "http://127.0.0.1:1/user/alice/"
    assert "portal: " in await laptop.refusal()


async def test_the_token_is_sent_unencrypted_to_no_other_computer(laptop: Laptop) -> None:
    """Another address of this computer: the token would arrive."""
    laptop.url = laptop.url.replace("127.0.0.1", "127.0.0.2")
    assert "unencrypted" in await laptop.refusal()


def test_it_runs_with_the_oldest_python_that_it_names() -> None:
    text = PROGRAM.read_text()
    assert "Python 3.8 or later" in text
    ast.parse(text, feature_version=(3, 8))
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import)]
    assert {node.names[0].name for node in imports} <= sys.stdlib_module_names


@pytest.mark.parametrize("host", ["s1 .portal", "s1/../x", "s1\r\nX-Other: y", "", "s1..portal"])
async def test_a_name_that_is_no_host_sends_nothing(laptop: Laptop, host: str) -> None:
    assert "is not the name of a session" in await laptop.refusal(host)
    assert laptop.seen == []
