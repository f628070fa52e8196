"""Access tokens: created, shown once, limited to their scopes on every route, and revoked at
once."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from fastapi.routing import RouteContext
from sqlalchemy import select, update

from portal.app import bare_app
from portal.db import utcnow
from portal.models import AccessToken, AuditEvent, Role, SecondFactor, User, WebSession
from portal.services.audit.audit import Action
from portal.services.auth import web_sessions
from portal.services.auth.tokens import MAX_TOKENS, Scope, is_well_formed, new_text
from portal.web import dependencies
from portal.web.request_origin import SAFE_METHODS
from tests.polling import PATIENCE_S
from tests.portal.api.test_routes import OPEN, calls, guards, methods, name, path_of, routes
from tests.portal.conftest import Answer, Browser, Portal, RunPortal

pytestmark = pytest.mark.anyio
NONE = "00000000-0000-4000-8000-000000000000"
EVERY = [scope.value for scope in Scope]
MINE = EVERY[:-1]


@pytest.fixture
async def alice(portal: Portal) -> AsyncIterator[Browser]:
    async with portal.browser() as browser:
        assert (await browser.login("alice")).status == 200
        await browser.confirm()
        yield browser


@pytest.fixture
async def carol(portal: Portal) -> AsyncIterator[Browser]:
    async with portal.browser() as browser:
        assert (await browser.login("carol")).body["role"] == "admin"
        await browser.confirm()
        yield browser


@pytest.fixture
async def program(portal: Portal) -> AsyncIterator[Browser]:
    """A client without a cookie."""
    async with portal.browser() as browser:
        yield browser


async def make(browser: Browser, *scopes: str, name: str = "laptop", days: int = 30) -> Answer:
    body = {"name": name, "scopes": list(scopes), "expires_in_days": days}
    return await browser.post("/api/v1/tokens", body)


def showing(token: str) -> dict[str, str]:
    """Return a program's headers: it sends no Origin."""
    return {"Authorization": f"Bearer {token}", "Origin": ""}


async def change(portal: Portal, table: Any, **values: Any) -> None:
    async with portal.context.db.session() as db:
        await db.execute(update(table).values(**values))
        await db.commit()


async def rows(portal: Portal, table: Any) -> list[Any]:
    async with portal.context.db.session() as db:
        return list((await db.scalars(select(table))).all())


