"""Users created, searched and changed by administrators, in a real directory of 2,000."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from portal.db import utcnow
from portal.directory.contract import Ability, Edit
from portal.errors import DirectoryUnfinished
from portal.models import User
from tests.portal.conftest import Answer, Browser, MakeSettings, Portal, running_portal
from tests.portal.users_portal import MANY, USERS, RunHere, audited, fields, logged_in
from tests.servers.slapd import PASSWORD, Slapd, free_port

pytest_plugins = ["tests.portal.users_fixtures"]
pytestmark = pytest.mark.anyio

NEW = {"surname": "Lovelace", "given_name": "Ada", "email": "ada@x.org"}


async def create(browser: Browser, username: str, **more: Any) -> dict[str, Any]:
    answer = await browser.post(USERS, {**NEW, "username": username, **more})
    assert answer.status == 201, answer
    made: dict[str, Any] = answer.body
    return made


async def patch(browser: Browser, username: str, changes: dict[str, Any]) -> Answer:
    return await browser.send("PATCH", f"{USERS}/{username}", json=changes)


async def shown(browser: Browser, username: str) -> dict[str, Any]:
    answer = await browser.get(f"{USERS}/{username}")
    assert answer.status == 200, answer
    found: dict[str, Any] = answer.body
    return found


# --- searching ------------------------------------------------------------------------------------


async def test_two_thousand_users_in_pages_and_by_words(carol: Browser) -> None:
    names, cursor = list[str](), ""
    while True:
        page = (await carol.get(f"{USERS}?limit=200{cursor}")).body
        assert len(page["items"]) <= 200
        names += [one["username"] for one in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert len(names) == len(set(names)) + 1, "two entries of one name are both shown"
    assert {f"p{n:04}" for n in range(MANY)} | {"alice", "carol", "system"} <= set(names)

    found = (await carol.get(f"{USERS}?query=USER%201234")).body
    assert [one["username"] for one in found["items"]] == ["p1234"]
    assert found["capabilities"] == {"kind": "openldap", "missing": {}}
    (one,) = found["items"]
    assert (one["known"], one["role"], one["in_directory"]) == (False, None, True)
    wrong = await carol.get(f"{USERS}?cursor=nonsense")
    assert set(fields(wrong)) == {"cursor"}
    assert set(fields(await carol.get(f"{USERS}?query=x&cursor=d:{'A' * 40}"))) == {"cursor"}


async def test_states_are_the_portals_own_rows(here: Portal, carol: Browser) -> None:
    async with here.context.db.session() as db:
        db.add_all(
            [
                User(username="p0010", disabled_at=utcnow(), uid=40010),
                User(username="p0011", role="viewer", uid=40011),
                User(username="gone-g", missing_since=utcnow(), display_name="Gone Girl"),
                User(username="~0123456789ab", former_username="dead-d", deleted_at=utcnow()),
            ]
        )
        await db.commit()
    states = {}
    for state in ("active", "disabled", "admins", "viewers", "missing", "deleted"):
        items = (await carol.get(f"{USERS}?state={state}")).body["items"]
        states[state] = {one["username"]: one for one in items}
    assert {state: sorted(names) for state, names in states.items()} == {
        "active": ["carol", "p0011"],
        "disabled": ["p0010"],
        "admins": ["carol"],
        "viewers": ["p0011"],
        "missing": ["gone-g"],
        "deleted": ["~0123456789ab"],
    }
    assert states["disabled"]["p0010"]["in_directory"]
    assert not states["missing"]["gone-g"]["in_directory"]
    assert states["deleted"]["~0123456789ab"]["former_username"] == "dead-d"
    found = (await carol.get(f"{USERS}?state=deleted&query=dead")).body["items"]
    assert [row["username"] for row in found] == ["~0123456789ab"]
    one = (await carol.get(f"{USERS}?state=missing&query=GIRL%20gone")).body["items"]
    assert [row["username"] for row in one] == ["gone-g"]
    paged = (await carol.get(f"{USERS}?state=active&limit=1")).body
    then = (await carol.get(f"{USERS}?state=active&limit=1&cursor={paged['next_cursor']}")).body
    assert [row["username"] for row in paged["items"] + then["items"]] == ["carol", "p0011"]
    assert then["next_cursor"] is None


# --- creating -------------------------------------------------------------------------------------


async def test_created_user_can_log_in_with_the_password(here: Portal, carol: Browser) -> None:
    answer = await carol.post(USERS, {**NEW, "username": "ada", "groups": ["scientists"]})
    assert answer.status == 201, answer
    assert answer.headers["Cache-Control"] == "no-store"
    user, password = answer.body["user"], answer.body["password"]
    assert (user["username"], user["display_name"]) == ("ada", "Ada Lovelace")
    assert (user["known"], user["role"], user["must_change_password"]) == (True, "user", True)
    assert (user["groups"], user["home"]) == (["scientists"], "/home/ada")
    assert user["uid"] >= 50_000
    assert password["must_change"] is True
    (event,) = await audited(here, "user.create", "ada")
    assert event == {"actor": "carol", "uid": user["uid"], "groups": ["scientists"]}
    assert password["password"] not in str(event)
    async with here.browser() as ada:
        answer = await ada.login("ada", password["password"])
        assert (answer.status, answer.body["password_change_required"]) == (200, True)


async def test_every_mistake_is_reported_with_its_field(carol: Browser) -> None:
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({"username": "alice"}, {"username"}),
        ({"username": "root"}, {"username"}),
        ({"username": "Upper Case"}, {"username"}),
        ({"username": "x" * 33}, {"username"}),
        ({"username": "new-a", "uid": 20001}, {"uid"}),
        ({"username": "new-a", "uid": 0}, {"uid"}),
        ({"username": "new-a", "uid": 12}, {"uid"}),
        ({"username": "new-a", "gid": 99999}, {"gid"}),
        ({"username": "new-a", "groups": ["nowhere"]}, {"groups"}),
        ({"username": "1a", "surname": " ", "email": "x", "home": "/", "shell": "sh"},
         {"username", "surname", "email", "home", "shell"}),
    ]  # fmt: skip
    for wrong, expected in cases:
        answer = await carol.post(USERS, {**NEW, **wrong})
        assert set(fields(answer)) == expected, wrong
    assert (await carol.get(f"{USERS}/new-a")).status == 404


async def test_name_of_known_user_stays_reserved(here: Portal, carol: Browser) -> None:
    """A new user with a known name would get its jobs, so the name stays reserved."""
    async with here.context.db.session() as db:
        db.add(User(username="once", uid=58_100, missing_since=utcnow()))
        db.add(User(username="going", uid=58_101, deleted_at=utcnow()))
        await db.commit()
    for username, more in (("once", {}), ("once", {"uid": 58_102}), ("going", {"uid": 58_101})):
        answer = await carol.post(USERS, {**NEW, "username": username, **more})
        assert set(fields(answer)) == {"username"}, (username, more)
    back = (await create(carol, "once", uid=58_100))["user"]
    assert (back["missing_since"], back["in_directory"]) == (None, True)


_CREATES = """
import asyncio, json, sys
from portal.directory import open_directory
from portal.directory.contract import NewDirectoryUser
from portal.config.settings import Settings
from pathlib import Path

