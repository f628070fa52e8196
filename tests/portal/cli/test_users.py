"""Users and groups on the command line, beside a running portal."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from portal.models import AccountState, User
from tests.paths import CHECKOUT
from tests.polling import until
from tests.portal.command_line import ME, Run, command_line, write_config
from tests.portal.conftest import MakeSettings, Portal, running_portal
from tests.portal.users_portal import RunHere, audited, logged_in

pytest_plugins = ["tests.portal.users_fixtures"]
pytestmark = pytest.mark.anyio


@pytest.fixture
async def here(
    make_settings: MakeSettings, writing_settings: dict[str, Any]
) -> AsyncIterator[Portal]:
    settings = make_settings(**writing_settings)
    async with running_portal(settings) as portal, logged_in(portal, "carol"):
        yield portal


@pytest.fixture
def config(here: Portal, tmp_path: Path) -> Path:
    return write_config(here.settings, tmp_path / "portal.toml")


@pytest.fixture
def run(config: Path) -> Iterator[Run]:
    with command_line(config) as made:
        yield made


@pytest.mark.parametrize("command", ["show", "list"])
async def test_as_a_process_of_its_own(config: Path, command: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "portal", "users", command, "p0007"),
        cwd=CHECKOUT,
        env={"PORTAL_CONFIG": str(config), "PATH": "/usr/bin:/bin"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert b"User 0007" in out


async def test_a_users_life_at_the_command_line(here: Portal, run: Run, tmp_path: Path) -> None:
    made = await run(
        *("users", "add", "cli-ada", "--surname", "Lovelace", "--given-name", "Ada"),
        *("--group", "scientists", "--show-password"),
    )
    assert (made.code, made.err) == (0, ""), made
    assert "cli-ada was created" in made.out
    password = made.out.splitlines()[1].removeprefix("One-time password: ")
    async with here.browser() as ada:
        answer = await ada.login("cli-ada", password)
        assert answer.body["password_change_required"] is True
    (event,) = await audited(here, "user.create", "cli-ada")
    assert event["actor"] == ME

    again = await run("users", "add", "cli-ada", "--surname", "X", "--uid", "0")
    absent = await run("users", "password", "cli-absent", "--file", str(tmp_path / "one-time"))
    secret = await run("users", "password", "cli-ada", "--file", str(tmp_path / "one-time"))
    listed = await run("users", "list", "cli-ada")
    shown = await run("users", "show", "CLI-Ada", "--json")
    locked = await run("users", "lock", "p0100")
    assert (again.code, again.out) == (1, "")
    assert "username: A user named cli-ada already exists." in again.err
    assert "uid: Numbers below" in again.err
    assert absent.code == 1
    assert secret.code == 0, "the refusal left no file"
    assert (tmp_path / "one-time").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "one-time").read_text().strip() not in secret.out
    head, only = listed.out.splitlines()
    assert head.split() == ["USERNAME", "NAME", "ROLE", "STATE", "UID", "MAIL"]
    assert only.startswith("cli-ada")
    assert json.loads(shown.out)["groups"] == ["scientists"]
    assert (locked.code, locked.out) == (0, "p0100 is locked.\n")

    edited = await run("users", "edit", "cli-ada", "--email", "ada@x.org", "--json")
    left = await run("users", "groups", "cli-ada", "--remove", "scientists")
    unlocked = await run("users", "unlock", "p0100")
    refused = await run("users", "lock", "carol")
    assert json.loads(edited.out)["email"] == "ada@x.org"
    assert (left.code, left.out) == (0, "")
    assert unlocked.code == 0
    assert (refused.code, "administrator" in refused.err) == (1, True), "the last administrator"


async def test_import_groups_and_leaving(here: Portal, run: Run, tmp_path: Path) -> None:
    file, passwords = tmp_path / "users.csv", tmp_path / "passwords.csv"
    file.write_text("username,surname,uid\ncli-a,A,\ncli-b,,\np0001,P,\ncli-c,C,x\n")
    silent = await run("users", "import", str(file))
    tried = await run("users", "import", str(file), "--dry-run", "--json")
    group = await run("groups", "create", "cli-team", "--member", "alice", "--description", "A lab")
    assert (silent.code, "--passwords" in silent.err) == (2, True)
    assert tried.code == 1
    results = [
        (row["line"], row["result"], [one["field"] for one in row["findings"]])
        for row in json.loads(tried.out)["rows"]
    ]
    assert results == [
        (2, "would_create", []),
        (3, "error", ["surname"]),
        (4, "exists", [None]),
        (5, "error", ["uid"]),
    ]
    assert (group.code, group.err) == (0, "")

    real = await run("users", "import", str(file), "--passwords", str(passwords))
    assert real.code == 1
    assert "1 were created, 1 already exist, 2 failed." in real.out
    assert passwords.stat().st_mode & 0o777 == 0o600
    (head, line) = passwords.read_text().splitlines()
    assert (head, line.split(",")[0]) == ("username,password", "cli-a")
    assert line.split(",")[1] not in real.out

    added = await run("groups", "add", "cli-team", "cli-a", "bob")
    granted = await run("users", "grant", "alice", "viewer")
    disabled = await run("users", "disable", "cli-a", "--why", "left")
    managing = await run("groups", "add-manager", "cli-team", "p0101")
    assert (added.code, added.out) == (0, "cli-team has 3 members.\n")
    assert [granted.code, disabled.code, managing.code] == [0, 0, 0], (granted, disabled, managing)
    shown = await run("groups", "show", "cli-team")
    listed = await run("users", "list", "--state", "disabled", "--json")
    last = await run("users", "disable", "carol")
    assert "managers: p0101" in shown.out
    assert [one["username"] for one in json.loads(listed.out)] == ["cli-a"]
    assert (last.code, last.out) == (1, ""), "the last administrator"
    (event,) = await audited(here, "user.disable", "cli-a")
    assert (event["actor"], event["why"]) == (ME, "left")


async def test_audit_and_announcements_at_the_command_line(here: Portal, run: Run) -> None:
    added = await run(
        *("announcements", "add", "Maintenance", "--level", "warning", "--public"),
        *("--ends", "2999-01-01T08:00"),
    )
    refused = await run("announcements", "add", " ")
    assert (added.code, refused.code, refused.out) == (0, 1, ""), (added, refused)
    key = added.out.strip()
    ended = await run("announcements", "end", key)
    listed = await run("announcements", "list")
    shown = json.loads((await run("announcements", "list", "--json")).out)
    deleted = await run("announcements", "delete", key)
    gone = await run("announcements", "end", key)
    assert (ended.code, deleted.code, gone.code) == (0, 0, 1)
    assert "Maintenance" in listed.out
    assert (shown[0]["state"], shown[0]["created_by"]) == ("ended", ME)

    found = await run("audit", "list", "maintenance", "--action", "announcement.")
    edits = await run("audit", "list", "--action", "announcement.edit", "--json")
    taken = await run("audit", "export", "--action", "announcement.delete")
    after = await run("audit", "list", "--action", "audit.export", "--since", "2020-01-01")
    assert [line.split()[3] for line in found.out.splitlines()[1:]] == [
        "announcement.delete",
        "announcement.edit",
        "announcement.add",
    ]
    (edit,) = json.loads(edits.out)
    assert edit["changes"][0]["old"] == "2999-01-01T08:00:00+00:00"
    assert json.loads(taken.out)["actor"] == ME
    assert "audit.export" in after.out


async def row_of(portal: Portal, username: str) -> User:
    async with portal.context.db.session() as db:
        return (await db.scalars(select(User).where(User.username == username))).one()


async def set_uid(portal: Portal, username: str, uid: int) -> None:
    """Make the row one of a user who had this number before."""
    async with portal.context.db.session() as db:
        await db.execute(update(User).where(User.username == username).values(uid=uid))
        await db.commit()


async def test_roles_and_numbers_at_the_command_line(here: Portal, run: Run) -> None:
    await run("users", "grant", "p0102", "viewer")
    granted = (await row_of(here, "p0102")).role
    revoked = await run("users", "revoke", "p0102")
    assert (granted, revoked.code) == ("viewer", 0), revoked
    assert (await row_of(here, "p0102")).role == "user"
    assert json.loads((await run("users", "show", "p0102", "--json")).out)["role"] == "user"

    uid = json.loads((await run("users", "show", "p0102", "--json")).out)["uid"]
    await set_uid(here, "p0102", uid - 1)
    wrong = await run("users", "number", "p0102", str(uid + 1))
    assert (wrong.code, wrong.out) == (1, "")
    assert f"The directory now has the UID {uid}." in wrong.err
    assert (await row_of(here, "p0102")).uid == uid - 1
    right = await run("users", "number", "p0102", str(uid))
    assert (right.code, right.out) == (0, f"p0102 now has the UID {uid}.\n")
    assert (await row_of(here, "p0102")).uid == uid
    (event,) = await audited(here, "user.number", "p0102")
    assert (event["actor"], event["uid"]) == (ME, {"old": uid - 1, "new": uid})


async def test_a_user_is_enabled_and_deleted_at_the_command_line(here: Portal, run: Run) -> None:
    made = await run("users", "add", "cli-leaver", "--surname", "L", "--show-password")
    password = made.out.splitlines()[1].removeprefix("One-time password: ")
    await run("users", "disable", "cli-leaver")
    async with here.browser() as browser:
        assert (await browser.login("cli-leaver", password)).status != 200
    enabled = await run("users", "enable", "cli-leaver")
    assert (enabled.code, enabled.out) == (0, "cli-leaver is enabled.\n")

    async def is_applied() -> bool:  # not by logins: refused ones would be throttled
        return (await row_of(here, "cli-leaver")).directory_wants is None

    await until(is_applied, "the directory accepts the password again")
    async with here.browser() as browser:
        assert (await browser.login("cli-leaver", password)).status == 200
    delete = ("users", "delete", "cli-leaver", "--files", "keep", "--confirm")
    unconfirmed = await run(*delete, "other")
    assert unconfirmed.code == 2
    assert (await row_of(here, "cli-leaver")).disabled_at is None
    deleted = await run(*delete, "cli-leaver")
    assert (deleted.code, "is being deleted" in deleted.out) == (0, True), deleted

    row = await row_of(here, "cli-leaver")
    assert (row.directory_wants, row.files_wanted) == (AccountState.DELETED, None)
    (event,) = await audited(here, "user.delete", "cli-leaver")
    assert event["actor"] == ME


async def test_a_home_directory_is_requested_at_the_command_line(
    run_here: RunHere, tmp_path: Path
) -> None:
    command = ["/usr/bin/touch", str(tmp_path / "home-of-{username}")]
    async with run_here(home_command=command) as portal:
        with command_line(write_config(portal.settings, tmp_path / "portal.toml")) as run:
            done = await run("users", "home", "p0103")
            assert (done.code, done.out.startswith("Requested.")) == (0, True), done
            await until((tmp_path / "home-of-p0103").exists, "the running portal creates it")
            (event,) = await audited(portal, "home.request", "p0103")
            assert (event["actor"], event["task"]) == (ME, "create")


async def test_no_home_directory_without_its_command(run: Run) -> None:
    refused = await run("users", "home", "p0103")
    assert (refused.code, refused.out) == (1, "")
    assert "home_command" in refused.err


async def test_groups_at_the_command_line(here: Portal, run: Run) -> None:
    await run("groups", "create", "cli-lab", "--member", "alice", "--description", "A lab")
    await run("groups", "add", "cli-lab", "bob", "p0104")
    listed = await run("groups", "list", "cli-lab")
    assert listed.out.splitlines()[0].split() == ["NAME", "GID", "MEMBERS", "DESCRIPTION"]
    (line,) = listed.out.splitlines()[1:]
    assert (line.split()[0], line.split()[-3:]) == ("cli-lab", ["3", "A", "lab"])
    (row,) = json.loads((await run("groups", "list", "cli-lab", "--json")).out)
    assert (row["name"], row["member_count"]) == ("cli-lab", 3)

    removed = await run("groups", "remove", "cli-lab", "bob", "p0104")
    assert (removed.code, removed.out) == (0, "cli-lab has 1 members.\n")
    await run("groups", "add-manager", "cli-lab", "p0104")
    unmanaged = await run("groups", "remove-manager", "cli-lab", "p0104")
    assert (unmanaged.code, unmanaged.out) == (0, "p0104 no longer manages cli-lab.\n")
    assert "managers" not in (await run("groups", "show", "cli-lab")).out

    refused = await run("groups", "delete", "portal-admins")
    assert (refused.code, refused.out) == (1, ""), "it is named in the settings"
    deleted = await run("groups", "delete", "cli-lab")
    assert (deleted.code, deleted.out) == (0, "cli-lab was deleted.\n")
    assert json.loads((await run("groups", "list", "cli-lab", "--json")).out) == []
    (event,) = await audited(here, "group.delete", "cli-lab")
    assert event["actor"] == ME
