"""Logging in against a real directory: accepted and refused logins, and their messages."""

import asyncio
from io import BytesIO

import pytest
from sqlalchemy import select
from structlog.testing import capture_logs

from portal.models import AuditEvent, LoginFailure, WebSession
from portal.services.audit.audit import Action
from tests.portal.conftest import Browser, Portal, RunPortal
from tests.servers.slapd import PASSWORD, SUFFIX, Slapd

pytestmark = pytest.mark.anyio


async def test_the_right_password_opens_a_web_session(browser: Browser) -> None:
    answer = await browser.login("alice")
    assert answer.status == 200
    assert answer.body["username"] == "alice"
    assert answer.body["display_name"] == "Alice Example"
    assert answer.body["email"] == "alice@test.example"
    assert answer.body["role"] == "user"
    assert answer.body["last_login_at"].endswith("Z")
    me = await browser.get("/api/v1/me")
    assert me.body["id"] == answer.body["id"]
    assert me.body["password_fresh"] is True


async def test_an_admin_group_makes_an_admin(browser: Browser) -> None:
    assert (await browser.login("carol")).body["role"] == "admin"


async def test_the_username_is_the_directorys_however_it_is_typed(browser: Browser) -> None:
    assert (await browser.login(" Alice ")).body["username"] == "alice"


async def test_ldaps_works_as_starttls_does(slapd: Slapd, run_portal: RunPortal) -> None:
    settings = {"ldap_urls": [slapd.ldaps_url], "ldap_start_tls": False}
    async with run_portal(**settings) as portal, portal.browser() as browser:
        assert (await browser.login("alice")).status == 200


async def test_a_dn_template_needs_no_search(run_portal: RunPortal) -> None:
    template = f"cn={{username}} 20001,ou=people,{SUFFIX}"
    async with (
        run_portal(
            ldap_user_dn_template=template, ldap_group_base=None, ldap_admin_groups=[]
        ) as portal,
        portal.browser() as browser,
    ):
        assert (await browser.login("alice")).body["username"] == "alice"
        escape = await browser.login("alice 20001,ou=people,dc=x+cn=alice")
        assert (escape.status, escape.slug) == (401, "wrong-credentials")


@pytest.mark.parametrize(
    "username",
    [
        "nobody", "*", "ali*", "alice)(uid=*", "alice)(|(uid=*", "*)(objectClass=*", "\\2a",
        "alice,ou=people", "alice#", "élise", "' or 1=1 --", "twin", "a" * 256, "alice\x07",
    ],
)  # fmt: skip
async def test_unknown_username_is_refused(browser: Browser, username: str) -> None:
    answer = await browser.login(username)
    assert (answer.status, answer.slug) == (401, "wrong-credentials")
    assert answer.body["detail"] == "Wrong username or password"
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("password", ["wrong", PASSWORD + " ", "*", "x" * 1024, "pässwörd", "\0"])
async def test_a_wrong_password_is_refused(browser: Browser, password: str) -> None:
    answer = await browser.login("alice", password)
    assert (answer.status, answer.slug) == (401, "wrong-credentials")
    assert "Set-Cookie" not in answer.headers
    assert (await browser.get("/api/v1/me")).status == 401


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"username": "alice", "password": ""}, "password"),
        ({"username": "alice", "password": "x" * 1025}, "password"),
        ({"username": "alice"}, "password"),
        ({"username": "", "password": "x"}, "username"),
        ({"username": "a" * 257, "password": "x"}, "username"),
        ({"username": 7, "password": "x"}, "username"),
        ({"username": None, "password": "x"}, "username"),
        ({"username": "alice", "password": ["x"]}, "password"),
        ({"username": "alice", "password": "x", "role": "admin"}, "role"),
        ({"username": "\ud800", "password": "x"}, "username"),
    ],
)
async def test_what_cannot_be_a_login_names_its_field(
    browser: Browser, body: dict[str, object], field: str
) -> None:
    answer = await browser.post("/api/v1/login", body)
    assert (answer.status, answer.slug) == (422, "invalid-input")
    assert [error["field"] for error in answer.body["errors"]] == [field]
    assert answer.body["detail"] == answer.body["errors"][0]["message"]