class TestMaking:
    async def test_a_token_is_shown_once_and_kept_as_its_hash(
        self, portal: Portal, alice: Browser, program: Browser
    ) -> None:
        answer = await make(alice, "read", "jobs")
        token = answer.body["token"]
        assert answer.status == 201
        assert answer.headers["Cache-Control"] == "no-store"
        assert is_well_formed(token)
        assert answer.body["scopes"] == ["jobs", "read"]
        assert answer.body["last_used_at"] is None
        listed = (await alice.get("/api/v1/tokens")).body
        assert [item["name"] for item in listed["items"]] == ["laptop"]
        assert "token" not in listed["items"][0]
        assert listed["max_days"] == 365
        for file in portal.settings.state_dir.glob("portal.db*"):
            assert token.encode() not in file.read_bytes()
        me = await program.get("/api/v1/me", headers=showing(token))
        assert (me.status, me.body["username"], me.body["password_fresh"]) == (200, "alice", False)
        assert "Set-Cookie" not in me.headers

    async def test_last_use_is_noted_once_a_minute(
        self, portal: Portal, alice: Browser, program: Browser
    ) -> None:
        token = (await make(alice, "read")).body["token"]

        async def used_at() -> Any:
            assert (await program.get("/api/v1/me", headers=showing(token))).status == 200
            return (await rows(portal, AccessToken))[0].last_used_at

        first = await used_at()
        assert first is not None
        assert await used_at() == first
        await change(portal, AccessToken, last_used_at=first - timedelta(minutes=2))
        assert await used_at() >= first

    async def test_it_needs_a_confirmed_password(self, portal: Portal, alice: Browser) -> None:
        await change(portal, WebSession, password_at=utcnow() - timedelta(minutes=11))
        assert (await make(alice, "read")).slug == "password-required"

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"name": ""}, "name"),
            ({"name": "  "}, "name"),
            ({"name": "a\nb"}, "name"),
            ({"name": "x" * 101}, "name"),
            ({"scopes": []}, "scopes"),
            ({"scopes": ["write"]}, "scopes.0"),
            ({"scopes": ["admin"]}, "scopes"),
            ({"expires_in_days": 0}, "expires_in_days"),
            ({"expires_in_days": 366}, "expires_in_days"),
            ({"expires_in_days": None}, "expires_in_days"),
        ],
    )
    async def test_what_cannot_be_names_its_field(
        self, alice: Browser, changes: dict[str, Any], field: str
    ) -> None:
        body = {"name": "laptop", "scopes": ["read"], "expires_in_days": 1, **changes}
        answer = await alice.post("/api/v1/tokens", body)
        assert (answer.status, answer.slug) == (422, "invalid-input")
        assert [error["field"] for error in answer.body["errors"]] == [field]

    async def test_the_longest_time_is_a_setting(self, run_portal: RunPortal) -> None:
        async with run_portal(access_token_max_days=7) as portal, portal.browser() as browser:
            await browser.login("alice")
            await browser.confirm()
            assert (await make(browser, "read", days=7)).status == 201
            refused = await make(browser, "read", name="other", days=8)
            assert "at most 7 days" in refused.body["detail"]

    async def test_a_name_is_there_once_also_in_two_requests_at_once(self, alice: Browser) -> None:
        answers = await asyncio.gather(*(make(alice, "read") for _ in range(4)))
        assert sorted(answer.status for answer in answers) == [201, 422, 422, 422]

    async def test_there_are_only_so_many(self, portal: Portal, alice: Browser) -> None:
        (user,) = await rows(portal, User)
        end = utcnow() + timedelta(days=1)
        async with portal.context.db.session() as db:
            db.add_all(
                AccessToken(
                    user_id=user.id, name=str(n), token_hash=str(n), scopes=[], expires_at=end
                )
                for n in range(MAX_TOKENS)
            )
            await db.commit()
        assert (await make(alice, "read")).slug == "conflict"


