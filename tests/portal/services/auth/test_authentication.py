"""Staying logged in, losing access, and confirming or changing the password."""

from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from portal.db import utcnow
from portal.directory.contract import DirectoryUser
from portal.errors import Forbidden
from portal.models import AuditEvent, HalfLogin, User, WebSession
from portal.services.audit.audit import Action
from portal.services.auth import authentication, web_sessions
from portal.services.identity import roles
from tests.portal.conftest import Browser, Portal
from tests.servers.slapd import PASSWORD

pytestmark = pytest.mark.anyio
NEW_PASSWORD = "a wholly different phrase"


@pytest.fixture
async def alice(portal: Portal) -> AsyncIterator[Browser]:
    async with portal.browser() as browser:
        assert (await browser.login("alice")).status == 200
        yield browser


async def change_rows(portal: Portal, table: Any, **values: Any) -> None:
    async with portal.context.db.session() as db:
        await db.execute(update(table).values(**values))
        await db.commit()


async def rows(portal: Portal, table: Any) -> list[Any]:
    async with portal.context.db.session() as db:
        return list((await db.scalars(select(table))).all())


class TestWebSession:
    async def test_it_ends_at_its_fixed_end(self, portal: Portal, alice: Browser) -> None:
        await change_rows(portal, WebSession, expires_at=utcnow() - timedelta(seconds=1))
        answer = await alice.get("/api/v1/me")
        assert (answer.status, answer.slug) == (401, "login-required")

    async def test_unused_web_session_expires(self, portal: Portal, alice: Browser) -> None:
        await change_rows(portal, WebSession, last_seen_at=utcnow() - timedelta(hours=8.1))
        assert (await alice.get("/api/v1/me")).status == 401

    async def test_use_keeps_it_but_not_past_its_end(self, portal: Portal, alice: Browser) -> None:
        before = (await rows(portal, WebSession))[0]
        await change_rows(portal, WebSession, last_seen_at=utcnow() - timedelta(hours=7))
        assert (await alice.get("/api/v1/me")).status == 200
        after = (await rows(portal, WebSession))[0]
        assert utcnow() - after.last_seen_at < timedelta(minutes=1)
        assert after.expires_at == before.expires_at

    async def test_only_looking_does_not_keep_it(self, portal: Portal, alice: Browser) -> None:
        seen = utcnow() - timedelta(hours=7)
        await change_rows(portal, WebSession, last_seen_at=seen)
        token = next(morsel.value for morsel in alice.http.cookie_jar)
        database, settings = portal.context.db, portal.settings
        assert await web_sessions.resume(database, settings, token, touch=False) is not None
        assert (await rows(portal, WebSession))[0].last_seen_at == seen

    @pytest.mark.parametrize("token", ["", "x", "x" * 43, "x" * 5000, "é", "a;b"])
    async def test_a_made_up_token_opens_nothing(self, portal: Portal, token: str) -> None:
        assert await web_sessions.resume(portal.context.db, portal.settings, token) is None

    async def test_the_hash_is_no_token(self, portal: Portal, alice: Browser) -> None:
        assert (await alice.get("/api/v1/me")).status == 200
        stored = (await rows(portal, WebSession))[0].token_hash
        async with portal.browser() as thief:
            cookie = {"Cookie": f"portal_session={stored}"}
            assert (await thief.get("/api/v1/me", headers=cookie)).status == 401

    async def test_a_disabled_user_is_out_at_the_next_request(
        self, portal: Portal, alice: Browser
    ) -> None:
        await change_rows(portal, User, disabled_at=utcnow())
        assert (await alice.get("/api/v1/me")).status == 401
        again = await alice.login("alice")
        assert (again.status, again.slug) == (401, "wrong-credentials")
        assert again.body["title"] == "This account is disabled"
        assert "Set-Cookie" not in again.headers


class TestRole:
    async def test_role_follows_the_directory_at_each_login(
        self, portal: Portal, alice: Browser
    ) -> None:
        await change_rows(portal, User, role="admin")
        assert (await alice.get("/api/v1/me")).body["role"] == "admin"
        assert (await alice.login("alice")).body["role"] == "user"

    @pytest.mark.parametrize(
        ("groups", "admins", "users", "role"),
        [
            ((), (), (), "user"),
            (("a",), ("a",), (), "admin"),
            (("a",), ("a",), ("u",), "admin"),
            (("u",), ("a",), ("u",), "user"),
            (("x",), ("a",), ("u",), None),
            ((), ("a",), ("u",), None),
        ],
    )
    async def test_groups_give_it(
        self,
        make_settings: Callable[..., Any],
        groups: tuple[str, ...],
        admins: tuple[str, ...],
        users: tuple[str, ...],
        role: str | None,
    ) -> None:
        settings = make_settings(ldap_admin_groups=list(admins), ldap_user_groups=list(users))
        assert roles.derive_role(groups, settings) == role

    @pytest.mark.parametrize("name", ["Al ice", "-x", "1a", "a" * 33, "", "a/b", "root\n"])
    async def test_a_name_the_cluster_cannot_use_gives_none(
        self, make_settings: Callable[..., Any], name: str
    ) -> None:
        user = DirectoryUser(name, "cn=x", "X", None, 20001, frozenset())
        with pytest.raises(Forbidden):
            authentication.admit(user, make_settings())


