"""The site's command for home directories: run once, with stored output, and repeated after a
kill."""

import asyncio
import fcntl
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from portal.background.notifier import HOMES
from portal.health.checks.installation import check_home_commands, has_home_commands
from portal.models import HomeCommandRun, HomeState, User
from tests.portal.conftest import Browser, MakeSettings, Portal
from tests.portal.users_portal import USERS, RunHere, audited, logged_in

pytest_plugins = ["tests.portal.users_fixtures"]
pytestmark = pytest.mark.anyio


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], list[str]]:
    """Return a function that creates a site command from Python code; it receives the arguments."""

    def make(text: str) -> list[str]:
        file = tmp_path / "make_home.py"
        file.write_text(text)
        return [sys.executable, "-I", str(file), "{username}", "{uid}", "{gid}", "{home}"]

    return make


async def last_run(browser: Browser, username: str, *, runs: int = 1) -> dict[str, Any]:
    """Return the newest run, once this many have ended."""
    async with asyncio.timeout(120):
        while True:
            found = (await browser.get(f"{USERS}/{username}")).body["home_runs"]
            over = [run for run in found if run["state"] in {"done", "failed"}]
            if len(over) >= runs:
                run: dict[str, Any] = over[0]
                return run
            await asyncio.sleep(0.05)


async def test_home_is_made_once_and_its_output_kept(
    run_here: RunHere, script: Callable[[str], list[str]]
) -> None:
    command = script("import sys\nprint('made', *sys.argv[1:])\nprint('mind', file=sys.stderr)\n")
    async with run_here(home_command=command) as portal, logged_in(portal, "carol") as carol:
        made = await carol.post(USERS, {"username": "home-ada", "surname": "Ada"})
        uid = made.body["user"]["uid"]
        run = await last_run(carol, "home-ada")
        assert (run["task"], run["state"], run["exit_code"]) == ("create", "done", 0)
        assert sorted(run["output"].splitlines()) == [
            f"made home-ada {uid} {uid} /home/home-ada",
            "mind",
        ]
        assert run["requested_by"] == "carol"
        assert (await audited(portal, "home.done", "home-ada"))[0]["exit_code"] == 0
        # her own home was never created: her first login requests it, a second one does not
        await last_run(carol, "carol")
        async with logged_in(portal, "carol") as again:
            assert len((await again.get(f"{USERS}/carol")).body["home_runs"]) == 1


async def test_a_failure_is_shown_and_tried_again_by_an_admin(
    run_here: RunHere, script: Callable[[str], list[str]], tmp_path: Path
) -> None:
    flag = tmp_path / "works"
    command = script(
        f"import os, sys\nprint('x' * 100_000)\nprint('no space')\n"
        f"sys.exit(0 if os.path.exists({str(flag)!r}) else 3)\n"
    )
    async with run_here(home_command=command) as portal, logged_in(portal, "carol") as carol:
        await carol.post(USERS, {"username": "home-eve", "surname": "Eve"})
        run = await last_run(carol, "home-eve")
        assert (run["state"], run["exit_code"]) == ("failed", 3)
        assert run["output"].endswith("x\nno space\n")
        assert len(run["output"]) == 64 * 1024
        flag.touch()
        answer = await carol.post(f"{USERS}/home-eve/home", {"task": "create"})
        assert answer.status == 202
        assert (await last_run(carol, "home-eve", runs=2))["state"] == "done"
        assert len(await audited(portal, "home.failed", "home-eve")) == 1
        assert (await carol.post(f"{USERS}/home-eve/home", {"task": "delete"})).status == 422


async def test_what_cannot_be_run_and_what_takes_too_long(
    run_here: RunHere, script: Callable[[str], list[str]]
) -> None:
    nowhere = ["/nowhere/make-home", "{username}"]
    async with run_here(home_command=nowhere) as portal, logged_in(portal, "carol") as carol:
        await carol.post(USERS, {"username": "home-fay", "surname": "Fay"})
        run = await last_run(carol, "home-fay")
        assert (run["state"], run["exit_code"]) == ("failed", None)
        assert "/nowhere/make-home can't be run: No such file" in run["output"]
    sleeps = script("import time\nprint('begun', flush=True)\ntime.sleep(3600)\n")
    changes: dict[str, Any] = {"home_command": sleeps, "home_command_minutes": 0.02}
    async with run_here(**changes) as portal, logged_in(portal, "carol") as carol:
        assert (await carol.post(f"{USERS}/home-fay/home", {"task": "create"})).status == 202
        run = await last_run(carol, "home-fay", runs=2)
        assert run["state"] == "failed"
        assert run["output"].startswith("begun")
        assert "home_command_minutes" in run["output"]


