"""The authority for nodes: the certificates it signs, their subjects, and its renewal."""

import base64
import socket
import ssl
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from portal import node_ca
from portal.config.settings import Settings
from portal.health.checks import nginx
from portal.node_ca import DOMAIN, LIFE, NodeCa, NodeCaError, expiry, open_ca, renew
from spawner.node.identity import BadCertificate, NodeIdentity
from tests.fakes.context import partial_context

NAME = f"0b6f.session.{DOMAIN}"
SOME: dict[str, Any] = {
    "public_url": "http://127.0.0.1:8000",
    "same_origin_content": True,
    "node_url": "http://10.77.0.1:8002",
    "ldap_urls": ["ldaps://127.0.0.1"],
    "ldap_user_base": "dc=x",
    "node_tls": True,
    **dict.fromkeys(("hub_token_file", "internal_secret_file", "runtime_dir", "image_dir"), "/x"),
}


def settings(folder: Path, **changes: Any) -> Settings:
    return Settings(**{**SOME, "state_dir": folder, **changes})


def made(folder: Path) -> NodeCa:
    found = open_ca(settings(folder))
    assert found is not None
    return found


def soon() -> datetime:
    return datetime.now(UTC) + timedelta(hours=1)


def signed(authority: NodeCa, identity: NodeIdentity, name: str = NAME) -> x509.Certificate:
    return x509.load_pem_x509_certificate(authority.sign(identity.request, name, soon()).encode())


def test_none_where_none_is_wanted(tmp_path: Path) -> None:
    assert open_ca(settings(tmp_path, node_tls=False)) is None
    assert list(tmp_path.iterdir()) == []


def test_one_that_was_made_stays_when_it_is_switched_off(tmp_path: Path) -> None:
    authority = made(tmp_path)
    again = open_ca(settings(tmp_path, node_tls=False))
    assert again is not None
    assert again.certificate == authority.certificate


def test_the_key_is_for_the_portal_alone_and_the_certificate_for_nginx(tmp_path: Path) -> None:
    authority = made(tmp_path)
    key, bundle = tmp_path / "node-ca.key", tmp_path / "node-ca.crt"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(bundle.stat().st_mode) == 0o644
    assert "PRIVATE" not in bundle.read_text()
    assert x509.load_pem_x509_certificates(bundle.read_bytes()) == [authority.certificate]
    assert sorted(tmp_path.iterdir()) == [bundle, key]


def test_the_authority_may_sign_for_the_portals_own_names_only(tmp_path: Path) -> None:
    authority = made(tmp_path)
    extensions = authority.certificate.extensions
    basic = extensions.get_extension_for_class(x509.BasicConstraints)
    assert (basic.critical, basic.value.ca, basic.value.path_length) == (True, True, 0)
    usage = extensions.get_extension_for_class(x509.KeyUsage)
    assert (usage.critical, usage.value.key_cert_sign, usage.value.digital_signature) == (
        True,
        True,
        False,
    )
    names = extensions.get_extension_for_class(x509.NameConstraints)
    assert (names.critical, names.value.permitted_subtrees) == (True, [x509.DNSName(DOMAIN)])
    assert authority.expires_at - authority.made_at == LIFE


def test_what_it_signs(tmp_path: Path) -> None:
    authority, until = made(tmp_path), soon()
    identity = NodeIdentity()
    text = authority.sign(identity.request, NAME, until)
    found = x509.load_pem_x509_certificate(text.encode())
    found.verify_directly_issued_by(authority.certificate)
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert list(names) == [x509.DNSName(NAME)]
    assert found.not_valid_after_utc == until.replace(microsecond=0)
    basic = found.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (basic.critical, basic.value.ca) == (True, False)
    usage = found.extensions.get_extension_for_class(x509.KeyUsage).value
    assert (usage.digital_signature, usage.key_cert_sign) == (True, False)
    purposes = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purposes) == [ExtendedKeyUsageOID.SERVER_AUTH]


def test_names_and_extensions_of_a_csr_are_ignored(tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    request = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "portal.test")]))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("portal.test")]), critical=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    text = request.public_bytes(serialization.Encoding.PEM).decode()
    found = x509.load_pem_x509_certificate(made(tmp_path).sign(text, NAME, soon()).encode())
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert list(names) == [x509.DNSName(NAME)]
    assert not found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert "portal.test" not in found.subject.rfc4514_string()


def _of_rsa() -> str:
    key = rsa.generate_private_key(65537, 2048)
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    return request.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def _of_another_curve() -> str:
    key = ec.generate_private_key(ec.SECP384R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    return request.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def _of_a_key_that_is_anothers() -> str:
    text = NodeIdentity().request.splitlines()
    der = x509.load_pem_x509_csr("\n".join(text).encode()).public_bytes(serialization.Encoding.DER)
    broken = bytearray(der)
    broken[-1] ^= 1
    request = x509.load_der_x509_csr(bytes(broken))
    return request.public_bytes(serialization.Encoding.PEM).decode()


def _of_no_known_curve() -> str:
    der = x509.load_pem_x509_csr(NodeIdentity().request.encode()).public_bytes(
        serialization.Encoding.DER
    )
    p256 = bytes.fromhex("06082a8648ce3d030107")
    unknown = base64.b64encode(der.replace(p256, p256[:-1] + b"\x7f")).decode()
    return f"-----BEGIN CERTIFICATE REQUEST-----\n{unknown}\n-----END CERTIFICATE REQUEST-----\n"


@pytest.mark.parametrize(
    "request_of",
    [
        lambda: "",
        lambda: "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n",
        _of_rsa,
        _of_another_curve,
        _of_no_known_curve,
        _of_a_key_that_is_anothers,
    ],
)
def test_a_request_that_is_refused(tmp_path: Path, request_of: Any) -> None:
    authority = made(tmp_path)
    with pytest.raises(NodeCaError):
        authority.sign(request_of(), NAME, soon())


def test_nothing_outlives_the_authority(tmp_path: Path) -> None:
    authority = made(tmp_path)
    far = authority.expires_at + timedelta(days=1)
    found = x509.load_pem_x509_certificate(
        authority.sign(NodeIdentity().request, NAME, far).encode()
    )
    assert found.not_valid_after_utc == authority.expires_at


def test_an_authority_that_has_expired_signs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_ca, "LIFE", timedelta(seconds=-1))
    authority = made(tmp_path)
    with pytest.raises(NodeCaError, match="expired"):
        authority.sign(NodeIdentity().request, NAME, soon())


