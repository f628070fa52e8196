"""Route of the status of the parts that the portal works with."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel
from starlette.requests import HTTPConnection

from portal import __version__
from portal.health.registry import Component
from portal.health.result import ComponentState
from portal.health.status import SystemStatus
from portal.web.dependencies import Reader

router = APIRouter(prefix="/admin/status", tags=["admin"])


class StatusItem(BaseModel):
    """The status of one part.

    `name` identifies one server of the directory, and is empty for other parts. `answered_at` is
    the last successful answer since the portal started, `latency_ms` how long it took, and
    `checked_at` the last check. `message` describes the state, `suggestion` the remedy.
    """

    part: Component
    name: str
    state: ComponentState
    answered_at: datetime | None
    checked_at: datetime | None
    latency_ms: int | None
    message: str
    suggestion: str


class StatusOut(BaseModel):
    """All parts, and the versions of the portal, of Slurm's commands and of JupyterHub as far as
    known.

    `started_at`: when this portal started.
    """

    items: list[StatusItem]
    version: str
    slurm_version: str | None
    hub_version: str | None
    started_at: datetime


async def _get_status(connection: HTTPConnection) -> SystemStatus:
    status: SystemStatus = connection.app.state.status
    return status


@router.get("")
async def system_status(
    _reader: Reader, status: Annotated[SystemStatus, Depends(_get_status)]
) -> StatusOut:
    """Return the last results of all checks; this request runs none of them."""
    return StatusOut(
        items=[StatusItem(**vars(item)) for item in status.items],
        version=__version__,
        slurm_version=status.versions.get(Component.SLURM),
        hub_version=status.versions.get(Component.HUB),
        started_at=status.started_at,
    )
