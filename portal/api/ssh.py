"""Routes of SSH connections to sessions and jobs: nginx's auth_request, the answer to refused
connections, and client setup.

For `/user/NAME/SESSION/ssh`, where a job's number may be in place of the session, nginx asks
`/internal/gate/ssh`, which knows access tokens only. A refused request is passed to the same path
here, which answers with the reason.
"""

from importlib.resources import files
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response
from pydantic import BaseModel

from portal import errors
from portal.api.gate import address_of, to_problem
from portal.context import AppContext
from portal.models import JobState
from portal.services.jobs import jobs
from portal.services.jobs import ssh as job_ssh
from portal.services.sessions import sessions, ssh, ssh_config
from portal.services.sessions.gate import GateAnswer, host_port, load_newest_session
from portal.services.sessions.ssh import SshAdmission
from portal.web.bearer import bearer
from portal.web.content_host import CONTENT_HOST_HEADER, content_host
from portal.web.dependencies import Anyone, ContextDep, CurrentUser, LoopbackOnly
from spawner.names import JOB_NUMBER
from spawner.ssh.grant import GRANT_HEADER, HOST_KEY_HEADER, KEY_HEADER

router = APIRouter(tags=["sessions"])
root_router = APIRouter(include_in_schema=False)

NOT_STORED = {"Cache-Control": "no-store"}
PublicKey = Annotated[str, Header(alias=KEY_HEADER)]


class SshOut(BaseModel):
    """How the owner connects to a session by SSH.

    `problem` is the reason if that isn't possible now. `config` is a block of ssh_config for all
    sessions of the owner, `host` this session's name in it, `host_key` the key that it shows.
    `editor_link` opens the home directory in VS Code; null if the session's server doesn't answer.
    """

    problem: str | None
    host: str
    config: str
    command: str
    host_key: str
    editor_link: str | None


@router.get("/sessions/{session_id}/ssh")
async def session_ssh(session_id: str, user: CurrentUser, context: ContextDep) -> SshOut:
    """Return how to connect to a running session by SSH; 424 for one that doesn't run."""
    session = await sessions.get(context, user, session_id)
    if session.state is not JobState.RUNNING:
        raise errors.NotRunning("The session isn't running.")
    settings, username = context.settings, session.user.username
    status = await ssh.fetch_status(context, session)
    host = ssh_config.host_name(settings.public_url, session.name)
    return SshOut(
        problem=status.problem,
        host=host,
        config=_render_block(context, username),
        command=f"ssh {host}",
        host_key=ssh.get_host_key(context, session),
        editor_link=ssh_config.editor_link(host, status.home) if status.home else None,
    )


class JobSshOut(BaseModel):
    """How the owner connects to a running job by SSH; `url` is the websocket's address.

    The other fields are as in SshOut.
    """

    problem: str | None
    host: str
    config: str
    command: str
    host_key: str
    url: str


@router.get("/jobs/{batch_job_id}/ssh")
async def connect_to_job(batch_job_id: str, user: CurrentUser, context: ContextDep) -> JobSshOut:
    """Return how to connect to a running job by SSH; 424 for one that doesn't run, 409 for an
    array.
    """
    job = await jobs.get(context, user, batch_job_id)
    job_ssh.check_reachable(job)
    settings, number = context.settings, str(job.job_id)
    host = ssh_config.host_name(settings.public_url, number)
    return JobSshOut(
        problem=None if settings.session_ssh else ssh.DISABLED,
        host=host,
        config=_render_block(context, user.username),
        command=f"ssh {host}",
        host_key=job_ssh.get_host_key(context, job),
        url=f"{_notebook_origin(context, user.username)}{ssh.build_path(user.username, number)}",
    )


def _notebook_origin(context: AppContext, username: str) -> str:
    return context.settings.notebook_origin(username) or context.settings.public_url


def _render_block(context: AppContext, username: str) -> str:
    origin = _notebook_origin(context, username)
    return ssh_config.render_block(context.settings.public_url, origin, username)


@router.get("/ssh/portal_ssh.py", response_class=Response)
async def ssh_program(_user: CurrentUser) -> Response:
    """Return the program that a user's ssh runs as its ProxyCommand."""
    text = files("portal.downloads").joinpath(ssh_config.PROGRAM).read_text("utf-8")
    name = f'attachment; filename="{ssh_config.PROGRAM}"'
    return Response(text, media_type="text/x-python", headers={"Content-Disposition": name})


@root_router.get("/internal/gate/ssh", dependencies=[LoopbackOnly])
async def ssh_gate(
    request: Request,
    context: ContextDep,
    owner: Annotated[str, Header(alias="X-Owner")],
    server: Annotated[str, Header(alias="X-Server")],
    public_key: PublicKey = "",
) -> Response:
    """Return 204 with the target, the grant (the SSH server's permission for this key) and the host
    key; or 401 or 403. Never cached.
    """
    settings = context.settings
    hosts = settings.content.notebooks if settings.content else None
    if hosts and hosts.to_content_host(
        request.headers.get(CONTENT_HOST_HEADER, "")
    ) != hosts.host_of(owner):
        return Response(status_code=403, headers=NOT_STORED)
    try:
        admission = await _admit(context, bearer(request), owner, server, public_key, start=True)
    except errors.PortalError as refusal:
        if refusal.status >= 500:
            raise
        return Response(status_code=401 if refusal.status == 401 else 403, headers=NOT_STORED)
    decision = admission.decision
    if decision.answer is not GateAnswer.ENTER:
        return Response(status_code=403, headers=NOT_STORED)
    target = host_port(await address_of(decision.host), decision.port)
    headers = {
        "X-Target": target,
        GRANT_HEADER: admission.grant,
        HOST_KEY_HEADER: admission.host_key,
    }
    if decision.tls_name is not None:
        headers["X-Target-Name"] = decision.tls_name
    return Response(status_code=204, headers={**headers, **NOT_STORED})


@root_router.get("/user/{owner}/{server}/ssh", dependencies=[Anyone])
async def ssh_refused(
    request: Request, context: ContextDep, owner: str, server: str, public_key: PublicKey = ""
) -> None:
    """Respond with the reason why nginx did not admit this connection."""
    settings = context.settings
    notebooks = settings.content.notebooks if settings.content else None
    if notebooks and content_host(request, settings) != notebooks.host_of(owner):
        raise errors.NotFound(f"This is at {notebooks.origin_of(owner)}.")
    admission = await _admit(context, bearer(request), owner, server, public_key, start=False)
    raise await _explain(context, admission, owner, server)


async def _admit(
    context: AppContext, token: str, owner: str, server: str, public_key: str, *, start: bool
) -> SshAdmission:
    """Decide about a connection to a session, or to the job of this number; `start`: start what
    the job needs for it.
    """
    if JOB_NUMBER.fullmatch(server) is None:
        return await ssh.admit(context, token, owner, server, public_key)
    return await job_ssh.admit(context, token, owner, server, public_key, start=start)


async def _explain(
    context: AppContext, admission: SshAdmission, owner: str, server: str
) -> errors.PortalError:
    """Return the reason. `_admit` raises the reasons of jobs: one that gets here is ready now."""
    answer = admission.decision.answer
    if JOB_NUMBER.fullmatch(server):
        return errors.Unavailable(job_ssh.READY, headers={"Retry-After": "1"})
    session = (
        await load_newest_session(context.db, owner, server)
        if answer is GateAnswer.UNAVAILABLE
        else None
    )
    return to_problem(answer, session)
