"""nginx health for the system status: reachability, and expiry of the certificates it serves.

Requests the portal's own /healthz at its public address. Only addresses of this machine are
contacted. Certificate signatures are not verified: the check is about whether nginx answers and
when its certificates expire, and it sends no secrets.
"""

import asyncio
import socket
from collections.abc import Iterator
from datetime import datetime
from urllib.parse import urlsplit

import aiohttp

from portal.config.settings import Settings
from portal.context import AppContext
from portal.db import utcnow
from portal.health import nginx_probe
from portal.health.status import ComponentState, ProbeResult, sentence
from portal.node_ca import NodeCa, is_soon

NODE_CA_ADVICE = "Run `portal node-ca --renew`, reload nginx, then restart the portal."
NGINX_S = 5.0
TIMEOUT_S = 30.0
"""Long enough for a slow name server, which is not nginx's fault."""
ADVICE = (
    "Check that nginx is running, and check its error log. Without it, users can't reach the "
    "portal."
)
CERTIFICATE_ADVICE = "Renew the certificate, then run `systemctl reload portal-nginx`."


async def probe_nginx(context: AppContext) -> ProbeResult:
    """Check nginx by requesting the portal at its public address."""
    url = context.settings.public_url
    host = urlsplit(url).hostname or ""
    try:
        is_here = await asyncio.to_thread(_resolves_here, host)
    except OSError as error:
        text = f"The name {host} does not resolve on this machine: {error.strerror}."
        return ProbeResult(ComponentState.UNKNOWN, text)
    if not is_here:
        text = f"{url} points to another machine, which the portal does not check."
        return ProbeResult(
            ComponentState.UNKNOWN, text, "Open it in a browser outside the cluster."
        )
    timeout = aiohttp.ClientTimeout(total=NGINX_S)
    try:
        async with context.http.get(
            f"{url}/healthz", timeout=timeout, ssl=False, allow_redirects=False
        ) as answer:
            status, text = answer.status, await answer.text(errors="replace")
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        text = f"No response from {url}: {sentence(str(error) or 'timed out')}"
        return ProbeResult(ComponentState.FAILING, text, ADVICE)
    if status != 200 or '"ok"' not in text[:100]:
        text = f"Requests to {url} do not reach the portal: status {status}."
        return ProbeResult(ComponentState.FAILING, text, ADVICE)
    return (
        await asyncio.to_thread(_check_main_certificate, url)
        or await asyncio.to_thread(_check_other_certificates, context.settings)
        or check_node_authority(context.node_ca, utcnow())
        or ProbeResult(ComponentState.OK, "Responding, and it reaches the portal.")
    )


def check_node_authority(authority: NodeCa | None, now: datetime) -> ProbeResult | None:
    """Report that the portal's authority for nodes expires soon."""
    if authority is None or not is_soon(authority.expires_at, now):
        return None
    text = (
        f"The portal's certificate authority for nodes expires on {authority.expires_at:%Y-%m-%d}."
    )
    return ProbeResult(ComponentState.FAILING, text, NODE_CA_ADVICE)


def _check_main_certificate(url: str) -> ProbeResult | None:
    """Report an expiring certificate of the main site. It comes first: it affects all users."""
    until = nginx_probe.ends_at(url)
    if until is None or nginx_probe.expiry(until, utcnow()) is None:
        return None
    text = f"Responding, but its certificate expires on {until:%Y-%m-%d}."
    if until <= utcnow():
        text = f"Responding, but its certificate expired on {until:%Y-%m-%d}."
    return ProbeResult(ComponentState.FAILING, text, CERTIFICATE_ADVICE)


def _check_other_certificates(settings: Settings) -> ProbeResult | None:
    """Report the first expiring certificate among the other hosts that nginx serves here."""
    for name, url in _iter_other_hosts(settings):
        host = urlsplit(url).hostname or ""
        try:
            until = nginx_probe.ends_at(url) if _resolves_here(host) else None
        except OSError:  # an unresolvable name: `portal check` reports it
            continue
        if until is None or nginx_probe.expiry(until, utcnow()) is None:
            continue
        text = f"Responding, but the certificate of {name} {host} expires on {until:%Y-%m-%d}."
        if until <= utcnow():
            text = f"Responding, but the certificate of {name} {host} expired on {until:%Y-%m-%d}."
        return ProbeResult(ComponentState.FAILING, text, CERTIFICATE_ADVICE)
    return None


def _iter_other_hosts(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the setting's name and the URL of each other host."""
    for name, hosts in settings.content_hosts:
        yield name, hosts.origin_of(nginx_probe.PROBE_USER)
    yield "node_url", settings.node_url


def _resolves_here(host: str) -> bool:
    """Return whether every address of this name is this machine's: only those can be bound to."""
    found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    return bool(found) and all(
        _is_local_address(family, address) for family, _, _, _, address in found
    )


def _is_local_address(family: int, address: object) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as tried:
        try:
            tried.bind(address)  # type: ignore[arg-type]  # getaddrinfo's own, port 0
        except OSError:
            return False
    return True
