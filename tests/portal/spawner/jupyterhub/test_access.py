"""Access to a session's server and to the hub: real hub, real server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote, unquote

import aiohttp
import pytest
from yarl import URL

from portal.hub.client import Hub
from spawner import signing
from tests.fakes.portal import COOKIE
from tests.polling import PATIENCE_S, until
from tests.servers.jupyterhub import Browser, HubSetup

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def shared_setup() -> AsyncIterator[HubSetup]:
    async with HubSetup.opened() as setup:
        yield setup


@pytest.fixture
async def setup(shared_setup: HubSetup) -> AsyncIterator[HubSetup]:
    """One hub for all tests, with a separate user for each."""
    yield shared_setup
    await shared_setup.tidy()


async def test_token_of_another_session_is_refused(setup: HubSetup) -> None:
    session, token = await setup.running()
    other, others_token = await setup.running()
    assert await setup.api(session, others_token) == 403
    assert await setup.api(other, token) == 403


async def test_foreign_page_cannot_act_with_the_cookie(setup: HubSetup) -> None:
    """Jupyter's own XSRF protection is enabled."""
    session, _ = await setup.running()
    browser = Browser.new(setup, {COOKIE: setup.portal.log_in(session.username)})
    assert (await browser.get(session.base + "/lab"))[0] == 200
    terminals = f"{session.url}{session.base}/api/terminals"
    headers = {"Sec-Fetch-Mode": "cors", "Origin": session.url}
    async with browser.client.post(terminals, json={}, headers=headers) as response:
        assert response.status == 403
    jar = browser.client.cookie_jar.filter_cookies(URL(terminals))
    headers["X-XSRFToken"] = jar["_xsrf"].value
    async with browser.client.post(terminals, json={}, headers=headers) as response:
        assert response.status == 200
    await browser.client.close()


async def test_secrets_and_folders_of_the_node_program(setup: HubSetup) -> None:
    _, token = await setup.running()
    node = setup.nodes[0]
    environ = node.environ()
    assert token.encode() not in environ
    assert node.session.secret.encode() not in environ
    assert node.runtime.stat().st_mode & 0o777 == 0o700
    everything = b"".join(path.read_bytes() for path in node.runtime.rglob("*") if path.is_file())
    assert (node.runtime / "kernels" / "python3").is_dir()
    assert token.encode() not in everything
    for secret in (token, node.session.secret):
        assert secret not in node.log()


async def test_server_proves_to_the_portal_alone_that_the_port_is_its_own(
    setup: HubSetup,
) -> None:
    session, _ = await setup.running()
    path = f"{session.base}/portal/proof"
    signature = signing.sign(session.secret, "GET", path, time.time())
    async with aiohttp.ClientSession() as client:
        for signed, status in ((signature, 204), (f"{signature}0", 403), ("", 403)):
            headers = {signing.SIGNATURE_HEADER: signed}
            async with client.get(session.url + path, headers=headers) as answer:
                assert answer.status == status
                proof = answer.headers.get(signing.PROOF_HEADER, "")
                assert signing.is_proven(session.secret, signature, proof) is (status == 204)


async def test_a_terminal_inherits_no_token(setup: HubSetup) -> None:
    session, token = await setup.running()
    base = f"{session.url}{session.base}"
    auth = {"Authorization": f"token {token}"}
    async with (
        aiohttp.ClientSession(headers=auth) as client,
        client.post(f"{base}/api/terminals", json={}) as response,
    ):
        assert response.status == 200, await response.text()
        name = (await response.json())["name"]
        async with client.ws_connect(f"{base}/terminals/websocket/{name}") as socket:
            await socket.send_json(["stdin", "env; echo logdir=$PORTAL_LOGDIR; echo do''ne\n"])
            seen = ""
            async with asyncio.timeout(PATIENCE_S):
                while "done" not in seen:
                    seen += str((await socket.receive_json())[1])
    assert "logdir=" + str(setup.nodes[0].folder / "home" / "runs") in seen
    assert token not in seen
    assert "JUPYTERHUB_API_TOKEN" not in seen
    assert setup.nodes[0].session.secret not in seen


