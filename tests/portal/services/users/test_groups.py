"""Groups created and changed by administrators; memberships take effect at once."""

from typing import Any

import pytest

from portal.directory.contract import NewGroup
from portal.errors import Conflict, LastAdmin
from portal.models import GroupManager, Role
from portal.services.audit.audit import Actor
from portal.services.users import commands, groups, role_changes
from tests.portal.conftest import Answer, Browser, Portal
from tests.portal.users_portal import GROUPS, USERS, RunHere, audited, fields, logged_in

pytest_plugins = ["tests.portal.users_fixtures"]
pytestmark = pytest.mark.anyio


async def member(browser: Browser, method: str, group: str, username: str) -> Answer:
    return await browser.send(method, f"{GROUPS}/{group}/members/{username}")


def names(group: dict[str, Any]) -> list[str]:
    return [one["username"] for one in group["members"]]


async def test_a_group_from_its_making_to_its_end(here: Portal, carol: Browser) -> None:
    new = {"name": "lab", "description": "The lab", "members": ["alice"]}
    made = await carol.post(GROUPS, new)
    assert made.status == 201, made
    assert made.body["gid"] >= 50_000
    assert names(made.body) == ["alice"]
    assert made.body["members"][0]["display_name"] == "Alice Example"
    assert names((await member(carol, "PUT", "lab", "p0003")).body) == ["alice", "p0003"]
    assert (await member(carol, "PUT", "lab", "p0003")).status == 200, "twice is no mistake"
    user = (await carol.get(f"{USERS}/p0003")).body
    assert user["groups"] == ["lab"]

    listed = (await carol.get(f"{GROUPS}?query=lab")).body
    (row,) = (one for one in listed["items"] if one["name"] == "lab")
    assert (row["name"], row["member_count"], row["description"]) == ("lab", 2, "The lab")
    assert names((await member(carol, "DELETE", "lab", "alice")).body) == ["p0003"]
    assert (await carol.send("DELETE", f"{GROUPS}/lab")).status == 204
    assert (await carol.get(f"{GROUPS}/lab")).status == 404

    assert await audited(here, "group.create", "lab") == [
        {"actor": "carol", "gid": made.body["gid"], "members": ["alice"]}
    ]
    added = await audited(here, "group.add", "p0003")
    assert {"actor": "carol", "group": "lab"} in added
    assert await audited(here, "group.remove", "alice") == [{"actor": "carol", "group": "lab"}]
    assert await audited(here, "group.delete", "lab") == [{"actor": "carol", "members": ["p0003"]}]


async def test_what_cannot_be_a_group_or_in_one(carol: Browser) -> None:
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({"name": "scientists"}, {"name"}),
        ({"name": "wheel"}, {"name"}),
        ({"name": "no spaces"}, {"name"}),
        ({"name": "fresh", "gid": 30001}, {"gid"}),
        ({"name": "fresh", "gid": 0}, {"gid"}),
        ({"name": "fresh", "members": ["unknown-user"]}, {"members"}),
    ]
    for new, expected in cases:
        assert set(fields(await carol.post(GROUPS, new))) == expected, new
    assert (await member(carol, "PUT", "nowhere", "alice")).status == 404
    assert (await member(carol, "PUT", "scientists", "unknown-user")).status == 404
    system = await member(carol, "PUT", "scientists", "system")
    assert (system.status, system.slug) == (409, "conflict")
    primary = await carol.send("DELETE", f"{GROUPS}/scientists")
    assert (primary.status, primary.slug) == (409, "conflict")
    assert "primary group" in primary.body["detail"]


async def test_a_role_by_group_counts_at_the_next_request(here: Portal, carol: Browser) -> None:
    async with logged_in(here, "bob") as bob:
        assert (await bob.get(GROUPS)).status == 403
        assert (await member(carol, "PUT", "portal-admins", "bob")).status == 200
        assert (await bob.get(GROUPS)).status == 200
        own = await member(bob, "DELETE", "portal-admins", "bob")
        assert (own.status, own.slug) == (409, "conflict"), "not oneself"
        assert (await member(carol, "DELETE", "portal-admins", "bob")).status == 200
        assert (await bob.get(GROUPS)).status == 403


