"""Users created ready to work: login group, Slurm account, limits; and reports of missing parts."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from portal.services.users import readiness
from portal.services.users.readiness import ReadinessState as Ready
from tests.fakes.accounting import FakeAccounting
from tests.polling import until
from tests.portal.command_line import command_line, write_config
from tests.portal.conftest import Answer, Browser, MakeSettings, Portal
from tests.portal.users_portal import GROUPS, USERS, RunHere, audited, fields, logged_in

pytest_plugins = ["tests.portal.users_fixtures"]
pytestmark = pytest.mark.anyio

DEFAULTS = {
    "ldap_user_groups": ["scientists", "guests"],
    "default_login_group": "scientists",
    "default_slurm_account": "research",
}
ADA = {"surname": "Lovelace", "given_name": "Ada"}


@pytest.fixture
def accounting(monkeypatch: pytest.MonkeyPatch) -> FakeAccounting:
    fake = FakeAccounting()
    monkeypatch.setattr("portal.context.Accounting", lambda *_, **__: fake)
    return fake


@pytest.fixture
async def here(run_here: RunHere, accounting: FakeAccounting) -> AsyncIterator[Portal]:
    async with run_here(**DEFAULTS) as portal:
        yield portal


async def created(browser: Browser, username: str, **more: Any) -> dict[str, Any]:
    answer = await browser.post(USERS, {**ADA, "username": username, **more})
    assert answer.status == 201, answer
    user: dict[str, Any] = answer.body["user"]
    return user


async def shown(browser: Browser, username: str) -> dict[str, Any]:
    found: dict[str, Any] = (await browser.get(f"{USERS}/{username}")).body
    return found


async def limits_of(browser: Browser, username: str) -> list[dict[str, Any]]:
    """Return the user's own limit, in a list; empty where none is set."""
    found = (await browser.get("/api/v1/admin/limits")).body["items"]
    return [one for one in found if (one["scope"], one["name"]) == ("user", username)]


async def guests(browser: Browser) -> None:
    """Ensure a second login group; the directory outlives the test."""
    made = await browser.post(GROUPS, {"name": "guests"})
    there = [error["field"] for error in made.body.get("errors", [])] == ["name"]
    assert made.status == 201 or there, made


async def imported(browser: Browser, *, dry_run: bool) -> dict[str, Any]:
    await guests(browser)
    answer = await browser.post(f"{USERS}/import", {"csv": FILE, "dry_run": dry_run})
    found: dict[str, Any] = answer.body
    async with asyncio.timeout(120):
        while found["state"] == "running":
            await asyncio.sleep(0.05)
            found = (await browser.get(f"{USERS}/imports/{found['id']}")).body
    return found


async def put(browser: Browser, path: str) -> Answer:
    return await browser.send("PUT", f"{USERS}/{path}")


# --- creation -------------------------------------------------------------------------------------


async def test_new_user_gets_the_defaults_and_can_work(
    here: Portal, carol: Browser, accounting: FakeAccounting
) -> None:
    user = await created(carol, "new-ada", groups=["portal-admins"])
    assert user["groups"] == ["portal-admins", "scientists"]
    assert ("research", "new-ada", "") in accounting.rows, "the association is there at once"
    ready = user["readiness"]
    assert (ready["login"]["answer"], ready["session"]["answer"]) == ("yes", "yes"), ready
    assert "research" in ready["session"]["reason"]
    (event,) = await audited(here, "limit.set", "new-ada")
    assert event["actor"] == "carol"


async def test_new_user_limits_and_choices_win_over_the_defaults(
    carol: Browser, accounting: FakeAccounting
) -> None:
    await guests(carol)
    limits = {"gpus": 2, "sessions": 1, "jobs": 3}
    chosen = {"login_group": "guests", "slurm_account": "teaching", "limits": limits}
    user = await created(carol, "new-bea", **chosen)
    assert user["groups"] == ["guests"]
    assert accounting.rows["teaching", "new-bea", ""]["gres/gpu"] == 2
    assert ("research", "new-bea", "") not in accounting.rows
    (found,) = await limits_of(carol, "new-bea")
    assert {name: found[name] for name in limits} == limits
    assert found["accounts"] == ["teaching"]


