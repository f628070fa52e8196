"""Logging in against a real directory: who gets in, who doesn't, and what they are told."""

import asyncio
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from io import BytesIO

import pytest
from sqlalchemy import select
from structlog.testing import capture_logs

from portal.models import AuditEvent, LoginFailure, WebSession
from portal.services.audit.audit import Action
from tests.portal.conftest import Browser, Portal, RunPortal
from tests.portal.slapd import PASSWORD, SUFFIX, Slapd, free_port

pytestmark = pytest.mark.anyio

DEAD = "directory server failed"


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
    template = f"cn={{username}},ou=people,{SUFFIX}"
    async with (
        run_portal(
            ldap_user_dn_template=template, ldap_group_base=None, ldap_admin_groups=[]
        ) as portal,
        portal.browser() as browser,
    ):
        assert (await browser.login("alice 20001")).body["username"] == "alice"
        escape = await browser.login("alice 20001,ou=people")
        assert (escape.status, escape.slug) == (401, "wrong-credentials")


@pytest.mark.parametrize(
    "username",
    [
        "nobody", "*", "ali*", "alice)(uid=*", "alice)(|(uid=*", "*)(objectClass=*", "\\2a",
        "alice,ou=people", "alice#", "élise", "' or 1=1 --", "twin", "a" * 256, "alice\x07",
    ],
)  # fmt: skip
async def test_a_username_that_names_nobody_is_refused(browser: Browser, username: str) -> None:
    answer = await browser.login(username)
    assert (answer.status, answer.slug) == (401, "wrong-credentials")
    assert answer.body["detail"] == "The username or the password is wrong"
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


@pytest.mark.parametrize(
    ("username", "words"),
    [("dave", "administrator has locked"), ("frank", "expired")],
)
async def test_an_account_that_cannot_log_in_is_told_why(
    browser: Browser, username: str, words: str
) -> None:
    answer = await browser.login(username)
    assert (answer.status, answer.slug) == (401, "wrong-credentials")
    assert words in answer.body["detail"]


async def test_too_many_wrong_passwords_lock_in_the_directory(browser: Browser) -> None:
    for _ in range(3):
        assert "locked" not in (await browser.login("grace", "wrong")).body["detail"]
    assert "too many wrong" in (await browser.login("grace")).body["detail"]


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
    return next((morsel.value for morsel in browser.http.cookie_jar), "")


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
    async with portal.app.state.db.session() as db:
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
    async with portal.app.state.db.session() as db:
        events = (await db.scalars(select(AuditEvent).order_by(AuditEvent.id))).all()
        failures = (await db.scalars(select(LoginFailure))).all()
    assert [(event.action, event.actor) for event in events] == [
        (Action.LOGIN_FAILED, "alice"),
        (Action.LOGIN, "alice"),
    ]
    assert events[1].ip == "127.0.0.1"
    assert failures == []


class TestRateLimit:
    async def test_a_username_has_so_many_attempts(self, run_portal: RunPortal) -> None:
        async with run_portal(login_attempts=3) as portal, portal.browser() as browser:
            for _ in range(3):
                assert (await browser.login("bob", "wrong")).status == 401
            refused = await browser.login("bob")
            assert (refused.status, refused.slug) == (429, "too-many-attempts")
            assert 0 < int(refused.headers["Retry-After"]) <= 600
            assert (await browser.login("alice")).status == 200

    async def test_attempts_at_once_count_as_those_one_by_one(self, run_portal: RunPortal) -> None:
        async with run_portal(login_attempts=3) as portal, portal.browser() as browser:
            answers = await asyncio.gather(*(browser.login("bob", "wrong") for _ in range(12)))
        assert sorted(answer.status for answer in answers) == [401] * 3 + [429] * 9

    async def test_an_address_has_so_many_attempts(self, run_portal: RunPortal) -> None:
        async with run_portal(login_attempts_per_address=4) as portal, portal.browser() as browser:
            for name in ("u1", "u2", "u3", "u4"):
                assert (await browser.login(name, "wrong")).status == 401
            assert (await browser.login("alice")).status == 429
            elsewhere = {"X-Forwarded-For": "10.9.9.9, 192.0.2.7"}
            body = {"username": "alice", "password": PASSWORD}
            assert (await browser.post("/api/v1/login", body, headers=elsewhere)).status == 200

    async def test_success_forgets_the_failures(self, run_portal: RunPortal) -> None:
        async with run_portal(login_attempts=3) as portal, portal.browser() as browser:
            for _ in range(3):
                await browser.login("bob", "wrong")
                await browser.login("bob", "wrong")
                assert (await browser.login("bob")).status == 200

    async def test_a_directory_that_is_down_counts_against_nobody(
        self, run_portal: RunPortal
    ) -> None:
        settings = {"ldap_urls": [f"ldap://127.0.0.1:{free_port()}"], "login_attempts": 2}
        async with run_portal(**settings) as portal, portal.browser() as browser:
            for _ in range(4):
                assert (await browser.login("alice")).status == 503


