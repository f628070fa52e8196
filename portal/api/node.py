"""Routes that node programs call through the cluster-facing listener, each with its own secret.

A node program is the portal's program in a job: it runs a session's server or a TensorBoard.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, Field
from starlette.requests import HTTPConnection

from portal.api.common_schemas import TensorboardOut
from portal.api.session_schemas import SessionOut, sessions_out
from portal.api.session_use import UseIn
from portal.api.sessions import ExtendIn
from portal.api.tensorboards import TensorboardIn
from portal.context import AppContext
from portal.db import utcnow
from portal.errors import Gone
from portal.models import Session, Tensorboard
from portal.services.sessions import extending, measurements, nodes, ssh
from portal.services.tensorboards import node_requests, runs, tensorboards, tickets
from portal.web.bearer import bearer
from portal.web.dependencies import GUARDS, ClientIp, ContextDep
from portal.web.fields import DateTime

router = APIRouter(prefix="/node", include_in_schema=False)


async def session_program(
    session_id: str, connection: HTTPConnection, context: ContextDep
) -> Session:
    """Return the session of the calling node program, authenticated by its secret, in whatever
    state it is.
    """
    return await nodes.authenticate(context, session_id, bearer(connection))


async def tensorboard_program(
    board_id: str, connection: HTTPConnection, context: ContextDep
) -> Tensorboard:
    """Return the TensorBoard of the calling node program, authenticated by the secret of its
    present run.
    """
    return await node_requests.authenticate(context, board_id, bearer(connection))


async def wanted_session_program(
    session: Annotated[Session, Depends(session_program)],
) -> Session:
    """Return the session as `session_program` does. Raises Gone if it has ended or is to end, or if
    its owner is disabled.
    """
    nodes.check_wanted(session)
    if session.user.disabled_at is not None:
        raise Gone
    return session


GUARDS.update({session_program, tensorboard_program})
SessionInAnyState = Annotated[Session, Depends(session_program)]
WantedSession = Annotated[Session, Depends(wanted_session_program)]
"""The calling session; 410 if it has ended, is to end, or its owner is disabled."""
OwnTensorboard = Annotated[Tensorboard, Depends(tensorboard_program)]
WaitS = Annotated[float, Query(ge=0, le=nodes.MAX_WAIT_S)]

CertificateRequest = Annotated[str, Field(max_length=4096)]
"""A certificate request (PKCS #10, PEM). Only its public key is used."""


class Hello(BaseModel):
    """The first message of a node program that listens; ports below 1024 are never a user's."""

    port: Annotated[int, Field(ge=1024, le=65535)]
    timings: Annotated[
        dict[Annotated[str, Field(max_length=40)], DateTime], Field(max_length=20)
    ] = {}
    csr: CertificateRequest | None = None


class CertificateIn(BaseModel):
    """A renewal request from a program with a certificate that expires soon."""

    csr: CertificateRequest


class CertificateOut(BaseModel):
    """A certificate as PEM; None if the site's nodes use plain HTTP."""

    certificate: str | None


class Report(BaseModel):
    """The reason why a node program ends."""

    event: Literal["failed", "exiting"]
    message: Annotated[str, Field(max_length=2000)] = ""


@router.post("/sessions/{session_id}/hello")
async def session_hello(
    body: Hello, session: SessionInAnyState, context: ContextDep
) -> CertificateOut:
    """Register a session's server. 409 until Slurm reports the job as running; 410 once it should
    end.
    """
    timings = {name: at.isoformat() for name, at in body.timings.items()}
    certificate = await nodes.set_address(context, session, body.port, timings, body.csr)
    return CertificateOut(certificate=certificate)


@router.post("/sessions/{session_id}/certificate")
async def certify_session(
    body: CertificateIn, session: WantedSession, context: ContextDep
) -> CertificateOut:
    """Issue another certificate, for a session that was extended."""
    return CertificateOut(certificate=await nodes.certify(context, session, body.csr))


@router.get("/sessions/{session_id}/server", response_model=None)
async def session_server(
    session: SessionInAnyState, context: ContextDep, wait_s: WaitS = 20.0
) -> Any:
    """Return the server's environment and arguments as soon as the hub has sent them; 204: ask
    again.
    """
    server = await nodes.wait_for_server(context, session, wait_s)
    return Response(status_code=204) if server is None else server


class PortalPages(BaseModel):
    """Absolute addresses of the portal's pages, for links from JupyterLab, which may be on another
    host.

    `run_notebook` accepts query parameters that fill its form.
    """

    session: str
    tensorboard: str
    run_notebook: str
    start_again: str


class Facts(BaseModel):
    """The session's data for its own JupyterLab.

    `now` is the portal's clock, so that a countdown does not depend on the browser's clock, which
    may be wrong.
    """

    now: datetime
    session: SessionOut
    pages: PortalPages


class FramedTensorboardOut(TensorboardOut):
    """A session's TensorBoard. `frame_url`: its address for a frame in the owner's notebooks."""

    frame_url: str


@router.get("/sessions/{session_id}/facts")
async def session_facts(session: WantedSession, context: ContextDep) -> Facts:
    """Return the session for display by its own server."""
    return await _build_facts(context, session)


@router.post("/sessions/{session_id}/extend")
async def extend_session(
    body: ExtendIn, session: WantedSession, context: ContextDep, ip: ClientIp
) -> Facts:
    """Extend the session at the request of the session itself."""
    owner = session.user
    extended = await extending.extend(context, owner, session, body.minutes, ip=ip, by="jupyterlab")
    return await _build_facts(context, extended)


@router.put("/sessions/{session_id}/tensorboard")
async def start_tensorboard(
    session: WantedSession, context: ContextDep, ip: ClientIp, body: TensorboardIn | None = None
) -> FramedTensorboardOut:
    """Start the session's TensorBoard if it is not running; another folder restarts it."""
    logdir = body.logdir if body else None
    board = await tensorboards.request_start(context, session, session.user, logdir, ip)
    ticket = tickets.issue_frame_ticket(context.settings, session.user_id, board.id)
    return FramedTensorboardOut(
        **TensorboardOut.of(board).model_dump(),
        frame_url=tickets.ticketed_address(
            context.settings, session.user.username, board.id, ticket
        ),
    )


@router.post("/sessions/{session_id}/use")
async def report_usage(
    body: UseIn, session: WantedSession, context: ContextDep
) -> dict[str, float]:
    """Record the session's usage since its start; return in how many seconds to report again."""
    series = body.model_dump(exclude={"idle_s"})
    again = await measurements.save_report(context, session, series, body.idle_s)
    return {"again_s": again.total_seconds()}


async def _build_facts(context: AppContext, session: Session) -> Facts:
    portal = context.settings.public_url
    page = f"{portal}/sessions/{session.id}"
    return Facts(
        now=utcnow(),
        session=(await sessions_out(context, [session]))[0],
        pages=PortalPages(
            session=page,
            tensorboard=f"{page}/tensorboard",
            run_notebook=f"{portal}/jobs/new",
            start_again=f"{portal}/start-again/{session.name}",
        ),
    )


@router.get("/sessions/{session_id}/ssh/{token_id}", status_code=204)
async def ssh_admitted(
    token_id: str, session: WantedSession, context: ContextDep, wait_s: WaitS = 20.0
) -> Response:
    """Return 204 after a while: keep the SSH connections of this token and ask again; 410: close
    them.
    """
    await ssh.wait_while_admitted(context, session, token_id, wait_s)
    return Response(status_code=204)


@router.post("/sessions/{session_id}/report", status_code=204)
async def session_report(body: Report, session: SessionInAnyState, context: ContextDep) -> Response:
    """Record the reason why the program ends."""
    await nodes.report(context, session, body.event, body.message)
    return Response(status_code=204)


@router.post("/tensorboards/{board_id}/hello")
async def tensorboard_hello(
    body: Hello, board: OwnTensorboard, context: ContextDep
) -> CertificateOut:
    """Register a TensorBoard, as for a session."""
    certificate = await node_requests.set_address(context, board, body.port, body.csr)
    return CertificateOut(certificate=certificate)


@router.post("/tensorboards/{board_id}/certificate")
async def certify_tensorboard(
    body: CertificateIn, board: OwnTensorboard, context: ContextDep
) -> CertificateOut:
    """Issue another certificate, as for a session."""
    return CertificateOut(certificate=await node_requests.certify(context, board, body.csr))


@router.get("/tensorboards/{board_id}/wanted", status_code=204)
async def tensorboard_wanted(
    board: OwnTensorboard, context: ContextDep, wait_s: WaitS = 20.0
) -> Response:
    """Return 204 after a while: continue and ask again; 410: end."""
    await node_requests.wait_while_wanted(context, board, wait_s)
    return Response(status_code=204)


@router.post("/tensorboards/{board_id}/report", status_code=204)
async def tensorboard_report(body: Report, board: OwnTensorboard, context: ContextDep) -> Response:
    """Record the reason why the program ends."""
    if body.event == "failed":
        await runs.mark_failed(context, board, body.message)
    else:
        await node_requests.clear_address(context, board)
    return Response(status_code=204)
