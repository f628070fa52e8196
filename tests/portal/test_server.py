"""A portal with a persistent socket restarts without errors for clients behind nginx."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from portal.config.settings import Settings
from tests.paths import CHECKOUT
from tests.polling import PATIENCE_S, until
from tests.portal.cli.test_main import command
from tests.portal.command_line import write_config
from tests.portal.conftest import Browser, MakeSettings
from tests.servers.nginx import run_nginx
from tests.servers.portal_process import in_slurm

pytestmark = pytest.mark.anyio
RESTARTS = 2
MORE = 20


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """The socket of a service manager: it exists before the portal and after it."""
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as held:
        yield held


@dataclass
class Served:
    """A portal process on an inherited socket, and the requests sent to it."""

    settings: Settings
    folder: Path
    listener: socket.socket
    http: aiohttp.ClientSession
    process: subprocess.Popen[bytes] | None = None
    answers: list[Any] = field(default_factory=list)
    streams: int = 0

    def start(self) -> None:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PORTAL_")}
        fd = self.listener.fileno()
        argv = [sys.executable, "-m", "tests.servers.portal_process", str(self.folder / "slurm")]
        with (self.folder / "portal.log").open("ab") as out:
            self.process = subprocess.Popen(
                [*argv, "--fd", str(fd)],
                env={**kept, "PORTAL_CONFIG": str(self.folder / "portal.toml")},
                cwd=CHECKOUT, stdout=out, stderr=out, pass_fds=(fd,),
            )  # fmt: skip

    async def end(self) -> None:
        """Stop it as a service manager does; it must end by itself."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            process, self.process = self.process, None
            assert await asyncio.to_thread(process.wait) in {0, -signal.SIGTERM}

    @property
    def browser(self) -> Browser:
        return Browser(self.http, self.settings.public_url)

    async def look(self) -> None:
        """Send requests repeatedly until cancelled."""
        while True:
            answer = await self.browser.get(f"{self.settings.public_url}/api/v1/jobs")
            self.answers.append(("GET", answer.status, answer.body))

    async def submit(self, who: int) -> None:
        """Submit jobs one after another, each once: this client does not retry."""
        number = 0
        while True:
            number += 1
            answer = await self.browser.post(
                f"{self.settings.public_url}/api/v1/jobs",
                {"script": "true", "name": f"job-{who}-{number}"},
            )
            self.answers.append(("POST", answer.status, answer.body))

    async def follow(self) -> None:
        """Follow the event stream, reconnecting whenever it ends; it never breaks off."""
        while True:
            async with self.http.get(f"{self.settings.public_url}/api/v1/events") as answer:
                self.answers.append(("stream", answer.status, ""))
                async for _ in answer.content:
                    pass
                self.streams += 1

    async def more(self, kind: str, count: int = MORE) -> None:
        """Wait for this many more responses."""
        wanted = self.count(kind) + count
        await until(lambda: self.count(kind) >= wanted, f"{count} more answers to a {kind}")

    def count(self, kind: str) -> int:
        return sum(found == kind for found, _, _ in self.answers)


@asynccontextmanager
async def served(
    make_settings: MakeSettings, folder: Path, listener: socket.socket
) -> AsyncIterator[Served]:
    (folder / "slurm").mkdir()
    port = listener.getsockname()[1]
    with run_nginx(portal_port=port) as front:
        url = f"http://127.0.0.1:{front.inputs.public.port}"
        settings = make_settings(listen_port=port, public_url=url)
        write_config(settings, folder / "portal.toml")
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
            made = Served(settings, folder, listener, http)
            made.start()
            try:
                login = {"username": "alice", "password": "correct horse battery"}
                answer = await made.browser.post(f"{url}/api/v1/login", login)
                assert answer.status == 200, answer
                yield made
            finally:
                await made.end()


async def test_no_request_fails_while_it_is_restarted(
    make_settings: MakeSettings, tmp_path: Path, listener: socket.socket
) -> None:
    """Clients read and submit constantly, through nginx; every request succeeds."""
    async with served(make_settings, tmp_path, listener) as portal:
        asking = [
            *(asyncio.create_task(portal.look()) for _ in range(4)),
            *(asyncio.create_task(portal.submit(who)) for who in range(2)),
            asyncio.create_task(portal.follow()),
        ]
        try:
            for _ in range(RESTARTS):
                await portal.more("GET")
                await portal.more("POST", 4)
                await portal.end()
                portal.start()
            await portal.more("GET")
            await portal.more("POST", 4)
        finally:
            for task in asking:
                task.cancel()
            ended = await asyncio.gather(*asking, return_exceptions=True)
        assert all(isinstance(found, asyncio.CancelledError) for found in ended), ended
        wrong = [found for found in portal.answers if found[1] not in {200, 201}]
        assert wrong == []
        assert portal.streams >= RESTARTS
        ids = {body["id"] for kind, _, body in portal.answers if kind == "POST"}
        assert len(ids) == portal.count("POST")
        there = in_slurm(tmp_path / "slurm")
        assert {there[job] for job in ids} == {1}
        assert set(there.values()) == {1}


