"""SSH connections to sessions: which the gate admits, and until when; jobs use parts of it.

A connection needs an access token with the scope `ssh`, which is valid for running sessions of the
token's owner. A login's cookie is not enough.

The portal is not in a connection's path: the session's node program asks it whether the
connection's token is still valid, and the portal trusts nothing that the program reports.
"""

import asyncio
import time
from dataclasses import dataclass

import aiohttp
import structlog

from portal import errors
from portal.context import AppContext
from portal.models import AccessToken, Job, Session
from portal.services.auth import tokens
from portal.services.auth.tokens import Scope
from portal.services.sessions import nodes, server_requests, servers
from portal.services.sessions.gate import Decision, GateAnswer, LiveSession, decide
from portal.services.slurm import launch
from spawner.ssh.grant import KEY_HEADER, BadKey, SshGrant, parse_public_key, render_grant
from spawner.ssh.host_key import render_public_key

log = structlog.get_logger(__name__)

CHECK_S = 3.0
"""Interval between checks of a token with open connections."""
STATUS_TIMEOUT_S = 3.0
MAX_HOME_CHARS = 1000
DISABLED = "SSH is disabled on this site."
NO_SSHD = (
    "SSH isn't available: the session's node has no sshd. Ask your administrators to install "
    "openssh-server there."
)
NO_ANSWER = "The session's server doesn't answer about SSH. Try again, or start the session again."


@dataclass(frozen=True)
class SshAdmission:
    """The decision about a connection. If it is admitted, `grant` is the signed proof of that for
    the program on the node, and `host_key` the key that the program's sshd shows.
    """

    decision: Decision
    grant: str = ""
    host_key: str = ""


@dataclass(frozen=True)
class SshStatus:
    """The reason why a session can't be reached by SSH, None if it can, and the owner's home."""

    problem: str | None
    home: str = ""


def check_enabled(context: AppContext) -> None:
    """Raise Forbidden if the site has disabled SSH."""
    if not context.settings.session_ssh:
        raise errors.Forbidden(DISABLED)


async def admit(
    context: AppContext, token: str, owner: str, server: str, public_key: str
) -> SshAdmission:
    """Decide about one connection with this access token and the client's public key.

    Raises Forbidden, InvalidToken, SecondFactorRequired, InsufficientScope, InvalidInput.
    """
    caller = await authenticate(context, token)
    username = caller.user.username
    session = await servers.find(context, owner, server) if username == owner else None
    live = LiveSession.of(session)
    decision = await servers.confirm(context, decide(username, owner, server, live), live)
    if decision.answer is not GateAnswer.ENTER or session is None:
        return SshAdmission(decision)
    granted = build_grant(caller, public_key)
    secret = launch.derive_secret(context, session.id)
    log.info("SSH connection admitted", user=username, session=session.id, credential=caller.name)
    return to_admission(decision, granted, secret, build_path(owner, server))


async def authenticate(context: AppContext, token: str) -> AccessToken:
    """Return the access token if it admits SSH connections.

    Raises Forbidden, InvalidToken, SecondFactorRequired, InsufficientScope.
    """
    check_enabled(context)
    caller = await tokens.use(context.db, context.settings, token)
    if Scope.SSH not in caller.scopes:
        raise errors.InsufficientScope(Scope.SSH.value)
    return caller


def build_grant(caller: AccessToken, public_key: str) -> SshGrant:
    """Return the grant of a connection with this token and key. Raises InvalidInput."""
    try:
        return SshGrant(caller.id, parse_public_key(public_key))
    except BadKey as error:
        raise errors.invalid_input([errors.FieldError(KEY_HEADER, str(error))]) from error


def build_path(owner: str, target: str) -> str:
    """Return the path of the WebSocket to a session (by name) or job (by Slurm job ID)."""
    return f"/user/{owner}/{target}/ssh"


def to_admission(decision: Decision, granted: SshGrant, secret: str, path: str) -> SshAdmission:
    """Return an admission that is signed with the secret of the program on the node."""
    grant = render_grant(secret, path, granted, time.time())
    return SshAdmission(decision, grant, render_public_key(secret))


def get_host_key(context: AppContext, session: Session) -> str:
    """Return the public key that the session's sshd shows, as in known_hosts."""
    return render_public_key(launch.derive_secret(context, session.id))


async def wait_while_admitted(context: AppContext, job: Job, token_id: str, wait_s: float) -> None:
    """Return after `wait_s`, or raise Gone as soon as the token admits no connection any longer."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_s
    async with context.notifier.listen(job.user_id, job.id) as listener:
        while True:
            await _check_admitted(context, job, token_id)
            left = deadline - loop.time()
            if left <= 0 or context.notifier.closed:
                return
            await listener.wait(min(left, CHECK_S))


async def _check_admitted(context: AppContext, job: Job, token_id: str) -> None:
    token = await tokens.find_valid(context.db, context.settings, token_id)
    if token is None or token.user_id != job.user_id or Scope.SSH not in token.scopes:
        raise errors.Gone
    async with context.db.session() as db:
        row = await db.get(Job, job.id)
    if row is None or not context.settings.session_ssh:
        raise errors.Gone
    nodes.check_wanted(row)


async def fetch_status(context: AppContext, session: Session) -> SshStatus:
    """Ask the session's server whether its node has an sshd.

    The answer is the user's own program's, so only the owner may see it.
    """
    if not context.settings.session_ssh:
        return SshStatus(DISABLED)
    try:
        answer = await server_requests.ask(
            context, session, "GET", "ssh", timeout_s=STATUS_TIMEOUT_S
        )
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        log.info("a session does not answer about SSH", session=session.id, error=str(error)[:200])
        return SshStatus(NO_ANSWER)
    found = answer.body
    return SshStatus(None if found.get("sshd") is True else NO_SSHD, _parse_home(found.get("home")))


def _parse_home(home: object) -> str:
    """Return a path that a link may contain; empty if it is none."""
    if not isinstance(home, str) or not home.startswith("/") or len(home) > MAX_HOME_CHARS:
        return ""
    return home if home.isprintable() else ""
