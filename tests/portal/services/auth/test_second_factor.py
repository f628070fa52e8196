"""The second factor: enrolled, replaced, required, and reset by an administrator."""

import base64
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from portal.db import utcnow
from portal.models import (
    AccessToken,
    AuditEvent,
    RecoveryCode,
    Role,
    SecondFactor,
    User,
    WebSession,
)
from portal.services.audit.audit import Action
from portal.services.auth import second_factor, totp
from portal.services.sessions.gate import load_gate_row
from portal.web.dependencies import identity
from tests.portal.api.test_routes import asked_paths
from tests.portal.authenticator import (
    FOREIGN,
    HERE,
    Clock,
    change,
    cookie,
    enrol,
    give,
    logged_in,
    rows,
)
from tests.portal.conftest import Browser, Portal, RunPortal
from tests.servers.slapd import PASSWORD

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(second_factor, "utcnow", clock)
    return clock


@pytest.fixture
async def alice(portal: Portal) -> AsyncIterator[Browser]:
    async with logged_in(portal, "alice") as browser:
        yield browser


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

    async def test_it_needs_a_confirmed_password_and_our_own_page(
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
        hidden = [app.secret, totp.encode_secret(app.secret).encode(), base64.b64encode(app.secret)]
        hidden += [
            form.encode() for code in app.recovery for form in (code, totp.normalize_code(code))
        ]
        for file in portal.settings.state_dir.glob("portal.db*"):
            content = file.read_bytes()
            assert not [secret for secret in hidden if secret in content]

    async def test_unreadable_secret_refers_to_an_administrator(
        self, portal: Portal, alice: Browser, clock: Clock
    ) -> None:
        app = await enrol(alice, clock)
        portal.settings.second_factor_key.unlink()
        await alice.login("alice")
        answer = await give(alice, app.next_code())
        assert answer.status == 503
        assert "administrator to reset it" in answer.body["detail"]


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

    async def test_what_weakens_it_needs_a_confirmed_password_too(
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
            board = f"/tensorboard/x/{'0' * 32}/"
            for path in ("/internal/whoami", "/user/carol/s1/lab", board):
                assert (await carol.get(path)).status == 401, path
            found = await load_gate_row(strict.context.db, strict.settings, cookie(carol), "s1")
            assert found == (None, None)
            assert (await carol.get(HERE)).body["required"] is True
            app = await enrol(carol, clock)
            assert (await carol.get("/api/v1/admin/sessions")).status == 200
            login, _ = await load_gate_row(strict.context.db, strict.settings, cookie(carol), "s1")
            assert login is not None
            assert (await carol.post(f"{HERE}/turn-off", {"code": app.next_code()})).status == 204
            assert (await carol.get("/api/v1/me")).slug == "second-factor-enrolment-required"
            assert (await carol.post("/api/v1/logout")).status == 204
            assert await rows(strict, WebSession) == []

    async def test_other_roles_do_without(self, strict: Portal) -> None:
        async with logged_in(strict, "alice") as alice:
            assert (await alice.get("/api/v1/me")).status == 200
            login, _ = await load_gate_row(strict.context.db, strict.settings, cookie(alice), "s1")
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
    async def test_admin_resets_second_factor_and_owner_is_notified(
        self, portal: Portal, alice: Browser, clock: Clock
    ) -> None:
        await enrol(alice, clock)
        place = "/api/v1/admin/users/alice/second-factor/reset"
        async with logged_in(portal, "carol") as carol:
            assert (await carol.post(place)).status == 204
            assert (await carol.post(place)).slug == "conflict"
            unknown_user = "/api/v1/admin/users/unknown/second-factor/reset"
            assert (await carol.post(unknown_user)).status == 404
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
        await alice.confirm()
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
    hidden = [totp.encode_secret(app.secret), PASSWORD, *app.recovery]
    assert not [secret for secret in hidden if secret in written]
    assert await rows(portal, AccessToken) == []
