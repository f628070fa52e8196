"""Routes of setups for starting sessions: saved under a name, or taken from the caller's last
sessions.
"""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from portal.api.common_schemas import ResourcesIn
from portal.api.session_schemas import SessionOut, sessions_out
from portal.context import AppContext
from portal.models import Setup
from portal.services.catalog.available import get_environment_title
from portal.services.sessions import setups
from portal.web.dependencies import ClientIp, ContextDep, CurrentUser, IdempotencyKey, SessionsUser
from portal.web.fields import Line

router = APIRouter(tags=["setups"])

Name = Annotated[Line, Field(min_length=1, max_length=60)]
EnvironmentName = Annotated[Line, Field(min_length=1, max_length=100)]


class SetupIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name
    environment: EnvironmentName
    resources: ResourcesIn = ResourcesIn()


class SetupChange(BaseModel):
    """Changes to a setup; `resources` are replaced as a whole."""

    model_config = ConfigDict(extra="forbid")

    name: Name | None = None
    environment: EnvironmentName | None = None
    resources: ResourcesIn | None = None


class SetupResources(BaseModel):
    """The requested resources; null means the environment's default, then the site's."""

    partition: str | None
    nodes: int | None
    gpus: int | None
    gpu_type: str | None
    cpus: int | None
    memory_gb: float | None
    time_limit_minutes: int | None
    account: str | None
    qos: str | None


class SetupOut(BaseModel):
    """A saved setup; `problem` is the reason if no session can be started with it now."""

    id: str
    name: str
    environment: str
    environment_title: str
    resources: SetupResources
    problem: str | None
    created_at: datetime
    used_at: datetime | None


class UsedSetup(BaseModel):
    """The setup of one of the caller's last sessions; `name` is that session's."""

    name: str
    environment: str
    environment_title: str
    resources: SetupResources
    problem: str | None
    used_at: datetime


class Setups(BaseModel):
    items: list[SetupOut]


class UsedSetups(BaseModel):
    items: list[UsedSetup]


@router.get("/setups")
async def list_setups(user: CurrentUser, context: ContextDep) -> Setups:
    """Return the caller's setups, the most recently used first."""
    return Setups(
        items=[_to_out(context, setup) for setup in await setups.list_setups(context, user)]
    )


@router.get("/setups/recent")
async def list_recent_setups(user: CurrentUser, context: ContextDep) -> UsedSetups:
    """Return the setups of the caller's last sessions, each once, newest first; also of sessions
    that were removed from the list.
    """
    return UsedSetups(
        items=[
            UsedSetup(
                name=used.name,
                environment=used.environment,
                environment_title=get_environment_title(context, used.environment),
                resources=SetupResources(**used.resources),
                problem=setups.find_obstacle(context, used.environment, used.resources),
                used_at=used.used_at,
            )
            for used in await setups.list_recent(context, user)
        ]
    )


@router.post("/setups", status_code=201)
async def save_setup(body: SetupIn, user: SessionsUser, context: ContextDep) -> SetupOut:
    """Save a setup under a name that the caller has not used yet (otherwise 409)."""
    saved = await setups.save(
        context, user, body.name, body.environment, body.resources.model_dump()
    )
    return _to_out(context, saved)


@router.patch("/setups/{setup_id}")
async def change_setup(
    setup_id: str, body: SetupChange, user: SessionsUser, context: ContextDep
) -> SetupOut:
    """Rename a setup, or change its environment or resources."""
    changes = {name: value for name, value in body.model_dump().items() if value is not None}
    return _to_out(context, await setups.edit(context, user, setup_id, changes))


@router.delete("/setups/{setup_id}", status_code=204)
async def delete_setup(setup_id: str, user: SessionsUser, context: ContextDep) -> None:
    await setups.delete(context, user, setup_id)


@router.post("/setups/{setup_id}/start", status_code=201)
async def start_setup(
    setup_id: str,
    user: SessionsUser,
    context: ContextDep,
    ip: ClientIp,
    idempotency_key: IdempotencyKey = None,
) -> SessionOut:
    """Start a session from a setup, as `POST /sessions` with its content would.

    The same Idempotency-Key returns the same session, even if the setup was changed in between.
    """
    session = await setups.start(context, user, setup_id, key=idempotency_key, ip=ip)
    return (await sessions_out(context, [session]))[0]


def _to_out(context: AppContext, setup: Setup) -> SetupOut:
    return SetupOut(
        id=setup.id,
        name=setup.name,
        environment=setup.environment,
        environment_title=get_environment_title(context, setup.environment),
        resources=SetupResources(**setup.resources),
        problem=setups.find_obstacle(context, setup.environment, setup.resources),
        created_at=setup.created_at,
        used_at=setup.used_at,
    )
