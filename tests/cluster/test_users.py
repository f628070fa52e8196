"""A user's life cycle with the demo's own directory and Slurm.

Creation, home directory, password change at the first login, a session; locking; deletion with
files.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from cluster.client import Client, RequestRefused
from tests.cluster.job_tools import SMALL
from tests.cluster.slurm_tools import until
from tests.live import Live

pytestmark = pytest.mark.anyio

BOUND_S = 120.0
USERS = "/admin/users"
NAME = f"newton-{os.getpid()}"
OWN_PASSWORD = "an apple on the head"
CSV = f"username;surname;groups\n{NAME};Newton;portal-users\nleibniz;;portal-users\n"


async def refusal(client: Client, method: str, path: str, body: Any = None) -> RequestRefused:
    with pytest.raises(RequestRefused) as caught:
        await client.api(method, path, body)
    return caught.value


async def home_run(carol: Client, task: str) -> Any:
    """Return the user's run of this kind, once it has ended."""

    async def ended() -> Any:
        runs = (await carol.api("GET", f"{USERS}/{NAME}"))["home_runs"]
        return next((r for r in runs if r["task"] == task and r["ended_at"]), None)

    return await until(ended)


async def absent(home: Path) -> bool:
    return not await asyncio.to_thread(home.exists)


async def archived(folder: Path, name: str) -> bool:
    """Return whether there is a complete archive with that name; there must be no second one."""
    found = [file.name for file in await asyncio.to_thread(lambda: list(folder.glob(f"{name}*")))]
    assert found in ([], [f"{name}.tar.gz"])
    return bool(found)


async def gone(carol: Client) -> bool:
    try:
        await carol.api("GET", f"{USERS}/{NAME}")
    except RequestRefused as error:
        assert error.status == 404, error
        return True
    return False


async def test_from_the_first_day_to_the_last(portal: Live) -> None:
    home = portal.state / "home" / NAME
    async with portal.login("carol") as carol:
        tried = await carol.api("POST", f"{USERS}/import", {"csv": CSV, "dry_run": True})
        results = [
            (row["username"], row["result"], [one["field"] for one in row["findings"]])
            for row in tried["rows"]
        ]
        assert results == [(NAME, "would_create", []), ("leibniz", "error", ["surname"])]
        assert tried["rows"][0]["slurm_account"] == "research", "the default of the settings"
        # only names: login group, Slurm account and home directory come from the settings
        made = await carol.api("POST", USERS, {"username": NAME, "surname": "Newton"})
        first, user = made["password"]["password"], made["user"]
        assert user["groups"] == ["portal-users"]

        run = await home_run(carol, "create")
        assert (run["state"], run["output"]) == ("done", f"{home} was created.\n")
        status = home.stat()
        assert (status.st_uid, status.st_gid) == (user["uid"], user["gid"])
        assert status.st_mode & 0o777 == 0o700
        # NSS resolves the user on the nodes, Slurm by the account in the user's limit
        assert portal.exec_as(NAME, ["id", "-un"], node="node01").strip() == NAME
        ready = (await carol.api("GET", f"{USERS}/{NAME}"))["readiness"]
        assert {name: one["answer"] for name, one in ready.items()} == dict.fromkeys(ready, "yes")

        async with Client(portal.base_url) as newton:
            begun = await newton.login(NAME, first)
            assert begun["password_change_required"] is True, begun
            assert (await refusal(newton, "GET", "/me")).status == 401, "it opens nothing else"
            change = {"current_password": first, "new_password": "short"}
            refused = await refusal(newton, "POST", "/login/password", change)
            assert "new_password" in refused.fields
            change["new_password"] = OWN_PASSWORD
            inside = await newton.api("POST", "/login/password", change)
            assert (inside["password_change_required"], inside["second_factor"]) == (False, "none")
            started = (await newton.start_session(resources=SMALL))["id"]
            session = await newton.wait_session(started, "running", "ended", timeout_s=BOUND_S)
            assert session["state"] == "running", session["reason"]
            shown = await carol.api("GET", f"{USERS}/{NAME}")
            assert (shown["live"]["sessions"], shown["must_change_password"]) == (1, False)
            assert len(shown["home_runs"]) == 1, "the first login found it made"

            await carol.api("POST", f"{USERS}/{NAME}/lock")
            async with Client(portal.base_url) as late:
                body = {"username": NAME, "password": OWN_PASSWORD}
                # a browser without an earlier login gets no information about the lock
                assert "wrong-credentials" in str(await refusal(late, "POST", "/login", body))
            assert (await newton.api("GET", "/me"))["username"] == NAME, "a lock ends no session"
            await carol.api("POST", f"{USERS}/{NAME}/unlock")

            leaving = {"files": "archive", "jobs": "cancel", "confirm": NAME}
            await carol.api("DELETE", f"{USERS}/{NAME}", leaving)
            assert (await refusal(newton, "GET", "/me")).status == 401
        await until(lambda: gone(carol))
        await until(lambda: absent(home))  # it is moved away first, and archived then
        await until(lambda: archived(portal.state / "state" / "homes", f"{NAME}-{user['uid']}"))
        (left,) = (await carol.api("GET", f"{USERS}?state=deleted&query={NAME}"))["items"]
        assert left["former_username"] == NAME
