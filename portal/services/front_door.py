"""What the system's status finds out about nginx: the portal's own /healthz at its public address,
and how long the certificates hold that are shown at its hosts.

Only what leads to this very machine is asked. Who signed a certificate isn't looked at: the
question is whether nginx is there, and for how long it will do, and nothing secret is sent.
"""

import asyncio
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import aiohttp

from portal import front
from portal.db import utcnow
from portal.parts import Parts
from portal.services.sessions import certificates
from portal.services.status import Found, State, sentence
from portal.settings import Settings

NGINX_S = 5.0
TIMEOUT_S = 30.0
"""For a name server that is slow, too: that is no fault of nginx's."""
ADVICE = "Look whether nginx runs, and in its error log. Nobody gets in without it."
CERTIFICATE_ADVICE = "Renew the certificate, then run `systemctl reload portal-nginx`."


async def look(parts: Parts) -> Found:
    """The portal through its own front door."""
    url = parts.settings.public_url
    host = urlsplit(url).hostname or ""
    try:
        is_here = await asyncio.to_thread(_leads_here, host)
    except OSError as error:
        text = f"The name {host} can't be looked up on this machine: {error.strerror}."
        return Found(State.UNKNOWN, text)
    if not is_here:
        text = f"{url} leads to another machine, which the portal doesn't ask."
        return Found(State.UNKNOWN, text, "Open it in a browser outside the cluster.")
    timeout = aiohttp.ClientTimeout(total=NGINX_S)
    try:
        async with parts.http.get(
            f"{url}/healthz", timeout=timeout, ssl=False, allow_redirects=False
        ) as answer:
            status, text = answer.status, await answer.text(errors="replace")
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        text = f"Nothing answers at {url}: {sentence(str(error) or 'no answer in time')}"
        return Found(State.FAILING, text, ADVICE)
    if status != 200 or '"ok"' not in text[:100]:
        text = f"What answers at {url} doesn't lead to the portal: it says {status}."
        return Found(State.FAILING, text, ADVICE)
    return (
        await asyncio.to_thread(_by_certificate, url)
        or await asyncio.to_thread(_by_others, parts.settings)
        or certificates.aged(parts.node_ca, utcnow())
        or Found(State.OK, "It answers, and reaches the portal.")
    )


def _by_certificate(url: str) -> Found | None:
    """Whom browsers see comes first: this certificate's end is everybody's end."""
    until = front.ends_at(url)
    if until is None or front.expiry(until, utcnow()) is None:
        return None
    text = f"It answers, but its certificate expires on {until:%Y-%m-%d}."
    if until <= utcnow():
        text = f"It answers, but its certificate expired on {until:%Y-%m-%d}."
    return Found(State.FAILING, text, CERTIFICATE_ADVICE)


def _by_others(settings: Settings) -> Found | None:
    """Of what else nginx serves on this machine, the first whose certificate ends."""
    for name, url in _others(settings):
        host = urlsplit(url).hostname or ""
        try:
            until = front.ends_at(url) if _leads_here(host) else None
        except OSError:  # a name that isn't known here: `portal check` says so
            continue
        if until is None or front.expiry(until, utcnow()) is None:
            continue
        text = f"It answers, but the certificate of {name} {host} expires on {until:%Y-%m-%d}."
        if until <= utcnow():
            text = f"It answers, but the certificate of {name} {host} expired on {until:%Y-%m-%d}."
        return Found(State.FAILING, text, CERTIFICATE_ADVICE)
    return None


def _others(settings: Settings) -> Iterator[tuple[str, str]]:
    """Each by its setting."""
    if settings.content is not None:
        yield "content_url", settings.content.origin_of(front.ANYBODY)
    yield "node_url", settings.node_url


def _leads_here(host: str) -> bool:
    """Whether every address of this name is this machine's: those can be bound to, no others."""
    found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    return bool(found) and all(_is_own(family, address) for family, _, _, _, address in found)


def _is_own(family: int, address: object) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as tried:
        try:
            tried.bind(address)  # type: ignore[arg-type]  # getaddrinfo's own, port 0
        except OSError:
            return False
    return True