async def test_jupyterlab_asks_its_own_server_which_asks_the_portal(setup: HubSetup) -> None:
    session, token = await setup.running()
    session.answers = {
        "facts": (200, {"session": {"name": "s1"}}),
        "extend": (422, {"detail": "Partition cpu allows at most 4 hours."}),
        "tensorboard": (410, {}),
    }
    about = f"{session.url}{session.base}/portal/session"
    auth = {"Authorization": f"token {token}"}
    async with aiohttp.ClientSession(headers=auth) as client:

        async def ask(method: str, path: str = "", body: Any = None) -> tuple[int, Any]:
            async with client.request(method, about + path, json=body) as answer:
                assert session.secret not in str(answer.headers) + await answer.text()
                return answer.status, await answer.json()

        status, found = await ask("GET")
        assert (status, found["facts"], found["problem"]) == (
            200,
            {"session": {"name": "s1"}},
            None,
        )
        assert set(found["use"]) == {"memory", "cpus", "gpus"}
        refusal = {"message": "Partition cpu allows at most 4 hours."}
        assert await ask("POST", "/extend", {"minutes": 60}) == (422, refusal)
        assert await ask("PUT", "/tensorboard") == (410, {"message": "This session is ending."})
        session.answers["extend"] = (200, {"session": {"expires_at": "later"}})
        assert await ask("POST", "/extend", {"minutes": 5}) == (
            200,
            {"session": {"expires_at": "later"}},
        )
        for body in ({"minutes": {"$": 1}}, [3], {}):
            await ask("POST", "/extend", body)
        session.answers["facts"] = (401, {})
        status, found = await ask("GET")
        assert (status, found["facts"]) == (200, None)
        assert "no longer knows this session" in found["problem"]
    sent = [body for method, act, body in session.asked if act == "extend"]
    assert sent == [{"minutes": n} for n in (60, 5, {"$": 1}, None, None)]


async def test_only_the_owner_reads_or_changes_the_session(setup: HubSetup) -> None:
    session, _ = await setup.running()
    _, others_token = await setup.running()
    session.answers = {act: (200, {}) for act in ("facts", "extend", "tensorboard", "use")}
    about = f"{session.url}{session.base}/portal/session"
    for auth in ({}, {"Authorization": f"token {others_token}"}):
        async with aiohttp.ClientSession(headers=auth) as client:
            for method, path in (("GET", ""), ("POST", "/extend"), ("PUT", "/tensorboard")):
                async with client.request(method, about + path, json={}) as answer:
                    assert answer.status == 403, (method, path)
    browser = Browser.new(setup, {COOKIE: setup.portal.log_in(session.username)})
    assert (await browser.get(session.base + "/lab"))[0] == 200
    headers = {"Sec-Fetch-Mode": "cors", "Origin": session.url}
    async with browser.client.post(about + "/extend", json={}, headers=headers) as answer:
        assert answer.status == 403  # no page without the XSRF token
    await browser.client.close()
    # the program itself reports its usage
    assert [asked for asked in session.asked if asked[1] != "use"] == []


async def test_only_the_sessions_kernels_are_offered(setup: HubSetup) -> None:
    session, token = await setup.running()
    auth = {"Authorization": f"token {token}"}
    async with (
        aiohttp.ClientSession(headers=auth) as client,
        client.get(f"{session.url}{session.base}/api/kernelspecs") as response,
    ):
        assert list((await response.json())["kernelspecs"]) == ["python3"]


async def test_only_the_owner_enters(setup: HubSetup) -> None:
    session, _ = await setup.running()
    alice = Browser.new(setup, {COOKIE: setup.portal.log_in(session.username), "theme": "dark"})
    assert await alice.get(session.base + "/lab") == (200, session.base + "/lab")
    seen = setup.portal.whoami_headers[-1]
    assert "theme" not in seen["Cookie"]
    assert "Authorization" not in seen
    bob = Browser.new(setup, {COOKIE: setup.portal.log_in("bob")})
    status, path = await bob.get(session.base + "/lab")
    assert (status, path.split("?")[0]) == (403, "/hub/api/oauth2/authorize")
    anonymous = Browser.new(setup, {})
    _, path = await anonymous.get(session.base + "/lab")
    assert path.startswith("/login?next=%2Fhub%2Fapi%2Foauth2%2Fauthorize")
    for browser in (alice, bob, anonymous):
        await browser.client.close()