@pytest.mark.parametrize("content", ["", "nonsense" * 20])
def test_files_that_are_damaged_stop_the_start(tmp_path: Path, content: str) -> None:
    made(tmp_path)
    (tmp_path / "node-ca.key").write_text(content)
    with pytest.raises(NodeCaError, match="authority"):
        open_ca(settings(tmp_path))


def test_a_key_that_others_can_read_stops_the_start(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "node-ca.key").chmod(0o644)
    with pytest.raises(NodeCaError, match="open to others"):
        open_ca(settings(tmp_path))


def test_a_folder_that_can_not_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(NodeCaError, match="can't be written"):
        open_ca(settings(tmp_path, node_ca_key_file=tmp_path / "no" / "key"))


def test_a_lost_certificate_is_written_again(tmp_path: Path) -> None:
    authority = made(tmp_path)
    (tmp_path / "node-ca.crt").unlink()
    assert made(tmp_path).certificate == authority.certificate
    assert (tmp_path / "node-ca.crt").exists()


def test_two_portals_that_start_at_once_have_one_authority(tmp_path: Path) -> None:
    found: list[NodeCa] = []
    threads = [threading.Thread(target=lambda: found.append(made(tmp_path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({one.certificate.serial_number for one in found}) == 1
    assert len(found) == 8


def test_expiry_of_the_authority_is_reported_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert expiry(settings(tmp_path)) is None
    assert list(tmp_path.iterdir()) == []
    authority = made(tmp_path)
    assert expiry(settings(tmp_path)) == authority.expires_at

    def problem(**parts: Any) -> str | None:
        return nginx.check_node_ca(partial_context(settings=settings(tmp_path), **parts)).problem

    at_command_line: dict[str, Any] = {}
    running = {"is_serving": True, "node_ca": authority}
    for parts in (at_command_line, running, {"is_serving": True}):
        assert problem(**parts) is None
    monkeypatch.setattr(nginx, "utcnow", lambda: authority.expires_at - timedelta(days=30))
    for parts in (at_command_line, running):
        assert f"{authority.expires_at:%Y-%m-%d}" in str(problem(**parts))
    (tmp_path / "node-ca.key").chmod(0o644)
    assert "open to others" in str(problem())


# --- connecting -----------------------------------------------------------------------------------


@contextmanager
def serving(identity: NodeIdentity) -> Iterator[int]:
    """Run a server that completes TLS handshakes one after another."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            try:
                with identity.context.wrap_socket(connection, server_side=True) as talked_to:
                    talked_to.sendall(b"here")
            except OSError:
                connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def heard(authority: NodeCa, port: int, name: str = NAME) -> bytes:
    with (
        socket.create_connection(("127.0.0.1", port), 30) as plain,
        authority.context.wrap_socket(plain, server_hostname=name) as connection,
    ):
        return connection.recv(4)


def with_certificate(
    authority: NodeCa, name: str = NAME, until: datetime | None = None
) -> NodeIdentity:
    identity = NodeIdentity()
    identity.use_certificate(authority.sign(identity.request, name, until or soon()))
    return identity


def test_who_shows_the_name_that_is_asked_for_is_spoken_to(tmp_path: Path) -> None:
    authority = made(tmp_path)
    with serving(with_certificate(authority)) as port:
        assert heard(authority, port) == b"here"


def test_anothers_certificate_is_none(tmp_path: Path) -> None:
    authority = made(tmp_path)
    with (
        serving(with_certificate(authority, f"another.session.{DOMAIN}")) as port,
        pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"),
    ):
        heard(authority, port)


def test_a_certificate_of_another_authority_is_none(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    authority, other = made(tmp_path), made(tmp_path / "other")
    with (
        serving(with_certificate(other)) as port,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        heard(authority, port)


def test_what_the_old_authority_signed_stays_good_when_it_is_renewed(tmp_path: Path) -> None:
    old = made(tmp_path)
    before = with_certificate(old)
    new = renew(settings(tmp_path))
    assert new.certificate != old.certificate
    bundle = x509.load_pem_x509_certificates((tmp_path / "node-ca.crt").read_bytes())
    assert bundle == [new.certificate, old.certificate]
    for identity in (before, with_certificate(new)):
        with serving(identity) as port:
            assert heard(made(tmp_path), port) == b"here"


def test_a_certificate_for_another_key_is_not_taken(tmp_path: Path) -> None:
    authority = made(tmp_path)
    text = authority.sign(NodeIdentity().request, NAME, soon())
    for wrong in (text, "", "nonsense"):
        with pytest.raises(BadCertificate):
            NodeIdentity().use_certificate(wrong)
