"""A TLS server on localhost, with certificates created for a test."""

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

NOW = datetime.now(UTC)
DAY = timedelta(days=1)
Make = Callable[..., Path]
Serve = Callable[[Path | None], str]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that creates a self-signed certificate with its key in one file."""

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
        """Discard log messages."""


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that starts a healthy server at https://localhost with a given
    certificate."""
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
