"""alice's own malicious server: captured data, forged calls and scripts give it no access.

Everything on a node is under its user's control. Here alice reads her job's secret, replaces her
JupyterLab by another program, and calls home with false data.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import aiohttp
import pytest

from cluster.client import Client, RequestRefused, origin_of
from tests.live import Live
from tests.polling import PATIENCE_S

pytestmark = pytest.mark.anyio

PROGRAM = (Path(__file__).parent / "hostile_server.py").read_text("utf-8")
PYTHON = "/usr/bin/python3"
LIFE_S = 600
SMALL = {"cpus": 1, "memory_gb": 1, "time_limit_minutes": 15}
PAGE_TEXT = "hostile page"


@dataclass(frozen=True)
class Hostile:
    """alice's program on her node, and her operations from there."""

    portal: Live
    session: Any
    config: dict[str, Any]
    port: int

    @property
    def node(self) -> str:
        return str(self.session["node"])

    @property
    def url(self) -> str:
        return urljoin(self.portal.base_url, str(self.session["url"]))

    @property
    def path(self) -> str:
        return urlsplit(self.url).path

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.config['secret']}"}

    def ask(self, *requests: dict[str, Any]) -> list[dict[str, Any]]:
        """Send requests as alice, from her node."""
        argv = [PYTHON, "-c", PROGRAM, "ask", json.dumps(requests)]
        answers: list[dict[str, Any]] = json.loads(self.portal.exec_as("alice", argv, self.node))
        return answers

    def hello(self, session_id: str | None = None, **body: Any) -> int:
        url = f"{self.config['portal_url']}/node/sessions/{session_id or self.session['id']}/hello"
        request = {"url": url, "method": "POST", "headers": self.bearer, "body": body}
        return int(self.ask(request)[0]["status"])

    def seen(self) -> list[dict[str, Any]]:
        """Return all requests it has received, fetched on the node itself."""
        (answer,) = self.ask({"url": f"http://127.0.0.1:{self.port}/seen"})
        found: list[dict[str, Any]] = json.loads(answer["body"])
        return found