class TestReauth:
    async def test_the_password_is_asked_again_after_a_while(
        self, portal: Portal, alice: Browser
    ) -> None:
        await change_rows(portal, WebSession, password_at=utcnow() - timedelta(minutes=11))
        assert (await alice.get("/api/v1/me")).body["password_fresh"] is False
        change = {"current_password": PASSWORD, "new_password": NEW_PASSWORD}
        refused = await alice.post("/api/v1/me/password", change)
        assert (refused.status, refused.slug) == (403, "password-required")
        assert (await alice.post("/api/v1/reauth", {"password": PASSWORD})).status == 204
        assert (await alice.get("/api/v1/me")).body["password_fresh"] is True

    async def test_a_wrong_one_changes_nothing(self, portal: Portal, alice: Browser) -> None:
        await change_rows(portal, WebSession, password_at=utcnow() - timedelta(minutes=11))
        answer = await alice.post("/api/v1/reauth", {"password": "wrong"})
        assert (answer.status, answer.slug) == (401, "wrong-credentials")
        assert answer.body["errors"][0]["field"] == "password"
        events = [event.action for event in await rows(portal, AuditEvent)]
        assert events == [Action.LOGIN, Action.PASSWORD_REFUSED]
        assert (await alice.get("/api/v1/me")).body["password_fresh"] is False

    async def test_reauth_without_login_is_refused(self, browser: Browser) -> None:
        answer = await browser.post("/api/v1/reauth", {"password": PASSWORD})
        assert (answer.status, answer.slug) == (401, "login-required")


class TestPasswordChange:
    @pytest.fixture
    async def heidi(self, portal: Portal) -> AsyncIterator[Browser]:
        async with portal.browser() as browser:
            assert (await browser.login("heidi")).status == 200
            await browser.confirm()
            yield browser

    @staticmethod
    async def begin_a_login(portal: Portal) -> None:
        """Start a login with the password that is about to change, without its second factor."""
        (user,) = await rows(portal, User)
        end = utcnow() + timedelta(minutes=5)
        async with portal.context.db.session() as db:
            db.add(HalfLogin(token_hash="h", user_id=user.id, expires_at=end))
            await db.commit()

    @staticmethod
    async def change(browser: Browser, current: str, new: str) -> Any:
        body = {"current_password": current, "new_password": new}
        return await browser.post("/api/v1/me/password", body)

    async def test_a_login_alone_is_not_enough(self, alice: Browser) -> None:
        answer = await self.change(alice, PASSWORD, NEW_PASSWORD)
        assert (answer.status, answer.slug) == (403, "password-required")

    async def test_it_changes_in_the_directory_and_ends_other_logins(
        self, portal: Portal, heidi: Browser
    ) -> None:
        async with portal.browser() as other:
            await other.login("heidi")
            await self.begin_a_login(portal)
            assert (await self.change(heidi, PASSWORD, NEW_PASSWORD)).status == 204
            assert await rows(portal, HalfLogin) == []
            assert (await other.get("/api/v1/me")).status == 401
            assert (await heidi.get("/api/v1/me")).status == 200
            assert (await other.login("heidi")).status == 401
            assert (await other.login("heidi", NEW_PASSWORD)).status == 200
            used = await self.change(heidi, NEW_PASSWORD, PASSWORD)
        assert used.status == 422
        assert "used before" in used.body["detail"]
        assert [error["field"] for error in used.body["errors"]] == ["new_password"]
        events = [event.action for event in await rows(portal, AuditEvent)]
        assert events.count(Action.PASSWORD_CHANGED) == 1

    async def test_a_short_one_is_refused_with_the_reason(self, alice: Browser) -> None:
        await alice.confirm()
        answer = await self.change(alice, PASSWORD, "short")
        assert (answer.status, answer.slug) == (422, "invalid-input")
        assert "short" in answer.body["detail"]

    async def test_the_current_one_must_be_right(self, portal: Portal, alice: Browser) -> None:
        await alice.confirm()
        answer = await self.change(alice, "wrong", NEW_PASSWORD)
        assert (answer.status, answer.slug) == (401, "wrong-credentials")
        assert (await alice.login("alice")).status == 200

    @pytest.mark.parametrize("new", ["", "x" * 1025])
    async def test_what_cannot_be_a_password_names_its_field(
        self, alice: Browser, new: str
    ) -> None:
        await alice.confirm()
        answer = await self.change(alice, PASSWORD, new)
        assert answer.status == 422
        assert [error["field"] for error in answer.body["errors"]] == ["new_password"]
