"""Routes of the packages that the caller has installed into an environment."""

from datetime import datetime
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from portal.context import AppContext
from portal.errors import NotFound
from portal.services.files import operations, packages
from portal.web.dependencies import ClientIp, ContextDep, FilesUser, SessionsUser
from spawner.catalog.environment import Environment

router = APIRouter(tags=["environments"])

MAX_REMOVED_SHOWN = 5


class PackageOut(BaseModel):
    """A package; `version` is null if the package's folder does not name it."""

    name: str
    version: str | None
    changed_at: datetime


class RemovedOut(BaseModel):
    """Packages that were removed together and are in the trash."""

    id: str
    removed_at: datetime


class PackagesOut(BaseModel):
    """Installed packages by name.

    `complete` is false if there are more than were read. `removed` can be restored: the newest
    first; `removed_complete` is false if the trash holds too much to be searched. `folder` contains
    the packages; every kernel and job in this environment uses it.
    """

    folder: str
    items: list[PackageOut]
    complete: bool
    removed: list[RemovedOut]
    removed_complete: bool


class RestorePackagesIn(BaseModel):
    """The removed packages to restore."""

    model_config = ConfigDict(extra="forbid")

    id: UUID


class RemovePackageIn(BaseModel):
    """A package to remove, by its listed name."""

    model_config = ConfigDict(extra="forbid")

    package: str = Field(min_length=1, max_length=200)


@router.get("/environments/{name}/packages")
async def own_packages(name: str, user: FilesUser, context: ContextDep) -> PackagesOut:
    """Return the packages that the caller has installed into an environment."""
    return await _list_packages(context, user.username, _find_environment(context, name))


@router.post("/environments/{name}/packages/reset")
async def reset_packages(
    name: str, user: SessionsUser, context: ContextDep, ip: ClientIp
) -> PackagesOut:
    """Remove all packages from the environment; they stay in the trash until they are restored or
    expire.

    Running kernels keep what they have loaded.
    """
    environment = _find_environment(context, name)
    gone = await packages.reset(context.files, user.username, environment)
    await operations.note_gone(context.db, user, gone, count=1, permanent=False, ip=ip)
    return await _list_packages(context, user.username, environment)


@router.post("/environments/{name}/packages/remove")
async def remove_package(
    name: str, body: RemovePackageIn, user: SessionsUser, context: ContextDep, ip: ClientIp
) -> PackagesOut:
    """Delete one package; a Python package's files are deleted permanently, and pip can install it
    again.

    Its dependencies stay. Running kernels keep what they have loaded.
    """
    environment = _find_environment(context, name)
    gone = await packages.remove(context.files, user.username, environment, body.package)
    permanent = environment.language == "python"
    await operations.note_gone(context.db, user, gone, count=1, permanent=permanent, ip=ip)
    return await _list_packages(context, user.username, environment)


@router.post("/environments/{name}/packages/restore")
async def restore_packages(
    name: str, body: RestorePackagesIn, user: SessionsUser, context: ContextDep
) -> PackagesOut:
    """Restore removed packages; 409 if packages were installed since."""
    environment = _find_environment(context, name)
    await packages.restore_packages(context.files, user.username, environment, str(body.id))
    return await _list_packages(context, user.username, environment)


async def _list_packages(
    context: ContextDep, username: str, environment: Environment
) -> PackagesOut:
    result = await packages.list_packages(context.files, username, environment)
    return PackagesOut(
        folder=result.folder,
        items=[
            PackageOut(name=package.name, version=package.version, changed_at=package.changed_at)
            for package in result.packages
        ],
        complete=result.complete,
        removed=[
            RemovedOut(id=removed.id, removed_at=removed.deleted_at)
            for removed in result.removed[:MAX_REMOVED_SHOWN]
        ],
        removed_complete=result.removed_complete,
    )


def _find_environment(context: AppContext, name: str) -> Environment:
    """Return the environment, even one that cannot be used now: its installed packages still
    exist.
    """
    environment = context.catalog.environments.get(name)
    if environment is None:
        raise NotFound("There is no environment with this name.")
    return environment
