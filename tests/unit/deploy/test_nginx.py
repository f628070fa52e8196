"""nginx.conf as rendered: its listeners, and settings that are refused."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from deploy.nginx import PAGES, TEMPLATES, command, main, render, write
from deploy.nginx_inputs import (
    Certificate,
    ListenOptions,
    NginxError,
    NginxInputs,
    NginxListener,
    from_settings,
)
from deploy.nginx_program import program, version_here, version_in
from portal.config.settings import Settings
from tests.needs import needs_program

SOME: dict[str, Any] = {
    "public_url": "http://127.0.0.1:8000",
    "node_url": "http://10.77.0.1:8002",
    "ldap_urls": ["ldaps://127.0.0.1"],
    "ldap_user_base": "dc=x",
    **dict.fromkeys(
        ("state_dir", "hub_token_file", "internal_secret_file", "runtime_dir", "image_dir"), "/x"
    ),
}
CERTIFICATE = Certificate(Path("/tls/chain.pem"), Path("/tls/key.pem"))


def settings(**changes: Any) -> Settings:
    same = not {"notebook_url", "content_url"} & changes.keys()
    return Settings(**{**SOME, "same_origin_content": same, **changes})


def make_inputs(**changes: Any) -> NginxInputs:
    return dataclasses.replace(from_settings(settings(), Path("/srv/nginx")), **changes)


def test_listens_where_the_urls_say() -> None:
    made = from_settings(settings(), Path("/srv/nginx"))
    assert made.public == NginxListener(("127.0.0.1",), 8000)
    assert made.cluster == NginxListener(("10.77.0.1",), 8002)
    text = render(made)["nginx.conf"]
    assert re.findall(r"^\s+listen (.*);$", text, re.M) == ["127.0.0.1:8000", "10.77.0.1:8002"]
    assert "ssl" not in text


def test_a_name_means_every_address_and_the_schemes_port() -> None:
    made = from_settings(
        settings(public_url="https://portal.test"), Path("/srv/nginx"), certificate=CERTIFICATE
    )
    assert "*" in made.public.addresses
    assert (made.public.port, made.public.certificate) == (443, CERTIFICATE)
    assert made.cluster.certificate is None
    text = render(made)["nginx.conf"]
    assert "listen *:443 ssl http2;" in text
    assert 'ssl_certificate_key "/tls/key.pem";' in text


@pytest.mark.parametrize(
    ("text_of_version", "version", "apart"),
    [
        ("nginx version: nginx/1.22.1\n", (1, 22, 1), False),
        ("nginx version: nginx/1.25.0\n", (1, 25, 0), False),
        ("nginx version: nginx/1.25.1\n", (1, 25, 1), True),
        ("nginx version: nginx/1.26.3 (Ubuntu)\n", (1, 26, 3), True),
        ("nginx version: openresty/1.27.1.1\n", (), False),
        ("", (), False),
    ],
)
def test_http_2_is_asked_for_as_this_nginx_takes_it(
    text_of_version: str, version: tuple[int, ...], apart: bool
) -> None:
    assert version_in(text_of_version) == version
    content = {"content_url": "https://jupyter.test", "public_url": "https://portal.test"}
    made = from_settings(settings(**content), Path("/srv/nginx"), certificate=CERTIFICATE)
    text = render(dataclasses.replace(made, version=version))["nginx.conf"]
    assert {line.partition(" ")[2] for line in listens(text) if ":443" in line} == {
        "ssl" if apart else "ssl http2"
    }
    # once each for public and content; never for plain HTTP listeners
    assert len(re.findall(r"^\s+http2 on;$", text, re.M)) == (2 if apart else 0)
    clear = render(dataclasses.replace(make_inputs(), version=version))["nginx.conf"]
    assert "http2" not in clear


@needs_program("nginx")
def test_version_of_local_nginx_is_parsed() -> None:
    assert Path(str(program())).name == "nginx"
    assert len(version_here()) == 3


def test_ipv6_addresses_are_bracketed() -> None:
    made = from_settings(settings(public_url="http://[::1]:8000"), Path("/srv/nginx"))
    assert "listen [::1]:8000;" in render(made)["nginx.conf"]


def test_behind_a_load_balancer_the_scheme_is_still_the_browsers() -> None:
    public = settings(public_url="https://portal.test")
    made = from_settings(public, Path("/srv/nginx"), listen=ListenOptions("127.0.0.1:9000"))
    text = render(made)["nginx.conf"]
    assert "listen 127.0.0.1:9000;" in text
    assert "X-Forwarded-Proto https;" in text
    assert "__Host-portal" in text


def test_the_cookies_name_is_the_settings() -> None:
    for public_url, listen, name, other in (
        ("http://127.0.0.1:8000", None, "portal_session", "__Host-portal"),
        ("https://portal.test", "127.0.0.1:9000", "__Host-portal", "portal_session"),
    ):
        made = from_settings(
            settings(public_url=public_url), Path("/srv/nginx"), listen=ListenOptions(listen)
        )
        text = render(made)["nginx.conf"]
        assert name in text
        assert other not in text


@pytest.mark.parametrize(
    ("changes", "listen", "words"),
    [
        ({"public_url": "https://portal.test"}, None, "certificate"),
        ({"node_url": "https://portal.test"}, None, "certificate"),
        ({"node_url": "http://127.0.0.1:8000"}, None, "same address and port"),
        ({"node_url": "http://head.test:8000"}, None, "same address and port"),
        ({"hub_url": "https://127.0.0.1:8081"}, None, "must be http"),
        ({}, "8000", "host:port"),
        ({}, "127.0.0.1", "host:port"),
        ({}, "127.0.0.1:x", "host:port"),
    ],
)
def test_unworkable_settings_are_reported(
    changes: dict[str, Any], listen: str | None, words: str
) -> None:
    with pytest.raises(NginxError, match=words):
        from_settings(settings(**changes), Path("/srv/nginx"), listen=ListenOptions(listen))


@pytest.mark.parametrize(
    "changes",
    [
        {"folder": Path('/srv/a"b')},
        {"folder": Path("/srv/$x")},
        {"folder": Path("/srv/a;b")},
        {"folder": Path("/srv/a\nb")},
        {"folder": Path("relative")},
        {"assets": Path("/srv/{x}")},
        {"cookie": "a;b"},
        {"cookie": "a b"},
        {"cookie": "a.*"},
        {"portal": "127.0.0.1:1; }"},
        {"hub": "a b"},
        {"public": NginxListener(("127.0.0.1; include /x",), 80)},
        {"public": NginxListener(("*",), 443, Certificate(Path('/a"'), Path("/b")))},
    ],
)
def test_nothing_can_be_injected(changes: dict[str, Any]) -> None:
    with pytest.raises(NginxError):
        render(make_inputs(**changes))


def test_every_location_that_proxies_sets_the_address_of_the_peer() -> None:
    """proxy_set_header is inherited only where a location sets none: a missing one is a hole."""
    text = render(make_inputs())["nginx.conf"]
    locations = re.findall(r"location [^{]*(?:\{[\d,]+\}[^{]*)*\{\n(.*?)\n        \}", text, re.S)
    proxies = [body for body in locations if "proxy_pass " in body]
    assert len(proxies) == 17
    gates = [body for body in proxies if "/internal/gate" in body]
    assert len(gates) == 2  # of notebooks and of SSH
    assert all("proxy_pass_request_headers off;" in body for body in gates)
    for body in proxies:
        if body not in gates:
            assert "proxy_set_header X-Forwarded-For $remote_addr;" in body
            assert 'proxy_set_header Forwarded "";' in body


def test_an_error_page_of_a_locations_own_keeps_the_servers() -> None:
    """error_page is inherited only where a location sets none."""
    text = render(make_inputs())["nginx.conf"]
    for body in re.findall(r"location [^{]*(?:\{[\d,]+\}[^{]*)*\{\n(.*?)\n        \}", text, re.S):
        if "error_page" in body:
            assert re.search(r"error_page (?:500 )?502 504 ", body)


def test_query_strings_are_not_logged() -> None:
    """Query strings may contain one-time codes and Jupyter's tokens."""
    text = render(make_inputs())["nginx.conf"]
    (logged,) = re.findall(r"log_format lines (.*?);", text, re.S)
    for variable in ("$request ", '$request"', "$request_uri", "$args", "$http_", "$cookie_"):
        assert variable not in logged
    assert text.count("access_log ") == 1


