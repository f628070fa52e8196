"""What node programs say, and what of it is believed: nothing but a port.

They prove with their secret which row they belong to; which node they run on is asked of Slurm.
"""

import hmac
from typing import Any

import structlog

from portal.db import utcnow
from portal.errors import Conflict, Gone, LoginRequired
from portal.models import Job, JobState, Session, Wanted
from portal.parts import Parts
from portal.services.changes import RECONCILE
from portal.services.sessions import certificates
from portal.services.slurm.launch import hashed
from portal.services.slurm.lifecycle import from_outside, is_ours, observe
from portal.services.store import change
from spawner.model import JobInfo, Outcome, SlurmState

log = structlog.get_logger(__name__)

MAX_WAIT_S = 25.0


async def authenticated(parts: Parts, session_id: str, secret: str) -> Session:
    """The session whose secret this is; raises LoginRequired without saying what was wrong."""
    async with parts.db.session() as db:
        session = await db.get(Session, session_id)
    known = session.secret_hash if session is not None else ""
    if session is None or not hmac.compare_digest(known.encode(), hashed(secret).encode()):
        raise LoginRequired("This address wants a session's own secret.")
    return session


async def hello(
    parts: Parts, session: Session, port: int, timings: dict[str, Any], request: str | None = None
) -> str | None:
    """A session's node program listens on `port`, and may want a certificate: that is what is
    returned. Raises Conflict until Slurm says where it runs."""
    check_wanted(session)
    info = await where_it_runs(parts, session)
    host = node_address(parts, info)
    name = certificates.name_of(session)
    certificate = certificates.first(parts, name, request, info)

    def apply(row: Session) -> None:
        for column, value in observe(row, info, utcnow()).items():
            setattr(row, column, value)
        row.target_host, row.target_port = host, port
        row.tls_name = name if certificate else None
        row.called_home_at = row.called_home_at or utcnow()
        row.timings = timings

    await change(parts.db, Session, session.id, apply)
    parts.changes.notify(session.user_id, session.id)
    parts.changes.notify(RECONCILE)
    return certificate


async def certify(parts: Parts, session: Session, request: str) -> str:
    """A certificate in place of one that ends soon. Raises Conflict, InvalidInput, Unavailable."""
    info = await where_it_runs(parts, session)
    return certificates.signed(parts, certificates.name_of(session), request, info)


async def wait_for_server(parts: Parts, session: Session, wait_s: float) -> dict[str, Any] | None:
    """What the hub wants the waiting program to become, or None if that is not known in time."""
    async with parts.changes.listen(session.id) as listener:
        while True:
            async with parts.db.session() as db:
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


async def report(parts: Parts, session: Session, event: str, message: str) -> None:
    """The program says that it ends, and why. The words are the user's own: shown to the owner,
    no more. It holds its port until this is answered; then it may be anyone's, so nobody is sent
    there from here on."""
    log.info("node program reports", session=session.id, event_=event, message=message[:200])

    def apply(row: Session) -> None:
        row.target_host = row.target_port = None
        if row.state is JobState.ENDED:
            return
        row.state = JobState.STOPPING
        if event == "failed":
            row.outcome, row.reason = Outcome.FAILED, message

    await change(parts.db, Session, session.id, apply)
    parts.changes.notify(session.user_id)


async def where_it_runs(parts: Parts, job: Job) -> JobInfo:
    """Slurm's word on a job that claims to run; one look is shared by all who ask at once."""
    info = known(parts, job)
    if info is None or info.state is not SlurmState.RUNNING:
        await parts.watcher.look()
        info = known(parts, job)
    if info is None or info.state is not SlurmState.RUNNING or not info.nodes:
        raise Conflict("Slurm does not say yet that this job runs.")
    if not is_ours(job, info):
        raise Conflict("Slurm's job of this id is another one.")
    return info


def known(parts: Parts, job: Job) -> JobInfo | None:
    """Slurm's last word on a job, by our id, its owner, and Slurm's id where we have it."""
    return parts.watcher.by_uuid(
        job.id, job.user.username, job.job_id, job.created_at, from_outside(job)
    )


def node_address(parts: Parts, info: JobInfo) -> str:
    """The address of a job's first node, as Slurm knows it; raises Conflict while unknown."""
    cluster = parts.watcher.cluster
    for node in cluster.nodes if cluster else ():
        if node.name == info.nodes[0]:
            return node.address
    raise Conflict("Slurm does not say yet where this node is.")


def check_wanted(job: Job) -> None:
    """Raises Gone for what should not run (any more)."""
    if job.wanted is Wanted.STOP or job.state is JobState.ENDED:
        raise Gone