class TestEnding:
    async def test_a_revoked_one_is_refused_at_the_next_request(
        self, alice: Browser, program: Browser
    ) -> None:
        made = (await make(alice, "read")).body
        headers = showing(made["token"])
        assert (await program.get("/api/v1/me", headers=headers)).status == 200
        assert (await alice.send("DELETE", f"/api/v1/tokens/{made['id']}")).status == 204
        answer = await program.get("/api/v1/me", headers=headers)
        assert (answer.status, answer.slug) == (401, "login-required")
        assert "invalid_token" in answer.headers["WWW-Authenticate"]
        assert (await alice.send("DELETE", f"/api/v1/tokens/{made['id']}")).status == 404

    async def test_a_token_revokes_itself(self, alice: Browser, program: Browser) -> None:
        await make(alice, "read", name="kept")
        headers = showing((await make(alice, "jobs")).body["token"])
        current = "/api/v1/tokens/current"
        assert (await program.send("DELETE", current, headers=headers)).status == 204
        assert (await program.send("DELETE", current, headers=headers)).status == 401
        assert [item["name"] for item in (await alice.get("/api/v1/tokens")).body["items"]] == [
            "kept"
        ]
        assert (await alice.send("DELETE", current)).slug == "forbidden"

    async def test_a_tokens_own_end_is_notified(
        self, portal: Portal, alice: Browser, program: Browser
    ) -> None:
        """Streams and SSH connections, which would wait for their next check, end at once."""
        headers = showing((await make(alice, "jobs")).body["token"])
        (user,) = await rows(portal, User)
        async with portal.context.notifier.listen(user.id) as listener:
            await program.send("DELETE", "/api/v1/tokens/current", headers=headers)
            assert listener.take()

    async def test_token_of_another_user_cannot_be_revoked(
        self, alice: Browser, carol: Browser
    ) -> None:
        made = (await make(alice, "read")).body
        assert (await carol.send("DELETE", f"/api/v1/tokens/{made['id']}")).status == 404
        assert len((await alice.get("/api/v1/tokens")).body["items"]) == 1
        assert (await carol.get("/api/v1/tokens")).body["items"] == []

    async def test_an_expired_one_is_refused_and_still_shown(
        self, portal: Portal, alice: Browser, program: Browser
    ) -> None:
        token = (await make(alice, "read")).body["token"]
        await change(portal, AccessToken, expires_at=utcnow() - timedelta(seconds=1))
        assert (await program.get("/api/v1/me", headers=showing(token))).status == 401
        (item,) = (await alice.get("/api/v1/tokens")).body["items"]
        assert item["expired"] is True

    async def test_a_disabled_users_is_refused(
        self, portal: Portal, alice: Browser, program: Browser
    ) -> None:
        token = (await make(alice, "read")).body["token"]
        await change(portal, User, disabled_at=utcnow())
        assert (await program.get("/api/v1/me", headers=showing(token))).status == 401

    async def test_disabling_deletes_them(self, portal: Portal, alice: Browser) -> None:
        await make(alice, "read")
        (user,) = await rows(portal, User)
        async with portal.context.db.session() as db:
            await web_sessions.end_all(db, user.id)
            await db.commit()
        assert await rows(portal, AccessToken) == []
        assert (await alice.get("/api/v1/me")).status == 401

    async def test_a_stream_ends_with_its_token(
        self, portal: Portal, alice: Browser, program: Browser
    ) -> None:
        made = (await make(alice, "read")).body
        headers = showing(made["token"])
        async with program.http.get("/api/v1/events", headers=headers) as stream:
            assert stream.status == 200
            assert (await stream.content.readline()).startswith(b"event: snapshot")
            await alice.send("DELETE", f"/api/v1/tokens/{made['id']}")
            (user,) = await rows(portal, User)
            portal.context.notifier.notify(user.id)
            async with asyncio.timeout(PATIENCE_S):
                await stream.content.read()

    async def test_a_stream_ends_when_its_user_comes_to_need_a_second_factor(
        self, run_portal: RunPortal
    ) -> None:
        async with (
            run_portal(second_factor_required_for=[Role.ADMIN]) as portal,
            portal.browser() as alice,
            portal.browser() as program,
        ):
            await alice.login("alice")
            await alice.confirm()
            headers = showing((await make(alice, "read")).body["token"])
            async with program.http.get("/api/v1/events", headers=headers) as stream:
                assert (await stream.content.readline()).startswith(b"event: snapshot")
                (user,) = await rows(portal, User)
                await change(portal, User, role=Role.ADMIN)
                portal.context.notifier.notify(user.id)
                async with asyncio.timeout(PATIENCE_S):
                    await stream.content.read()
            assert (await program.get("/api/v1/me", headers=headers)).status == 403


