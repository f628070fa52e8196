"""nginx in front of the real portal, with content on separate hosts: access to nodes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.portal.content_visitor import PORTAL, Visitor
from tests.servers.gate_portal import Real, problem, real_portal
from tests.servers.nginx import HOME, NginxServer, run_nginx

ALICES = "alice.jupyter.test"
BOBS = "bob.jupyter.test"
PROGRAM = {"Accept": "application/json"}


@pytest.fixture(scope="module", params=["http", "https"])
def kept(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Real, NginxServer]]:
    scheme: str = request.param
    content_url = f"{scheme}://{{user}}.jupyter.test"
    folder: Path = tmp_path_factory.mktemp("portal")
    with (
        real_portal(folder, public_url=f"{scheme}://{PORTAL}", content_url=content_url) as real,
        run_nginx(tls=scheme == "https", portal_port=real.port, content_url=content_url) as nginx,
    ):
        for owner in ("alice", "bob"):
            real.add_session(owner, target_host="127.0.0.1", target_port=nginx.node.port)
        yield real, nginx


@pytest.fixture
def nginx(kept: tuple[Real, NginxServer]) -> NginxServer:
    kept[1].clear()
    return kept[1]


@pytest.fixture
def alice(kept: tuple[Real, NginxServer], nginx: NginxServer) -> Visitor:
    """Alice, with access to her own host."""
    visitor = Visitor(kept[0], nginx=nginx)
    visitor.log_in("alice")
    url, answer = visitor.follow(f"{nginx.inputs.scheme}://{ALICES}{HOME}lab")
    assert (url, answer.status, answer.body) == (
        f"{nginx.inputs.scheme}://{ALICES}{HOME}lab",
        200,
        b"ok",
    )
    nginx.clear()
    return visitor


def cookies(visitor: Visitor, host: str = ALICES) -> str:
    return "; ".join(f"{name}={value}" for name, value in visitor.jars[host].items())


def test_no_cookie_of_ours_gets_to_a_node(alice: Visitor, nginx: NginxServer) -> None:
    names = alice.real.settings
    portals = f"{names.cookie_name}=token-of-alice"
    other = "_xsrf=a; theme=dark"
    for line in (
        f"{cookies(alice)}; {other}",
        f"_xsrf=a; {cookies(alice)}; theme=dark",
        f"{portals}; _xsrf=a; {cookies(alice)}; theme=dark",
        f"_xsrf=a; {portals}; {portals}; theme=dark; {cookies(alice)}",
    ):
        answer = nginx.ask(f"{HOME}api", headers={"Host": ALICES, "Cookie": line, **PROGRAM})
        assert answer.status == 200, line
        seen = nginx.node.seen[-1]
        assert seen.all("cookie") == [other], line
        assert "x-content-host" not in dict(seen.headers)


def test_only_an_app_installs_a_service_worker(alice: Visitor, nginx: NginxServer) -> None:
    """Browsers confine it to the app's path: nginx removes Service-Worker-Allowed."""
    worker = {"Service-Worker": "script", "Sec-Fetch-Dest": "serviceworker"}
    headers = {"Host": ALICES, "Cookie": cookies(alice), **worker}
    answer = nginx.ask(f"{HOME}app/vscode/static/sw.js", headers=headers)
    assert (answer.status, answer.body) == (200, b"ok")
    for path in ("files/sw.js", "app/sw.js", "files/..%2fapp/own/sw.js", "app/own/..%2f..%2fsw.js"):
        assert nginx.ask(f"{HOME}{path}", headers=headers).status == 404, path


def test_at_the_portals_host_no_node_is_reached(alice: Visitor, nginx: NginxServer) -> None:
    scheme = nginx.inputs.scheme
    for path in (f"{HOME}lab", "/hub/home", "/user/alice/s1"):
        url, _ = alice.follow(f"{scheme}://{PORTAL}{path}", until=f"{scheme}://{ALICES}/")
        assert url == f"{scheme}://{ALICES}{path}{'/' if path.endswith('s1') else ''}"
    everything = f"{cookies(alice, PORTAL)}; {cookies(alice)}"
    for host in (PORTAL, "evil.test", "127.0.0.1", "jupyter.test", f"x.{ALICES}"):
        headers = {"Host": host, "Cookie": everything, **PROGRAM}
        assert nginx.ask(f"{HOME}api", headers=headers).status == 404
        assert nginx.ask("/hub/api/user", headers=headers).status == 404
    assert nginx.node.seen == nginx.hub.seen == []


