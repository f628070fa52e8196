"""Route of the resources in forms: completed and checked by the same rules as a submission."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from portal.api.common_schemas import JobResourcesIn, ResourcesOut
from portal.errors import FieldError, field_errors
from portal.services.jobs import prepare
from portal.services.sessions import sessions
from portal.services.slurm import launch
from portal.web.dependencies import ContextDep, JobsUser

router = APIRouter(tags=["resources"])
Name = Annotated[str, Field(min_length=1, max_length=100)]
ResourcesDraft = Annotated[dict[str, str | int | float | None], Field(max_length=20)]
"""The fields of `JobResourcesIn` as they are in a form, which may be invalid."""


class CompletionIn(BaseModel):
    """Requests to complete, for a job of `template` or for a session or script in `environment`.

    `session_name` is checked too.
    """

    model_config = ConfigDict(extra="forbid")

    template: Name | None = None
    environment: Name | None = None
    session_name: Annotated[str, Field(max_length=1000)] | None = None
    requests: Annotated[list[ResourcesDraft], Field(min_length=1, max_length=100)]


class CompletedResources(ResourcesOut):
    """Completed resources; `errors`: why a submission would refuse the request, by field."""

    errors: list[FieldError]


class CompletionOut(BaseModel):
    """The completed resources, in the order of the requests, and the `errors` of other fields."""

    items: list[CompletedResources]
    errors: list[FieldError]


@router.post("/resources")
async def complete_resources(
    body: CompletionIn, user: JobsUser, context: ContextDep
) -> CompletionOut:
    """Fill in the omitted fields of each request, as a submission would.

    Requests that a submission would refuse are completed too, with the default in place of an
    invalid value.
    """
    drafts = [_validate(request) for request in body.requests]
    valid = [request for request, _ in drafts]
    completed = await prepare.complete_for_form(
        context, user, valid, body.template, body.environment
    )
    items = [
        CompletedResources(**launch.resources_to_json(resources), errors=[*invalid, *refused])
        for (_, invalid), (resources, refused) in zip(drafts, completed, strict=True)
    ]
    name_problem = body.session_name and await sessions.find_name_problem(
        context, user, body.session_name
    )
    return CompletionOut(
        items=items, errors=[FieldError("name", name_problem)] if name_problem else []
    )


def _validate(draft: Mapping[str, Any]) -> tuple[dict[str, Any], list[FieldError]]:
    """Return the valid fields of a draft, and the errors of the others."""
    try:
        return JobResourcesIn.model_validate(draft).model_dump(), []
    except ValidationError as error:
        errors = error.errors()
    invalid = {item["loc"][0] for item in errors}
    valid = {name: value for name, value in draft.items() if name not in invalid}
    located = [{**item, "loc": ("body", "resources", *item["loc"])} for item in errors]
    return JobResourcesIn.model_validate(valid).model_dump(), field_errors(located)
