"""nginx checked from outside: certificates that are valid, expired, or for another name."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from portal.config.origins import ContentHosts
from portal.health import nginx_probe
from portal.health.checks.certificates import advise, check_content_host, check_file
from portal.health.checks.nginx import judge_answer, judge_expiry
from tests.servers.slapd import free_port
from tests.servers.tls import DAY, NOW, Make, Serve, make, serve

__all__ = ["make", "serve"]  # fixtures


def test_a_good_one(make: Make, serve: Serve) -> None:
    pair = make()
    url = serve(pair)
    assert nginx_probe.ask(url).is_portal
    assert nginx_probe.find_distrust(url, cafile=str(pair)) is None
    until = nginx_probe.fetch_expiry(url)
    assert until is not None
    assert judge_expiry(until, "public_url localhost") is None


def test_expired_certificate_is_reported_beside_the_answer(make: Make, serve: Serve) -> None:
    pair = make(until=NOW - DAY)
    url = serve(pair)
    assert nginx_probe.ask(url).is_portal
    assert nginx_probe.find_distrust(url, cafile=str(pair)) is None
    until = nginx_probe.fetch_expiry(url)
    assert until is not None
    assert until < NOW
    expired = judge_expiry(until, "public_url localhost")
    assert expired is not None
    assert "expired" in expired.text
    assert "reload portal-nginx" in expired.suggestion


def test_one_that_ends_soon(make: Make, serve: Serve) -> None:
    pair = make(until=NOW + 3 * DAY)
    until = nginx_probe.fetch_expiry(serve(pair))
    assert until is not None
    for result in (judge_expiry(until, "x"), check_file("x", pair)):
        assert result is not None
        assert str(result.problem).startswith("The certificate of x ")
        assert " expires on " in str(result.problem)


def test_anothers_name(make: Make, serve: Serve) -> None:
    pair = make("elsewhere.example.org")
    message = str(nginx_probe.find_distrust(serve(pair), cafile=str(pair)))
    assert "localhost" in message
    assert "public_url" in advise(message)


def test_unknown_authority_is_reported(make: Make, serve: Serve) -> None:
    message = str(nginx_probe.find_distrust(serve(make())))
    assert "is not valid" in message
    assert "whole chain" in advise(message)


def test_without_tls_there_is_none(serve: Serve) -> None:
    url = serve(None)
    assert nginx_probe.ask(url).is_portal
    assert (nginx_probe.find_distrust(url), nginx_probe.fetch_expiry(url)) == (None, None)
    assert nginx_probe.fetch_expiry(f"https://127.0.0.1:{free_port()}") is None


def test_problem_depends_on_the_answer() -> None:
    url = "https://portal.example.org"
    assert judge_answer(url, nginx_probe.NginxAnswer(200, '{"status":"ok"}')).problem is None
    away = judge_answer(url, nginx_probe.NginxAnswer(503))
    assert away.problem == f"nginx answers at {url}, but the portal behind it doesn't."
    other = judge_answer(url, nginx_probe.NginxAnswer(404))
    assert other.problem == f"Requests to {url} do not reach the portal: status 404."
    unreachable = judge_answer(url, nginx_probe.NginxAnswer(None, problem="refused"))
    assert unreachable.problem == f"No answer from {url}: Refused."


def test_files(tmp_path: Path, make: Make) -> None:
    assert check_file("certificate_file", make()).problem is None
    assert "does not exist" in str(check_file("certificate_file", tmp_path / "none.pem").problem)
    (tmp_path / "text.pem").write_text("hello")
    assert "can't be read" in str(check_file("certificate_file", tmp_path / "text.pem").problem)


def test_a_host_for_content(make: Make, serve: Serve) -> None:
    pair = make()
    assert (
        check_content_host("notebook_url", ContentHosts.of(serve(pair)), cafile=str(pair)).problem
        is None
    )
    assert (
        check_content_host(
            "notebook_url", ContentHosts.of(serve(None).replace("127.0.0.1", "localhost"))
        ).problem
        is None
    )


def test_a_host_for_content_of_which_its_certificate_knows_nothing(
    make: Make, serve: Serve
) -> None:
    pair = make("portal.example.org")
    found = check_content_host("notebook_url", ContentHosts.of(serve(pair)), cafile=str(pair))
    assert "localhost" in str(found.problem)
    assert found.suggestion.startswith("The certificate must also cover localhost")


def test_a_host_for_each_user(make: Make, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any label is resolved; the suggestion asks for the wildcard record."""
    hosts = ContentHosts.of("https://{user}.jupyter.invalid")
    found = check_content_host("notebook_url", hosts)
    assert "the name portal-check.jupyter.invalid of notebook_url does not resolve" in str(
        found.problem
    )
    assert found.suggestion == "Point *.jupyter.invalid to this nginx in DNS."
    look_up = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda _name, port, *more, **kw: look_up("localhost", port, *more, **kw),
    )
    for name, good in (("*.jupyter.invalid", True), ("jupyter.invalid", False)):
        pair = make(name)
        port = serve(pair).rpartition(":")[2]
        hosts = ContentHosts.of(f"https://{{user}}.jupyter.invalid:{port}")
        found = check_content_host("notebook_url", hosts, cafile=str(pair))
        assert (found.problem is None) == good
    assert found.suggestion.startswith("The certificate must also cover *.jupyter.invalid")


def test_content_host_without_server_is_reported() -> None:
    found = check_content_host("notebook_url", ContentHosts.of(f"http://localhost:{free_port()}"))
    assert "no answer from http://localhost:" in str(found.problem)
