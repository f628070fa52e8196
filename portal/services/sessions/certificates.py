"""Certificates for what runs on the nodes, and how the portal connects to what shows one.

A program gets one for the name that the portal gives it, once Slurm has said that its job runs, and
for as long as the job may take. A row that has such a name is spoken to over TLS only.
"""

from datetime import datetime, timedelta
from typing import Any

from portal.db import utcnow
from portal.errors import InvalidInput, Unavailable
from portal.models import Session, Tensorboard
from portal.node_ca import DOMAIN, NodeCa, NodeCaError, is_soon
from portal.parts import Parts
from portal.services.status import Found, State
from spawner.model import JobInfo

MARGIN = timedelta(hours=1)
"""For what Slurm ends late. A program asks anew in the midst of it, if it lives that long: then it
was given more time."""
LONGEST = timedelta(days=7)
RENEW = "Run `portal node-ca --renew`, reload nginx, and restart the portal after that."
LOST = "The portal's authority for nodes is gone, so this can't be reached any more."


def name_of(row: Session | Tensorboard) -> str:
    """The name in a certificate: a session's own, and of a TensorBoard each run's."""
    if isinstance(row, Tensorboard):
        return f"{row.run_id}.tensorboard.{DOMAIN}"
    return f"{row.id}.session.{DOMAIN}"


def first(parts: Parts, name: str, request: str | None, info: JobInfo) -> str | None:
    """The certificate for a program that calls home; None where it asks for none, or the site
    wants none. Raises InvalidInput."""
    if request is None or not parts.settings.node_tls:
        return None
    return signed(parts, name, request, info)


def signed(parts: Parts, name: str, request: str, info: JobInfo) -> str:
    """A certificate under this name. Raises InvalidInput, Unavailable."""
    now = utcnow()
    try:
        return _authority(parts).sign(request, name, min(_end(info, now), now + LONGEST) + MARGIN)
    except NodeCaError as error:
        raise InvalidInput(f"No certificate: {error}.") from error


def connecting(parts: Parts, tls_name: str | None) -> dict[str, Any]:
    """What aiohttp is told for a connection to a row's server: nothing for one that speaks plain
    HTTP, else whose certificate it must show. Raises Unavailable."""
    if tls_name is None:
        return {}
    return {"ssl": _authority(parts).context, "server_hostname": tls_name}


def scheme(tls_name: str | None) -> str:
    """`https` for what shows a certificate."""
    return "http" if tls_name is None else "https"


def aged(authority: NodeCa | None, now: datetime) -> Found | None:
    """What the status says of an authority that ends soon; None of any other."""
    if authority is None or not is_soon(authority.expires_at, now):
        return None
    text = f"The portal's authority for nodes expires on {authority.expires_at:%Y-%m-%d}."
    return Found(State.FAILING, text, RENEW)


def _authority(parts: Parts) -> NodeCa:
    if parts.node_ca is None:
        raise Unavailable(LOST)
    return parts.node_ca


def _end(info: JobInfo, now: datetime) -> datetime:
    """When Slurm ends the job; far off where it has no limit."""
    if info.start_time is None or info.time_limit_minutes is None:
        return now + LONGEST
    return max(now, info.start_time + timedelta(minutes=info.time_limit_minutes))