async def test_a_login_waits_for_a_portal_that_is_restarted(setup: HubSetup) -> None:
    session, _ = await setup.running()
    browser = Browser.new(setup, {COOKIE: setup.portal.log_in(session.username)})
    setup.portal.away = True
    opening = asyncio.create_task(browser.get(session.base + "/lab"))

    async def asked_twice() -> bool | None:
        return len(setup.portal.whoami_headers) - before >= 2 or None

    before = len(setup.portal.whoami_headers)
    await until(asked_twice, "the hub to ask again")
    setup.portal.away = False
    assert await opening == (200, f"{session.base}/lab")
    await browser.client.close()


async def test_a_login_without_a_portal_opens_again_by_itself(setup: HubSetup) -> None:
    session, _ = await setup.running()
    browser = Browser.new(setup, {COOKIE: setup.portal.log_in(session.username)})
    setup.portal.away = True
    async with browser.client.get(f"{setup.hub.url}/hub/portal-login") as answer:
        assert (answer.status, answer.headers["Refresh"]) == (503, "2")
    await browser.client.close()


async def test_login_survives_portal_outage_and_ends_on_its_refusal(setup: HubSetup) -> None:
    session, _ = await setup.running()
    cookie = setup.portal.log_in(session.username)
    browser = Browser.new(setup, {COOKIE: cookie})
    assert (await browser.get(session.base + "/lab"))[0] == 200
    page = next(path for path in browser.visited if path.startswith("/hub/api/oauth2/authorize"))
    setup.portal.away = True
    before = len(setup.portal.whoami_headers)

    async def asked_in_vain() -> bool | None:
        status, path = await browser.get(page)
        assert (status, path.startswith("/login")) == (200, False), path
        return len(setup.portal.whoami_headers) > before or None

    # auth_refresh_age: the hub asks at most once a second
    await until(asked_in_vain, "a question to a portal that is away")
    setup.portal.away = False
    del setup.portal.cookies[cookie]

    async def logged_out() -> bool | None:
        _, path = await browser.get(page)
        return path.startswith("/login?next=") or None

    await until(logged_out, "the way to the login page")
    await browser.client.close()


async def test_no_way_out_of_the_portal_by_next(setup: HubSetup) -> None:
    browser = Browser.new(setup, {})
    for evil in (
        "https://evil.example/x",
        "//evil.example/x",
        "/\\evil.example",
        "///evil.example",
    ):
        _, path = await browser.get("/hub/portal-login?next=" + quote(evil, safe=""))
        target = unquote(path.partition("next=")[2])
        assert "evil" not in target or target.startswith("/%5C"), path
    await browser.client.close()


async def test_the_hubs_own_pages_lead_to_the_portal(setup: HubSetup) -> None:
    browser = Browser.new(setup, {COOKIE: setup.portal.log_in("alice")})
    for page in ("home", "spawn", "spawn/alice/s9", "spawn-pending/alice/s9", "token", "admin"):
        assert await browser.get(f"/hub/{page}") == (200, "/"), page
    assert await browser.get("/hub/logout") == (200, "/login")
    await browser.client.close()


async def test_users_can_not_start_servers_round_the_portal(setup: HubSetup) -> None:
    session, token = await setup.running()
    url = f"{setup.hub.url}/hub/api/users/{session.username}/servers/s2"
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"token {token}"}) as client,
        client.post(url, json={}) as response,
    ):
        assert response.status == 403
    assert session.puts == 1


async def test_the_hubs_database_is_private(setup: HubSetup) -> None:
    for name in ("hub.sqlite", "cookie_secret"):
        assert (setup.folder / "hub" / name).stat().st_mode & 0o077 == 0, name


async def test_the_hub_client(setup: HubSetup) -> None:
    session, _ = await setup.running()
    name = session.username
    browser = Browser.new(setup, {COOKIE: setup.portal.log_in(session.username)})
    assert (await browser.get(session.base + "/lab"))[0] == 200
    await browser.client.close()
    async with Hub(setup.hub.url, setup.hub.token) as hub:
        assert (await hub.version()).startswith("6.")
        state = await hub.server_state(name, "s1")
        assert (state.exists, state.ready, state.pending) == (True, True, None)
        await hub.start_server(name, "s1")
        assert await hub.revoke_tokens(name) == 1
        assert await hub.revoke_tokens(name) == 0
        assert not await hub.delete_user(name)

        async def gone() -> bool | None:
            return await hub.stop_server(name, "s1") or None

        await until(gone, "the stop")
        assert session.deleted
        assert not (await hub.server_state(name, "s1")).exists
        assert await hub.delete_user(name)
        assert await hub.delete_user(name)
