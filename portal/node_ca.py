"""The portal's own certificate authority: by its certificates, programs on the nodes prove to nginx
and to the portal which session, job or TensorBoard they belong to.

It signs only names that the portal generates, below a private domain, and for a short time. One
file holds its key and its certificate, mode 0600; a file beside it holds its certificate and those
of its predecessors, for nginx. This module knows neither database nor requests.
"""

import os
import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from portal.config.settings import Settings, read_secret

DOMAIN = "portal.internal"
"""ICANN has reserved `internal` for private use; resolvers are never queried for it."""
LIFE = timedelta(days=3650)
EXPIRES_SOON = timedelta(days=90)
"""The authority's age is reported as a problem this long before it expires."""
BACKDATED = timedelta(minutes=5)
"""For nginx on a machine with a clock that is slightly behind."""


class NodeCaError(ValueError):
    """The authority's files or a certificate request cannot be used; the message has the reason."""


@dataclass(frozen=True)
class NodeCa:
    """A certificate authority, read from its files. `bundle` is the file for nginx."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    bundle: Path

    @property
    def made_at(self) -> datetime:
        return self.certificate.not_valid_before_utc + BACKDATED

    @property
    def expires_at(self) -> datetime:
        return self.certificate.not_valid_after_utc

    @cached_property
    def context(self) -> ssl.SSLContext:
        """Return the TLS context for connecting to a node: it accepts only our certificates for the
        requested name.

        Loaded once; a renewed authority takes effect with the portal's next start.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_verify_locations(cafile=str(self.bundle))
        return context

    def sign(self, request: str, name: str, until: datetime) -> str:
        """Issue a certificate for the key in this request (PEM), for `name` only: the names in the
        request are ignored.

        Raises NodeCaError.
        """
        key = _parse_public_key(request)
        now = datetime.now(UTC)
        end = min(until, self.expires_at)
        if end <= now:
            raise NodeCaError("the portal's certificate authority for nodes has expired: renew it")
        usage = x509.KeyUsage(
            digital_signature=True, content_commitment=False, key_encipherment=False,
            data_encipherment=False, key_agreement=False, key_cert_sign=False, crl_sign=False,
            encipher_only=False, decipher_only=False,
        )  # fmt: skip
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        signed = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(self.certificate.subject)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - BACKDATED)
            .not_valid_after(end)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(issuer, critical=False)
            .sign(self.key, hashes.SHA256())
        )
        return signed.public_bytes(serialization.Encoding.PEM).decode()


def _parse_public_key(request: str) -> ec.EllipticCurvePublicKey:
    try:
        csr = x509.load_pem_x509_csr(request.encode())
        is_theirs = csr.is_signature_valid
        key = csr.public_key()
    except (ValueError, UnsupportedAlgorithm) as error:
        raise NodeCaError("this isn't a certificate request") from error
    if not is_theirs or not isinstance(key, ec.EllipticCurvePublicKey):
        raise NodeCaError("a certificate request must be signed with its own EC key")
    if not isinstance(key.curve, ec.SECP256R1):
        raise NodeCaError("a certificate key must use P-256")
    return key


def is_soon(end: datetime, now: datetime) -> bool:
    """Return whether an authority that expires at `end` should be renewed."""
    return end - now < EXPIRES_SOON


def open_ca(settings: Settings) -> NodeCa | None:
    """Open the authority of these settings; create it if it does not exist.

    None if it never existed and node_tls is off; an existing one is kept for the certificates of
    earlier sessions. Raises NodeCaError.
    """
    file = settings.node_ca_key
    if not file.exists():
        if not settings.node_tls:
            return None
        _write_file(file, _generate_pair(), replace=False)
    return _open_existing(settings)


def expiry(settings: Settings) -> datetime | None:
    """Return when the authority expires, None if there is none; creates nothing.

    Raises NodeCaError.
    """
    file = settings.node_ca_key
    return _read_pair(file)[1].not_valid_after_utc if file.exists() else None


def renew(settings: Settings) -> NodeCa:
    """Create a new authority. Certificates of the old one stay valid. Raises NodeCaError."""
    _write_file(settings.node_ca_key, _generate_pair(), replace=True)
    return _open_existing(settings)


def _open_existing(settings: Settings) -> NodeCa:
    key, certificate = _read_pair(settings.node_ca_key)
    _publish(certificate, settings.node_ca_certificate)
    return NodeCa(key, certificate, settings.node_ca_certificate)


def _read_pair(file: Path) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    try:
        pair = read_secret(file).encode()
        key = serialization.load_pem_private_key(pair, password=None)
        certificate = x509.load_pem_x509_certificate(pair)
    except ValueError as error:
        raise NodeCaError(f"the certificate authority for nodes can't be read: {error}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise NodeCaError(f"{file} has no key of the portal")
    return key, certificate


def _publish(certificate: x509.Certificate, bundle: Path) -> None:
    """Add the certificate to the file for nginx, before the present ones that have not expired."""
    try:
        known = x509.load_pem_x509_certificates(bundle.read_bytes()) if bundle.exists() else []
    except (OSError, ValueError) as error:
        raise NodeCaError(f"{bundle} can't be read: {error}") from error
    if certificate in known:
        return
    now = datetime.now(UTC)
    valid = [certificate, *(cert for cert in known if cert.not_valid_after_utc > now)]
    text = b"".join(cert.public_bytes(serialization.Encoding.PEM) for cert in valid)
    _write_file(bundle, text, replace=True, mode=0o644)


def _write_file(file: Path, content: bytes, *, replace: bool, mode: int = 0o600) -> None:
    """Write a file atomically; without `replace`, one of several concurrent writers wins."""
    try:
        # created with mode 0600
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
        fresh = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as written:
                written.write(content)
                written.flush()
                os.fchmod(written.fileno(), mode)
                os.fsync(written.fileno())
            if replace:
                fresh.replace(file)
                return
            if not file.exists():
                file.hardlink_to(fresh)
        finally:
            fresh.unlink(missing_ok=True)
    except FileExistsError:
        return
    except OSError as error:
        raise NodeCaError(f"{file} can't be written: {error.strerror}") from error


def _generate_pair() -> bytes:
    """Generate a key and its certificate, which may sign names below DOMAIN only: trusting it
    elsewhere grants no more than that.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    subject = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, f"Portal's nodes {now:%Y-%m-%d %H:%M:%S}")]
    )
    usage = x509.KeyUsage(
        digital_signature=False, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, key_cert_sign=True, crl_sign=False,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip
    names = x509.NameConstraints(permitted_subtrees=[x509.DNSName(DOMAIN)], excluded_subtrees=None)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(names, critical=True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return private + certificate.public_bytes(serialization.Encoding.PEM)
