"""Templates: recipes for jobs, their parameters as JSON Schema, and the script they come to."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from portal.api.deps import CurrentUser, JobsUser, PartsDep
from portal.api.views import JobResourcesIn, ResourcesOut
from portal.errors import NotFound
from portal.parts import Parts
from portal.services.jobs import recipes
from portal.services.jobs.recipes import Wish
from spawner.templates import Template

NOTEBOOK = "application/x-ipynb+json"

router = APIRouter(tags=["templates"])


class TemplateOut(BaseModel):
    """One template. `array` names the list parameters that are spread over tasks. `environments`
    says that a job may name another `environment`: "kernel", one that has a kernel."""

    name: str
    title: str
    description: str
    framework: str | None
    environment: str | None
    environments: Literal["kernel"] | None
    tags: list[str]
    array: list[str]
    requeue: bool
    starter: str | None
    default_resources: ResourcesOut
    available: bool
    unavailable_reason: str | None


class TemplateDetail(TemplateOut):
    """A template with its parameters (an object in JSON Schema 2020-12, to make a form of) and
    the script's own text."""

    parameters: dict[str, Any]
    script: str


class Templates(BaseModel):
    items: list[TemplateOut]


class RenderIn(BaseModel):
    """What a form says so far."""

    model_config = ConfigDict(extra="forbid")

    parameters: dict[str, Any] = {}
    resources: JobResourcesIn = JobResourcesIn()
    environment: Annotated[str, Field(min_length=1, max_length=100)] | None = None


class RenderOut(BaseModel):
    """The script as Slurm would be given it, but for the job's id, which is made when it is
    submitted; `resources` with every default filled in; `array`: the number of tasks."""

    script: str
    resources: ResourcesOut
    parameters: dict[str, Any]
    array: int | None


@router.get("/templates")
async def list_templates(_user: CurrentUser, parts: PartsDep) -> Templates:
    """All templates of this site, in the order of their names."""
    found = parts.catalog.templates.values()
    return Templates(items=[TemplateOut(**_fields(parts, template)) for template in found])


@router.get("/templates/{name}")
async def get_template(name: str, _user: CurrentUser, parts: PartsDep) -> TemplateDetail:
    """One template, with everything that a form needs."""
    template = recipes.template(parts, name)
    return TemplateDetail(
        **_fields(parts, template), parameters=dict(template.parameters), script=template.script
    )


@router.get(
    "/templates/{name}/starter",
    response_class=Response,
    responses={200: {"content": {NOTEBOOK: {}}, "description": "A notebook, to be saved."}},
)
async def get_starter(name: str, _user: CurrentUser, parts: PartsDep) -> Response:
    """The notebook to begin with, under the name that `starter` has."""
    template = recipes.template(parts, name)
    if template.notebook is None:
        raise NotFound("This template has no notebook to begin with.")
    named = {"Content-Disposition": f'attachment; filename="{template.starter}"'}
    return Response(template.notebook, media_type=NOTEBOOK, headers=named)


@router.post("/templates/{name}/render")
async def render_template(name: str, body: RenderIn, user: JobsUser, parts: PartsDep) -> RenderOut:
    """The exact script, without submitting it; refused with the same fields as submitting is."""
    recipes.template(parts, name)
    wish = Wish(
        template=name,
        parameters=body.parameters,
        environment=body.environment,
        resources=body.resources.model_dump(),
    )
    recipe = await recipes.prepare(parts, user, wish, recipes.PREVIEW)
    return RenderOut(
        script=recipe.rendered.script,
        resources=ResourcesOut(**recipe.kept_resources),
        parameters=recipe.parameters,
        array=recipe.rendered.array,
    )


def _fields(parts: Parts, template: Template) -> dict[str, Any]:
    available, reason = recipes.availability_of(parts, template)
    return {
        "name": template.name,
        "title": template.title,
        "description": template.description,
        "framework": template.framework,
        "environment": template.environment,
        "environments": template.environments,
        "tags": list(template.tags),
        "array": list(template.array),
        "requeue": template.requeue,
        "starter": template.starter,
        "default_resources": ResourcesOut(**recipes.defaults(parts, template)),
        "available": available,
        "unavailable_reason": reason,
    }