async def test_the_last_administrator_stays(here: Portal, carol: Browser) -> None:
    named = await carol.send("DELETE", f"{GROUPS}/portal-admins")
    assert (named.status, named.slug) == (409, "conflict")
    assert "ldap_admin_groups" in named.body["detail"]
    context, by = here.context, Actor("cli:root")
    with pytest.raises(LastAdmin):
        await groups.remove(context, "portal-admins", "carol", by)
    with pytest.raises(LastAdmin):
        await commands.lock(context, "carol", by)
    assert "portal-admins" in (await carol.get(f"{USERS}/carol")).body["groups"]


async def test_groups_within_groups(run_here: RunHere) -> None:
    """groupOfNames: never empty, and nested if the settings say so."""
    changes: dict[str, Any] = {
        "ldap_group_member_attribute": "member",
        "ldap_nested_groups": True,
        "ldap_primary_gid": 30001,
        "ldap_admin_groups": ["outer"],
    }
    async with run_here(**changes) as portal, logged_in(portal, "carol") as carol:
        outer = (await carol.get(f"{GROUPS}/outer")).body
        assert outer["groups"] == ["inner"]
        inherited = {one["username"]: one["inherited"] for one in outer["members"]}
        assert inherited == {"alice": False, "bob": True, "carol": True}
        assert outer["member_count"] == 2
        refused = await carol.send("DELETE", f"{GROUPS}/inner")
        assert (refused.status, refused.slug) == (409, "last-admin"), "of those who logged in"
        assert names((await member(carol, "DELETE", "inner", "bob")).body) == ["carol"]
        by = Actor("cli:root")
        with pytest.raises(LastAdmin):
            await groups.remove(portal.context, "inner", "carol", by)
        async with logged_in(portal, "alice"):
            with pytest.raises(Conflict, match="can't be empty"):
                await groups.remove(portal.context, "inner", "carol", by)


@pytest.mark.parametrize(
    ("case", "is_member", "admitting", "remains"),
    [
        ("outside", False, [], True),
        ("inside", True, [], True),
        ("admitted", True, ["staff-admitted"], False),
    ],
)
async def test_delete_group_granted_admin_may_remain(
    run_here: RunHere, case: str, is_member: bool, admitting: list[str], remains: bool
) -> None:
    """With nested groups, the deleted group might be what admits its members to the portal."""
    changes: dict[str, Any] = {
        "ldap_group_member_attribute": "member",
        "ldap_nested_groups": True,
        "ldap_primary_gid": 30001,
        "ldap_admin_groups": ["outer"],
        "ldap_user_groups": admitting,
    }
    by, shared = Actor("cli:root"), f"shared-{case}"
    members = frozenset({"carol", "p0007"} if is_member else {"carol"})
    async with run_here(**changes) as portal, logged_in(portal, "carol"):
        context = portal.context
        for name in admitting:
            await groups.create(context, NewGroup(name, members=frozenset({"p0007"})), by)
        await groups.create(context, NewGroup(shared, members=members), by)
        with pytest.raises(LastAdmin):
            await groups.delete(context, shared, by)
        await role_changes.grant(context, "p0007", Role.ADMIN, by)
        if remains:
            await groups.delete(context, shared, by)
        else:
            with pytest.raises(LastAdmin):
                await groups.delete(context, shared, by)


async def test_a_manager_sees_their_group_and_no_other(here: Portal, carol: Browser) -> None:
    async with logged_in(here, "bob") as bob:
        async with here.context.db.session() as db:
            me = (await bob.get("/api/v1/me")).body
            db.add(GroupManager(group_name="scientists", user_id=me["id"], created_by="carol"))
            await db.commit()
        assert (await bob.get("/api/v1/me")).body["manages"] == ["scientists"]
        group = await bob.get("/api/v1/groups/scientists")
        assert (group.status, group.body["managers"]) == (200, ["bob"])
        assert "alice" in names(group.body)
        assert (await bob.get("/api/v1/groups/portal-admins")).status == 403
        assert (await bob.get(f"{GROUPS}/scientists")).status == 403
