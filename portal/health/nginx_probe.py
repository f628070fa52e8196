"""Requests to nginx from outside: whether it answers, and with which certificate. Blocks."""

import http.client
import socket
import ssl
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from cryptography import x509

TIMEOUT_S = 5.0
EXPIRES_SOON = timedelta(days=14)
ALIVE, UNAVAILABLE = 200, 503
IGNORE_TIME = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME (openssl/x509_vfy.h): `expiry` reports certificates that expired."""


@dataclass(frozen=True)
class NginxAnswer:
    """An answer. `status` None: no answer, with the reason in `problem`."""

    status: int | None
    text: str = ""
    problem: str = ""

    @property
    def is_portal(self) -> bool:
        return self.status == ALIVE and '"ok"' in self.text


def ask(url: str) -> NginxAnswer:
    """Request /healthz there, with any certificate. Sends no secrets and follows no redirect."""
    where = urlsplit(url)
    host, port = _split(url)
    connection: http.client.HTTPConnection
    if where.scheme == "https":
        connection = http.client.HTTPSConnection(
            host, port, timeout=TIMEOUT_S, context=_trust_any()
        )
    else:
        connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", f"{where.path.rstrip('/')}/healthz")
        answer = connection.getresponse()
        return NginxAnswer(answer.status, answer.read(1000).decode(errors="replace"))
    except (OSError, http.client.HTTPException) as error:
        return NginxAnswer(None, problem=str(error) or type(error).__name__)
    finally:
        connection.close()


def find_distrust(url: str, cafile: str | None = None) -> str | None:
    """Return why browsers with this machine's authorities would refuse the certificate, other than
    by its age; None also without TLS or without an answer.
    """
    context = ssl.create_default_context(cafile=cafile)
    context.verify_flags |= IGNORE_TIME
    try:
        _fetch_certificate(url, context)
    except ssl.SSLCertVerificationError as error:
        return f"the certificate of {urlsplit(url).hostname} is not valid: {error.verify_message}"
    except OSError:
        return None
    return None


def fetch_expiry(url: str) -> datetime | None:
    """Return when the server's certificate expires, regardless of its issuer; None without one."""
    try:
        shown = _fetch_certificate(url, _trust_any())
    except OSError:
        return None
    return x509.load_der_x509_certificate(shown).not_valid_after_utc if shown else None


def _fetch_certificate(url: str, context: ssl.SSLContext) -> bytes | None:
    if urlsplit(url).scheme != "https":
        return None
    host, port = _split(url)
    with (
        socket.create_connection((host, port), timeout=TIMEOUT_S) as plain,
        context.wrap_socket(plain, server_hostname=host) as secured,
    ):
        return secured.getpeercert(binary_form=True)


def _split(url: str) -> tuple[str, int]:
    where = urlsplit(url)
    return where.hostname or "", where.port or (443 if where.scheme == "https" else 80)


def _trust_any() -> ssl.SSLContext:
    # not create_default_context, which reads all authorities of this machine: 30 ms each time
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def resolves_here(host: str) -> bool:
    """Return whether every address of this name is this machine's: only those can be bound to.

    Raises OSError if the name does not resolve.
    """
    addresses = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    return bool(addresses) and all(
        _is_local_address(family, address) for family, _, _, _, address in addresses
    )


def _is_local_address(family: int, address: object) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as tried:
        try:
            tried.bind(address)  # type: ignore[arg-type]  # getaddrinfo's own, port 0
        except OSError:
            return False
    return True
