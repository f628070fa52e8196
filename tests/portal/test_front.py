"""The front door looked at from outside: certificates that are good, expired, another's."""

from __future__ import annotations

import http.server
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from portal import front
from portal.check_front import _answers, _certificate_advice, file_problem
from tests.portal.slapd import free_port

NOW = datetime.now(UTC)
DAY = timedelta(days=1)
Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A self-signed certificate with its key in one file."""

    def made(name: str = "localhost", until: datetime = NOW + 90 * DAY) -> Path:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW - 400 * DAY)
            .not_valid_after(until)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .sign(key, hashes.SHA256())
        )
        file = tmp_path / "pair.pem"
        pem, raw = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        file.write_bytes(
            certificate.public_bytes(pem)
            + key.private_bytes(pem, raw, serialization.NoEncryption())
        )
        return file

    return made


class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()
        self.wfile.write(b'{"status":"ok"}')

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


@pytest.fixture
def serve() -> Iterator[Callable[[Path | None], str]]:
    """Something at https://localhost that says that it is well, with a certificate."""
    servers = []

    def served(pair: Path | None) -> str:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Healthy)
        if pair is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(pair)
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http{'s' if pair else ''}://localhost:{server.server_address[1]}"

    yield served
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_good_one(make: Make, serve: Callable[[Path | None], str]) -> None:
    pair = make()
    answer = front.ask(serve(pair), cafile=str(pair))
    assert (answer.is_portal, answer.certificate) == (True, None)


def test_an_expired_one_is_told_and_the_answer_too(
    make: Make, serve: Callable[[Path | None], str]
) -> None:
    pair = make(until=NOW - DAY)
    url = serve(pair)
    answer = front.ask(url, cafile=str(pair))
    assert answer.is_portal
    assert "expired" in str(answer.certificate)
    assert "reload portal-nginx" in _certificate_advice(str(answer.certificate))
    until = front.shown_until("localhost", int(url.rpartition(":")[2]))
    assert until is not None
    assert until < NOW


def test_one_that_ends_soon(make: Make, serve: Callable[[Path | None], str]) -> None:
    pair = make(until=NOW + 3 * DAY)
    answer = front.ask(serve(pair), cafile=str(pair))
    assert str(answer.certificate).startswith("the certificate expires on ")
    assert str(file_problem(pair)).startswith("the certificate expires on ")


def test_anothers_name(make: Make, serve: Callable[[Path | None], str]) -> None:
    pair = make("elsewhere.example.org")
    said = str(front.ask(serve(pair), cafile=str(pair)).certificate)
    assert "localhost" in said
    assert "public_url" in _certificate_advice(said)


def test_an_authority_that_nobody_knows(make: Make, serve: Callable[[Path | None], str]) -> None:
    said = str(front.ask(serve(make())).certificate)
    assert "isn't good" in said
    assert "whole chain" in _certificate_advice(said)


def test_without_tls_there_is_none(serve: Callable[[Path | None], str]) -> None:
    answer = front.ask(serve(None))
    assert (answer.is_portal, answer.certificate) == (True, None)
    assert front.shown_until("127.0.0.1", free_port()) is None


def test_what_is_said_of_the_answer() -> None:
    url = "https://portal.example.org"
    assert _answers(url, front.Answer(200, '{"status":"ok"}')).problem is None
    away = _answers(url, front.Answer(503))
    assert away.problem == f"nginx answers at {url}, and the portal behind it doesn't"
    assert "isn't the portal's nginx" in str(_answers(url, front.Answer(404)).problem)
    nobody = _answers(url, front.Answer(None, problem="refused"))
    assert nobody.problem == f"nothing answers at {url}: refused"


def test_files(tmp_path: Path, make: Make) -> None:
    assert file_problem(make()) is None
    assert "isn't there" in str(file_problem(tmp_path / "none.pem"))
    (tmp_path / "text.pem").write_text("hello")
    assert "can't be read" in str(file_problem(tmp_path / "text.pem"))
