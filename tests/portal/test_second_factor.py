"""The second factor: set up, asked for, used once, replaced, required, and reset by an admin."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from portal.api.deps import identity
from portal.db import utcnow
from portal.models import (
    AccessToken,
    AuditEvent,
    HalfLogin,
    RecoveryCode,
    Role,
    SecondFactor,
    User,
    WebSession,
)
from portal.services.audit.audit import Action
from portal.services.login import second_factor, totp
from portal.services.sessions.gate import look
from tests.portal.conftest import Answer, Browser, Portal, RunPortal
from tests.portal.slapd import PASSWORD
from tests.portal.test_routes import asked_paths

pytestmark = pytest.mark.anyio
HERE = "/api/v1/second-factor"
FOREIGN = "http://evil.example"


class Clock:
    """The portal's clock for codes, which stands still: no code grows old while a test runs."""

    def __init__(self) -> None:
        self.now_s = time.time()

    def __call__(self) -> datetime:
        return datetime.fromtimestamp(self.now_s, UTC)

    def code(self, secret: bytes, skew: int = 0) -> str:
        return totp.code_at(secret, totp.step_at(self.now_s) + skew)

    def next_step(self) -> None:
        self.now_s += totp.STEP_S


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(second_factor, "utcnow", clock)
    return clock


class App:
    """Somebody's authenticator app, and the recovery codes they wrote down."""

    def __init__(self, clock: Clock, secret: bytes, recovery: list[str]) -> None:
        self.clock, self.secret, self.recovery = clock, secret, recovery

    def code(self, skew: int = 0) -> str:
        return self.clock.code(self.secret, skew)

    def next_code(self) -> str:
        """A code that wasn't used yet."""
        self.clock.next_step()
        return self.code()


async def enrol(browser: Browser, clock: Clock) -> App:
    begun = await browser.post(f"{HERE}/enrolment")
    assert begun.status == 201, begun
    secret = base64.b32decode(begun.body["secret"])
    done = await browser.post(f"{HERE}/confirm", {"code": clock.code(secret)})
    assert done.status == 200, done
    return App(clock, secret, done.body["codes"])


async def give(browser: Browser, code: str) -> Answer:
    return await browser.post("/api/v1/login/second-factor", {"code": code})


async def rows(portal: Portal, table: Any) -> list[Any]:
    async with portal.app.state.db.session() as db:
        return list((await db.scalars(select(table))).all())


async def change(portal: Portal, table: Any, **values: Any) -> None:
    async with portal.app.state.db.session() as db:
        await db.execute(update(table).values(**values))
        await db.commit()


@asynccontextmanager
async def logged_in(portal: Portal, username: str) -> AsyncIterator[Browser]:
    async with portal.browser() as browser:
        assert (await browser.login(username)).status == 200
        yield browser


@pytest.fixture
async def alice(portal: Portal) -> AsyncIterator[Browser]:
    async with logged_in(portal, "alice") as browser:
        yield browser


def cookie(browser: Browser) -> str:
    return next((morsel.value for morsel in browser.http.cookie_jar), "")


