"""`dsp login`, `logout` and `whoami` against a real portal, and the errors that scripts see."""

import asyncio
import json
import socket
import stat
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from client.config import load_logins
from portal.services.auth.tokens import new_text
from tests.polling import PATIENCE_S
from tests.portal.client.program import ClientProgram, Finished, create_token, finish
from tests.portal.conftest import Browser, Portal

pytestmark = pytest.mark.anyio
DEVICE = "/api/v1/login/device"


@pytest.fixture
async def alice(portal: Portal) -> AsyncIterator[Browser]:
    async with portal.browser() as browser:
        assert (await browser.login("alice")).status == 200
        await browser.confirm()
        yield browser


@pytest.fixture
def program(portal: Portal, tmp_path: Path) -> ClientProgram:
    home = tmp_path / "laptop"
    home.mkdir()
    return ClientProgram(portal.url, home)


@pytest.fixture(autouse=True)
def polls_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portal.api.device_login.INTERVAL", timedelta(seconds=1))


async def log_in(
    program: ClientProgram,
    browser: Browser,
    decision: str = "approve",
    option: str = "--no-browser",
    *more: str,
) -> tuple[dict[str, Any], Finished]:
    """Run `login`, and decide in the browser. Return its first line as JSON, and the rest."""
    arguments = ("login", "--portal", program.url, option, "--json", *more)
    async with program.started(*arguments) as process, asyncio.timeout(PATIENCE_S):
        assert process.stdout is not None
        shown = json.loads(await process.stdout.readline())
        body: dict[str, Any] = {"user_code": shown["user_code"]}
        if decision == "approve":
            body["expires_in_days"] = 7
        assert (await browser.post(f"{DEVICE}/{decision}", body)).status == 204
        return shown, await finish(process)


class TestLogin:
    async def test_the_confirmed_login_is_saved_for_its_owner_only(
        self, program: ClientProgram, alice: Browser
    ) -> None:
        shown, done = await log_in(program, alice)
        assert done.code == 0, done
        assert done.value["username"] == "alice"
        assert shown["user_code"] in done.err
        assert stat.S_IMODE(program.config.stat().st_mode) == 0o600
        token = load_logins(program.config).logins[program.url].token
        assert token not in done.out + done.err
        (item,) = (await alice.get("/api/v1/tokens")).body["items"]
        assert item["scopes"] == ["files", "jobs", "read", "sessions"]

        who = await program.run("whoami", "--json")
        assert who.value == {"portal": program.url, "username": "alice"}

    async def test_a_login_permits_ssh_only_on_request(
        self, program: ClientProgram, alice: Browser
    ) -> None:
        _, done = await log_in(program, alice, "approve", "--no-browser", "--scope", "ssh")
        assert done.code == 0, done
        (item,) = (await alice.get("/api/v1/tokens")).body["items"]
        assert item["scopes"] == ["files", "jobs", "read", "sessions", "ssh"]
        assert (await program.run("login", "--scope", "admin")).code == 2

    async def test_a_refused_login_saves_nothing(
        self, program: ClientProgram, alice: Browser
    ) -> None:
        _, done = await log_in(program, alice, "deny")
        assert done.code == 5
        assert done.problem["error"] == "access-denied"
        assert not program.config.exists()

    async def test_the_browsers_arguments_contain_no_code(
        self, program: ClientProgram, alice: Browser
    ) -> None:
        opened, script = program.home / "opened", program.home / "browser"
        script.write_text(f'#!/bin/sh\necho "$@" > {opened}\n')
        script.chmod(0o755)
        other = ClientProgram(program.url, program.home, {"BROWSER": f"{script} %s"})
        shown, done = await log_in(other, alice, option="--browser")
        assert done.code == 0, done
        assert opened.read_text().strip() == shown["verification_uri"]
        assert shown["user_code"] not in shown["verification_uri"]

    async def test_a_further_login_revokes_the_token_that_it_replaces(
        self, program: ClientProgram, alice: Browser
    ) -> None:
        for token in ((await create_token(alice))["token"], new_text()):
            program.save_token(token)
            _, done = await log_in(program, alice)
            assert done.code == 0, done
            assert "still valid" not in done.err
        names = [item["name"] for item in (await alice.get("/api/v1/tokens")).body["items"]]
        assert "laptop" not in names
        assert len(names) == 2

    async def test_logout_revokes_the_saved_token_not_that_of_a_file(
        self, program: ClientProgram, alice: Browser
    ) -> None:
        program.save_token((await create_token(alice))["token"])
        file = program.home / "token"
        file.touch(mode=0o600)
        file.write_text((await create_token(alice, name="of a file"))["token"])
        other = ClientProgram(program.url, program.home, {"DSP_TOKEN_FILE": str(file)})
        assert (await other.run("logout")).code == 0
        (kept,) = (await alice.get("/api/v1/tokens")).body["items"]
        assert kept["name"] == "of a file"

    async def test_logout_revokes_the_token(self, program: ClientProgram, alice: Browser) -> None:
        program.save_token((await create_token(alice))["token"])
        assert (await program.run("logout")).code == 0
        assert (await alice.get("/api/v1/tokens")).body["items"] == []
        assert load_logins(program.config).logins == {}
        again = await program.run("logout", "--portal", program.url, "--json")
        assert (again.code, again.problem["error"]) == (3, "not-logged-in")