class TestCookiesBeside:
    async def test_a_bad_token_is_401_with_a_good_cookie_too(self, alice: Browser) -> None:
        for token in ("", "nonsense", new_text(), "é"):
            answer = await alice.get("/api/v1/me", headers={"Authorization": f"Bearer {token}"})
            assert (answer.status, answer.slug) == (401, "login-required"), token

    async def test_a_write_by_token_needs_no_origin(self, alice: Browser, program: Browser) -> None:
        token = (await make(alice, "sessions")).body["token"]
        answer = await program.send("DELETE", f"/api/v1/sessions/{NONE}", headers=showing(token))
        assert answer.slug == "not-found"

    async def test_a_write_by_cookie_still_does(self, alice: Browser) -> None:
        for origin in ("", "http://evil.example"):
            answer = await alice.send(
                "DELETE", f"/api/v1/sessions/{NONE}", headers={"Origin": origin}
            )
            assert answer.slug == "origin-refused"

    async def test_no_route_of_the_api_looks_at_a_cookie_beside_a_token(
        self, portal: Portal, carol: Browser
    ) -> None:
        """The origin check permits requests with a token, so no route may fall back to the
        cookie. Routes for browsers refuse every token, the others this one."""
        headers = {"Authorization": "Bearer nonsense", "Origin": "http://evil.example"}
        for route in routes():
            if not path_of(route).startswith("/api/"):
                continue
            only_browsers = dependencies.no_token in calls(route.dependant)
            expected = (403, "forbidden") if only_browsers else (401, "login-required")
            for method in sorted(methods(route)):
                answer = await carol.send(method, concrete(route), json={}, headers=headers)
                assert (answer.status, answer.slug) == expected, (method, path_of(route), answer)
        assert (await carol.get("/api/v1/me")).status == 200

    async def test_pages_of_nodes_and_of_the_hub_take_no_token(
        self, alice: Browser, program: Browser
    ) -> None:
        headers = showing((await make(alice, *MINE)).body["token"])
        board = f"/tensorboard/{NONE}/{'0' * 32}/"
        for path in (board, "/user/alice/s1/lab", "/internal/whoami"):
            assert (await program.get(path, headers=headers)).status == 401, path
        gate = {**headers, "X-Owner": "alice", "X-Server": "s1"}
        answer = await program.get("/internal/gate", headers=gate)
        assert answer.status == 401


# --- every route ----------------------------------------------------------------------------------

PERSONAL = (
    *("login", "logout", "reauth", "tokens", "second-factor", "me/password", "me/logins"),
    *("announcements/public", "site"),  # for users who are not logged in
)


def concrete(route: RouteContext) -> str:
    return re.sub(r"\{[^}]+\}", NONE, path_of(route))


def api_routes() -> list[RouteContext]:
    return [route for route in routes() if path_of(route).startswith("/api/v1/")]


BY_TOKEN_ONLY = ("DELETE", "/api/v1/tokens/current")  # a program's logout, with any scope
ALWAYS = {"admin/": Scope.ADMIN, "groups/": Scope.ADMIN, "files": Scope.FILES}
CHANGES = dict.fromkeys(
    ("environments", "sessions", "setups", "tensorboards"), Scope.SESSIONS
) | dict.fromkeys(("jobs", "templates", "estimates", "resources"), Scope.JOBS)


def scope_wanted(method: str, path: str) -> Scope | None:
    """Return the scope that docs/security.md requires of a token; None: no token is accepted."""
    rest = path.removeprefix("/api/v1/")
    if rest.startswith(PERSONAL) or rest.endswith("/open"):  # a ticket is bound to a web session
        return None
    for start, scope in ALWAYS.items():
        if rest.startswith(start):
            return scope
    if method in SAFE_METHODS:
        # these list names of files in the home directory
        return Scope.FILES if rest.endswith(("/notebooks", "/packages")) else Scope.READ
    return next((scope for start, scope in CHANGES.items() if rest.startswith(start)), None)


@pytest.mark.parametrize("route", api_routes(), ids=name)
def test_each_route_declares_the_scope_it_needs(route: RouteContext) -> None:
    asked = set(calls(route.dependant))
    scopes_found = {scope for guard, scope in dependencies.SCOPES.items() if guard in asked}
    for method in methods(route):
        wanted = scope_wanted(method, path_of(route))
        if (method, path_of(route)) == BY_TOKEN_ONLY:
            assert dependencies.access_token in asked
        elif wanted is not None:
            assert scopes_found == {wanted}
        elif dependencies.identity in guards(route):
            only_browsers = dependencies.web_session in asked or scopes_found == {Scope.READ}
            assert only_browsers, "current_user refuses writes by token, web_session any token"
        else:
            assert dependencies.no_token in asked


