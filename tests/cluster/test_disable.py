"""Disabling a user takes effect at once: in the browser, in Slurm, in the hub and in the directory.

Also when these are killed right afterwards, and when the user was deleted from the directory
before.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from cluster.client import Client, Kernel, RequestRefused
from tests.cluster.job_tools import AWAY, SMALL, board_of, is_away, submit
from tests.live import Live, command
from tests.polling import PATIENCE_S, until

pytestmark = pytest.mark.anyio

WAIT_S = 120


@dataclass
class Desk:
    """Everything that a user can have open at once; `pages` are addresses accessible to the
    user."""

    client: Client
    session: Any
    job: Any
    pages: list[str]
    kernel: Kernel
    events: aiohttp.ClientResponse
    log: aiohttp.ClientResponse
    token: str
    closed: list[asyncio.Task[None]] = field(default_factory=list)


@asynccontextmanager
async def desk(portal: Live, username: str, *, board: bool = True) -> AsyncIterator[Desk]:
    """Log in, open a notebook, a job, its TensorBoard and log, and the events; create a token."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(portal.login(username))
        made = await client.start_session(resources={**SMALL, "memory_gb": 2})
        job = await submit(client, "echo begun; sleep 1000")
        session = await client.wait_session(made["id"], "running", "ended")
        assert session["state"] == "running", session["reason"]
        await client.open_lab(session)
        kernel = await stack.enter_async_context(client.kernel(session))
        assert "42" in (await kernel.run("print(6 * 7)")).text
        pages = ["/api/v1/me", "/api/v1/events", f"{session['url']}api", f"{session['url']}lab"]
        if board:
            shown = await board_of(client, job["id"], {"logdir": "~"})
            assert shown["state"] == "running", shown["reason"]
            pages.append(await client.open_tensorboard(shown))
        events = await stack.enter_async_context(_stream(client, "/events"))
        log = await stack.enter_async_context(_stream(client, f"/jobs/{job['id']}/log/follow"))
        body = {"name": "script", "scopes": ["read"], "expires_in_days": 1}
        token = (await client.api("POST", "/tokens", body))["token"]
        found = Desk(client, session, job, pages, kernel, events, log, token)
        found.closed = [
            asyncio.create_task(end) for end in (_ends(kernel.socket), _read(events), _read(log))
        ]
        yield found


def _stream(client: Client, path: str) -> Any:
    never = aiohttp.ClientTimeout(total=None)
    return client.http.get(f"{client.base_url}/api/v1{path}", timeout=never)


async def _ends(socket: aiohttp.ClientWebSocketResponse) -> None:
    while (await socket.receive()).type is aiohttp.WSMsgType.TEXT:
        pass


async def _read(answer: aiohttp.ClientResponse) -> None:
    """Read a stream until its end, however it ends."""
    try:
        async for _ in answer.content.iter_any():
            pass
    except aiohttp.ClientError:
        pass


async def shut_out(portal: Live, there: Desk) -> None:
    """Check that neither cookie nor token works anywhere, and that every stream has ended."""
    async with asyncio.timeout(WAIT_S):
        await asyncio.gather(*there.closed)
    client = there.client
    for path in there.pages:
        assert await status_of(client, path) == 401, path
    bearer = {"Authorization": f"Bearer {there.token}"}
    assert await status_of(client, "/api/v1/jobs", bearer) == 401
    assert await login_refused(portal, client, there.session["owner"]) == 401


async def login_refused(portal: Live, client: Client, username: str) -> int:
    """Return the status, once the portal and the directory answer."""
    async with asyncio.timeout(WAIT_S):
        while True:
            try:
                await client.login(username, portal.users[username])
            except AWAY as error:
                if isinstance(error, RequestRefused) and not is_away(error):
                    return error.status
            else:
                raise AssertionError("they were let in")
            await asyncio.sleep(0.1)


async def status_of(client: Client, path: str, headers: dict[str, str] | None = None) -> int:
    """Return nginx's current status; its cached authorizations are seconds old at most."""
    async with asyncio.timeout(WAIT_S):
        while True:
            status = await client.status_of(path, headers=headers)
            if status < 500 and status not in {200, 424}:
                return status
            await asyncio.sleep(0.1)


async def closed(carol: Client, username: str) -> Any:
    """Return the user, once the portal has finished deprovisioning."""
    user: Any = None
    async with asyncio.timeout(WAIT_S):
        while not (user and user["deprovisioned_at"]):
            try:
                user = await carol.api("GET", f"/admin/users/{username}")
            except AWAY as error:
                if not is_away(error):
                    raise
            await asyncio.sleep(0.1)
    assert user["pending_steps"] == []
    assert (user["web_sessions"], user["tokens"]) == (0, 0)
    return user


def in_slurm(portal: Live, number: int) -> set[str]:
    """Return the ids of a user's jobs that have not ended."""
    shown = portal.exec_as("root", ["squeue", "-h", "-o", "%U %A %T"])
    rows = [line.split() for line in shown.splitlines()]
    return {job for uid, job, state in rows if int(uid) == number and state != "COMPLETING"}


