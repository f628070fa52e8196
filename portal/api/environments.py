"""Where code can run: the catalog's environments, and whether each can be used now."""

from dataclasses import asdict

from fastapi import APIRouter
from pydantic import BaseModel

from portal.api.deps import CurrentUser, PartsDep
from portal.api.views import ResourcesOut
from portal.parts import Parts
from portal.services.catalog.available import availability
from portal.services.sessions import starters
from spawner.catalog import Environment, Gpu
from spawner.runtimes import Kind

router = APIRouter(tags=["environments"])


class EnvironmentOut(BaseModel):
    """One environment; `default_resources` is what a session in it gets unless it asks. `starters`
    are notebooks that a session can begin with, by their file names."""

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
    available: bool
    unavailable_reason: str | None
    default_resources: ResourcesOut
    starters: list[str]


class Environments(BaseModel):
    items: list[EnvironmentOut]


@router.get("/environments")
def environments(_user: CurrentUser, parts: PartsDep) -> Environments:
    """All environments of this site, in the order of their names."""
    found = parts.catalog.environments.values()
    return Environments(items=[environment_out(parts, environment) for environment in found])


def environment_out(parts: Parts, environment: Environment) -> EnvironmentOut:
    """One environment, looked at now: its image may have come or gone."""
    available, reason = availability(parts, environment)
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
        kernel=environment.kernel,
        packages=list(environment.packages),
        available=available,
        unavailable_reason=reason,
        default_resources=ResourcesOut(**asdict(environment.resources())),
        starters=starters.of_environment(parts, environment.name),
    )
