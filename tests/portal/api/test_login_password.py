"""A password that must be changed is changed during the login that uses it."""

from typing import Any

import pytest
from sqlalchemy import select, update

from portal.db import utcnow
from portal.models import AuditEvent, HalfLogin, LoginFailure, SecondFactor, User, WebSession
from tests.portal.conftest import Answer, Browser, Portal
from tests.portal.users_portal import USERS, fields
from tests.servers.slapd import PASSWORD

pytest_plugins = ["tests.portal.users_fixtures"]
pytestmark = pytest.mark.anyio

NEW = "a wholly different phrase"
PLACE = "/api/v1/login/password"


async def made(admin: Browser, username: str) -> str:
    """Create a user for one test; return the one-time password."""
    answer = await admin.post(USERS, {"username": username, "surname": "Test"})
    assert answer.status == 201, answer
    assert answer.body["password"]["must_change"]
    return str(answer.body["password"]["password"])


async def change(browser: Browser, current: str, new: str = NEW) -> Answer:
    return await browser.post(PLACE, {"current_password": current, "new_password": new})


async def rows(portal: Portal, table: Any) -> list[Any]:
    async with portal.context.db.session() as db:
        return list((await db.scalars(select(table))).all())


async def test_it_is_changed_and_opens_the_door(here: Portal, carol: Browser) -> None:
    current = await made(carol, "newcomer")
    async with here.browser() as browser:
        first = await browser.login("newcomer", current)
        assert (first.status, first.body["password_change_required"]) == (200, True)
        for path in ("/api/v1/me", "/api/v1/jobs", "/api/v1/second-factor"):
            assert (await browser.get(path)).status == 401, "half a login opens nothing"
        code = await browser.post("/api/v1/login/second-factor", {"code": "123456"})
        assert code.status == 401, "nor the other half"

        short = await change(browser, current, "short")
        assert "new_password" in fields(short)
        same = await change(browser, current, current)
        assert "new_password" in fields(same)
        wrong = await change(browser, "not this")
        assert (wrong.status, wrong.slug) == (401, "wrong-credentials")
        assert wrong.body["errors"][0]["field"] == "current_password"

        second = await change(browser, current)
        assert (second.status, second.body["password_change_required"]) == (200, False)
        assert second.body["second_factor"] == "none"
        assert (await browser.get("/api/v1/me")).body["username"] == "newcomer"
        assert await rows(here, HalfLogin) == []
        assert (await change(browser, NEW)).status == 401, "it was for once"
    async with here.browser() as browser:
        assert (await browser.login("newcomer", current)).status == 401
        assert not (await browser.login("newcomer", NEW)).body["password_change_required"]
    details = [
        (event.action, event.detail) for event in await rows(here, AuditEvent)
        if event.actor == "newcomer"
    ]  # fmt: skip
    assert [action for action, _ in details] == [
        "login.half", "password.refused", "password.changed", "login", "login.failed", "login",
    ]  # fmt: skip
    assert not any(NEW in str(detail) or current in str(detail) for _, detail in details)


async def test_the_right_one_is_no_failed_try(here: Portal, carol: Browser) -> None:
    current = await made(carol, "counted")
    async with here.browser() as browser:
        await browser.login("counted", "wrong")
        await browser.login("counted", current)
    assert await rows(here, LoginFailure) == []


async def test_a_second_factor_still_follows(here: Portal, carol: Browser) -> None:
    current = await made(carol, "careful")
    async with here.browser() as browser:
        await browser.login("careful", current)
        assert (await change(browser, current)).status == 200
    async with here.context.db.session() as db:
        (user,) = await db.scalars(select(User).where(User.username == "careful"))
        db.add(SecondFactor(user_id=user.id, secret="", confirmed_at=utcnow()))
        await db.commit()
    password = (await carol.post(f"{USERS}/careful/password")).body["password"]
    async with here.browser() as browser:
        assert (await browser.login("careful", password)).body["password_change_required"]
        answer = await change(browser, password, "yet another phrase")
        assert (answer.status, answer.body["second_factor"]) == (200, "required")
        assert (await browser.get("/api/v1/me")).status == 401
        assert [half.awaits for half in await rows(here, HalfLogin)] == ["code"]


async def test_user_disabled_during_password_change_is_refused(
    here: Portal, carol: Browser
) -> None:
    current = await made(carol, "midway")
    async with here.browser() as browser:
        await browser.login("midway", current)
        assert (await carol.post(f"{USERS}/midway/disable", {"jobs": "leave"})).status == 200
        assert (await change(browser, current)).status == 401


async def test_the_step_ends(here: Portal, carol: Browser) -> None:
    current = await made(carol, "slow")
    async with here.browser() as browser:
        await browser.login("slow", current)
        async with here.context.db.session() as db:
            await db.execute(update(HalfLogin).values(expires_at=utcnow()))
            await db.commit()
        late = await change(browser, current)
        assert (late.status, late.slug) == (401, "login-required")


async def test_other_logins_end(here: Portal, carol: Browser) -> None:
    """The one-time password is not accepted as a confirmation again."""
    current = await made(carol, "twice")
    async with here.browser() as first, here.browser() as second:
        await first.login("twice", current)
        await change(first, current)
        password = (await carol.post(f"{USERS}/twice/password")).body["password"]
        assert (await first.get("/api/v1/me")).status == 401
        await second.login("twice", password)
        await change(second, password, "yet another phrase")
        await carol.post(f"{USERS}/twice/password")
    assert [row.user.username for row in await rows(here, WebSession)] == ["carol"]


async def test_a_password_that_opens_the_door_a_few_times_more(here: Portal) -> None:
    """Expired, with three grace logins left: it can be changed while one is left for that."""
    async with here.browser() as browser:
        first = await browser.login("ivan")
        assert (first.status, first.body["password_change_required"]) == (200, True)
        assert (await change(browser, PASSWORD)).status == 200
        assert (await browser.get("/api/v1/me")).body["username"] == "ivan"
