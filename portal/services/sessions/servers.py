"""The hub's view of sessions: named servers that it asks the portal to start, poll and stop."""

import asyncio
import time
from contextlib import suppress

import aiohttp
import structlog
from sqlalchemy import select
from yarl import URL

from portal.background.notifier import RECONCILE
from portal.context import AppContext
from portal.db import utcnow
from portal.errors import Conflict, NotFound
from portal.models import JobState, Session, User, Wanted
from portal.services.sessions.gate import Decision, GateAnswer, LiveSession, host_port
from portal.services.slurm import certificates, launch
from portal.services.slurm.placement import find_last_state
from portal.services.store import update_row
from spawner import signing
from spawner.slurm.model import JobPhase

log = structlog.get_logger(__name__)

START_TIMEOUT_S = 60.0
RETRY_S = 0.05
PROOF_TIMEOUT = aiohttp.ClientTimeout(total=2)
TOKEN = "JUPYTERHUB_API_TOKEN"  # noqa: S105


async def find(context: AppContext, username: str, name: str) -> Session | None:
    """Return the live session behind a named server, or None."""
    query = (
        select(Session)
        .join(User, Session.user_id == User.id)
        .where(User.username == username, Session.name == name, Session.state != JobState.ENDED)
    )
    async with context.db.session() as db:
        return (await db.scalars(query)).first()


async def start(
    context: AppContext,
    username: str,
    name: str,
    env: dict[str, str],
    args: list[str],
    base_url: str,
) -> dict[str, str]:
    """Hand the hub's server to the waiting node program, and return once it serves. Repeatable.

    A program that has become a server stays that server: if the hub comes with another token
    (because it lost its database, or gave up), it is given the running server's token and takes
    that server over. Raises NotFound if no such session is wanted, Conflict if it cannot become
    this server.
    """
    session = await find(context, username, name)
    if session is None or session.wanted is Wanted.STOP:
        raise NotFound("There is no such session.")
    if session.target_port is None:
        raise Conflict("The session has not contacted the portal yet.")
    if base_url != session.base_url:
        raise Conflict("JupyterHub and the portal have different addresses for this server.")

    def modify(row: Session) -> None:
        if row.server_env is None:
            row.server_env, row.server_args = env, args
            row.adopted_at = utcnow()

    adopted = await update_row(context.db, Session, session.id, modify) or session
    context.notifier.notify(session.id, session.user_id)
    await _wait_until_serving(context, session)
    await _mark_ready(context, session)
    token = str((adopted.server_env or env).get(TOKEN, ""))
    return {"session_id": session.id, "url": build_url(session), "api_token": token}


def build_url(session: Session) -> str:
    scheme = certificates.get_scheme(session.tls_name)
    return f"{scheme}://{host_port(session.target_host or '', session.target_port or 0)}"


def is_alive(session: Session | None) -> bool:
    """Return whether the hub should regard the server as running: from when the program has been
    given the server until a stop is requested or the session has ended. `session` is the live
    session, as from `find`.
    """
    if session is None or session.wanted is Wanted.STOP:
        return False
    return session.server_env is not None and session.target_port is not None


async def is_running(context: AppContext, session: Session | None) -> bool:
    """Like `is_alive`, but False for a job that Slurm certainly no longer has.

    After a start of all services the hub polls before the reconcile loop has queried Slurm, and
    would wait for a server that is long gone.
    """
    if session is None or not is_alive(session):
        return False
    info = find_last_state(context, session)
    if info is None:
        await context.watcher.refresh()
        info = find_last_state(context, session)
    if info is None:
        return context.watcher.stale_since is not None
    return info.phase is not JobPhase.ENDED


async def confirm(context: AppContext, decision: Decision, live: LiveSession | None) -> Decision:
    """Return the gate's decision, UNAVAILABLE instead of ENTER if the session's server does not
    prove that it still has its port.

    Only while Slurm does not answer: then a killed session stays `running`, and another user's
    program may have taken its port. nginx requires a certificate from a server that has one.
    """
    if decision.answer is not GateAnswer.ENTER or live is None:
        return decision
    if live.stale_since is None or live.tls_name is not None:
        return decision
    return decision if await _has_proof(context, live) else Decision(GateAnswer.UNAVAILABLE)


async def _has_proof(context: AppContext, live: LiveSession) -> bool:
    key = launch.derive_secret(context, live.session_id)
    path = f"/user/{live.owner}/{live.name}/portal/proof"
    signature = signing.sign(key, "GET", path, time.time())
    url = URL(f"http://{host_port(live.host or '', live.port or 0)}{path}", encoded=True)
    headers = {signing.SIGNATURE_HEADER: signature}
    try:
        async with context.http.get(
            url, headers=headers, timeout=PROOF_TIMEOUT, allow_redirects=False
        ) as answer:
            return signing.is_proven(key, signature, answer.headers.get(signing.PROOF_HEADER, ""))
    except (aiohttp.ClientError, TimeoutError):
        return False


async def record_hub_stop(context: AppContext, username: str, name: str) -> None:
    """Record that the hub has stopped its server. Only the portal ends sessions, so a session that
    is still wanted is offered to the hub again.
    """
    session = await find(context, username, name)
    if session is None or session.wanted is Wanted.STOP:
        return
    log.warning("the hub lost a live session", session=session.id)

    def modify(row: Session) -> None:
        row.ready_at = None
        if row.state is JobState.RUNNING:
            row.state = JobState.STARTING

    await update_row(context.db, Session, session.id, modify)
    context.notifier.notify(session.user_id, session.id)
    context.notifier.notify(RECONCILE)


async def _wait_until_serving(context: AppContext, session: Session) -> None:
    """Wait until the server answers HTTP. Raises Conflict if it does not start in time, NotFound if
    the session is no longer wanted.
    """
    url = f"{build_url(session)}{session.base_url}api"
    tls = certificates.build_connect_arguments(context, session.tls_name)
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            while True:
                with suppress(aiohttp.ClientError):
                    async with context.http.get(url, allow_redirects=False, **tls) as answer:
                        if answer.status < 500:
                            return
                await asyncio.sleep(RETRY_S)
                await _check_still_wanted(context, session)
    except TimeoutError as error:
        raise Conflict("The notebook server did not answer in time.") from error


async def _check_still_wanted(context: AppContext, session: Session) -> None:
    async with context.db.session() as db:
        row = await db.get(Session, session.id)
    if row is None or row.wanted is Wanted.STOP or row.state is JobState.ENDED:
        raise NotFound("This session has been stopped.")


async def _mark_ready(context: AppContext, session: Session) -> None:
    def modify(row: Session) -> None:
        row.ready_at = utcnow()
        row.first_ready_at = row.first_ready_at or row.ready_at
        row.reason = row.suggestion = None
        if row.state is JobState.STARTING:
            row.state = JobState.RUNNING

    await update_row(context.db, Session, session.id, modify)
    context.notifier.notify(session.user_id, session.id)