async def test_a_huge_body_is_refused_unread(browser: Browser) -> None:
    body = b'{"username": "alice", "password": "' + b"x" * 2_000_000 + b'"}'
    headers = {"Origin": browser.origin, "Content-Type": "application/json"}
    async with browser.http.post("/api/v1/login", data=BytesIO(body), headers=headers) as answer:
        assert answer.status == 413
        assert (await answer.json(content_type=None))["type"] == "urn:portal:too-large"


async def test_expired_password_is_reported_only_to_its_owner(browser: Browser) -> None:
    answer = await browser.login("frank")
    assert (answer.status, answer.slug) == (401, "wrong-credentials")
    assert "expired" in answer.body["detail"]
    assert "expired" not in (await browser.login("frank", "wrong")).body["detail"]


@pytest.mark.parametrize("password", [PASSWORD, "wrong"])
async def test_a_locked_account_is_refused_as_an_unknown_one(
    browser: Browser, password: str
) -> None:
    """A directory reports a locked account whatever the password was."""
    locked, unknown = await browser.login("dave", password), await browser.login("nobody", password)
    for answer in (locked, unknown):
        answer.body.pop("request_id", None)
    assert (locked.status, locked.body) == (unknown.status, unknown.body) == (401, locked.body)


async def test_too_many_wrong_passwords_lock_in_the_directory(run_portal: RunPortal) -> None:
    """And users who are logged in already are informed."""
    async with run_portal(login_attempts=10) as portal, portal.browser() as browser:
        await browser.login("grace")
        async with portal.browser() as other:
            for _ in range(3):
                assert "locked" not in (await other.login("grace", "wrong")).body["detail"]
            assert "locked" not in (await other.login("grace")).body["detail"]
        again = await browser.post("/api/v1/reauth", {"password": PASSWORD})
        assert "too many wrong" in again.body["detail"]


CONTROL = "\x18"
BIDI = "\u05d01"  # Hebrew, then a digit at the end
OVERRIDE = "\u202eabc"
UNKNOWN = "\U0001f600\ufffe"
UNUSABLE = [CONTROL, f"{CONTROL}x", BIDI, OVERRIDE, UNKNOWN, "\u00ad"]


@pytest.mark.parametrize("password", UNUSABLE)
async def test_a_password_that_no_directory_takes_is_a_wrong_one(
    run_portal: RunPortal, password: str
) -> None:
    async with run_portal() as portal, portal.browser() as browser:
        for name in ("alice", "nobody"):
            answers = [await browser.login(name, password) for _ in range(4)]
            assert [answer.status for answer in answers] == [401, 401, 401, 429]
            assert answers[0].slug == "wrong-credentials"
            assert answers[0].body["detail"] == "Wrong username or password"


@pytest.mark.parametrize("password", UNUSABLE)
async def test_a_password_that_no_directory_takes_names_its_field(
    run_portal: RunPortal, password: str
) -> None:
    async with run_portal(login_attempts_known_browser=20) as portal, portal.browser() as browser:
        await browser.login("alice")
        again = await browser.post("/api/v1/reauth", {"password": password})
        assert (again.status, again.body["errors"][0]["field"]) == (401, "password")
        assert (await browser.post("/api/v1/reauth", {"password": PASSWORD})).status == 204
        change = {"current_password": PASSWORD, "new_password": password}
        refused = await browser.post("/api/v1/me/password", change)
        assert (refused.status, refused.body["errors"][0]["field"]) == (422, "new_password")
        change = {"current_password": password, "new_password": "Another-password-1"}
        refused = await browser.post("/api/v1/me/password", change)
        assert (refused.status, refused.body["errors"][0]["field"]) == (401, "current_password")
        assert (await browser.login("alice")).status == 200


SPELLINGS = ["ａlice", "ⓐlice", "𝐚lice", "aｌice", "al\u00adice", "ªlice", "alicé", "a lice"]


