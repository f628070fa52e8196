"""Routes of job templates: parameters as JSON Schema, and a preview of the rendered script."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from portal.api.common_schemas import JobResourcesIn, ResourcesOut
from portal.context import AppContext
from portal.errors import NotFound
from portal.services.jobs import listing, prepare
from portal.services.jobs.prepare import JobRequest
from portal.services.slurm import launch
from portal.web.dependencies import ContextDep, CurrentUser, JobsUser
from spawner.catalog.template import Category, Template

NOTEBOOK = "application/x-ipynb+json"

router = APIRouter(tags=["templates"])


class TemplateOut(BaseModel):
    """A template.

    `array` names the list parameters that are spread over tasks. `environments`: which other
    environment a job may name, "kernel" for any that has a kernel; null for none. `requeue`: Slurm
    may run a job again after a node failure or a preemption.
    """

    name: str
    title: str
    description: str
    framework: str | None
    environment: str | None
    environments: Literal["kernel"] | None
    category: Category
    tags: list[str]
    array: list[str]
    requeue: bool
    starter: str | None
    default_resources: ResourcesOut
    available: bool
    unavailable_reason: str | None


class TemplateDetail(TemplateOut):
    """A template with its script and its parameters, an object in JSON Schema 2020-12 for building
    a form.
    """

    parameters: dict[str, Any]
    script: str


class Templates(BaseModel):
    """All templates. `recent`: the names of those the caller used last, the last one first."""

    items: list[TemplateOut]
    recent: list[str]


class RenderIn(BaseModel):
    """The present content of a form."""

    model_config = ConfigDict(extra="forbid")

    parameters: dict[str, Any] = {}
    resources: JobResourcesIn = JobResourcesIn()
    environment: Annotated[str, Field(min_length=1, max_length=100)] | None = None


class RenderOut(BaseModel):
    """The script as it would be submitted, except for the job's id, which is generated at
    submission.

    `resources` have every default filled in; `array`: the number of tasks.
    """

    script: str
    resources: ResourcesOut
    parameters: dict[str, Any]
    array: int | None


@router.get("/templates")
async def list_templates(user: CurrentUser, context: ContextDep) -> Templates:
    """Return all templates of this site, sorted by name."""
    entries = context.catalog.templates.values()
    recent = await listing.load_recent_templates(context, user)
    return Templates(
        items=[TemplateOut(**_to_fields(context, template)) for template in entries],
        recent=[name for name in recent if name in context.catalog.templates],
    )


@router.get("/templates/{name}")
async def get_template(name: str, _user: CurrentUser, context: ContextDep) -> TemplateDetail:
    """Return one template, with everything that a form needs."""
    template = prepare.get_template(context, name)
    return TemplateDetail(
        **_to_fields(context, template),
        parameters=dict(template.parameters),
        script=template.script,
    )


@router.get(
    "/templates/{name}/starter",
    response_class=Response,
    responses={200: {"content": {NOTEBOOK: {}}, "description": "A notebook, to be saved."}},
)
async def get_starter(name: str, _user: CurrentUser, context: ContextDep) -> Response:
    """Return the template's starter notebook, under the name in `starter`."""
    template = prepare.get_template(context, name)
    if template.notebook is None:
        raise NotFound("This template has no starter notebook.")
    headers = {"Content-Disposition": f'attachment; filename="{template.starter}"'}
    return Response(template.notebook, media_type=NOTEBOOK, headers=headers)


@router.post("/templates/{name}/render")
async def render_template(
    name: str, body: RenderIn, user: JobsUser, context: ContextDep
) -> RenderOut:
    """Return the exact script without submitting it; refused with the same field errors as a
    submission.
    """
    prepare.get_template(context, name)
    request = JobRequest(
        template=name,
        parameters=body.parameters,
        environment=body.environment,
        resources=body.resources.model_dump(),
    )
    prepared = await prepare.prepare(context, user, request, prepare.PREVIEW_UUID)
    return RenderOut(
        script=prepared.rendered.script,
        resources=ResourcesOut(**prepared.resources_json),
        parameters=prepared.parameters,
        array=prepared.rendered.array,
    )


def _to_fields(context: AppContext, template: Template) -> dict[str, Any]:
    available, reason = prepare.check_template(context, template)
    return {
        "name": template.name,
        "title": template.title,
        "description": template.description,
        "framework": template.framework,
        "environment": template.environment,
        "environments": template.environments,
        "category": template.category,
        "tags": list(template.tags),
        "array": list(template.array),
        "requeue": template.requeue,
        "starter": template.starter,
        "default_resources": ResourcesOut(
            **launch.resources_to_json(prepare.compute_defaults(context, template))
        ),
        "available": available,
        "unavailable_reason": reason,
    }