def test_pages_need_nothing_else_and_run_nothing() -> None:
    for name in PAGES:
        text = (TEMPLATES / name).read_text("utf-8")
        for active in ("<script", "src=", "url(", "@import", "http://", "https://", "onload"):
            assert active not in text


def test_write_makes_a_private_folder_and_is_repeatable(tmp_path: Path) -> None:
    made = make_inputs(folder=tmp_path / "nginx")
    for _ in range(2):
        assert write(made) == tmp_path / "nginx" / "nginx.conf"
    assert (tmp_path / "nginx").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "nginx" / "_pages" / "unavailable.html").exists()
    assert [path.name for path in (tmp_path / "nginx").rglob("*.new")] == []
    assert command(made, "-t")[-3:] == ["-c", str(tmp_path / "nginx" / "nginx.conf"), "-t"]


def test_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PORTAL_CONFIG", raising=False)
    monkeypatch.setenv("PORTAL_UNUSED", "x")
    config = tmp_path / "portal.toml"
    lines = [f"{key} = {value!r}" for key, value in SOME.items()]
    lines.append("same_origin_content = true")
    config.write_text("\n".join(lines), "utf-8")
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setenv("PORTAL_CONFIG", "")
        assert main(["--settings", str(config), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("nginx -p ")
    assert printed.endswith(" -t\n")
    assert (out / "nginx.conf").exists()
    with monkeypatch.context() as patched:
        patched.setenv("PORTAL_CONFIG", "")
        config.write_text("\n".join([*lines, "nonsense = 1"]), "utf-8")
        assert main(["--settings", str(config), "--out", str(out)]) == 1
    assert "nonsense" in capsys.readouterr().err


def upstream(text: str) -> str:
    return text.partition("upstream portal {")[2].partition("}")[0].strip()


def test_each_request_to_the_portal_has_a_connection_of_its_own() -> None:
    """A request on a kept connection could coincide with the portal's end."""
    assert upstream(render(make_inputs())["nginx.conf"]) == "server 127.0.0.1:8001 max_fails=0;"


def test_two_portals() -> None:
    """A request that was not sent to one goes to the other; the gate treats both as the portal."""
    both = ["10.0.0.1:8001", "portal-b:8001"]
    made = from_settings(settings(portals=both, own_address=both[1]), Path("/srv/nginx"))
    text = render(made)["nginx.conf"]
    first, second = upstream(text).splitlines()
    assert first.split() == ["server", both[0], "max_fails=1", "fail_timeout=5s;"]
    assert second.split() == ["server", both[1], "max_fails=1", "fail_timeout=5s", "backup;"]
    assert "proxy_next_upstream error;" in text
    assert '"10.0.0.1:8001" portal; "portal-b:8001" portal; }' in text
    assert '"10.0.0.1:8001" 1; "portal-b:8001" 1; }' in text
    assert "proxy_next_upstream off;" in render(make_inputs())["nginx.conf"]


@pytest.mark.parametrize("wrong", ["portal-a", "http://a:1", "a:b", "a:1/x", "u@a:1", ""])
def test_a_portals_address_is_a_host_and_a_port(wrong: str) -> None:
    with pytest.raises(ValueError, match="must be host:port"):
        settings(portals=[wrong])


def listens(text: str) -> list[str]:
    return re.findall(r"^\s+listen (.*);$", text, re.M)


def with_content(url: str, **changes: Any) -> tuple[NginxInputs, str]:
    made = from_settings(settings(content_url=url, **changes), Path("/srv/nginx"))
    return made, render(made)["nginx.conf"]


def test_without_content_url_there_is_no_word_of_it() -> None:
    text = render(make_inputs())["nginx.conf"]
    for word in ("content", "is_other_origin", "$is_cross_origin_change"):
        assert word not in text


def test_content_is_on_the_same_port_by_its_name() -> None:
    made, text = with_content("http://jupyter.localhost:8000")
    assert made.content is not None
    assert made.content.servers[0].listener == made.public
    assert listens(text) == ["127.0.0.1:8000", "127.0.0.1:8000", "10.77.0.1:8002"]
    assert 'server_name "jupyter.localhost";' in text
    assert 'return 302 "http://127.0.0.1:8000/";' in text


def test_on_a_port_of_its_own_other_names_get_nothing() -> None:
    _, text = with_content("http://{user}.jupyter.localhost:8100")
    assert listens(text) == ["127.0.0.1:8000", *["127.0.0.1:8100"] * 2, "10.77.0.1:8002"]
    first = text.partition("listen 127.0.0.1:8100;")[2].partition("\n    }\n")[0]
    assert "server_name _;" in first
    assert "return 404;" in first
    assert "proxy_pass" not in first
    pattern = re.search(r'server_name "~(.*)";', text)
    assert pattern is not None
    for host, found in (
        ("alice.jupyter.localhost", True),
        ("jupyter.localhost", False),
        ("a.b.jupyter.localhost", False),
        ("alicexjupyter.localhost", False),
        ("alice.jupyter.localhost.evil", False),
    ):
        assert (re.search(pattern[1], host) is not None) is found


def test_content_has_the_portals_certificate_or_its_own(tmp_path: Path) -> None:
    urls = {"public_url": "https://portal.test", "content_url": "https://{user}.jupyter.test"}
    certificate = {"certificate_file": "/tls/chain.pem", "certificate_key_file": "/tls/key.pem"}
    made = from_settings(settings(**urls, **certificate), tmp_path)
    assert made.content is not None
    assert made.content.servers[0].listener.certificate == CERTIFICATE
    own = {
        "content_certificate_file": "/tls/wildcard.pem",
        "content_certificate_key_file": "/tls/wildcard.key",
    }
    made = from_settings(settings(**urls, **certificate, **own), tmp_path)
    assert made.content is not None
    assert made.content.servers[0].listener.certificate == Certificate(
        Path("/tls/wildcard.pem"), Path("/tls/wildcard.key")
    )
    text = render(made)["nginx.conf"]
    assert text.count('ssl_certificate "/tls/wildcard.pem";') == 1
    assert text.count('ssl_certificate "/tls/chain.pem";') == 1
    assert "__Host-portal-content" in text
    before = from_settings(settings(**urls), tmp_path, listen=ListenOptions("127.0.0.1:9000"))
    assert listens(render(before)["nginx.conf"])[:2] == ["127.0.0.1:9000"] * 2


def test_content_and_the_nodes_want_ports_of_their_own() -> None:
    with pytest.raises(NginxError, match="same address and port"):
        with_content("http://jupyter.test:8002")


def test_at_content_each_location_sets_the_address_of_the_peer_too() -> None:
    _, text = with_content("http://jupyter.localhost:8000")
    block = text.partition("# --- user content")[2]
    locations = re.findall(r"location [^{]*(?:\{[\d,]+\}[^{]*)*\{\n(.*?)\n        \}", block, re.S)
    proxies = [body for body in locations if "proxy_pass " in body]
    assert len(proxies) == 11  # including the two of the cluster-facing listener
    for body in proxies:
        gate = "/internal/gate" in body
        assert gate or "proxy_set_header X-Forwarded-For $remote_addr;" in body
        assert gate == ("proxy_set_header X-Content-Host $http_host;" in body)
    public = text.partition("# --- the public listener")[2].partition("# --- user content")[0]
    for gone in ("/internal/gate", "auth_request", "http://hub", "$target"):
        assert gone not in public


@pytest.mark.parametrize(
    "home", ["http://portal.test/$x", 'http://a"', "javascript:x", "http://a b"]
)
def test_nothing_can_be_injected_by_the_portals_address(home: str) -> None:
    made, _ = with_content("http://jupyter.localhost:8000")
    assert made.content is not None
    with pytest.raises(NginxError):
        render(
            dataclasses.replace(made, content=dataclasses.replace(made.content, portal_url=home))
        )


PORTS = {
    "notebook_url": "http://127.0.0.1:8020",
    "tensorboard_url": "http://127.0.0.1:8030",
}


def server_of(text: str, listen: str) -> str:
    """Return the last server block that listens there."""
    return text.rpartition(f"listen {listen};")[2].partition("\n    server {")[0]


def test_render_three_ports_each_serves_its_own_paths_alone() -> None:
    text = render(from_settings(settings(**PORTS), Path("/srv/nginx")))["nginx.conf"]
    public = text.partition("listen 127.0.0.1:8000;")[2].partition("\n    server {")[0]
    notebooks, boards = server_of(text, "127.0.0.1:8020"), server_of(text, "127.0.0.1:8030")
    for path, there in (
        ("location /hub/ {", notebooks),
        ("auth_request /_gate;", notebooks),
        ("location /tensorboard/ {", boards),
    ):
        assert [path in server for server in (public, notebooks, boards)] == [
            server is there for server in (public, notebooks, boards)
        ]
    assert "location = /api/v1/login" in public
    assert "/api/" not in notebooks + boards


def test_listen_origins_that_share_name_and_listener_are_refused() -> None:
    with pytest.raises(NginxError, match="--listen-notebooks"):
        from_settings(settings(**PORTS), Path("/srv/nginx"), listen=ListenOptions("0.0.0.0:9000"))
    apart = ListenOptions("0.0.0.0:9000", "0.0.0.0:9001", "0.0.0.0:9002")
    made = from_settings(settings(**PORTS), Path("/srv/nginx"), listen=apart)
    assert {listener.port for listener in made.listeners} == {9000, 9001, 9002, 8002}


def test_access_log_masks_the_ticket_of_a_tensorboard() -> None:
    text = render(make_inputs())["nginx.conf"]
    found = re.search(r'"~\(\?s\)(\^/tensorboard/.*?)" (\S+);', text)
    assert found is not None
    pattern = re.compile(found[1].replace("(?<", "(?P<").replace("*+", "*"), re.S)
    match = pattern.match("/tensorboard/ID/0123456789abcdef0123456789abcdef/data/x?tag=loss")
    assert match is not None
    assert (match["board_only"], match["below_ticket"]) == ("ID", "/data/x")