async def test_without_a_command_the_portal_makes_none(here: Portal, carol: Browser) -> None:
    made = await carol.post(USERS, {"username": "home-gus", "surname": "Gus"})
    assert (made.body["user"]["home_runs"], made.body["user"]["home_tasks"]) == ([], [])
    refused = await carol.post(f"{USERS}/home-gus/home", {"task": "create"})
    assert (refused.status, refused.slug) == (409, "conflict")
    assert "home_command" in refused.body["detail"]


async def test_a_home_that_could_be_anything_is_never_handed_on(
    run_here: RunHere, script: Callable[[str], list[str]], tmp_path: Path
) -> None:
    """The command runs as root on the directory's value, which is therefore validated first."""
    record = tmp_path / "ran"
    command = script(f"open({str(record)!r}, 'w')\n")
    async with run_here(home_command=command) as portal, logged_in(portal, "carol") as carol:
        await last_run(carol, "carol")
        record.unlink()
        for number, home in enumerate(("/", "/home", "/home/../etc", "", "home/a", "/home//a")):
            username = f"odd-home{number}"
            async with portal.context.db.session() as db:
                user = await _row(db, username)
                db.add(HomeCommandRun(user_id=user, task="create", home=home, uid=20001, gid=1,
                               requested_by="carol"))  # fmt: skip
                await db.commit()
        system = {"home": "/home/sys", "uid": 12, "gid": 1}
        async with portal.context.db.session() as db:
            user = await _row(db, "odd-home-system")
            db.add(HomeCommandRun(user_id=user, task="create", requested_by="carol", **system))
            await db.commit()
        portal.context.notifier.notify(HOMES)
        for username in (*(f"odd-home{number}" for number in range(6)), "odd-home-system"):
            run = await last_run(carol, username)
            assert (run["state"], run["exit_code"]) == ("failed", None), username
        assert not record.exists()


async def _row(db: Any, username: str) -> str:
    user = User(username=username, uid=20001)
    db.add(user)
    await db.flush()
    return user.id


async def test_after_a_kill_it_runs_again_when_nothing_is_left_of_the_old(
    run_here: RunHere, script: Callable[[str], list[str]], tmp_path: Path
) -> None:
    """The row of a killed portal is `running`, and its command may still be running: it holds
    the lock. The next portal waits for it, then runs the command again."""
    command = script("print('again')\n")
    locks = tmp_path / "homes"
    locks.mkdir(mode=0o700)
    async with run_here() as portal, logged_in(portal, "carol") as carol:
        await carol.post(USERS, {"username": "home-ida", "surname": "Ida"})
        async with portal.context.db.session() as db:
            user_id = (await carol.get(f"{USERS}/home-ida")).body["user_id"]
            db.add(HomeCommandRun(user_id=user_id, task="create", state="running",
                                  home="/home/home-ida", uid=50000, gid=50000,
                                  requested_by="carol"))  # fmt: skip
            await db.commit()
    lock = os.open(locks / user_id, os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    old = await asyncio.create_subprocess_exec("sleep", "3600", stdin=lock)
    os.close(lock)  # from now on only the command holds it
    try:
        async with run_here(home_command=command) as portal, logged_in(portal, "carol") as carol:
            await last_run(carol, "carol")  # the loop has completed a round
            (waiting,) = (await carol.get(f"{USERS}/home-ida")).body["home_runs"]
            assert waiting["state"] == HomeState.RUNNING
            old.kill()
            await old.wait()
            run = await last_run(carol, "home-ida")
            assert (run["state"], run["output"]) == ("done", "again\n")
    finally:
        if old.returncode is None:
            old.kill()
            await old.wait()


def test_portal_check_names_the_command_that_is_missing(make_settings: MakeSettings) -> None:
    assert not has_home_commands(make_settings())
    health: Any = SimpleNamespace(settings=make_settings(home_command=["sudo", "-n", "x"]))
    assert has_home_commands(health.settings)
    assert check_home_commands(health).problem is None
    health.settings = make_settings(home_delete_command=["/nowhere/gone"])
    found = check_home_commands(health)
    assert found.problem == "/nowhere/gone can't be run"
    assert "home_delete_command" in found.suggestion


def test_only_known_places_are_filled_in(make_settings: MakeSettings) -> None:
    for bad in ("{password}", "{username!r}", "{0}", "{home:>10}", "{", "{username.__class__}"):
        with pytest.raises(ValidationError):
            make_settings(home_command=["make-home", bad])
    assert make_settings(home_command=["make-home", "{home}/x", "{{"]).home_command