def test_what_is_remembered_for_one_host_is_not_for_another(
    alice: Visitor, nginx: NginxServer
) -> None:
    asked = {"Cookie": cookies(alice), **PROGRAM}
    assert nginx.ask(f"{HOME}api", headers={"Host": ALICES, **asked}).status == 200
    assert len(nginx.node.seen) == 1
    for host in (BOBS, f"{ALICES}:1", f"{ALICES}."):
        assert nginx.ask(f"{HOME}api", headers={"Host": host, **asked}).status != 200
    answer = nginx.ask("/user/bob/s1/api", headers={"Host": BOBS, **asked})
    assert (answer.status, problem(answer)["type"]) == (401, "urn:portal:login-required")
    assert len(nginx.node.seen) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"Origin": f"{{scheme}}://{BOBS}"},
        {"Origin": f"{{scheme}}://{PORTAL}"},
        {"Origin": f"{{scheme}}://{ALICES}.evil.test"},
        {"Origin": f"{{scheme}}://{ALICES}:8080"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_another_hosts_page_changes_nothing_and_opens_no_websocket(
    alice: Visitor, nginx: NginxServer, other: dict[str, str]
) -> None:
    scheme = nginx.inputs.scheme
    headers = {name: value.format(scheme=scheme) for name, value in other.items()}
    headers |= {"Host": ALICES, "Cookie": cookies(alice), **PROGRAM}
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket"}
    for path in (f"{HOME}api/kernels", "/hub/logout"):
        assert nginx.ask(path, method="POST", headers=headers, body=b"{}").status == 403
        assert nginx.ask(path, headers={**headers, **upgrade}).status == 403
    assert nginx.node.seen == nginx.hub.seen == []
    own = {**headers, "Origin": f"{scheme}://{ALICES}", "Sec-Fetch-Site": "same-origin"}
    assert nginx.ask(f"{HOME}api/kernels", method="POST", headers=own, body=b"{}").status == 200
    assert len(nginx.node.seen) == 1


def test_the_hub_and_the_way_in_are_there_and_nothing_else(
    alice: Visitor, nginx: NginxServer
) -> None:
    headers = {"Host": ALICES, "Cookie": cookies(alice), **PROGRAM}
    assert nginx.ask("/hub/api/oauth2/authorize", headers=headers).status == 200
    assert [seen.one("host") for seen in nginx.hub.seen] == [ALICES]
    for path in (
        "/api/v1/me",
        "/internal/gate",
        "/node/x",
        "/login",
        "/assets/x",
        "/metrics",
        "/x",
    ):
        assert nginx.ask(path, headers=headers).status == 404, path
    opening = f"/content/open?host={ALICES}&state={'0' * 64}&next=/"
    for path in (opening, "/content/x"):
        assert nginx.ask(path, headers=headers).status == 404, path
    for path in ("/content/../api/v1/me", "/tensorboard/x/..%2f..%2fhub/x", "/hub/..%2fcontent/x"):
        assert nginx.ask(path, headers=headers).status == 400, path
    worker = {**headers, "Service-Worker": "script"}
    for path in ("/tensorboard/x/sw.js", "/hub/sw.js", f"{HOME}sw.js"):
        refused = nginx.ask(path, headers=worker)
        assert (refused.status, len(refused.all("content-security-policy"))) == (404, 1)
    home = nginx.ask("/", headers=headers)
    assert (home.status, home.one("location")) == (302, f"{nginx.inputs.scheme}://{PORTAL}/")


def test_a_browser_on_its_way_in_is_known_again(
    kept: tuple[Real, NginxServer], nginx: NginxServer
) -> None:
    """Two concurrent tabs belong to the same browser."""
    visitor = Visitor(kept[0], nginx=nginx)
    visitor.log_in("alice")
    scheme = nginx.inputs.scheme
    entering = f"{scheme}://{ALICES}/content/enter?"
    first, _ = visitor.follow(f"{scheme}://{ALICES}{HOME}lab", until=entering)
    second, _ = visitor.follow(f"{scheme}://{ALICES}{HOME}tree", until=entering)
    for url in (first, second):
        assert visitor.ask(url).status == 303
    flags = visitor.ask(f"{scheme}://{ALICES}/content/begin?next={HOME}").one("set-cookie").lower()
    assert ("secure" in flags) is (scheme == "https")


def test_a_logout_ends_it_with_the_next_question_to_the_gate(
    alice: Visitor, nginx: NginxServer, kept: tuple[Real, NginxServer]
) -> None:
    """nginx may use a cached response, so the request is for another session than before."""
    scheme = nginx.inputs.scheme
    origin = {"Origin": f"{scheme}://{PORTAL}"}
    url = f"{scheme}://{PORTAL}/api/v1/logout"
    with kept[0].rows() as db:
        kept[0].add_login(db, "alice", "token-of-another")
    alice.jars[PORTAL] = {kept[0].settings.cookie_name: "token-of-another"}
    alice.jars[ALICES] = {}
    alice.follow(f"{scheme}://{ALICES}/user/alice/s2/lab")
    assert alice.ask(url, method="POST", headers=origin).status == 204
    headers = {"Host": ALICES, "Cookie": cookies(alice), **PROGRAM}
    assert nginx.ask(f"{HOME}api", headers=headers).status == 401
    assert nginx.node.seen == []