def test_schema_declares_required_credentials() -> None:
    schema = bare_app().openapi()
    assert schema["components"]["securitySchemes"].keys() == {"cookie", "token", "metrics"}
    (metrics,) = schema["paths"].pop("/metrics").values()
    assert metrics["security"] == [{}, {"metrics": []}]
    wrong = []
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            wanted = scope_wanted(method.upper(), path)
            tokens = [] if wanted is None else [{"token": [wanted.value]}]
            expected = [{"cookie": []}, *tokens]
            if (method.upper(), path) in OPEN:
                expected = []
            elif (method.upper(), path) == BY_TOKEN_ONLY:
                expected = [{"token": []}]
            if operation["security"] != expected:
                wrong.append((method, path, operation["security"]))
    assert wrong == []


async def test_a_token_opens_what_its_scopes_say_and_nothing_else(
    carol: Browser, program: Browser
) -> None:
    """Every route with its scope and with another, as an administrator, whose role restricts
    nothing. That the guards of all routes match `scope_wanted` is tested above, for all scopes.
    """
    tokens = {s: (await make(carol, s.value, name=s.value)).body["token"] for s in Scope}
    calls = [
        (method, route)
        for route in api_routes()
        if not path_of(route).endswith("/events")  # a stream without an end; another test opens it
        for method in sorted(methods(route))
        if (method, path_of(route)) != BY_TOKEN_ONLY  # ends the token; another test calls it
    ]
    for number, (method, route) in enumerate(calls):
        wanted = scope_wanted(method, path_of(route))
        others = [scope for scope in Scope if scope is not wanted]
        body: dict[str, Any] | None = {} if method not in SAFE_METHODS else None
        for scope in filter(None, (wanted, others[number % len(others)])):
            headers = showing(tokens[scope])
            answer = await program.send(method, concrete(route), json=body, headers=headers)
            where = (scope, method, path_of(route), answer)
            if wanted is scope:
                assert answer.status not in {401, 403}, where
            else:
                slug = "forbidden" if wanted is None else "insufficient-scope"
                assert (answer.status, answer.slug) == (403, slug), where


async def test_the_role_counts_beside_the_scope(
    portal: Portal, carol: Browser, program: Browser
) -> None:
    token = (await make(carol, "admin")).body["token"]
    headers = showing(token)
    assert (await program.get("/api/v1/admin/sessions", headers=headers)).status == 200
    async with portal.context.db.session() as db:
        await db.execute(update(User).values(role="user"))
        await db.commit()
    answer = await program.get("/api/v1/admin/sessions", headers=headers)
    assert (answer.status, answer.slug) == (403, "forbidden")


async def test_what_happened_is_written_down_without_the_token(
    portal: Portal, carol: Browser, program: Browser
) -> None:
    made = (await make(carol, "admin", name="nightly")).body
    async with portal.browser() as alice, portal.context.db.session() as db:
        await alice.login("alice")
        (user,) = await db.scalars(select(User).where(User.username == "alice"))
        db.add(SecondFactor(user_id=user.id, secret="", confirmed_at=utcnow()))
        await db.commit()
    reset = "/api/v1/admin/users/alice/second-factor/reset"
    assert (await program.post(reset, headers=showing(made["token"]))).status == 204
    await carol.send("DELETE", f"/api/v1/tokens/{made['id']}")
    events = {event.action: event for event in await rows(portal, AuditEvent)}
    created = events[Action.TOKEN_CREATED]
    assert (created.actor, created.target) == ("carol", "nightly")
    assert created.detail["scopes"] == "admin"
    assert events[Action.TOKEN_REVOKED].target == "nightly"
    assert events[Action.TOKEN_REVOKED].detail == {}
    assert events[Action.SECOND_FACTOR_RESET].token == "nightly"
    assert made["token"] not in str([vars(event) for event in events.values()])