async def known_to_hub(portal: Live, username: str) -> bool:
    """Return whether the hub has the user, and thus the user's tokens."""
    port = json.loads(command(portal.state, "status", "--json").stdout)["ports"]["hub"]
    token = (portal.state / "portal/secrets/hub_token").read_text().strip()
    url = f"http://127.0.0.1:{port}/hub/api/users/{username}"
    headers = {"Authorization": f"token {token}"}
    async with aiohttp.ClientSession() as http, http.get(url, headers=headers) as answer:
        assert answer.status in {200, 404}
        return answer.status == 200


async def disable(carol: Client, username: str, jobs: str = "cancel") -> Any:
    body = {"jobs": jobs, "why": "left on Friday"}
    return await carol.api("POST", f"/admin/users/{username}/disable", body)


# --- manual changes of the directory
# ----------------------------------------------------------------


def ldap(portal: Live, program: str, *arguments: str, text: str = "") -> str:
    """Run one of OpenLDAP's tools as the account that may write."""
    known = json.loads(command(portal.state, "status", "--json").stdout)["ldap"]
    secret = portal.state / "run" / "test-disable-password"
    secret.touch(0o600)
    secret.write_text(Path(known["bind_password_file"]).read_text().strip())
    argv = [program, "-x", "-ZZ", "-H", known["url"], "-D", known["bind_dn"]]
    done = subprocess.run(
        [*argv, "-y", str(secret), *arguments],
        env={**os.environ, "LDAPTLS_CACERT": known["ca_file"], "LDAPTLS_REQCERT": "demand"},
        input=text, capture_output=True, text=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def deleted_by_hand(portal: Live, username: str) -> Iterator[None]:
    """Delete a user's entry from the directory, and restore it unchanged afterwards."""
    suffix = json.loads(command(portal.state, "status", "--json").stdout)["ldap"]["suffix"]
    base = ("-LLL", "-o", "ldif-wrap=no", "-b", f"ou=people,{suffix}", f"(uid={username})", "*")
    entry = ldap(portal, "ldapsearch", *base)
    dn = entry.splitlines()[0].removeprefix("dn: ")
    ldap(portal, "ldapdelete", dn)
    try:
        yield
    finally:
        ldap(portal, "ldapadd", text=entry)


def shell_of(portal: Live, username: str) -> str:
    return portal.exec_as("root", ["getent", "passwd", username]).strip().rpartition(":")[2]


# --- the tests ------------------------------------------------------------------------------------


async def test_disabled_user_has_nothing_left_open(portal: Live) -> None:
    """First undisturbed; then with portal, hub and directory killed right afterwards, and jobs
    kept."""
    async with portal.login("carol") as carol:
        numbers = await carol.api("GET", "/admin/users/alice")
        try:
            async with desk(portal, "alice") as there:
                shown = await disable(carol, "alice")
                assert shown["disabled_at"] and not shown["deprovisioned_at"]
                await shut_out(portal, there)
                user = await closed(carol, "alice")
                assert user["disabled_in_directory"]
                assert shell_of(portal, "alice") == "/usr/sbin/nologin"
                assert in_slurm(portal, numbers["uid"]) == set()
                assert not await known_to_hub(portal, "alice")
            assert (await carol.api("POST", "/admin/users/alice/enable"))["disabled_at"] is None
            await _enabled(portal, carol)
            async with desk(portal, "alice", board=False) as there:
                await disable(carol, "alice", jobs="leave")
                for part in ("portal", "hub", "slapd"):
                    portal.kill(part)
                await shut_out(portal, there)
                await closed(carol, "alice")
                assert in_slurm(portal, numbers["uid"]) == {str(there.job["job_id"])}
                assert not await known_to_hub(portal, "alice")
                await disable(carol, "alice", jobs="cancel")
                await closed(carol, "alice")
                assert in_slurm(portal, numbers["uid"]) == set()
        finally:
            await carol.api("POST", "/admin/users/alice/enable")
            await _enabled(portal, carol)


async def _enabled(portal: Live, carol: Client) -> None:
    """Wait until the directory has been updated too."""
    await until(
        lambda: carol.api("GET", "/admin/users/alice"),
        "the directory is updated",
        done=lambda answer: not answer["directory_wants"],
        pause_s=0.1,
    )
    assert shell_of(portal, "alice") == "/bin/bash"


async def test_user_removed_from_directory_can_be_disabled(portal: Live) -> None:
    """No process can act as that user anymore, and Slurm does not resolve the name."""
    async with portal.login("carol") as carol:
        number = (await carol.api("GET", "/admin/users/bob"))["uid"]
        try:
            async with desk(portal, "bob") as there:
                with deleted_by_hand(portal, "bob"):
                    await disable(carol, "bob")
                    await shut_out(portal, there)
                    await closed(carol, "bob")
                    assert in_slurm(portal, number) == set()
                    assert not await known_to_hub(portal, "bob")
        finally:
            await carol.api("POST", "/admin/users/bob/enable")