class TestEnrolment:
    async def test_by_qr_code_or_typed_confirmed_by_one_code(
        self, portal: Portal, alice: Browser, clock: Clock
    ) -> None:
        before = (await alice.get(HERE)).body
        assert (before["enrolled_at"], before["required"]) == (None, False)
        begun = await alice.post(f"{HERE}/enrolment")
        assert begun.headers["Cache-Control"] == "no-store"
        assert begun.body["uri"].startswith("otpauth://totp/Data%20Scientist%20Portal%20")
        assert f"secret={begun.body['secret']}" in begun.body["uri"]
        assert begun.body["qr"].startswith("data:image/svg+xml")
        assert (await alice.get(HERE)).body["enrolled_at"] is None
        async with logged_in(portal, "alice") as other:
            assert (await other.get("/api/v1/me")).status == 200
            code = clock.code(base64.b32decode(begun.body["secret"]))
            done = await alice.post(f"{HERE}/confirm", {"code": f"{code[:3]} {code[3:]}"})
            assert (done.status, len(set(done.body["codes"]))) == (200, 10)
            assert (await other.get("/api/v1/me")).status == 401  # logged out
        after = (await alice.get(HERE)).body
        assert after["enrolled_at"] is not None
        assert after["recovery_codes_left"] == 10
        assert (await alice.get("/api/v1/me")).status == 200

    async def test_a_wrong_code_confirms_nothing(
        self, portal: Portal, alice: Browser, clock: Clock
    ) -> None:
        await alice.post(f"{HERE}/enrolment")
        answer = await alice.post(f"{HERE}/confirm", {"code": "abcdef"})
        assert (answer.status, answer.slug) == (401, "wrong-code")
        assert answer.body["errors"][0]["field"] == "code"
        assert (await alice.login("alice")).body["second_factor"] == "none"

    async def test_only_the_newest_secret_can_be_confirmed(
        self, alice: Browser, clock: Clock
    ) -> None:
        old, new = [(await alice.post(f"{HERE}/enrolment")).body["secret"] for _ in range(2)]
        refused = await alice.post(f"{HERE}/confirm", {"code": clock.code(base64.b32decode(old))})
        assert refused.status == 401
        done = await alice.post(f"{HERE}/confirm", {"code": clock.code(base64.b32decode(new))})
        assert done.status == 200

    async def test_it_needs_a_fresh_password_and_our_own_page(
        self, portal: Portal, alice: Browser
    ) -> None:
        foreign = await alice.post(f"{HERE}/enrolment", headers={"Origin": FOREIGN})
        assert foreign.slug == "origin-refused"
        await change(portal, WebSession, password_at=utcnow() - timedelta(minutes=11))
        assert (await alice.post(f"{HERE}/enrolment")).slug == "password-required"

    async def test_nothing_to_confirm_and_nothing_twice(self, alice: Browser, clock: Clock) -> None:
        assert (await alice.post(f"{HERE}/confirm", {"code": "123456"})).slug == "conflict"
        app = await enrol(alice, clock)
        assert (await alice.post(f"{HERE}/enrolment")).slug == "conflict"
        assert (await alice.post(f"{HERE}/confirm", {"code": app.code()})).slug == "conflict"

    async def test_the_database_holds_no_secret_and_no_recovery_code(
        self, portal: Portal, alice: Browser, clock: Clock
    ) -> None:
        app = await enrol(alice, clock)
        key = portal.settings.second_factor_key
        assert key.stat().st_mode & 0o777 == 0o600
        hidden = [app.secret, totp.typed(app.secret).encode(), base64.b64encode(app.secret)]
        hidden += [form.encode() for code in app.recovery for form in (code, totp.cleaned(code))]
        for file in portal.settings.state_dir.glob("portal.db*"):
            content = file.read_bytes()
            assert not [secret for secret in hidden if secret in content]

    async def test_a_secret_that_cannot_be_read_says_who_can_help(
        self, portal: Portal, alice: Browser, clock: Clock
    ) -> None:
        app = await enrol(alice, clock)
        portal.settings.second_factor_key.unlink()
        await alice.login("alice")
        answer = await give(alice, app.next_code())
        assert answer.status == 503
        assert "administrator can reset it" in answer.body["detail"]