async def test_other_spellings_of_a_name_are_refused(run_portal: RunPortal) -> None:
    """A directory that folds them would allow more attempts at one password than the limit."""
    async with run_portal() as portal, portal.browser() as browser:
        with capture_logs() as lines:
            for name in SPELLINGS:
                assert (await browser.login(name)).status == 401
        assert [line for line in lines if "directory" in line["event"]] == []
        kelvin = [(await browser.login("\u212aate", "wrong")).status for _ in range(2)]
        assert kelvin == [401, 401]
        assert (await browser.login("KATE", "wrong")).status == 401
        assert (await browser.login("kate", "wrong")).status == 429


async def test_refused_login_is_delayed_for_every_username(run_portal: RunPortal) -> None:
    async with run_portal(refused_login_seconds=1.5) as portal, portal.browser() as browser:
        clock = asyncio.get_running_loop()
        for name in ("alice", "nobody", "dave", "ａlice"):
            began = clock.time()
            assert (await browser.login(name, "wrong")).status == 401
            assert clock.time() - began >= 1.4, name
        began = clock.time()
        assert (await browser.login("alice")).status == 200
        assert clock.time() - began < 1.4


async def test_a_system_account_is_refused(browser: Browser) -> None:
    answer = await browser.login("system")
    assert (answer.status, answer.slug) == (403, "forbidden")


async def test_only_the_named_groups_may_enter(run_portal: RunPortal) -> None:
    async with run_portal(ldap_user_groups=["scientists"]) as portal, portal.browser() as browser:
        assert (await browser.login("bob")).status == 403
        assert (await browser.login("alice")).status == 200


async def test_logging_out_ends_the_session_on_the_server(portal: Portal) -> None:
    async with portal.browser() as browser:
        await browser.login("alice")
        cookie = {"Cookie": f"portal_session={_cookie(browser)}"}
        assert (await browser.post("/api/v1/logout")).status == 204
        assert _cookie(browser) == ""
    async with portal.browser() as thief:
        assert (await thief.get("/api/v1/me", headers=cookie)).status == 401
        assert (await thief.post("/api/v1/logout")).status == 204


def _cookie(browser: Browser) -> str:
    ours = (morsel for morsel in browser.http.cookie_jar if morsel.key == "portal_session")
    return next((morsel.value for morsel in ours), "")


async def test_the_cookie_is_a_plain_one_on_http(browser: Browser) -> None:
    cookie = (await browser.login("alice")).headers["Set-Cookie"]
    assert cookie.startswith("portal_session=")
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert {"httponly", "samesite=lax", "path=/"} <= parts
    assert "secure" not in parts


async def test_the_cookie_is_bound_to_the_host_on_https(run_portal: RunPortal) -> None:
    url = "https://portal.test.example"
    async with run_portal(public_url=url) as portal, portal.browser() as browser:
        cookie = (await browser.login("alice")).headers["Set-Cookie"]
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert cookie.startswith("__Host-portal=")
    assert {"httponly", "samesite=lax", "path=/", "secure"} <= parts
    assert not any(part.startswith("domain") for part in parts)


async def test_the_database_holds_no_token_and_no_password(portal: Portal) -> None:
    async with portal.browser() as browser:
        await browser.login("alice")
        token = _cookie(browser)
    async with portal.context.db.session() as db:
        stored = (await db.scalars(select(WebSession))).one()
    assert len(token) >= 43
    assert token not in vars(stored).values()
    for file in portal.settings.state_dir.glob("portal.db*"):
        content = file.read_bytes()
        assert token.encode() not in content
        assert PASSWORD.encode() not in content
        assert file.stat().st_mode & 0o777 == 0o600


async def test_success_and_failure_are_recorded(portal: Portal) -> None:
    async with portal.browser() as browser:
        await browser.login("alice", "wrong")
        await browser.login("alice")
    async with portal.context.db.session() as db:
        events = (await db.scalars(select(AuditEvent).order_by(AuditEvent.id))).all()
        failures = (await db.scalars(select(LoginFailure))).all()
    assert [(event.action, event.actor) for event in events] == [
        (Action.LOGIN_FAILED, "alice"),
        (Action.LOGIN, "alice"),
    ]
    assert events[1].ip == "127.0.0.1"
    assert failures == []
