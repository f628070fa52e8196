"""TLS identity of a node program: a key that never leaves the process, and a certificate for it.

The portal signs the certificate and chooses its names; a request contains only the key. Both are in
memory only: Python's ssl requires a file, so an anonymous one is used (memfd_create(2)).
"""

from __future__ import annotations

import logging
import os
import ssl
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from spawner.node.portal_client import NotWanted, PortalClient, PortalRefused, PortalRequestError

log = logging.getLogger("portal")

EARLY = timedelta(minutes=30)
"""The portal's certificates end an hour after the job's time limit: a program that runs in the
last half of that hour was given more time, and requests another certificate."""
RETRY_S = 60.0
MAX_SLEEP_S = 600.0
"""Maximum sleep, because a node's clock may be changed."""


class BadCertificate(PortalRequestError):
    """The portal's answer is no certificate for this key."""


class NodeIdentity:
    """Key and certificate.

    `request` is for the portal to sign; `context` is the server's TLS context, complete after
    `use_certificate`. Open connections keep the certificate they began with.
    """

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        # tickets are useless: nginx never resumes, and the portal keeps its connections
        self.context.num_tickets = 0
        self.ends_at = datetime.now(UTC)

    @property
    def request(self) -> str:
        """Return the certificate request: PKCS #10, as PEM."""
        builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
        signed = builder.sign(self._key, hashes.SHA256())
        return signed.public_bytes(serialization.Encoding.PEM).decode()

    def use_certificate(self, certificate: str) -> None:
        """Serve this certificate from now on. Raises BadCertificate."""
        try:
            self._load(certificate.encode())
        except (ValueError, ssl.SSLError) as error:
            raise BadCertificate(f"the portal's certificate can't be used: {error}") from error

    def _load(self, certificate: bytes) -> None:
        ends_at = x509.load_pem_x509_certificate(certificate).not_valid_after_utc
        private = self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        descriptor = os.memfd_create("identity", os.MFD_CLOEXEC)
        with os.fdopen(descriptor, "wb") as file:
            file.write(private + certificate)
            file.flush()
            self.context.load_cert_chain(f"/proc/self/fd/{descriptor}")
        self.ends_at = ends_at


def keep_valid(
    identity: NodeIdentity,
    portal: PortalClient,
    wait: Callable[[float], object] | None = None,
) -> None:
    """Renew the certificate before it ends, as long as the portal wants the program.

    Runs in its own thread; `wait` is for tests.
    """
    pause = wait or threading.Event().wait
    while True:
        seconds_left = (identity.ends_at - EARLY - datetime.now(UTC)).total_seconds()
        if seconds_left > 0:
            pause(min(seconds_left, MAX_SLEEP_S))
            continue
        try:
            identity.use_certificate(portal.certificate(identity.request))
            log.info("the certificate is valid until %s", identity.ends_at.isoformat())
        except (NotWanted, PortalRefused) as answer:
            log.info("certificate not renewed: %s", answer)
            return
        except PortalRequestError as error:
            log.warning("certificate not renewed yet: %s", error)
        pause(RETRY_S)  # a new certificate may end soon too, with the CA's or by this node's clock


def keep_valid_in_background(identity: NodeIdentity, portal: PortalClient) -> None:
    """Start `keep_valid` in a daemon thread."""
    threading.Thread(
        target=keep_valid, args=(identity, portal), name="certificate", daemon=True
    ).start()
