"""TLS certificates for programs on the nodes, and how the portal connects to these programs.

A program gets a certificate for the host name that the portal gives it, once Slurm reports that its
job runs. It is valid for as long as the job may run, but at most for about a week. A row that has
such a name is contacted over TLS only.
"""

from datetime import datetime, timedelta
from typing import Any

from portal.context import AppContext
from portal.db import utcnow
from portal.errors import InvalidInput, Unavailable
from portal.models import BatchJob, Session, Tensorboard
from portal.node_ca import DOMAIN, NodeCa, NodeCaError
from spawner.slurm.model import JobInfo

MARGIN = timedelta(hours=1)
"""Slack for jobs that Slurm ends late. A program that lives long enough to reach it requests a new
certificate: its time limit was raised.
"""
LONGEST = timedelta(days=7)
LOST = (
    "The portal's certificate authority for nodes was replaced, so this can no longer be reached."
)


def derive_name(row: Session | Tensorboard | BatchJob) -> str:
    """Return the host name in a certificate: one per session, per run of a TensorBoard, and per
    batch job, for its SSH.
    """
    if isinstance(row, Tensorboard):
        return f"{row.run_id}.tensorboard.{DOMAIN}"
    if isinstance(row, BatchJob):
        return f"{row.id}.job.{DOMAIN}"
    return f"{row.id}.session.{DOMAIN}"


def issue_first(context: AppContext, name: str, csr: str | None, info: JobInfo) -> str | None:
    """Return the certificate for a program that reports its address and a signing request `csr`.

    Returns None if the program sends no signing request or the site does not use TLS on nodes.
    Raises InvalidInput, Unavailable.
    """
    if csr is None or not context.settings.node_tls:
        return None
    return sign(context, name, csr, info)


def sign(context: AppContext, name: str, csr: str, info: JobInfo) -> str:
    """Sign a certificate for this name. Raises InvalidInput for a malformed signing request, and
    Unavailable.
    """
    now = utcnow()
    try:
        return _require_authority(context).sign(
            csr, name, min(_find_job_end(info, now), now + LONGEST) + MARGIN
        )
    except NodeCaError as error:
        raise InvalidInput(f"No certificate: {error}.") from error


def build_connect_arguments(context: AppContext, tls_name: str | None) -> dict[str, Any]:
    """Return aiohttp's keyword arguments for a connection to a row's server.

    Empty for a server that speaks plain HTTP, else the TLS context and the name that its
    certificate must show. Raises Unavailable.
    """
    if tls_name is None:
        return {}
    return {"ssl": _require_authority(context).context, "server_hostname": tls_name}


def get_scheme(tls_name: str | None) -> str:
    """Return `https` for a server that has a certificate, else `http`."""
    return "http" if tls_name is None else "https"


def _require_authority(context: AppContext) -> NodeCa:
    if context.node_ca is None:
        raise Unavailable(LOST)
    return context.node_ca


def _find_job_end(info: JobInfo, now: datetime) -> datetime:
    """Return the time at which Slurm ends the job; for one without a time limit, the latest time
    that certificates are for.
    """
    if info.start_time is None or info.time_limit_minutes is None:
        return now + LONGEST
    return max(now, info.start_time + timedelta(minutes=info.time_limit_minutes))