class TestDirectoryTrouble:
    async def test_no_server_answers(self, run_portal: RunPortal) -> None:
        url = f"ldap://127.0.0.1:{free_port()}"
        async with run_portal(ldap_urls=[url]) as portal, portal.browser() as browser:
            answer = await browser.login("alice")
        assert (answer.status, answer.slug) == (503, "directory-unavailable")
        assert "Your password is not the problem" in answer.body["detail"]
        assert "127.0.0.1" not in str(answer.body)

    @pytest.mark.parametrize("start_tls", [True, False])
    async def test_a_certificate_that_does_not_verify(
        self, slapd: Slapd, run_portal: RunPortal, start_tls: bool
    ) -> None:
        url = slapd.ldap_url if start_tls else slapd.ldaps_url
        settings = {
            "ldap_urls": [url],
            "ldap_start_tls": start_tls,
            "ldap_ca_file": slapd.wrong_ca,
        }
        async with run_portal(**settings) as portal, portal.browser() as browser:
            answer = await browser.login("alice")
            (health,) = await portal.app.state.directory.health()
        assert (answer.status, answer.slug) == (503, "directory-unavailable")
        assert health.cause is not None
        assert "certificate doesn't verify" in health.cause

    async def test_a_certificate_for_another_name(
        self, slapd: Slapd, run_portal: RunPortal
    ) -> None:
        url = f"ldap://localhost:{slapd.ldap_port}"
        async with run_portal(ldap_urls=[url]) as portal, portal.browser() as browser:
            assert (await browser.login("alice")).status == 503

    async def test_a_service_account_that_is_refused(self, run_portal: RunPortal) -> None:
        dn = f"cn=nobody,{SUFFIX}"
        async with run_portal(ldap_bind_dn=dn) as portal, portal.browser() as browser:
            assert (await browser.login("alice")).status == 503
            (health,) = await portal.app.state.directory.health()
        assert "own account" in str(health.cause)

    async def test_the_first_server_refuses_connections(
        self, slapd: Slapd, run_portal: RunPortal
    ) -> None:
        dead = f"ldap://127.0.0.1:{free_port()}"
        await self._logs_in_asking_the_dead_one_once(run_portal, [dead, slapd.ldap_url])

    async def test_the_first_server_drops_packets(
        self, slapd: Slapd, run_portal: RunPortal, black_hole: int
    ) -> None:
        dead = f"ldap://127.0.0.1:{black_hole}"
        await self._logs_in_asking_the_dead_one_once(run_portal, [dead, slapd.ldap_url])

    @pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
    async def test_the_first_server_accepts_and_says_nothing(
        self, slapd: Slapd, run_portal: RunPortal, mute: int, scheme: str
    ) -> None:
        dead = f"{scheme}://127.0.0.1:{mute}"
        await self._logs_in_asking_the_dead_one_once(run_portal, [dead, slapd.ldap_url])

    @pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
    async def test_the_first_server_speaks_something_else(
        self, slapd: Slapd, run_portal: RunPortal, babble: int, scheme: str
    ) -> None:
        dead = f"{scheme}://127.0.0.1:{babble}"
        await self._logs_in_asking_the_dead_one_once(run_portal, [dead, slapd.ldap_url])

    @staticmethod
    async def _logs_in_asking_the_dead_one_once(run_portal: RunPortal, urls: list[str]) -> None:
        async with run_portal(ldap_urls=urls) as portal, portal.browser() as browser:
            with capture_logs() as lines:
                assert (await browser.login("alice")).status == 200
                assert (await browser.login("alice")).status == 200
            # the dead one is remembered: the next login doesn't wait for it
            failed = [line["url"] for line in lines if line["event"] == DEAD]
            assert failed == [urls[0]]


@pytest.fixture
def babble() -> Iterator[int]:
    """A server of another protocol: it answers whatever comes with a line of HTTP."""

    class Talk(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            self.request.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Talk) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture
def mute() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield listener.getsockname()[1]


@pytest.fixture
def black_hole() -> Iterator[int]:
    """A port whose queue is full, so that the kernel drops what would open a connection."""
    with socket.socket() as listener, ExitStack() as stack:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        for _ in range(64):
            client = stack.enter_context(socket.socket())
            client.settimeout(0.2)
            try:
                client.connect(("127.0.0.1", port))
            except TimeoutError:
                break
        else:
            raise AssertionError("the port still answers")
        yield port
