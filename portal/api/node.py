"""What node programs call, through the cluster-facing listener, each with its own secret."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Response
from pydantic import AwareDatetime, BaseModel, Field
from starlette.requests import HTTPConnection

from portal.api.bearer import bearer
from portal.api.deps import GUARDS, PartsDep
from portal.models import Session, Tensorboard
from portal.services import nodes, tensorboards

router = APIRouter(prefix="/node", include_in_schema=False)


async def session_program(session_id: str, connection: HTTPConnection, parts: PartsDep) -> Session:
    """The node program of this session, by its secret."""
    return await nodes.authenticated(parts, session_id, bearer(connection))


async def tensorboard_program(
    board_id: str, connection: HTTPConnection, parts: PartsDep
) -> Tensorboard:
    """The node program of this TensorBoard's present run, by its secret."""
    return await tensorboards.authenticated(parts, board_id, bearer(connection))


GUARDS.update({session_program, tensorboard_program})
OwnSession = Annotated[Session, Depends(session_program)]
OwnTensorboard = Annotated[Tensorboard, Depends(tensorboard_program)]
WaitS = Annotated[float, Query(ge=0, le=nodes.MAX_WAIT_S)]


class Hello(BaseModel):
    """A node program listens; ports below 1024 are never a user's."""

    port: Annotated[int, Field(ge=1024, le=65535)]
    timings: Annotated[
        dict[Annotated[str, Field(max_length=40)], AwareDatetime], Field(max_length=20)
    ] = {}


class Report(BaseModel):
    """Why a node program ends."""

    event: Literal["failed", "exiting"]
    message: Annotated[str, Field(max_length=2000)] = ""


@router.post("/sessions/{session_id}/hello")
async def session_hello(body: Hello, session: OwnSession, parts: PartsDep) -> dict[str, Any]:
    """409 until Slurm says that the job runs; 410 once it should not."""
    timings = {name: at.isoformat() for name, at in body.timings.items()}
    await nodes.hello(parts, session, body.port, timings)
    return {}


@router.get("/sessions/{session_id}/server", response_model=None)
async def session_server(session: OwnSession, parts: PartsDep, wait_s: WaitS = 20.0) -> Any:
    """What to become, as soon as the hub has said it; 204: ask again."""
    found = await nodes.wait_for_server(parts, session, wait_s)
    return Response(status_code=204) if found is None else found


@router.post("/sessions/{session_id}/report", status_code=204)
async def session_report(body: Report, session: OwnSession, parts: PartsDep) -> Response:
    """The program's last words."""
    await nodes.report(parts, session, body.event, body.message)
    return Response(status_code=204)


@router.post("/tensorboards/{board_id}/hello")
async def tensorboard_hello(body: Hello, board: OwnTensorboard, parts: PartsDep) -> dict[str, Any]:
    """As for a session."""
    await tensorboards.hello(parts, board, body.port)
    return {}


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
