"""Requests from node programs of sessions. Of what they report, the portal trusts only the port.

They authenticate with the secret of their row; the node that they run on is taken from Slurm.
"""

import hmac
from typing import Any

import structlog

from portal.background.notifier import RECONCILE
from portal.context import AppContext
from portal.db import utcnow
from portal.errors import Gone, LoginRequired
from portal.models import Job, JobState, Session, Wanted
from portal.services.hashes import hash_token
from portal.services.slurm import certificates
from portal.services.slurm.lifecycle import build_observed_columns
from portal.services.slurm.placement import find_running_job, get_node_address
from portal.services.store import update_row
from spawner.slurm.model import Outcome

log = structlog.get_logger(__name__)

MAX_WAIT_S = 25.0


async def authenticate(context: AppContext, session_id: str, secret: str) -> Session:
    """Return the session with this secret. Raises LoginRequired without giving the reason."""
    async with context.db.session() as db:
        session = await db.get(Session, session_id)
    expected = session.secret_hash if session is not None else ""
    if session is None or not hmac.compare_digest(expected.encode(), hash_token(secret).encode()):
        raise LoginRequired("This address requires the session's secret.")
    return session


async def set_address(
    context: AppContext,
    session: Session,
    port: int,
    timings: dict[str, Any],
    csr: str | None = None,
) -> str | None:
    """Record that a session's node program listens on `port`; return the certificate for its
    signing request `csr`, if the site uses TLS on nodes. `timings` are the times of the program's
    steps until now.

    Raises Conflict until Slurm reports where the job runs, and Gone for a session that should not
    run.
    """
    check_wanted(session)
    info = await find_running_job(context, session)
    host = get_node_address(context, info)
    name = certificates.derive_name(session)
    certificate = certificates.issue_first(context, name, csr, info)

    def modify(row: Session) -> None:
        check_wanted(row)  # it may have ended since
        for column, value in build_observed_columns(row, info, utcnow()).items():
            setattr(row, column, value)
        row.target_host, row.target_port = host, port
        row.tls_name = name if certificate else None
        row.called_home_at = row.called_home_at or utcnow()
        row.timings = timings

    await update_row(context.db, Session, session.id, modify)
    context.notifier.notify(session.user_id, session.id)
    context.notifier.notify(RECONCILE)
    return certificate


async def certify(context: AppContext, session: Session, csr: str) -> str:
    """Return a certificate to replace one that expires soon. Raises Conflict, InvalidInput,
    Unavailable.
    """
    info = await find_running_job(context, session)
    return certificates.sign(context, certificates.derive_name(session), csr, info)


async def wait_for_server(
    context: AppContext, session: Session, wait_s: float
) -> dict[str, Any] | None:
    """Return the server (environment, arguments, base URL) that the hub wants the waiting program
    to become, or None if it is not known in time. Raises Gone for a session that should not run.
    """
    async with context.notifier.listen(session.id) as listener:
        while True:
            async with context.db.session() as db:
                row = await db.get(Session, session.id)
            if row is None:
                raise Gone
            check_wanted(row)
            if row.server_env is not None:
                return {
                    "env": row.server_env,
                    "args": row.server_args or [],
                    "base_url": row.base_url,
                }
            if not await listener.wait(min(wait_s, MAX_WAIT_S)):
                return None


async def report(context: AppContext, session: Session, event: str, message: str) -> None:
    """Record that a session's program ends; `message` is the reason if `event` is "failed".

    The message comes from the user's own process, so it is shown to the owner only. The program
    holds its port for some seconds after this request is answered. Then another process may take
    it, so the target is cleared here.
    """
    log.info("node program reports", session=session.id, event_=event, message=message[:200])

    def modify(row: Session) -> None:
        row.target_host = row.target_port = None
        if row.state is JobState.ENDED:
            return
        row.state = JobState.STOPPING
        if event == "failed":
            row.outcome, row.reason = Outcome.FAILED, message

    await update_row(context.db, Session, session.id, modify)
    context.notifier.notify(session.user_id)


def check_wanted(job: Job) -> None:
    """Raise Gone for a job that should not run, or not any longer."""
    if job.wanted is Wanted.STOP or job.state is JobState.ENDED:
        raise Gone