async def test_new_user_without_group_and_account_lists_what_is_missing(
    carol: Browser, accounting: FakeAccounting
) -> None:
    user = await created(carol, "new-cleo", login_group=None, slurm_account=None)
    login, session = user["readiness"]["login"], user["readiness"]["session"]
    assert (login["answer"], login["fix"]) == ("no", "login-group")
    assert login["choices"] == ["scientists", "guests"], "the default first"
    assert (session["answer"], session["fix"]) == ("no", "slurm-account")
    assert session["choices"] == ["research", "teaching"]
    assert user["admitted"] is False
    listed = (await carol.get(f"{USERS}?query=new-cleo")).body["items"]
    assert [one["admitted"] for one in listed] == [False]

    added = await put(carol, "new-cleo/groups/scientists")
    assert added.body["readiness"]["login"]["answer"] == "yes"
    given = await put(carol, "new-cleo/accounts/research")
    assert given.body["readiness"]["session"]["answer"] == "yes", given
    assert ("research", "new-cleo", "") in accounting.rows


async def test_account_that_limits_give_already_writes_no_limit(
    here: Portal, carol: Browser, accounting: FakeAccounting
) -> None:
    body = {"version": None, "accounts": ["research", "teaching"]}
    await carol.send("PUT", "/api/v1/admin/limits/member/scientists", json=body)
    user = await created(carol, "new-dora")
    assert user["readiness"]["session"]["answer"] == "yes"
    assert ("teaching", "new-dora", "") in accounting.rows
    assert await limits_of(carol, "new-dora") == []
    assert await audited(here, "limit.set", "new-dora") == []


async def test_mistakes_name_their_fields_and_create_no_user(carol: Browser) -> None:
    wrong = {
        "login_group": "nowhere",
        "slurm_account": "nothing",
        "limits": {"qos": ["unknown"]},
        "surname": "=cmd|'/C calc'!A0",
    }
    answer = await carol.post(USERS, {**ADA, "username": "new-eve", **wrong})
    assert set(fields(answer)) == {"login_group", "slurm_account", "limits.qos", "surname"}
    assert "nothing" in fields(answer)["slurm_account"]
    assert (await carol.get(f"{USERS}/new-eve")).status == 404


async def test_giving_an_account_keeps_those_set_by_hand(
    carol: Browser, accounting: FakeAccounting
) -> None:
    accounting.rows["teaching", "p0200", ""] = {}
    assert (await put(carol, "p0200/accounts/research")).status == 200
    assert {place[0] for place in accounting.rows if place[1] == "p0200"} == {
        "research",
        "teaching",
    }
    unknown = await put(carol, "p0200/accounts/nothing")
    assert set(fields(unknown)) == {"slurm_account"}


async def test_without_slurm_creating_works_and_the_answer_is_unknown(
    carol: Browser, accounting: FakeAccounting
) -> None:
    accounting.mood = "away"
    user = await created(carol, "new-fay")
    assert user["readiness"]["login"]["answer"] == "yes"
    assert user["readiness"]["session"]["answer"] == "unknown"
    refused = await put(carol, "p0201/accounts/research")
    assert refused.status == 503, "their accounts can't be seen, and must not be lost"


async def test_form_begins_with_the_settings(carol: Browser) -> None:
    found = (await carol.get("/api/v1/admin/new-user")).body
    assert found["login_groups"] == ["scientists", "guests"]
    assert (found["login_group"], found["slurm_account"]) == ("scientists", "research")
    assert found["accounts"] == ["research", "teaching"]
    choices = (await carol.get("/api/v1/admin/limits/choices")).body
    assert choices["accounts"] == ["research", "teaching"]
    assert choices["qos"] == ["high", "normal"]


@pytest.mark.parametrize("group", ["physics", "portal-admins"])
def test_default_login_group_must_let_users_in(make_settings: MakeSettings, group: str) -> None:
    with pytest.raises(ValidationError, match="default_login_group"):
        make_settings(ldap_user_groups=["scientists"], default_login_group=group)


# --- responses ------------------------------------------------------------------------------------


async def test_locked_and_disabled_users_cannot_log_in(carol: Browser) -> None:
    await created(carol, "new-gil")
    await carol.post(f"{USERS}/new-gil/lock")
    locked = (await shown(carol, "new-gil"))["readiness"]
    assert (locked["login"]["answer"], locked["login"]["fix"]) == ("no", "unlock")
    assert (locked["session"]["answer"], locked["session"]["fix"]) == ("no", None)
    await carol.post(f"{USERS}/new-gil/unlock")
    await carol.post(f"{USERS}/new-gil/disable", {"why": "left", "jobs": "leave"})
    disabled = (await shown(carol, "new-gil"))["readiness"]
    assert (disabled["login"]["answer"], disabled["login"]["fix"]) == ("no", "enable")


async def test_limit_of_no_sessions_is_named(carol: Browser) -> None:
    user = await created(carol, "new-hal", limits={"sessions": 0})
    session = user["readiness"]["session"]
    assert (session["answer"], session["fix"]) == ("no", "limits")


