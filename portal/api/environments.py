"""Routes of the catalog's environments, with their availability."""

from dataclasses import asdict

from fastapi import APIRouter
from pydantic import BaseModel

from portal.api.common_schemas import ResourcesOut
from portal.context import AppContext
from portal.services.catalog.available import check_environment
from portal.services.sessions import starters
from portal.web.dependencies import ContextDep, CurrentUser
from spawner.catalog.environment import Environment, Gpu
from spawner.containers.image_packages import is_cpu_build, normalize_name
from spawner.containers.runtimes import Kind

router = APIRouter(tags=["environments"])


class EnvironmentOut(BaseModel):
    """An environment.

    `default_resources` are the resources of a session in it unless the request names others.
    `starters` are file names of notebooks that a session can begin with. `versions` are the
    versions of `packages` as far as they are known from the image; a `cpu_build` cannot use a GPU.
    """

    name: str
    title: str
    description: str
    language: str
    framework: str | None
    version: str
    runtime: Kind
    gpu: Gpu
    cuda: str | None
    min_driver: str | None
    kernel: bool
    packages: list[str]
    versions: dict[str, str]
    cpu_build: bool
    available: bool
    unavailable_reason: str | None
    default_resources: ResourcesOut
    starters: list[str]


class Environments(BaseModel):
    items: list[EnvironmentOut]


@router.get("/environments")
def environments(_user: CurrentUser, context: ContextDep) -> Environments:
    """Return all environments of this site, sorted by name."""
    entries = context.catalog.environments.values()
    return Environments(items=[environment_out(context, environment) for environment in entries])


def environment_out(context: AppContext, environment: Environment) -> EnvironmentOut:
    """Return one environment, checked now: its image may have appeared or disappeared."""
    available, reason = check_environment(context, environment)
    versions = environment.runtime.versions()
    return EnvironmentOut(
        name=environment.name,
        title=environment.title,
        description=environment.description,
        language=environment.language,
        framework=environment.framework,
        version=environment.version,
        runtime=environment.runtime.kind,
        gpu=environment.gpu,
        cuda=environment.cuda,
        min_driver=environment.min_driver,
        kernel=environment.has_kernel,
        packages=list(environment.packages),
        versions={
            name: versions[normalize_name(name)]
            for name in environment.packages
            if normalize_name(name) in versions
        },
        cpu_build=is_cpu_build(versions),
        available=available,
        unavailable_reason=reason,
        default_resources=ResourcesOut(**asdict(environment.resources())),
        starters=starters.list_starters(context, environment.name),
    )
