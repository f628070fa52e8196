"""Roles: by group, by grant, at the next request; viewers; managers; the last administrator."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from portal.db import utcnow
from portal.errors import LastAdmin
from portal.models import Role, User
from portal.services.deprovision.directory_sync import DirectorySync
from portal.services.identity import roles
from portal.services.users import role_changes
from portal.web.request_origin import SAFE_METHODS
from tests.polling import until
from tests.portal.api.test_routes import methods, path_of
from tests.portal.conftest import Answer, Browser, Portal
from tests.portal.services.auth.test_tokens import api_routes, concrete
from tests.portal.users_portal import GROUPS, USERS, RunHere, audited, logged_in

pytest_plugins = ["tests.portal.users_fixtures"]
pytestmark = pytest.mark.anyio
NO_BOARD = "00000000-0000-4000-8000-000000000000"


async def grant(admin: Browser, username: str, role: str | None) -> Answer:
    if role is None:
        return await admin.send("DELETE", f"{USERS}/{username}/role")
    return await admin.send("PUT", f"{USERS}/{username}/role", json={"role": role})


async def change(portal: Portal, username: str, **values: Any) -> None:
    async with portal.context.db.session() as db:
        await db.execute(update(User).where(User.username == username).values(**values))
        await db.commit()


async def role_of(portal: Portal, username: str) -> Role | None:
    async with portal.context.db.session() as db:
        found: Role | None = await db.scalar(select(User.role).where(User.username == username))
    return found


@pytest.fixture
async def bob(here: Portal) -> AsyncIterator[Browser]:
    async with logged_in(here, "bob") as browser:
        yield browser


@pytest.mark.parametrize(
    ("directory", "granted", "counts"),
    [
        (Role.USER, None, Role.USER),
        (Role.USER, Role.VIEWER, Role.VIEWER),
        (Role.VIEWER, Role.ADMIN, Role.ADMIN),
        (Role.ADMIN, Role.VIEWER, Role.ADMIN),
        (None, Role.ADMIN, Role.USER),
        (None, None, Role.USER),
    ],
)
def test_the_higher_one_counts(directory: Role | None, granted: Role | None, counts: Role) -> None:
    assert roles.choose_higher(directory, granted) is counts


async def test_a_grant_counts_at_the_next_request(
    here: Portal, carol: Browser, bob: Browser
) -> None:
    assert (await bob.get(USERS)).status == 403
    shown = (await grant(carol, "bob", "viewer")).body
    assert (shown["role"], shown["granted_role"], shown["granted_by"]) == (
        ("viewer", "viewer", "carol")
    )
    assert (await bob.get(USERS)).status == 200
    assert (await bob.post(f"{USERS}/p1801/lock")).status == 403
    assert (await grant(carol, "bob", "admin")).body["role"] == "admin"
    assert (await bob.post(f"{USERS}/p1801/unlock")).status == 200
    assert (await grant(carol, "bob", None)).body["role"] == "user"
    assert (await bob.get(USERS)).status == 403
    assert (await bob.get("/api/v1/me")).body["role"] == "user"
    details = await audited(here, "role.revoke", "bob")
    assert details[0]["role"] == {"old": "admin", "new": "user"}
    assert (await grant(carol, "unknown-user", "viewer")).status == 404
    assert (await grant(carol, "bob", "user")).status == 422


async def test_a_group_that_changes_counts_without_another_login(
    here: Portal, carol: Browser, bob: Browser
) -> None:
    """Changes by the portal apply at once; other changes once the cached groups are ten minutes
    old."""
    directory = here.context.directory
    put = await carol.send("PUT", f"{GROUPS}/portal-admins/members/bob")
    assert put.status == 200, put
    try:
        assert (await bob.get(USERS)).status == 200
        await directory.remove_member("portal-admins", "bob")
        assert (await bob.get(USERS)).status == 200, "it was looked up a moment ago"
        await change(here, "bob", groups_at=utcnow() - timedelta(minutes=11))
        assert (await bob.get(USERS)).status == 403
        assert (await bob.get("/api/v1/me")).body["role"] == "user"
    finally:
        await directory.remove_member("portal-admins", "bob")


async def test_viewers_by_group(run_here: RunHere) -> None:
    async with run_here(ldap_viewer_groups=["scientists"]) as portal:
        async with logged_in(portal, "alice") as alice:
            assert (await alice.get("/api/v1/me")).body["role"] == "viewer"
            assert (await alice.get(USERS)).status == 200
        async with logged_in(portal, "carol") as carol:
            assert (await carol.get("/api/v1/me")).body["role"] == "admin"


async def test_groups_of_administrators_let_in_too(run_here: RunHere) -> None:
    async with run_here(ldap_user_groups=["scientists"]) as portal:
        async with logged_in(portal, "carol") as carol:
            groups = (await carol.get(GROUPS)).body["items"]
        assert {one["name"] for one in groups if one["lets_in"]} == {"portal-admins", "scientists"}


async def test_a_viewer_tries_every_admin_route(here: Portal, carol: Browser, bob: Browser) -> None:
    """A viewer sees everything and changes nothing, with the cookie and with a token."""
    await grant(carol, "bob", "viewer")
    payload = {"name": "look", "scopes": ["admin"], "expires_in_days": 1}
    token = (await bob.post("/api/v1/tokens", payload)).body["token"]
    tried = 0
    for route in api_routes():
        if "/admin/" not in path_of(route):
            continue
        for method in sorted(methods(route)):
            path = concrete(route)
            for headers in ({}, {"Authorization": f"Bearer {token}"}):
                body: dict[str, Any] | None = None if method in SAFE_METHODS else {}
                answer = await bob.send(method, path, json=body, headers=headers)
                if method in SAFE_METHODS:
                    assert answer.status not in {401, 403, 500}, (method, path, answer)
                else:
                    assert (answer.status, answer.slug) == (403, "forbidden"), (method, path)
                tried += 1
    assert tried > 60


# --- the last administrator -----------------------------------------------------------------------


async def test_the_last_one_stays(here: Portal, carol: Browser, bob: Browser) -> None:
    """Not while there is no other administrator who can log in."""
    await grant(carol, "bob", "admin")
    directory = here.context.directory
    lower = await grant(bob, "bob", None)
    assert (lower.status, lower.slug) == (409, "conflict"), "users cannot lower their own role"
    await directory.lock("bob")
    try:
        with pytest.raises(LastAdmin):
            async with role_changes.guard_last_admin(here.context, "carol"):
                raise AssertionError("entered")
        disable = await bob.post(f"{USERS}/carol/disable", {"jobs": "leave"})
        assert (disable.status, disable.slug) == (409, "last-admin")
        asked = {"files": "keep", "jobs": "leave", "confirm": "carol"}
        delete = await bob.send("DELETE", f"{USERS}/carol", json=asked)
        assert (delete.status, delete.slug) == (409, "last-admin")
        locked = await bob.post(f"{USERS}/carol/lock")
        assert (locked.status, locked.slug) == (409, "last-admin")
        out = await bob.send("DELETE", f"{GROUPS}/portal-admins/members/carol")
        assert (out.status, out.slug) == (409, "last-admin")
    finally:
        await directory.unlock("bob")
    async with role_changes.guard_last_admin(here.context, "carol"):
        pass
    async with role_changes.guard_last_admin(here.context, "alice"):
        pass


async def test_two_who_do_it_to_each_other(here: Portal, carol: Browser, bob: Browser) -> None:
    await grant(carol, "bob", "admin")
    body = {"jobs": "leave"}
    answers = await asyncio.gather(
        carol.post(f"{USERS}/bob/disable", body), bob.post(f"{USERS}/carol/disable", body)
    )
    assert sorted(answer.status for answer in answers) in ([200, 401], [200, 409])
    left = [name for name in ("bob", "carol") if await role_of(here, name) is Role.ADMIN]
    async with here.context.db.session() as db:
        enabled = select(User.username).where(User.disabled_at.is_(None), User.role == Role.ADMIN)
        (winner,) = (await db.scalars(enabled)).all()
    assert winner in left
    loser, browser = ("bob", carol) if winner == "carol" else ("carol", bob)
    assert (await browser.post(f"{USERS}/{loser}/enable")).status == 200
    await until(
        lambda: browser.get(f"{USERS}/{loser}"),
        "the directory is updated",
        done=lambda answer: not answer.body["directory_wants"],
    )


async def test_two_portals_on_one_database(here: Portal, carol: Browser, bob: Browser) -> None:
    """The lock within a process does not work across two; the transaction does."""
    await grant(carol, "bob", "admin")
    database, entered = here.context.db, asyncio.Event()

    async def demote(username: str) -> bool:
        async with database.session() as db:
            await role_changes.lock_admins(db)
            entered.set()
            user = await role_changes.load_row(db, username)
            try:
                await role_changes.require_other_admin(db, user, None)
            except LastAdmin:
                return False
            user.granted_role = user.directory_role = None
            user.role = Role.USER
            await db.commit()
            return True

    assert sorted(await asyncio.gather(demote("bob"), demote("carol"))) == [False, True]


# --- group managers -------------------------------------------------------------------------------


async def test_managers_see_their_own_group(here: Portal, carol: Browser, bob: Browser) -> None:
    place = f"{GROUPS}/scientists/managers/bob"
    assert (await bob.get("/api/v1/groups/scientists")).status == 403
    assert (await carol.send("PUT", place)).status == 204
    assert (await carol.send("PUT", place)).status == 204, "twice is no mistake"
    assert (await bob.get("/api/v1/me")).body["manages"] == ["scientists"]
    seen = await bob.get("/api/v1/groups/scientists")
    assert (seen.status, seen.body["managers"]) == (200, ["bob"])
    assert (await bob.get("/api/v1/groups/portal-admins")).status == 403
    assert (await bob.get(f"{GROUPS}/scientists")).status == 403
    assert (await carol.send("DELETE", place)).status == 204
    assert (await bob.get("/api/v1/groups/scientists")).status == 403
    none = await carol.send("PUT", f"{GROUPS}/no-such/managers/bob")
    assert none.status == 404
    assert len(await audited(here, "leader.add", "scientists")) == 1
    assert len(await audited(here, "leader.remove", "scientists")) == 1


# --- in no group that permits logins --------------------------------------------------------------


async def test_who_is_taken_out_of_every_group_is_refused_at_the_next_request(
    run_here: RunHere,
) -> None:
    """Changes by the portal apply at once, other changes at the next sync; the same for regained
    access."""
    async with run_here(ldap_user_groups=["scientists"]) as portal:
        directory = portal.context.directory
        poll = DirectorySync(portal.context).poll
        await directory.add_member("scientists", "bob")
        async with logged_in(portal, "bob") as bob, logged_in(portal, "carol") as carol:
            payload = {"name": "t", "scopes": ["read"], "expires_in_days": 1}
            token = (await bob.post("/api/v1/tokens", payload)).body["token"]
            shown = {"Authorization": f"Bearer {token}"}
            try:
                left = await carol.send("DELETE", f"{GROUPS}/scientists/members/bob")
                assert left.status == 200, left
                for answer in (
                    await bob.get("/api/v1/me"),
                    await bob.get("/api/v1/me", headers=shown),
                ):
                    assert (answer.status, answer.body["detail"]) == (401, roles.NOT_ADMITTED)
                gate = {"X-Owner": "bob", "X-Server": "s1"}
                assert (await bob.get("/internal/gate", headers=gate)).status == 401
                assert (await bob.get(f"/tensorboard/{NO_BOARD}/{'0' * 32}/")).status == 401
                useless = await grant(carol, "bob", "admin")
                assert (useless.status, useless.slug) == (409, "conflict")

                await directory.add_member("scientists", "bob")
                await poll()
                assert (await bob.get("/api/v1/me")).status == 200
                await directory.remove_member("scientists", "bob")
                assert (await bob.get("/api/v1/me")).status == 200, (
                    "the directory was not polled yet"
                )
                await poll()
                assert (await bob.get("/api/v1/me")).status == 401
                assert (await bob.login("bob")).status == 403
            finally:
                await directory.remove_member("scientists", "bob")


async def test_an_admin_found_to_be_in_no_group_is_refused_at_once(run_here: RunHere) -> None:
    async with (
        run_here(ldap_user_groups=["unknown-group"]) as portal,
        logged_in(portal, "carol") as one,
    ):
        assert (await one.get(USERS)).status == 200
        await change(portal, "carol", groups_at=utcnow() - timedelta(minutes=11))
        portal.app.state.settings.ldap_admin_groups.clear()
        assert (await one.get(USERS)).status == 401