class TestLogin:
    async def test_a_code_completes_it(self, portal: Portal, clock: Clock) -> None:
        async with logged_in(portal, "alice") as browser:
            app = await enrol(browser, clock)
        async with portal.browser() as browser:
            answer = await browser.login("alice")
            assert (answer.status, answer.body["second_factor"]) == (200, "required")
            assert "Max-Age=300" in answer.headers["Set-Cookie"]
            half = cookie(browser)
            assert (await browser.get("/api/v1/me")).status == 401
            done = await give(browser, app.next_code())
            assert (done.status, done.body["second_factor"]) == (200, "none")
            assert cookie(browser) not in {half, ""}
            assert (await browser.get("/api/v1/me")).status == 200
            assert await rows(portal, HalfLogin) == []

    async def test_half_a_login_opens_nothing(self, portal: Portal, clock: Clock) -> None:
        async with logged_in(portal, "carol") as browser:
            await enrol(browser, clock)
        async with portal.browser() as browser:
            assert (await browser.login("carol")).body["second_factor"] == "required"
            for method, path in [*asked_paths(identity), ("GET", HERE)]:
                answer = await browser.send(method, path, json={} if method != "GET" else None)
                assert (answer.status, answer.slug) == (401, "login-required"), (method, path)
            for path in ("/internal/whoami", "/user/carol/s1/lab", "/tensorboard/x/"):
                assert (await browser.get(path)).status == 401, path
            found = await look(portal.app.state.db, portal.settings, cookie(browser), "s1")
            assert found == (None, None)

    async def test_a_code_is_good_once(self, portal: Portal, clock: Clock) -> None:
        async with logged_in(portal, "alice") as browser:
            app = await enrol(browser, clock)
            await browser.login("alice")
            assert (await give(browser, app.code())).slug == "wrong-code"  # it confirmed
            code = app.next_code()
            assert (await give(browser, code)).status == 200
            await browser.login("alice")
            assert (await give(browser, code)).slug == "wrong-code"

    async def test_the_same_code_twice_at_once_is_good_once(
        self, portal: Portal, clock: Clock
    ) -> None:
        async with logged_in(portal, "alice") as browser:
            app = await enrol(browser, clock)
        async with portal.browser() as one, portal.browser() as two:
            await one.login("alice")
            await two.login("alice")
            code = app.next_code()
            answers = await asyncio.gather(give(one, code), give(two, code))
            assert sorted(answer.status for answer in answers) == [200, 401]

    async def test_clocks_may_differ_by_one_step(self, portal: Portal, clock: Clock) -> None:
        async with logged_in(portal, "alice") as browser:
            app = await enrol(browser, clock)
            for skew in (-2, 2):
                clock.now_s += 300
                await browser.login("alice")
                assert (await give(browser, app.code(skew))).status == 401, skew
            for skew in (-1, 1):
                clock.now_s += 300
                await browser.login("alice")
                assert (await give(browser, app.code(skew))).status == 200, skew

    async def test_a_recovery_code_is_good_once(self, portal: Portal, clock: Clock) -> None:
        async with logged_in(portal, "alice") as browser:
            app = await enrol(browser, clock)
            for typed, status in ((app.recovery[0].upper(), 200), (app.recovery[0], 401)):
                await browser.login("alice")
                assert (await give(browser, typed)).status == status
            assert (await give(browser, app.recovery[1])).status == 200
            assert (await browser.get(HERE)).body["recovery_codes_left"] == 8
        async with logged_in(portal, "bob") as bob:
            bobs = await enrol(bob, clock)
            await bob.login("bob")
            assert (await give(bob, app.recovery[2])).status == 401
            assert (await give(bob, bobs.recovery[0])).status == 200

    async def test_it_is_over_after_five_minutes(self, portal: Portal, clock: Clock) -> None:
        async with logged_in(portal, "alice") as browser:
            app = await enrol(browser, clock)
            await browser.login("alice")
            await change(portal, HalfLogin, expires_at=utcnow() - timedelta(seconds=1))
            assert (await give(browser, app.next_code())).slug == "login-required"

    async def test_it_can_be_given_up(self, portal: Portal, clock: Clock) -> None:
        async with logged_in(portal, "alice") as browser:
            app = await enrol(browser, clock)
            await browser.login("alice")
            assert (await browser.post("/api/v1/logout")).status == 204
            assert await rows(portal, HalfLogin) == []
            assert (await give(browser, app.next_code())).status == 401

    async def test_a_disabled_person_gets_no_further(self, portal: Portal, clock: Clock) -> None:
        async with logged_in(portal, "alice") as browser:
            app = await enrol(browser, clock)
            await browser.login("alice")
            await change(portal, User, disabled_at=utcnow())
            assert (await give(browser, app.next_code())).status == 401

    async def test_codes_are_limited_and_the_password_forgives_none(
        self, run_portal: RunPortal, clock: Clock
    ) -> None:
        async with (
            run_portal(login_attempts=3) as portal,
            logged_in(portal, "alice") as browser,
        ):
            app = await enrol(browser, clock)
            for _ in range(3):
                assert (await browser.login("alice")).status == 200
                assert (await give(browser, "000000x")).status == 401
            await browser.login("alice")
            refused = await give(browser, app.next_code())
            assert (refused.status, refused.slug) == (429, "too-many-attempts")
            assert int(refused.headers["Retry-After"]) > 0

    async def test_attempts_at_once_count_as_those_one_by_one(
        self, run_portal: RunPortal, clock: Clock
    ) -> None:
        async with (
            run_portal(login_attempts=3) as portal,
            logged_in(portal, "alice") as browser,
        ):
            await enrol(browser, clock)
            await browser.login("alice")
            answers = await asyncio.gather(*(give(browser, "000000x") for _ in range(9)))
            assert sorted(answer.status for answer in answers) == [401] * 3 + [429] * 6