async def main(settings, prefix, count):
    directory = open_directory(settings)
    names = [f"{prefix}{n}" for n in range(count)]
    made = await asyncio.gather(*(directory.create(NewDirectoryUser(n, "", "Many")) for n in names))
    print(json.dumps([one.entry.uid for one in made]))
    directory.close()

given = json.loads(sys.argv[1])
asyncio.run(main(Settings(**given), sys.argv[2], int(sys.argv[3])))
"""


async def test_two_processes_creating_at_once_never_give_one_number_twice(
    here: Portal, carol: Browser, make_settings: MakeSettings, writing_settings: dict[str, Any]
) -> None:
    settings = make_settings(**writing_settings)
    given = {name: getattr(settings, name) for name in settings.model_fields_set}
    text = json.dumps({name: str(v) if isinstance(v, Path) else v for name, v in given.items()})
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _CREATES, text, "procb", "12", stdout=asyncio.subprocess.PIPE
    )
    mine = await asyncio.gather(*(create(carol, f"proca{n}") for n in range(12)))
    out, _ = await other.communicate()
    assert other.returncode == 0
    numbers = [one["user"]["uid"] for one in mine] + json.loads(out)
    assert len(set(numbers)) == 24


# --- editing --------------------------------------------------------------------------------------


async def test_second_admin_editing_a_user_gets_conflict(
    run_here: RunHere, users_slapd: Slapd
) -> None:
    async with (
        run_here(ldap_admin_groups=["portal-admins", "scientists"]) as portal,
        logged_in(portal, "carol") as carol,
        logged_in(portal, "alice") as alice,
    ):
        version = (await create(carol, "edited"))["user"]["version"]
        first = await patch(
            carol, "edited", {"version": version, "email": "new@x.org", "shell": "/bin/sh"}
        )
        assert first.status == 200, first
        assert (first.body["email"], first.body["shell"]) == ("new@x.org", "/bin/sh")
        second = await patch(alice, "edited", {"version": version, "email": "late@x.org"})
        assert (second.status, second.slug) == (409, "edit-conflict")
        assert "carol" in second.body["detail"]
        assert second.body["changed_by"] == "carol"
        assert second.body["changed_at"] is not None
        assert second.body["user"]["email"] == "new@x.org"
        now = second.body["user"]["version"]
        again = await patch(alice, "edited", {"version": now, "email": "late@x.org"})
        assert again.body["email"] == "late@x.org"

        # by another program than the portal
        await portal.context.directory.edit("edited", Edit(surname="Else"), "")
        third = await patch(carol, "edited", {"version": again.body["version"], "email": ""})
        assert third.body["changed_by"] == "another program"
        assert third.body["changed_at"] is None
        (_, last) = await audited(portal, "user.edit", "edited")
        assert last["email"] == {"old": "new@x.org", "new": "late@x.org"}
        assert (last["actor"], "shell" in last) == ("alice", False)


async def test_lock_unlock_and_a_new_password(here: Portal, carol: Browser) -> None:
    await create(carol, "locked")
    assert (await carol.post(f"{USERS}/locked/lock")).body["locked"] is True
    refused = await carol.post(f"{USERS}/carol/lock")
    assert (refused.status, refused.slug) == (409, "conflict")
    assert "your own" in refused.body["detail"]
    assert (await carol.post(f"{USERS}/locked/unlock")).body["locked"] is False
    async with logged_in(here, "kate") as kate:
        answer = await carol.post(f"{USERS}/kate/password")
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.body["must_change"] is True
        assert (await kate.get("/api/v1/me")).status == 401, "every browser is logged out"
    for action in ("user.lock", "user.unlock"):
        assert len(await audited(here, action, "locked")) == 1
    assert await audited(here, "user.password", "kate") == [{"actor": "carol", "must_change": True}]
    for act in ("lock", "unlock", "password"):
        assert (await carol.post(f"{USERS}/unknown-user/{act}")).status == 404


async def test_an_unlock_forgets_the_portals_own_count(run_here: RunHere) -> None:
    """No attempt has to wait for the rate limit's window: logins from new and from known
    browsers, and confirmations of the password."""
    async with (
        run_here(login_attempts=2, login_attempts_known_browser=2) as portal,
        logged_in(portal, "carol") as carol,
        logged_in(portal, "bob") as known,
        portal.browser() as unknown,
    ):

        async def statuses(password: str) -> list[int]:
            again = await known.post("/api/v1/reauth", {"password": password})
            tries = [again, await known.login("bob", password)]
            return [one.status for one in (*tries, await unknown.login("bob", password))]

        assert [await statuses("wrong") for _ in range(2)] == [[401] * 3] * 2
        assert await statuses(PASSWORD) == [429] * 3
        assert (await carol.post(f"{USERS}/bob/unlock")).status == 200
        assert await statuses(PASSWORD) == [204, 200, 200]


# --- unmanaged and missing users ------------------------------------------------------------------


async def test_system_accounts_are_shown_and_left_alone(carol: Browser) -> None:
    found = await shown(carol, "system")
    assert "system account" in found["unmanaged"]
    changes: list[tuple[str, str, Any]] = [
        ("PATCH", "", {"version": found["version"], "surname": "X"}),
        ("POST", "/lock", None),
        ("POST", "/unlock", None),
        ("POST", "/password", None),
        ("PUT", "/groups/scientists", None),
    ]
    for method, rest, body in changes:
        answer = await carol.send(method, f"{USERS}/system{rest}", json=body)
        assert (answer.status, answer.slug) == (409, "conflict"), rest
        assert "system account" in answer.body["detail"]
    assert await shown(carol, "system") == found


async def test_name_of_two_entries_is_refused(carol: Browser) -> None:
    for method, path in (("GET", ""), ("POST", "/lock"), ("POST", "/password")):
        answer = await carol.send(method, f"{USERS}/twin{path}")
        assert (answer.status, answer.slug) == (409, "conflict"), path
        assert "several entries named twin" in answer.body["detail"]
    assert (await carol.post(USERS, {**NEW, "username": "twin"})).status == 422
    assert (await shown(carol, "CAROL"))["username"] == "carol", "names ignore case"


async def test_read_only_directory_names_the_missing_setting(run_here: RunHere) -> None:
    changes: dict[str, Any] = {"ldap_write_dn": None, "ldap_write_password_file": None}
    async with run_here(**changes) as portal, logged_in(portal, "carol") as carol:
        missing = (await shown(carol, "bob"))["capabilities"]["missing"]
        assert set(missing) == {ability.value for ability in Ability}
        assert "ldap_write_dn" in missing["create"]
        for method, path, body in (
            ("POST", USERS, {**NEW, "username": "late"}),
            ("POST", f"{USERS}/bob/lock", None),
            ("POST", f"{USERS}/import", {"csv": "username,surname\na,b\n", "dry_run": True}),
        ):
            answer = await carol.send(method, path, json=body)
            assert (answer.status, answer.slug) == (409, "directory-read-only"), path
            assert answer.body["detail"] == missing["create"]


async def test_without_the_directory_the_portal_shows_what_it_remembers(
    run_here: RunHere, make_settings: MakeSettings, tmp_path: Path
) -> None:
    async with run_here() as portal, logged_in(portal, "carol") as carol:
        cookie = "; ".join(f"{one.key}={one.value}" for one in carol.http.cookie_jar)
    nowhere = make_settings(ldap_urls=[f"ldap://127.0.0.1:{free_port()}"], ldap_timeout_s=1)
    async with running_portal(nowhere) as portal, portal.browser() as carol:
        headers = {"Cookie": cookie}
        listed = await carol.get(USERS, headers=headers)
        assert listed.status == 200, listed
        assert "has stored" in listed.body["directory_problem"]
        assert [one["username"] for one in listed.body["items"]] == ["carol"]
        assert listed.body["items"][0]["locked"] is None
        one = await carol.get(f"{USERS}/carol", headers=headers)
        assert (one.status, one.body["groups"]) == (200, ["portal-admins", "scientists"])
        assert "has stored" in one.body["directory_problem"]
        for method, path in (("GET", f"{USERS}/bob"), ("POST", f"{USERS}/carol/unlock")):
            answer = await carol.send(method, path, headers={**headers, "Origin": carol.origin})
            assert (answer.status, answer.slug) == (503, "directory-unavailable"), path
            assert "directory" in answer.body["detail"]


async def test_a_creation_that_breaks_off_is_written_down_and_mended_at_the_login(
    here: Portal, carol: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory is authoritative: a user created there exists, and is added here later."""
    directory = here.context.directory
    whole = type(directory).create

    async def breaks_off(self: Any, new: Any) -> Any:
        await whole(self, new)
        raise DirectoryUnfinished("The directory stopped answering during the change.")

    monkeypatch.setattr(type(directory), "create", breaks_off)
    answer = await carol.post(USERS, {**NEW, "username": "halfway"})
    assert (answer.status, answer.slug) == (503, "directory-unfinished")
    (event,) = await audited(here, "user.create", "halfway")
    assert "stopped answering" in event["unfinished"]
    found = await shown(carol, "halfway")
    assert (found["in_directory"], found["known"]) == (True, False)
    # an administrator can continue, and the next change that needs the row creates it
    added = await carol.send("PUT", f"{USERS}/halfway/groups/scientists")
    assert added.body["groups"] == ["scientists"]
    given = await carol.post(f"{USERS}/halfway/password")
    assert given.status == 200
    async with here.context.db.session() as db:
        assert await db.scalar(select(User).where(User.username == "halfway")) is None
