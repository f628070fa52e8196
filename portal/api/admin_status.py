"""How the parts are that the portal works with."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel
from starlette.requests import HTTPConnection

from portal import __version__
from portal.api.deps import Reader
from portal.services.status import Part, State, Status

router = APIRouter(prefix="/admin/status", tags=["admin"])


class StatusItem(BaseModel):
    """One part. `name` tells one server of the directory from another, and is empty otherwise.
    `answered_at` is its last good answer since the portal started, `checked_at` the last look,
    `latency_ms` how long the good answer took. `message` says how it is, `advice` what to do."""

    part: Part
    name: str
    state: State
    answered_at: datetime | None
    checked_at: datetime | None
    latency_ms: int | None
    message: str
    advice: str


class StatusOut(BaseModel):
    """All parts, and the versions of the portal, of Slurm's commands and of JupyterHub as far as
    they are known. `started_at`: when this portal started."""

    items: list[StatusItem]
    version: str
    slurm_version: str | None
    hub_version: str | None
    started_at: datetime


def _status(connection: HTTPConnection) -> Status:
    found: Status = connection.app.state.status
    return found


@router.get("")
async def system_status(_reader: Reader, status: Annotated[Status, Depends(_status)]) -> StatusOut:
    """What was found when each part was last asked; asking here asks none of them."""
    return StatusOut(
        items=[StatusItem(**vars(item)) for item in status.items],
        version=__version__,
        slurm_version=status.slurm_version,
        hub_version=status.hub_version,
        started_at=status.started_at,
    )