class TestTokens:
    async def test_without_a_login_nothing_is_sent(self, program: ClientProgram) -> None:
        done = await program.run("jobs", "--portal", program.url)
        assert done.code == 3
        assert f"dsp login --portal {program.url}" in done.err

    async def test_a_wrong_token_asks_for_a_login(self, program: ClientProgram) -> None:
        program.save_token(new_text())
        done = await program.run("whoami", "--json")
        assert (done.code, done.problem["error"]) == (3, "login-required")
        assert done.out == ""

    async def test_a_token_revoked_in_the_middle_ends_the_program(
        self, program: ClientProgram, alice: Browser
    ) -> None:
        made = await create_token(alice)
        program.save_token(made["token"])
        assert (await program.run("jobs")).code == 0
        assert (await alice.send("DELETE", f"/api/v1/tokens/{made['id']}")).status == 204
        assert (await program.run("jobs")).code == 3

    async def test_a_token_without_the_scope_is_refused(
        self, program: ClientProgram, alice: Browser
    ) -> None:
        program.save_token((await create_token(alice, "read"))["token"])
        done = await program.run("cp", "--json", ":x", ".")
        assert (done.code, done.problem["error"]) == (5, "insufficient-scope")

    async def test_two_clients_share_a_token(self, program: ClientProgram, alice: Browser) -> None:
        program.save_token((await create_token(alice))["token"])
        results = await asyncio.gather(*(program.run("whoami") for _ in range(2)))
        assert [done.code for done in results] == [0, 0]

    async def test_the_token_of_a_file_is_used(
        self, program: ClientProgram, alice: Browser
    ) -> None:
        file = program.home / "token"
        file.touch(mode=0o600)
        file.write_text((await create_token(alice))["token"] + "\n")
        variables = {"DSP_TOKEN_FILE": str(file), "DSP_PORTAL": program.url}
        other = ClientProgram(program.url, program.home, variables)
        assert (await other.run("whoami", "--json")).value["username"] == "alice"

    async def test_the_token_passes_no_proxy_without_tls(
        self, program: ClientProgram, alice: Browser
    ) -> None:
        program.save_token((await create_token(alice))["token"])
        proxy = {"http_proxy": "http://127.0.0.1:1", "no_proxy": ""}
        other = ClientProgram(program.url, program.home, proxy)
        assert (await other.run("whoami", "--json")).value["username"] == "alice"


class TestErrors:
    async def test_an_unreachable_portal_has_its_own_code(
        self, program: ClientProgram, alice: Browser
    ) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            elsewhere = ClientProgram(f"http://127.0.0.1:{unused.getsockname()[1]}", program.home)
            elsewhere.save_token((await create_token(alice))["token"])
            done = await elsewhere.run("jobs", "--json")
        assert (done.code, done.problem["error"]) == (6, "unreachable")
        assert done.out == ""

    async def test_something_that_is_no_portal_is_named(
        self, program: ClientProgram, alice: Browser
    ) -> None:
        async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = "HTTP/1.1 302 Found\r\nLocation: http://evil.example/\r\n"
            writer.write(f"{head}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            other = ClientProgram(url, program.home)
            other.save_token((await create_token(alice))["token"])
            done = await other.run("whoami", "--json")
        assert (done.code, done.problem["error"]) == (6, "unknown-answer")

    async def test_wrong_usage_has_its_own_code(self, program: ClientProgram) -> None:
        for arguments in (["jobs", "--state", "odd"], ["nonsense"], ["cp", "a", "b"], []):
            done = await program.run(*arguments)
            assert done.code == 2, (arguments, done)
        done = await program.run("jobs", "--portal", "http://portal.example", "--json")
        assert (done.code, done.problem["error"]) == (2, "usage")

    async def test_a_missing_job_and_session_are_not_found(
        self, program: ClientProgram, alice: Browser
    ) -> None:
        program.save_token((await create_token(alice))["token"])
        for arguments in (
            ("logs", "12345"),
            ("cancel", "abcd1234"),
            ("logs", "00000000-0000-4000-8000-000000000000"),
            ("sessions", "stop", "nothing"),
        ):
            assert (await program.run(*arguments)).code == 4, arguments
        assert (await program.run("logs", "; rm -rf /")).code == 2
