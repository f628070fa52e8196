"""nginx checked from outside: certificates that are valid, expired, or for another name."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from portal.config.origins import ContentHosts
from portal.health import nginx_probe
from portal.health.nginx import _certificate_advice, _check_answer, content, file_problem
from tests.portal.certificate_stand import DAY, NOW, Make, Serve, make, serve
from tests.portal.slapd import free_port

__all__ = ["make", "serve"]  # fixtures


def test_a_good_one(make: Make, serve: Serve) -> None:
    pair = make()
    answer = nginx_probe.ask(serve(pair), cafile=str(pair))
    assert (answer.is_portal, answer.certificate) == (True, None)


def test_expired_certificate_is_reported_beside_the_answer(make: Make, serve: Serve) -> None:
    pair = make(until=NOW - DAY)
    url = serve(pair)
    answer = nginx_probe.ask(url, cafile=str(pair))
    assert answer.is_portal
    assert "expired" in str(answer.certificate)
    assert "reload portal-nginx" in _certificate_advice(str(answer.certificate))
    until = nginx_probe.fetch_certificate_expiry("localhost", int(url.rpartition(":")[2]))
    assert until is not None
    assert until < NOW


def test_one_that_ends_soon(make: Make, serve: Serve) -> None:
    pair = make(until=NOW + 3 * DAY)
    answer = nginx_probe.ask(serve(pair), cafile=str(pair))
    assert str(answer.certificate).startswith("the certificate expires on ")
    assert str(file_problem(pair)).startswith("the certificate expires on ")


def test_anothers_name(make: Make, serve: Serve) -> None:
    pair = make("elsewhere.example.org")
    message = str(nginx_probe.ask(serve(pair), cafile=str(pair)).certificate)
    assert "localhost" in message
    assert "public_url" in _certificate_advice(message)


def test_unknown_authority_is_reported(make: Make, serve: Serve) -> None:
    message = str(nginx_probe.ask(serve(make())).certificate)
    assert "is not valid" in message
    assert "whole chain" in _certificate_advice(message)


def test_without_tls_there_is_none(serve: Serve) -> None:
    answer = nginx_probe.ask(serve(None))
    assert (answer.is_portal, answer.certificate) == (True, None)
    assert nginx_probe.fetch_certificate_expiry("127.0.0.1", free_port()) is None


def test_problem_depends_on_the_answer() -> None:
    url = "https://portal.example.org"
    assert _check_answer(url, nginx_probe.NginxAnswer(200, '{"status":"ok"}')).problem is None
    away = _check_answer(url, nginx_probe.NginxAnswer(503))
    assert away.problem == f"nginx responds at {url}, but the portal behind it does not"
    assert "is not the portal's nginx" in str(
        _check_answer(url, nginx_probe.NginxAnswer(404)).problem
    )
    unreachable = _check_answer(url, nginx_probe.NginxAnswer(None, problem="refused"))
    assert unreachable.problem == f"no response from {url}: refused"


def test_files(tmp_path: Path, make: Make) -> None:
    assert file_problem(make()) is None
    assert "does not exist" in str(file_problem(tmp_path / "none.pem"))
    (tmp_path / "text.pem").write_text("hello")
    assert "can't be read" in str(file_problem(tmp_path / "text.pem"))


def test_a_host_for_content(make: Make, serve: Serve) -> None:
    pair = make()
    assert content("notebook_url", ContentHosts.of(serve(pair)), cafile=str(pair)).problem is None
    assert (
        content(
            "notebook_url", ContentHosts.of(serve(None).replace("127.0.0.1", "localhost"))
        ).problem
        is None
    )


def test_a_host_for_content_of_which_its_certificate_knows_nothing(
    make: Make, serve: Serve
) -> None:
    pair = make("portal.example.org")
    found = content("notebook_url", ContentHosts.of(serve(pair)), cafile=str(pair))
    assert "localhost" in str(found.problem)
    assert found.advice.startswith("The certificate must also cover localhost")


def test_a_host_for_each_person(make: Make, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any label is resolved; the advice asks for the wildcard record."""
    hosts = ContentHosts.of("https://{user}.jupyter.invalid")
    found = content("notebook_url", hosts)
    assert "the name portal-check.jupyter.invalid of notebook_url does not resolve" in str(
        found.problem
    )
    assert found.advice == "Point *.jupyter.invalid to this nginx in DNS."
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
        found = content("notebook_url", hosts, cafile=str(pair))
        assert (found.problem is None) == good
    assert found.advice.startswith("The certificate must also cover *.jupyter.invalid")


def test_content_host_without_server_is_reported() -> None:
    found = content("notebook_url", ContentHosts.of(f"http://localhost:{free_port()}"))
    assert "no response from http://localhost:" in str(found.problem)
