"""What the caller has installed into an environment."""

from datetime import datetime
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from portal.api.deps import ClientIp, CurrentUser, FilesDep, PartsDep, SessionsUser
from portal.errors import NotFound
from portal.parts import Parts
from portal.services.files import changing, packages
from spawner.catalog import Environment

router = APIRouter(tags=["environments"])

MOST_TOLD = 5


class PackageOut(BaseModel):
    """A package; `version` is null where its folder doesn't say."""

    name: str
    version: str | None
    changed_at: datetime


class RemovedOut(BaseModel):
    """Packages that were removed together and lie in the trash."""

    id: str
    removed_at: datetime


class PackagesOut(BaseModel):
    """By name; `complete` is false where there is more than was looked at. `removed` can be brought
    back: the newest, the last one first; `removed_complete` is false where the trash holds too much
    to be looked through. `folder` is where they lie; every kernel and job in this environment finds
    them there."""

    folder: str
    items: list[PackageOut]
    complete: bool
    removed: list[RemovedOut]
    removed_complete: bool


class BringBackIn(BaseModel):
    """Which of the removed ones."""

    model_config = ConfigDict(extra="forbid")

    id: UUID


@router.get("/environments/{name}/packages")
async def own_packages(
    name: str, user: CurrentUser, parts: PartsDep, files: FilesDep
) -> PackagesOut:
    """What the caller has installed into an environment."""
    return await _told(files, user.username, _environment(parts, name))


@router.post("/environments/{name}/packages/reset")
async def reset_packages(
    name: str, user: SessionsUser, parts: PartsDep, files: FilesDep, ip: ClientIp
) -> PackagesOut:
    """Take all of them out of the environment; they lie in the trash until they are brought back or
    too old. Kernels that run go on with what they have loaded."""
    environment = _environment(parts, name)
    gone = await packages.reset(files, user.username, environment)
    await changing.note_gone(parts.db, user, gone, count=1, permanent=False, ip=ip)
    return await _told(files, user.username, environment)


@router.post("/environments/{name}/packages/restore")
async def restore_packages(
    name: str, body: BringBackIn, user: SessionsUser, parts: PartsDep, files: FilesDep
) -> PackagesOut:
    """Bring removed ones back; 409 where packages were installed since."""
    environment = _environment(parts, name)
    await packages.bring_back(files, user.username, environment, str(body.id))
    return await _told(files, user.username, environment)


async def _told(files: FilesDep, username: str, environment: Environment) -> PackagesOut:
    found = await packages.installed(files, username, environment)
    return PackagesOut(
        folder=found.folder,
        items=[
            PackageOut(name=one.name, version=one.version, changed_at=one.changed_at)
            for one in found.packages
        ],
        complete=found.complete,
        removed=[
            RemovedOut(id=one.id, removed_at=one.deleted_at) for one in found.removed[:MOST_TOLD]
        ],
        removed_complete=found.removed_complete,
    )


def _environment(parts: Parts, name: str) -> Environment:
    """Also one that can't be used now: what was installed into it is there."""
    found = parts.catalog.environments.get(name)
    if found is None:
        raise NotFound("There is no environment of this name.")
    return found
