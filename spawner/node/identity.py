"""Who a node program is, to whoever connects: a key that never leaves its process, and the
certificate that the portal signs for it.

The names in it are the portal's to choose; a request carries the key alone. Both lie in memory
only, for what Python's ssl reads from a file is read from one without a name (memfd_create(2)).
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

from spawner.node.home import Home, HomeError, NotWanted, Refused

log = logging.getLogger("portal")

EARLY = timedelta(minutes=30)
"""The portal's certificates end an hour after the job should: who lives in the last half of that
was given more time, and asks for another."""
AGAIN_S = 60.0
LOOK_S = 600.0
"""A node's clock may be set meanwhile, so nobody sleeps longer than this."""


class BadCertificate(HomeError):
    """What the portal answered is no certificate for our key."""


class Identity:
    """`request` is what the portal signs; `context` is what a server takes, once `take` has put
    the certificate into it. Connections that are open keep the certificate they began with."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context.num_tickets = 0  # nginx comes anew each time, the portal keeps its connections
        self.ends_at = datetime.now(UTC)

    @property
    def request(self) -> str:
        """PKCS #10, as PEM."""
        builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
        made = builder.sign(self._key, hashes.SHA256())
        return made.public_bytes(serialization.Encoding.PEM).decode()

    def take(self, certificate: str) -> None:
        """From now on this is shown. Raises BadCertificate."""
        try:
            self._take(certificate.encode())
        except (ValueError, ssl.SSLError) as error:
            raise BadCertificate(f"the portal's certificate can't be used: {error}") from error

    def _take(self, certificate: bytes) -> None:
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
    identity: Identity,
    home: Home,
    wait: Callable[[float], object] | None = None,
) -> None:
    """Ask for another certificate before this one ends, for as long as the program is wanted.
    For a thread of its own; `wait` is for tests."""
    pause = wait or threading.Event().wait
    while True:
        left = (identity.ends_at - EARLY - datetime.now(UTC)).total_seconds()
        if left > 0:
            pause(min(left, LOOK_S))
            continue
        try:
            identity.take(home.certificate(identity.request))
            log.info("the certificate is good until %s", identity.ends_at.isoformat())
        except (NotWanted, Refused) as answer:
            log.info("no other certificate: %s", answer)
            return
        except HomeError as error:
            log.warning("no other certificate yet: %s", error)
        pause(AGAIN_S)  # a new one may end soon, too: with the authority, or by this node's clock


def keep_valid_in_background(identity: Identity, home: Home) -> None:
    """Until the process ends."""
    threading.Thread(
        target=keep_valid, args=(identity, home), name="certificate", daemon=True
    ).start()