class TestKeeping:
    async def test_new_recovery_codes_take_a_code_and_void_the_old(
        self, portal: Portal, alice: Browser, clock: Clock
    ) -> None:
        app = await enrol(alice, clock)
        place = f"{HERE}/recovery-codes"
        assert (await alice.post(place, {"code": app.code()})).slug == "wrong-code"
        answer = await alice.post(place, {"code": app.next_code()})
        assert answer.status == 200
        assert not set(answer.body["codes"]) & set(app.recovery)
        await alice.login("alice")
        assert (await give(alice, app.recovery[0])).status == 401
        assert (await give(alice, answer.body["codes"][0])).status == 200

    async def test_turning_it_off_takes_a_code(
        self, portal: Portal, alice: Browser, clock: Clock
    ) -> None:
        app = await enrol(alice, clock)
        place = f"{HERE}/turn-off"
        assert (await alice.post(place, {"code": "123456x"})).status == 401
        assert (await alice.post(place, {"code": app.recovery[0]})).status == 204
        assert await rows(portal, SecondFactor) == []
        assert await rows(portal, RecoveryCode) == []
        assert (await alice.login("alice")).body["second_factor"] == "none"

    async def test_what_weakens_it_needs_a_fresh_password_too(
        self, portal: Portal, alice: Browser, clock: Clock
    ) -> None:
        app = await enrol(alice, clock)
        await change(portal, WebSession, password_at=utcnow() - timedelta(minutes=11))
        for what in ("turn-off", "recovery-codes"):
            answer = await alice.post(f"{HERE}/{what}", {"code": app.recovery[0]})
            assert answer.slug == "password-required"
        assert len(await rows(portal, RecoveryCode)) == 10


@pytest.fixture
async def strict(run_portal: RunPortal) -> AsyncIterator[Portal]:
    async with run_portal(second_factor_required_for=[Role.ADMIN]) as portal:
        yield portal


class TestRequired:
    async def test_without_one_only_the_enrolment_works(self, strict: Portal, clock: Clock) -> None:
        async with strict.browser() as carol:
            answer = await carol.login("carol")
            assert answer.body["second_factor"] == "enrolment-required"
            for method, path in asked_paths(identity):
                answer = await carol.send(method, path, json={} if method != "GET" else None)
                assert answer.slug == "second-factor-enrolment-required", (method, path)
                assert answer.status == 403
            for path in ("/internal/whoami", "/user/carol/s1/lab", "/tensorboard/x/"):
                assert (await carol.get(path)).status == 401, path
            found = await look(strict.app.state.db, strict.settings, cookie(carol), "s1")
            assert found == (None, None)
            assert (await carol.get(HERE)).body["required"] is True
            app = await enrol(carol, clock)
            assert (await carol.get("/api/v1/admin/sessions")).status == 200
            login, _ = await look(strict.app.state.db, strict.settings, cookie(carol), "s1")
            assert login is not None
            assert (await carol.post(f"{HERE}/turn-off", {"code": app.next_code()})).status == 204
            assert (await carol.get("/api/v1/me")).slug == "second-factor-enrolment-required"
            assert (await carol.post("/api/v1/logout")).status == 204
            assert await rows(strict, WebSession) == []

    async def test_other_roles_do_without(self, strict: Portal) -> None:
        async with logged_in(strict, "alice") as alice:
            assert (await alice.get("/api/v1/me")).status == 200
            login, _ = await look(strict.app.state.db, strict.settings, cookie(alice), "s1")
            assert login is not None

    async def test_a_new_role_counts_at_once_and_for_tokens_too(
        self, strict: Portal, clock: Clock
    ) -> None:
        async with logged_in(strict, "alice") as alice, strict.browser() as program:
            body = {"name": "t", "scopes": ["read"], "expires_in_days": 1}
            token = (await alice.post("/api/v1/tokens", body)).body["token"]
            headers = {"Authorization": f"Bearer {token}"}
            assert (await program.get("/api/v1/me", headers=headers)).status == 200
            await change(strict, User, role=Role.ADMIN)
            for browser, sent in ((alice, {}), (program, headers)):
                answer = await browser.get("/api/v1/me", headers=sent)
                assert answer.slug == "second-factor-enrolment-required"
            await enrol(alice, clock)
            assert (await alice.get("/api/v1/me")).status == 200
            assert (await program.get("/api/v1/me", headers=headers)).status == 200