@pytest.fixture(scope="module")
async def alice(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("alice") as client:
        yield client


@pytest.fixture(scope="module")
async def carol(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("carol") as client:
        yield client


@pytest.fixture(scope="module")
async def hostile(portal: Live, alice: Client) -> AsyncIterator[Hostile]:
    """A session of alice's in which her own program responds."""
    made = await alice.start_session(name="hostile", resources=SMALL)
    try:
        session = await alice.wait_session(made["id"], "running", "ended")
        assert session["state"] == "running", session["reason"]
        # her browser is logged in there before the program starts to lie
        await alice.open_lab(session)
        home = portal.exec_as("alice", ["sh", "-c", "echo ~"]).strip()
        config = f"{home}/.local/share/portal/jobs/{made['id']}/config.json"
        secrets = json.loads(portal.exec_as("alice", ["cat", config]))
        argv = [PYTHON, "-c", PROGRAM, str(LIFE_S)]
        port = int(portal.exec_as("alice", argv, session["node"]))
        program = Hostile(portal, session, secrets, port)
        assert program.hello(port=port) == 200
        yield program
        program.ask({"url": f"http://127.0.0.1:{port}/quit"})
    finally:
        await alice.stop_session(made["id"])


async def get(client: Client, path: str, **more: Any) -> tuple[int, str, Any]:
    url = client.address(path)
    async with client.http.get(url, allow_redirects=False, **more) as answer:
        return answer.status, await answer.text(), answer.headers.copy()


def own_cookies(client: Client) -> dict[str, str]:
    """Return the portal's own cookies, at its origin and at the notebooks' origin."""
    ours = ("portal_", "__Host-portal")
    jar = [cookie for cookie in client.http.cookie_jar if cookie.key.startswith(ours)]
    return {cookie.key: cookie.value for cookie in jar if cookie["path"] == "/"}


async def reached(client: Client, hostile: Hostile, cookies: str = "") -> Any:
    """Return the headers that its page received, once the gate's cached response has expired.

    Cookies that it plants are not stored, because this client's jar would send a planted cookie
    instead of the portal's, not beside it.
    """
    url = f"{hostile.url}as-alice"
    own = "; ".join(f"{name}={value}" for name, value in own_cookies(client).items())
    headers = {"Cookie": cookies or own}
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as plain:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                async with plain.get(url, headers=headers, allow_redirects=False) as answer:
                    if await answer.text() == PAGE_TEXT:
                        return answer.headers.copy()
                    assert answer.status != 502
                await asyncio.sleep(0.1)


async def test_its_owners_cookie_is_not_among_what_it_collects(
    alice: Client, hostile: Hostile
) -> None:
    ours = own_cookies(alice)
    assert len(ours) > 1
    for name, value in ours.items():
        others = "; ".join(f"{one}={ours[one]}" for one in ours if one != name)
        for spelling in (
            f"{name}={value}",
            f"a=1;{name}={value} ;b=2",
            f"{name} = {value}; c=3",
            f"{name}=planted; d=4; {name}={value}",
        ):
            await reached(alice, hostile, f"{others}; {spelling}")
    collected = json.dumps(hostile.seen())
    assert "a=1" in collected
    assert "d=4" in collected
    for name, value in ours.items():
        assert value not in collected
        assert name not in collected


async def test_cookies_of_hostile_server_stay_below_its_path(
    alice: Client, hostile: Hostile
) -> None:
    headers = await reached(alice, hostile)
    cookies = headers.getall("Set-Cookie")
    assert len(cookies) == 3
    for cookie in cookies:
        attributes = [part.strip().lower() for part in cookie.split(";")[1:]]
        assert f"path={hostile.path}" in attributes
        assert "path=/" not in attributes
    for name in ("Service-Worker-Allowed", "Clear-Site-Data", "Refresh", "X-Accel-Redirect"):
        assert name not in headers
    assert (await alice.api("GET", "/me"))["username"] == "alice"  # unchanged, with her own cookie


async def test_other_users_are_not_sent_to_hostile_server(
    portal: Live, carol: Client, hostile: Hostile
) -> None:
    """An administrator who opens a link to it is refused before the node gets a request."""
    before = len(hostile.seen())
    page = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate"}
    program = {"Accept": "application/json"}
    tails = ("", "lab", "api/status", "..%2f..%2fcarol/s1/", "files/x.html?token=x")
    async with portal.login("bob") as bob, Client(portal.base_url) as anonymous:
        for client, name in ((carol, "carol"), (bob, "bob")):
            await client.enter(f"{origin_of(hostile.url)}/user/{name}/none/")  # logged in there
        for tail in tails:
            for headers, unknown in ((page, 302), (program, 401)):
                for client, wanted in ((carol, 403), (bob, 403), (anonymous, unknown)):
                    status, text, _ = await get(client, f"{hostile.url}{tail}", headers=headers)
                    assert status == (404 if "%2f" in tail else wanted), (tail, text[:200])
                    assert PAGE_TEXT not in text
        for client in (carol, bob):
            url = f"{hostile.url}api/kernels/1/channels"
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await client.http.ws_connect(url, origin=origin_of(url))
            assert refused.value.status == 403
    assert len(hostile.seen()) == before


async def test_hostile_page_cannot_act_as_another_user(carol: Client, hostile: Hostile) -> None:
    """The requests that carol's browser would send for a page on the node's own address, or
    elsewhere."""
    session_id = hostile.session["id"]
    foreign: tuple[dict[str, str], ...] = (
        {"Origin": f"http://{hostile.node}:{hostile.port}", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://evil.test"},
        {"Sec-Fetch-Site": "same-site"},
        {},
    )
    for headers in foreign:
        for method, path in (("DELETE", f"/admin/sessions/{session_id}"), ("POST", "/logout")):
            url = f"{carol.base_url}/api/v1{path}"
            async with carol.http.request(method, url, headers=headers) as answer:
                assert answer.status == 403, (headers, await answer.text())
                assert "Access-Control-Allow-Origin" not in answer.headers
    read = {"Origin": f"http://{hostile.node}:{hostile.port}"}
    _, _, headers_of_me = await get(carol, "/api/v1/me", headers=read)
    assert "Access-Control-Allow-Origin" not in headers_of_me
    assert "Access-Control-Allow-Credentials" not in headers_of_me
    assert (await carol.api("GET", "/me"))["username"] == "carol"


async def test_the_portals_cookie_is_out_of_every_pages_reach(portal: Live) -> None:
    async with Client(portal.base_url) as client:
        body = {"username": "alice", "password": portal.users["alice"]}
        url = f"{portal.base_url}/api/v1/login"
        async with client.http.post(url, json=body, headers={"Origin": portal.base_url}) as answer:
            cookies = answer.headers.getall("Set-Cookie")
    names = {cookie.partition("=")[0] for cookie in cookies}
    assert names == {"portal_session", "portal_device"}
    for cookie in cookies:
        attributes = {part.strip().lower() for part in cookie.split(";")[1:]}
        assert {"httponly", "samesite=lax", "path=/"} <= attributes
        assert not [part for part in attributes if part.startswith("domain=")]


async def test_its_own_owners_page_does_not_know_the_password(
    portal: Live, alice: Client, hostile: Hostile
) -> None:
    """Same origin, alice's cookie, her own hostile page: the password itself is still missing."""
    page = {"Referer": f"{alice.base_url}{hostile.path}lab", "Sec-Fetch-Site": "same-origin"}
    guess = {"current_password": "a guess", "new_password": "Planted-by-a-page-1"}
    for path, body in (("/reauth", {"password": "a guess"}), ("/me/password", guess)):
        with pytest.raises(RequestRefused) as refused:
            await alice.api("POST", path, body, headers=page)
        assert refused.value.status == 401
        assert refused.value.problem["type"] == "urn:portal:wrong-credentials"
    # administrator operations are still not permitted
    with pytest.raises(RequestRefused) as refused:
        await alice.api("DELETE", f"/admin/sessions/{hostile.session['id']}", headers=page)
    assert refused.value.status == 403
    async with Client(portal.base_url) as again:
        assert (await again.login("alice", portal.users["alice"]))["username"] == "alice"


async def test_a_forged_node_is_ignored(alice: Client, hostile: Hostile) -> None:
    """Slurm determines the node; a program that names another one is sent requests only at its
    own."""
    forged = {"node": "head", "host": "127.0.0.1", "address": "127.0.0.1", "target_host": "head"}
    assert hostile.hello(port=hostile.port, **forged) == 200
    before = len(hostile.seen())
    await reached(alice, hostile)
    assert len(hostile.seen()) > before
    assert (await alice.api("GET", f"/sessions/{hostile.session['id']}"))["node"] == hostile.node


@pytest.mark.parametrize("port", [0, -1, 22, 80, 1023, 65536, 10**9, "x", None, 2.5, [40000]])
async def test_a_port_that_is_no_users_is_refused(
    alice: Client, hostile: Hostile, port: Any
) -> None:
    assert hostile.hello(port=port) == 422
    await reached(alice, hostile)


async def test_a_secret_opens_its_own_session_alone(portal: Live, hostile: Hostile) -> None:
    async with portal.login("bob") as bob:
        made = await bob.start_session(name="victim", resources=SMALL)
        try:
            assert hostile.hello(made["id"], port=hostile.port) == 401
            assert hostile.hello("0" * 36, port=hostile.port) == 401
            home = hostile.config["portal_url"]
            (found,) = hostile.ask(
                {"url": f"{home}/node/sessions/{made['id']}/server", "headers": hostile.bearer}
            )
            assert found["status"] == 401
        finally:
            await bob.stop_session(made["id"])


async def test_hub_token_of_server_grants_no_access_to_other_users(hostile: Hostile) -> None:
    """alice's program may request its JupyterLab's credentials: her own token, and nothing else."""
    home = hostile.config["portal_url"]
    server = f"{home}/node/sessions/{hostile.session['id']}/server"
    (given,) = hostile.ask({"url": server, "headers": hostile.bearer})
    assert given["status"] == 200
    token = json.loads(given["body"])["env"]["JUPYTERHUB_API_TOKEN"]
    headers = {"Authorization": f"token {token}"}
    hub = f"{home}/hub/api"
    requests = [
        {"url": f"{hub}/users", "headers": headers},
        {"url": f"{hub}/users/carol/tokens", "headers": headers},
        {"url": f"{hub}/users/alice/servers/more", "headers": headers, "method": "POST"},
        {"url": f"{hub}/users/bob/servers/s1", "headers": headers, "method": "DELETE"},
        {"url": f"{hub}/shutdown", "headers": headers, "method": "POST", "body": {}},
        {"url": f"{hub}/services", "headers": headers},
    ]
    for request, answer in zip(requests, hostile.ask(*requests), strict=True):
        assert answer["status"] == 403, (request["url"], answer)
    # the token may read its own user's activity; other users are not there for it
    (other,) = hostile.ask({"url": f"{hub}/users/bob", "headers": headers})
    assert other["status"] == 404


async def test_from_its_node_only_two_doors_are_open(hostile: Hostile) -> None:
    home = hostile.config["portal_url"]
    inside = (
        "/internal/whoami",
        "/internal/gate",
        "/node/../internal/whoami",
        "/api/v1/me",
        "/hub/",
    )
    tricks = (*inside, "//internal/whoami", "/%69nternal/whoami", hostile.path, "/metrics")
    answers = hostile.ask(*({"url": f"{home}{path}"} for path in tricks))
    expected = [400 if ".." in path else 404 for path in tricks]
    assert [answer["status"] for answer in answers] == expected
