"""Checks of nginx from outside: whether it answers at an address, proxies to the portal, and when
its certificate expires.

Blocks: call it in a thread.
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
PROBE_USER = "portal-check"
"""A name that no user has, where each user has a host."""


@dataclass(frozen=True)
class NginxAnswer:
    """An answer.

    `status` None: no answer, with the reason in `problem`. `certificate` is the reason why browsers
    would warn.
    """

    status: int | None
    text: str = ""
    problem: str | None = None
    certificate: str | None = None

    @property
    def is_portal(self) -> bool:
        return self.status == ALIVE and '"ok"' in self.text


def ask(url: str, cafile: str | None = None) -> NginxAnswer:
    """Request /healthz there. A certificate that browsers would refuse is reported, and ignored."""
    where = urlsplit(url)
    host, secure = where.hostname or "", where.scheme == "https"
    port = where.port or (443 if secure else 80)
    refused = _certificate_problem(host, port, cafile) if secure else None
    connection: http.client.HTTPConnection
    if secure:
        context = ssl.create_default_context(cafile=cafile)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # verified above
        connection = http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", f"{where.path.rstrip('/')}/healthz")
        answer = connection.getresponse()
        return NginxAnswer(
            answer.status, answer.read(1000).decode(errors="replace"), certificate=refused
        )
    except (OSError, http.client.HTTPException) as error:
        return NginxAnswer(None, problem=str(error) or type(error).__name__, certificate=refused)
    finally:
        connection.close()


def _certificate_problem(host: str, port: int, cafile: str | None) -> str | None:
    """Return the certificate's problem for a browser with this machine's authorities; None also
    without an answer.
    """
    context = ssl.create_default_context(cafile=cafile)
    try:
        with (
            socket.create_connection((host, port), timeout=TIMEOUT_S) as plain,
            context.wrap_socket(plain, server_hostname=host) as secured,
        ):
            shown = secured.getpeercert(binary_form=True)
    except ssl.SSLCertVerificationError as error:
        return f"the certificate of {host} is not valid: {error.verify_message}"
    except OSError:
        return None
    until = x509.load_der_x509_certificate(shown).not_valid_after_utc if shown else None
    return expiry(until, datetime.now(UTC)) if until else None


def ends_at(url: str) -> datetime | None:
    """Return `fetch_certificate_expiry` for a URL; None also for one without TLS."""
    where = urlsplit(url)
    if where.scheme != "https":
        return None
    return fetch_certificate_expiry(where.hostname or "", where.port or 443)


def fetch_certificate_expiry(host: str, port: int) -> datetime | None:
    """Return when the server's certificate expires, regardless of its issuer; None without one."""
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
    """Return that a certificate has expired, or soon will; else None."""
    if until <= now:
        return f"the certificate expired on {until:%Y-%m-%d}"
    if until - now < SOON:
        return f"the certificate expires on {until:%Y-%m-%d}"
    return None
