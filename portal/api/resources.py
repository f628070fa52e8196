"""Route of the default resources in forms, by the same rule that completes a submission."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from portal.api.common_schemas import JobResourcesIn, ResourcesOut
from portal.services.jobs import prepare
from portal.services.slurm import launch
from portal.web.dependencies import ContextDep, JobsUser

router = APIRouter(tags=["resources"])
Name = Annotated[str, Field(min_length=1, max_length=100)]


class CompletionIn(BaseModel):
    """Requests to complete, for a job of `template` or for a session or script in `environment`."""

    model_config = ConfigDict(extra="forbid")

    template: Name | None = None
    environment: Name | None = None
    requests: Annotated[list[JobResourcesIn], Field(min_length=1, max_length=100)]


class CompletionOut(BaseModel):
    """The completed resources, in the order of the requests."""

    items: list[ResourcesOut]


@router.post("/resources")
async def complete_resources(
    body: CompletionIn, user: JobsUser, context: ContextDep
) -> CompletionOut:
    """Fill in the omitted fields of each request, as a submission would.

    Requests that a submission would refuse are completed too.
    """
    requests = [request.model_dump() for request in body.requests]
    found = await prepare.complete_for_form(
        context, user, requests, body.template, body.environment
    )
    return CompletionOut(items=[ResourcesOut(**launch.kept(resources)) for resources in found])
