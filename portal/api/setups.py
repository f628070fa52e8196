"""Setups: what to start sessions with, saved under a name or taken from one's last sessions."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from portal.api.deps import ClientIp, CurrentUser, IdempotencyKey, PartsDep, SessionsUser
from portal.api.views import ResourcesIn, SessionOut, environment_title, sessions_out
from portal.models import Setup
from portal.parts import Parts
from portal.services.sessions import setups

router = APIRouter(tags=["setups"])

Name = Annotated[str, Field(min_length=1, max_length=60)]
EnvironmentName = Annotated[str, Field(min_length=1, max_length=100)]


class SetupIn(BaseModel):
    """A setup to keep."""

    model_config = ConfigDict(extra="forbid")

    name: Name
    environment: EnvironmentName
    resources: ResourcesIn = ResourcesIn()


class SetupChange(BaseModel):
    """What is to be different; `resources` are replaced as a whole."""

    model_config = ConfigDict(extra="forbid")

    name: Name | None = None
    environment: EnvironmentName | None = None
    resources: ResourcesIn | None = None


class SetupResources(BaseModel):
    """What is asked for; what is null comes from the environment's defaults, then the site's."""

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
    """A saved setup; `problem` says why a session could not be started with it now."""

    id: str
    name: str
    environment: str
    environment_title: str
    resources: SetupResources
    problem: str | None
    created_at: datetime
    used_at: datetime | None


class UsedSetup(BaseModel):
    """What one of the caller's last sessions was started with; `name` is that session's."""

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
async def list_setups(user: CurrentUser, parts: PartsDep) -> Setups:
    """The caller's setups, those used last first."""
    return Setups(items=[_out(parts, setup) for setup in await setups.mine(parts, user)])


@router.get("/setups/recent")
async def list_recent_setups(user: CurrentUser, parts: PartsDep) -> UsedSetups:
    """What the caller's last sessions were started with, each once, the newest first; also those
    that are off the list by now."""
    return UsedSetups(
        items=[
            UsedSetup(
                name=used.name,
                environment=used.environment,
                environment_title=environment_title(parts, used.environment),
                resources=SetupResources(**used.resources),
                problem=setups.problem_of(parts, used.environment, used.resources),
                used_at=used.used_at,
            )
            for used in await setups.recent(parts, user)
        ]
    )


@router.post("/setups", status_code=201)
async def save_setup(body: SetupIn, user: SessionsUser, parts: PartsDep) -> SetupOut:
    """Keep a setup under a name that none of the caller's has (409)."""
    saved = await setups.save(parts, user, body.name, body.environment, body.resources.model_dump())
    return _out(parts, saved)


@router.patch("/setups/{setup_id}")
async def change_setup(
    setup_id: str, body: SetupChange, user: SessionsUser, parts: PartsDep
) -> SetupOut:
    """Rename a setup, or change what it asks for."""
    changes = {name: value for name, value in body.model_dump().items() if value is not None}
    return _out(parts, await setups.edit(parts, user, setup_id, changes))


@router.delete("/setups/{setup_id}", status_code=204)
async def delete_setup(setup_id: str, user: SessionsUser, parts: PartsDep) -> None:
    """Forget a setup."""
    await setups.delete(parts, user, setup_id)


@router.post("/setups/{setup_id}/start", status_code=201)
async def start_setup(
    setup_id: str,
    user: SessionsUser,
    parts: PartsDep,
    ip: ClientIp,
    idempotency_key: IdempotencyKey = None,
) -> SessionOut:
    """Start a session with a setup, as `POST /sessions` with what it says would. The same
    Idempotency-Key comes to the same session, even if the setup was changed meanwhile."""
    session = await setups.start(parts, user, setup_id, key=idempotency_key, ip=ip)
    return (await sessions_out(parts, [session]))[0]


def _out(parts: Parts, setup: Setup) -> SetupOut:
    return SetupOut(
        id=setup.id,
        name=setup.name,
        environment=setup.environment,
        environment_title=environment_title(parts, setup.environment),
        resources=SetupResources(**setup.resources),
        problem=setups.problem_of(parts, setup.environment, setup.resources),
        created_at=setup.created_at,
        used_at=setup.used_at,
    )