class TestReset:
    async def test_an_admin_takes_it_away_and_the_person_is_told(
        self, portal: Portal, alice: Browser, clock: Clock
    ) -> None:
        await enrol(alice, clock)
        place = "/api/v1/admin/users/alice/second-factor/reset"
        async with logged_in(portal, "carol") as carol:
            assert (await carol.post(place)).status == 204
            assert (await carol.post(place)).slug == "conflict"
            nobody = "/api/v1/admin/users/nobody/second-factor/reset"
            assert (await carol.post(nobody)).status == 404
        assert (await alice.get("/api/v1/me")).status == 401
        answer = await alice.login("alice")
        assert answer.body["second_factor"] == "none"
        assert answer.body["second_factor_was_reset"] is True
        assert (await alice.get(HERE)).body["reset_at"] is not None
        await enrol(alice, clock)
        assert (await alice.get(HERE)).body["reset_at"] is None

    async def test_not_ones_own_and_not_by_just_anyone(self, portal: Portal, clock: Clock) -> None:
        place = "/api/v1/admin/users/carol/second-factor/reset"
        async with logged_in(portal, "carol") as carol, logged_in(portal, "alice") as alice:
            await enrol(carol, clock)
            assert (await carol.post(place)).slug == "forbidden"
            assert (await alice.post(place)).slug == "forbidden"
            await change(portal, WebSession, password_at=utcnow() - timedelta(minutes=11))
            assert (await carol.post(place)).slug == "password-required"
        assert len(await rows(portal, SecondFactor)) == 1


async def test_all_of_it_is_written_down_without_a_secret(portal: Portal, clock: Clock) -> None:
    async with logged_in(portal, "alice") as alice, logged_in(portal, "carol") as carol:
        app = await enrol(alice, clock)
        await alice.login("alice")
        await give(alice, "123456x")
        await give(alice, app.recovery[0])
        await alice.post(f"{HERE}/recovery-codes", {"code": app.next_code()})
        await alice.post(f"{HERE}/turn-off", {"code": app.next_code()})
        await enrol(alice, clock)
        await carol.post("/api/v1/admin/users/alice/second-factor/reset")
    events = await rows(portal, AuditEvent)
    assert {event.action for event in events} >= {
        Action.SECOND_FACTOR_ON,
        Action.LOGIN_HALF,
        Action.SECOND_FACTOR_REFUSED,
        Action.RECOVERY_CODE_USED,
        Action.RECOVERY_CODES_NEW,
        Action.SECOND_FACTOR_OFF,
        Action.SECOND_FACTOR_RESET,
    }
    whole = [event for event in events if event.action == Action.LOGIN and event.detail]
    assert [event.detail for event in whole] == [{"second_factor": "recovery-code"}]
    (reset,) = [event for event in events if event.action == Action.SECOND_FACTOR_RESET]
    assert (reset.actor, reset.target) == ("carol", "alice")
    written = str([vars(event) for event in events])
    hidden = [totp.typed(app.secret), PASSWORD, *app.recovery]
    assert not [secret for secret in hidden if secret in written]
    assert await rows(portal, AccessToken) == []