async def test_who_comes_while_none_runs_waits_for_the_next(
    make_settings: MakeSettings, tmp_path: Path, listener: socket.socket
) -> None:
    async with served(make_settings, tmp_path, listener) as portal:
        await portal.end()
        waiting = [
            asyncio.create_task(portal.browser.get(f"{portal.settings.public_url}/api/v1/me")),
            asyncio.create_task(
                portal.browser.post(f"{portal.settings.public_url}/api/v1/jobs", {"script": "true"})
            ),
        ]
        portal.start()
        assert [answer.status for answer in await asyncio.gather(*waiting)] == [200, 201]


class TestHandedOver:
    """The socket as systemd passes it, and invalid ones."""

    def run(self, config: Path, listener: socket.socket, *, count: str = "1") -> Any:
        """Run `portal serve` with the socket as file descriptor 3 and its own pid in LISTEN_PID."""
        argv, options = command("serve", config=config)
        script = 'exec 3<&0 0</dev/null; LISTEN_PID=$$ exec "$0" "$@"'
        options["env"]["LISTEN_FDS"] = count
        return subprocess.Popen(
            ["/bin/sh", "-c", script, *argv],
            stdin=listener.fileno(),
            stderr=subprocess.PIPE,
            **options,
        )

    async def test_systemds_own_way(
        self, make_settings: MakeSettings, tmp_path: Path, listener: socket.socket
    ) -> None:
        port = listener.getsockname()[1]
        config = write_config(make_settings(listen_port=port), tmp_path / "portal.toml")
        with self.run(config, listener) as process:
            try:
                url = f"http://127.0.0.1:{port}/healthz"
                async with aiohttp.ClientSession() as http, http.get(url) as answer:
                    assert answer.status == 200
            finally:
                process.terminate()
                process.communicate()

    async def test_it_is_notified_when_the_portal_answers_and_when_it_ends(
        self,
        make_settings: MakeSettings,
        tmp_path: Path,
        listener: socket.socket,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        port = listener.getsockname()[1]
        config = write_config(make_settings(listen_port=port), tmp_path / "portal.toml")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
            notified.bind(str(tmp_path / "notify"))
            notified.settimeout(PATIENCE_S)
            monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
            with self.run(config, listener) as process:
                try:
                    assert await asyncio.to_thread(notified.recv, 100) == b"READY=1"
                    url = f"http://127.0.0.1:{port}/healthz"
                    async with aiohttp.ClientSession() as http, http.get(url) as answer:
                        assert answer.status == 200
                finally:
                    process.terminate()
                    process.communicate()
            assert notified.recv(100) == b"STOPPING=1"

    def test_it_is_not_notified_of_a_start_that_is_refused(
        self,
        make_settings: MakeSettings,
        tmp_path: Path,
        listener: socket.socket,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        config = write_config(make_settings(), tmp_path / "portal.toml")  # of another port
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
            notified.bind(str(tmp_path / "notify"))
            notified.setblocking(False)
            monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
            with self.run(config, listener) as process:
                process.communicate()
            assert process.returncode == 1
            with pytest.raises(BlockingIOError):
                notified.recv(100)

    def test_one_socket_and_no_more(
        self, make_settings: MakeSettings, tmp_path: Path, listener: socket.socket
    ) -> None:
        settings = make_settings(listen_port=listener.getsockname()[1])
        config = write_config(settings, tmp_path / "portal.toml")
        with self.run(config, listener, count="2") as process:
            _, output = process.communicate()
        assert process.returncode == 1
        assert output.strip().endswith(
            "systemd passed 2 sockets: portal.socket must have exactly one."
        )

    def test_it_must_listen_at_the_portals_port(
        self, make_settings: MakeSettings, tmp_path: Path, listener: socket.socket
    ) -> None:
        config = write_config(make_settings(), tmp_path / "portal.toml")
        with self.run(config, listener) as process:
            _, output = process.communicate()
        assert process.returncode == 1
        (line,) = output.splitlines()
        assert "passed as 3 doesn't listen on port 8001" in line


async def test_a_connection_that_was_taken_is_answered(
    make_settings: MakeSettings, tmp_path: Path, listener: socket.socket
) -> None:
    """The connection was made just before the end, and the request is sent just after."""
    async with served(make_settings, tmp_path, listener) as portal:
        port = listener.getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        # this one comes later, so the first has been accepted when it is answered
        assert (await portal.browser.get(f"http://127.0.0.1:{port}/healthz")).status == 200
        ending = asyncio.create_task(portal.end())
        log = tmp_path / "portal.log"
        await until(lambda: "takes no more connections" in log.read_text(), "the end begins")
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert (await reader.readline()) == b"HTTP/1.1 200 OK\r\n"
        writer.close()
        await ending
