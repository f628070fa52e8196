"""The front door from outside: whether nginx answers at an address, leads to the portal, and how
long its certificate still holds. Blocks: call it in a thread.
"""

import http.client
import socket
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from cryptography import x509

TIMEOUT_S = 5.0
SOON = timedelta(days=14)
ALIVE, AWAY = 200, 503
ANYBODY = "portal-check"
"""Where everyone has a host of their own: somebody of whom nobody has ever heard."""


@dataclass(frozen=True)
class Answer:
    """`status` None: none, and `problem` says why. `certificate` is why browsers would warn."""

    status: int | None
    text: str = ""
    problem: str | None = None
    certificate: str | None = None

    @property
    def is_portal(self) -> bool:
        return self.status == ALIVE and '"ok"' in self.text


def ask(url: str, cafile: str | None = None) -> Answer:
    """GET /healthz there. A certificate that browsers would refuse is told, and passed by."""
    where = urlsplit(url)
    host, secure = where.hostname or "", where.scheme == "https"
    port = where.port or (443 if secure else 80)
    refused = _certificate_problem(host, port, cafile) if secure else None
    connection: http.client.HTTPConnection
    if secure:
        context = ssl.create_default_context(cafile=cafile)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # looked at above
        connection = http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", f"{where.path.rstrip('/')}/healthz")
        answer = connection.getresponse()
        return Answer(
            answer.status, answer.read(1000).decode(errors="replace"), certificate=refused
        )
    except (OSError, http.client.HTTPException) as error:
        return Answer(None, problem=str(error) or type(error).__name__, certificate=refused)
    finally:
        connection.close()


def _certificate_problem(host: str, port: int, cafile: str | None) -> str | None:
    """As a browser with this machine's authorities would see it; None too where nobody answers."""
    context = ssl.create_default_context(cafile=cafile)
    try:
        with (
            socket.create_connection((host, port), timeout=TIMEOUT_S) as plain,
            context.wrap_socket(plain, server_hostname=host) as secured,
        ):
            shown = secured.getpeercert(binary_form=True)
    except ssl.SSLCertVerificationError as error:
        return f"the certificate shown at {host} isn't good: {error.verify_message}"
    except OSError:
        return None
    until = x509.load_der_x509_certificate(shown).not_valid_after_utc if shown else None
    return expiry(until, datetime.now(UTC)) if until else None


def ends_at(url: str) -> datetime | None:
    """`shown_until` of where a URL leads; None too for one without TLS."""
    where = urlsplit(url)
    if where.scheme != "https":
        return None
    return shown_until(where.hostname or "", where.port or 443)


def shown_until(host: str, port: int) -> datetime | None:
    """When the certificate that is shown there ends, whoever signed it; None without one."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection((host, port), timeout=TIMEOUT_S) as plain,
            context.wrap_socket(plain, server_hostname=host) as secured,
        ):
            shown = secured.getpeercert(binary_form=True)
    except OSError:
        return None
    return x509.load_der_x509_certificate(shown).not_valid_after_utc if shown else None


def expiry(until: datetime, now: datetime) -> str | None:
    """Whether a certificate has ended, or soon will."""
    if until <= now:
        return f"the certificate expired on {until:%Y-%m-%d}"
    if until - now < SOON:
        return f"the certificate expires on {until:%Y-%m-%d}"
    return None