async def test_primary_group_has_its_name(carol: Browser) -> None:
    user = await created(carol, "new-ida")
    assert user["primary_group"] == "new-ida", "a group of their own"
    assert (await shown(carol, "p0202"))["primary_group"] is None, "no group has that number"


async def test_missing_home_shows_a_fix(run_here: RunHere, accounting: FakeAccounting) -> None:
    fails = [sys.executable, "-c", "raise SystemExit(1)", "{home}"]
    async with run_here(**DEFAULTS, home_command=fails) as portal, logged_in(portal, "carol") as c:
        await created(c, "new-jan")
        home = (
            await until(
                lambda: shown(c, "new-jan"),
                "the home directory is missing",
                done=lambda answer: answer["readiness"]["home"]["answer"] == "no",
            )
        )["readiness"]["home"]
        assert home["fix"] == "home"
        assert (await shown(c, "p0203"))["readiness"]["home"]["fix"] == "home"
    async with run_here(**DEFAULTS) as portal, logged_in(portal, "carol") as c:
        home = (await shown(c, "p0203"))["readiness"]["home"]
        assert (home["answer"], home["fix"]) == ("unknown", None), "the nodes may have it"


async def test_home_on_the_portals_host_is_looked_at(tmp_path: Path) -> None:
    mine = await readiness.look_at_home(str(tmp_path), os.getuid())
    assert mine is not None
    assert mine.answer is Ready.YES
    others = await readiness.look_at_home(str(tmp_path), os.getuid() + 1)
    assert others is not None
    assert (others.answer, str(os.getuid()) in others.reason) == (Ready.NO, True)
    assert await readiness.look_at_home(str(tmp_path / "none"), 1) is None


# --- from a file, and on the command line ---------------------------------------------------------

FILE = """\
username,surname,groups,login_group,slurm_account
csv-amy,Amy,,,
csv-ben,Ben,portal-admins,guests,teaching
csv-cat,=Cat,,nowhere,nothing
csv-dan,Dan,,-,-
"""


async def test_dry_run_shows_defaults_and_marks_administrators(carol: Browser) -> None:
    found = await imported(carol, dry_run=True)
    rows = {row["username"]: row for row in found["rows"]}
    assert len(found["rows"]) == found["total"] == 4
    counts = found["created"], found["exists"], found["failed"]
    assert counts == (3, 0, 1), "a line with three mistakes is one line"
    amy, ben, cat, dan = (rows[name] for name in ("csv-amy", "csv-ben", "csv-cat", "csv-dan"))
    assert (amy["login_group"], amy["slurm_account"], amy["role"]) == (
        "scientists",
        "research",
        "user",
    )
    assert (ben["groups"], ben["role"]) == (["guests", "portal-admins"], "admin")
    assert [one["field"] for one in cat["findings"]] == ["surname", "login_group", "slurm_account"]
    assert (dan["login_group"], dan["slurm_account"], dan["role"]) == (None, None, None)


async def test_import_makes_the_associations(carol: Browser, accounting: FakeAccounting) -> None:
    found = await imported(carol, dry_run=False)
    async with asyncio.timeout(60):
        wanted = {("research", "csv-amy", ""), ("teaching", "csv-ben", "")}
        while not wanted <= accounting.rows.keys():
            await asyncio.sleep(0.05)
    assert (found["created"], found["failed"]) == (3, 1)
    assert not any(user == "csv-dan" for _, user, _ in accounting.rows)


async def test_command_line_has_the_same_defaults(
    here: Portal, carol: Browser, accounting: FakeAccounting, tmp_path: Path
) -> None:
    with command_line(write_config(here.settings, tmp_path / "portal.toml")) as run:
        made = await run("users", "add", "cli-amy", "--surname", "Amy", "--gpus", "1")
        none = await run(
            *("users", "add", "cli-ben", "--surname", "Ben"),
            *("--login-group", "-", "--slurm-account", "-"),
        )
        wrong = await run("users", "add", "cli-cat", "--surname", "C", "--slurm-account", "x")
    assert (made.code, none.code, wrong.code) == (0, 0, 1), (made, none, wrong)
    assert "Can log in: yes" in made.out
    assert "Can log in: no" in none.out
    assert "They have no Slurm account." in none.out
    assert "--slurm-account: There is no account x" in wrong.err
    (limit,) = await limits_of(carol, "cli-amy")
    assert (limit["gpus"], limit["accounts"]) == (1, ["research"])
    async with asyncio.timeout(60):
        await here.context.slurm_limits.wait_for_comparison(30)
    assert ("research", "cli-amy", "") in accounting.rows
