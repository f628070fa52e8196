"""What node programs call, through the cluster-facing listener, each with its own secret."""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Response
from pydantic import AwareDatetime, BaseModel, Field
from starlette.requests import HTTPConnection

from portal.api.bearer import bearer
from portal.api.deps import GUARDS, ClientIp, PartsDep
from portal.api.session_use import UseIn
from portal.api.sessions import ExtendIn
from portal.api.views import SessionOut, TensorboardOut, sessions_out
from portal.db import utcnow
from portal.errors import Gone
from portal.models import Session, Tensorboard
from portal.parts import Parts
from portal.services.sessions import extending, nodes, uses
from portal.services.tensorboards import tensorboards

router = APIRouter(prefix="/node", include_in_schema=False)


async def session_program(session_id: str, connection: HTTPConnection, parts: PartsDep) -> Session:
    """The node program of this session, by its secret."""
    return await nodes.authenticated(parts, session_id, bearer(connection))


async def tensorboard_program(
    board_id: str, connection: HTTPConnection, parts: PartsDep
) -> Tensorboard:
    """The node program of this TensorBoard's present run, by its secret."""
    return await tensorboards.authenticated(parts, board_id, bearer(connection))


async def live_session_program(
    session: Annotated[Session, Depends(session_program)],
) -> Session:
    """As `session_program`, for a session that is to go on; 410 once it or its owner isn't."""
    nodes.check_wanted(session)
    if session.user.disabled_at is not None:
        raise Gone
    return session


GUARDS.update({session_program, tensorboard_program})
OwnSession = Annotated[Session, Depends(session_program)]
LiveSession = Annotated[Session, Depends(live_session_program)]
OwnTensorboard = Annotated[Tensorboard, Depends(tensorboard_program)]
WaitS = Annotated[float, Query(ge=0, le=nodes.MAX_WAIT_S)]

CertificateRequest = Annotated[str, Field(max_length=4096)]
"""PKCS #10, as PEM. Its key is all that counts of it."""


class Hello(BaseModel):
    """A node program listens; ports below 1024 are never a user's."""

    port: Annotated[int, Field(ge=1024, le=65535)]
    timings: Annotated[
        dict[Annotated[str, Field(max_length=40)], AwareDatetime], Field(max_length=20)
    ] = {}
    csr: CertificateRequest | None = None


class CertificateIn(BaseModel):
    """A program whose certificate ends soon wants another."""

    csr: CertificateRequest


class CertificateOut(BaseModel):
    """PEM; None: the site has its nodes speak plain HTTP."""

    certificate: str | None


class Report(BaseModel):
    """Why a node program ends."""

    event: Literal["failed", "exiting"]
    message: Annotated[str, Field(max_length=2000)] = ""


@router.post("/sessions/{session_id}/hello")
async def session_hello(body: Hello, session: OwnSession, parts: PartsDep) -> CertificateOut:
    """409 until Slurm says that the job runs; 410 once it should not."""
    timings = {name: at.isoformat() for name, at in body.timings.items()}
    certificate = await nodes.hello(parts, session, body.port, timings, body.csr)
    return CertificateOut(certificate=certificate)


@router.post("/sessions/{session_id}/certificate")
async def certify_session(
    body: CertificateIn, session: LiveSession, parts: PartsDep
) -> CertificateOut:
    """Another certificate, for a session that was given more time."""
    return CertificateOut(certificate=await nodes.certify(parts, session, body.csr))


@router.get("/sessions/{session_id}/server", response_model=None)
async def session_server(session: OwnSession, parts: PartsDep, wait_s: WaitS = 20.0) -> Any:
    """What to become, as soon as the hub has said it; 204: ask again."""
    found = await nodes.wait_for_server(parts, session, wait_s)
    return Response(status_code=204) if found is None else found


class PortalPages(BaseModel):
    """Whole addresses of the portal's pages, for links from JupyterLab, which may be on another
    host. `run_notebook` takes what fills its form in."""

    session: str
    tensorboard: str
    run_notebook: str


class Facts(BaseModel):
    """What a session's own JupyterLab shows of it. `now` is the portal's clock, by which the
    browser's, that may be wrong, counts down."""

    now: datetime
    session: SessionOut
    pages: PortalPages


@router.get("/sessions/{session_id}/facts")
async def session_facts(session: LiveSession, parts: PartsDep) -> Facts:
    """The session, for its own server to show."""
    return await _facts(parts, session)


@router.post("/sessions/{session_id}/extend")
async def extend_session(
    body: ExtendIn, session: LiveSession, parts: PartsDep, ip: ClientIp
) -> Facts:
    """More time, asked for in the session itself."""
    owner = session.user
    extended = await extending.extend(parts, owner, session, body.minutes, ip=ip, by="jupyterlab")
    return await _facts(parts, extended)


@router.put("/sessions/{session_id}/tensorboard")
async def start_tensorboard(session: LiveSession, parts: PartsDep, ip: ClientIp) -> TensorboardOut:
    """The session's TensorBoard, started if it doesn't run."""
    board = await tensorboards.want(parts, session, session.user, None, ip)
    return TensorboardOut.of(board, parts.settings)


@router.post("/sessions/{session_id}/use")
async def tell_use(body: UseIn, session: LiveSession, parts: PartsDep) -> dict[str, float]:
    """What the session has used since it began; in how many seconds to tell again."""
    series = body.model_dump(exclude={"idle_s"})
    again = await uses.take(parts, session, series, body.idle_s)
    return {"again_s": again.total_seconds()}


async def _facts(parts: Parts, session: Session) -> Facts:
    portal = parts.settings.public_url
    page = f"{portal}/sessions/{session.id}"
    return Facts(
        now=utcnow(),
        session=(await sessions_out(parts, [session]))[0],
        pages=PortalPages(
            session=page,
            tensorboard=f"{page}/tensorboard",
            run_notebook=f"{portal}/jobs/new",
        ),
    )


@router.post("/sessions/{session_id}/report", status_code=204)
async def session_report(body: Report, session: OwnSession, parts: PartsDep) -> Response:
    """The program's last words."""
    await nodes.report(parts, session, body.event, body.message)
    return Response(status_code=204)


@router.post("/tensorboards/{board_id}/hello")
async def tensorboard_hello(body: Hello, board: OwnTensorboard, parts: PartsDep) -> CertificateOut:
    """As for a session."""
    certificate = await tensorboards.hello(parts, board, body.port, body.csr)
    return CertificateOut(certificate=certificate)


@router.post("/tensorboards/{board_id}/certificate")
async def certify_tensorboard(
    body: CertificateIn, board: OwnTensorboard, parts: PartsDep
) -> CertificateOut:
    """As for a session."""
    return CertificateOut(certificate=await tensorboards.certify(parts, board, body.csr))


@router.get("/tensorboards/{board_id}/wanted", status_code=204)
async def tensorboard_wanted(
    board: OwnTensorboard, parts: PartsDep, wait_s: WaitS = 20.0
) -> Response:
    """204 after a while: go on and ask again; 410: end."""
    await tensorboards.wait_while_wanted(parts, board, wait_s)
    return Response(status_code=204)


@router.post("/tensorboards/{board_id}/report", status_code=204)
async def tensorboard_report(body: Report, board: OwnTensorboard, parts: PartsDep) -> Response:
    """The program's last words."""
    if body.event == "failed":
        await tensorboards.failed(parts, board, body.message)
    return Response(status_code=204)
