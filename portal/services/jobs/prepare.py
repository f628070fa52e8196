"""Preparation of a job for submission: a template with its parameters, or a custom script, is
validated, completed with defaults and rendered. The same code serves the preview and the
submission.

Writes nothing to the database; jobs.py does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from portal.context import AppContext
from portal.errors import FieldError, NotFound, invalid_input
from portal.models import BatchJob, User
from portal.services.catalog.available import check_environment, find_environment
from portal.services.catalog.resources import check_gpus, complete, explicit_names, missing_gpus
from portal.services.limits import allowances
from portal.services.limits.limit_rules import Allowance
from portal.services.slurm import launch
from spawner.catalog import jobscript, launch_files
from spawner.catalog.environment import Environment
from spawner.catalog.template import Template, array_tasks, check_parameters
from spawner.errors import SpawnerError
from spawner.slurm.model import Resources

# The UUID of jobs that are only rendered or estimated.
PREVIEW_UUID = "00000000-0000-0000-0000-000000000000"
# A frame to the launcher is at most 1 MiB, including the quoting of the text.
MAX_RENDERED_BYTES = 640 * 1024


@dataclass(frozen=True)
class JobRequest:
    """A user's request: `template` with `parameters`, or `script` (with an environment)."""

    template: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    script: str | None = None
    environment: str | None = None
    resources: dict[str, Any] = field(default_factory=dict)
    name: str | None = None
    logdir: str | None = None


@dataclass(frozen=True)
class PreparedJob:
    """A completed request. `tasks` has, for each task of an array, the parameters that differ."""

    name: str
    template: str | None
    environment: str | None
    parameters: dict[str, Any]
    resources: Resources
    rendered: jobscript.RenderedJob
    workdir: str
    tasks: list[dict[str, Any]] | None
    allowance: Allowance

    @property
    def resources_json(self) -> dict[str, Any]:
        return launch.resources_to_json(self.resources)


def get_template(context: AppContext, name: str) -> Template:
    """Return the template of this name. Raises NotFound."""
    entry = context.catalog.templates.get(name)
    if entry is None:
        raise NotFound("There is no template with this name.")
    return entry


def check_template(context: AppContext, template: Template) -> tuple[bool, str | None]:
    """Return whether a job of this template can be submitted now, in its environment or in any that
    may be chosen instead, and the reason if not.
    """
    if any(
        check_environment(context, environment)[0]
        for environment in _list_choices(context, template)
    ):
        return True, None
    environment = context.catalog.environments.get(template.environment)
    if environment is None:
        return False, f"Its environment, {template.environment}, is not in the catalog."
    return check_environment(context, environment)


def _list_choices(context: AppContext, template: Template) -> list[Environment]:
    """Return the environments that a user may choose: all that have a kernel, if the template says
    `environments: kernel`, else none.
    """
    if template.environments is None:
        return []
    return [entry for entry in context.catalog.environments.values() if entry.has_kernel]


def choose_environment(
    context: AppContext, template: Template, requested: str | None
) -> Environment:
    """Return the environment that a job of this template runs in: the requested one, else the
    template's.

    Raises InvalidInput: `environment` for a choice that is not available, `template` for a template
    that cannot be used here at all.
    """
    if template.environments is not None:
        chosen = find_environment(context, requested or template.environment)
        if not chosen.has_kernel:
            text = f"{chosen.title} has no kernel, and this template needs one."
            raise invalid_input([FieldError("environment", text)])
        return chosen
    if requested not in {None, template.environment}:
        text = f"This template runs in {template.environment}."
        raise invalid_input([FieldError("environment", text)])
    available, reason = check_template(context, template)
    if not available:
        raise invalid_input([FieldError("template", reason or "It can't be used here.")])
    return context.catalog.environments[template.environment]


def compute_defaults(context: AppContext, template: Template) -> Resources:
    """Return the resources of a job of this template with an empty request."""
    environment = context.catalog.environments.get(template.environment)
    return complete({}, template, environment, context.settings, context.watcher.cluster)


async def complete_for_form(
    context: AppContext,
    user: User,
    requests: Sequence[Mapping[str, Any]],
    template_name: str | None = None,
    environment_name: str | None = None,
) -> list[tuple[Resources, list[FieldError]]]:
    """Return the resources that a submission of each of `requests` would request from Slurm, and
    why it would be refused.

    Raises NotFound, InvalidInput.
    """
    chosen = get_template(context, template_name) if template_name else None
    environment = _find_form_environment(context, chosen, environment_name)
    allowed = await allowances.load_allowance(context, user.username)
    cluster = context.watcher.cluster

    async def completed(resources: Mapping[str, Any]) -> tuple[Resources, list[FieldError]]:
        filled = complete(resources, chosen, environment, context.settings, cluster)
        filled = allowances.adjust(filled, explicit_names(resources), allowed, cluster)
        errors = missing_gpus(filled, environment)
        return filled, [*errors, *await allowances.list_problems(context, user, filled, allowed)]

    return [await completed(resources) for resources in requests]


def _find_form_environment(
    context: AppContext, chosen: Template | None, name: str | None
) -> Environment | None:
    """Return the environment that provides the defaults, even if it cannot be used now. Raises
    InvalidInput for an unknown name.
    """
    if chosen is not None and (name is None or chosen.environments is None):
        return context.catalog.environments.get(chosen.environment)
    if name is None:
        return None
    entry = context.catalog.environments.get(name)
    if entry is None:
        raise invalid_input([FieldError("environment", "There is no environment with this name.")])
    return entry


async def prepare(context: AppContext, user: User, request: JobRequest, uuid: str) -> PreparedJob:
    """Validate a request and render it. Raises InvalidInput with the fields, and the launcher's
    errors.
    """
    chosen = _find_template(context, request)
    environment = _find_environment(context, request, chosen)
    parameters: dict[str, Any] = {}
    if chosen is not None:
        parameters, problems = check_parameters(chosen, request.parameters)
        if problems:
            raise invalid_input([FieldError(name, text) for name, text in problems])
    resources = complete_resources(context, request.resources, chosen, environment)
    resources, allowed = await allowances.adjust_and_check(
        context, user, resources, explicit_names(request.resources)
    )
    name = normalize_name(request.name) or (chosen.name if chosen else "script")
    try:
        home = (await context.launchers.info(user.username)).home
    except SpawnerError as error:
        raise launch.to_launch_error(error) from error
    job_context = _to_job_context(context, user, home, uuid, environment, resources, name)
    rendered = _render(chosen, parameters, request.script, job_context, environment)
    return PreparedJob(
        name=name,
        template=chosen.name if chosen else None,
        environment=environment.name if environment else None,
        parameters=parameters,
        resources=resources,
        rendered=rendered,
        workdir=home,
        allowance=allowed,
        tasks=_list_task_parameters(chosen, parameters) if rendered.array else None,
    )


def _find_template(context: AppContext, request: JobRequest) -> Template | None:
    if (request.template is None) == (request.script is None):
        text = "Specify either a template or a script."
        raise invalid_input([FieldError("template" if request.script is None else "script", text)])
    if request.template is None:
        if request.parameters:
            text = "A script does not accept parameters."
            raise invalid_input([FieldError("parameters", text)])
        return None
    entry = context.catalog.templates.get(request.template)
    if entry is None:
        names = ", ".join(context.catalog.templates)
        text = f"There is no template with this name. Available: {names}."
        raise invalid_input([FieldError("template", text)])
    return entry


def _find_environment(
    context: AppContext, request: JobRequest, chosen: Template | None
) -> Environment | None:
    if chosen is None:
        return find_environment(context, request.environment) if request.environment else None
    return choose_environment(context, chosen, request.environment)


def complete_resources(
    context: AppContext,
    requested: Mapping[str, Any],
    chosen: Template | None,
    environment: Environment | None,
) -> Resources:
    """Complete the requested resources. Raises InvalidInput for an environment that needs a GPU."""
    resources = complete(requested, chosen, environment, context.settings, context.watcher.cluster)
    check_gpus(resources, environment)
    return resources


def normalize_name(name: str | None) -> str | None:
    """Return a job's name without surrounding spaces. Raises InvalidInput for one that lists and
    Slurm could not show.
    """
    if name is None:
        return None
    if not name.isprintable() or not name.strip():
        text = "Use visible characters and spaces only."
        raise invalid_input([FieldError("name", text)])
    return name.strip()


def _to_job_context(
    context: AppContext,
    user: User,
    home: str,
    uuid: str,
    environment: Environment | None,
    resources: Resources,
    name: str,
) -> jobscript.JobContext:
    return jobscript.JobContext(
        uuid=uuid,
        home=home,
        runtime_dir=str(context.settings.runtime_dir),
        apptainer=str(context.settings.apptainer_path),
        logdir=_build_logdir(home, name, uuid),
        username=user.username,
        environment=environment,
        resources=resources,
        node_dir=launch_files.node_dir(uuid, launch.derive_secret(context, uuid)),
        pip_index_url=context.settings.pip_index_url,
        modules_init=str(context.settings.modules_init) if context.settings.modules_init else None,
        measured=context.settings.job_usage_samplers,
    )


def _build_logdir(home: str, name: str, uuid: str) -> str:
    return launch.build_logdir(home, _to_folder_name(name), uuid)


def own_logdir(job: BatchJob) -> str:
    """Return PORTAL_LOGDIR of a job that was submitted from the portal, whichever folder its
    TensorBoard shows.
    """
    return _build_logdir(job.workdir or "", job.name, job.id)


def _to_folder_name(name: str) -> str:
    """Convert a name to a part of a folder's name: ASCII letters, digits and hyphens."""
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower())
    return "-".join(word for word in plain.split("-") if word)[:40] or "job"


def _render(
    chosen: Template | None,
    parameters: dict[str, Any],
    script: str | None,
    job_context: jobscript.JobContext,
    environment: Environment | None,
) -> jobscript.RenderedJob:
    try:
        if chosen is not None:
            rendered = jobscript.render_job(chosen, parameters, job_context)
        else:
            rendered = jobscript.render_script(script or "", job_context, environment)
    except jobscript.ScriptRefused as error:
        raise invalid_input([FieldError(error.field, error.message)]) from error
    size = len(rendered.script.encode()) + sum(len(t.encode()) for t in rendered.files.values())
    if size > MAX_RENDERED_BYTES:
        text = "The script generated from these parameters is too long."
        raise invalid_input([FieldError("parameters" if chosen else "script", text)])
    return rendered


def _list_task_parameters(
    chosen: Template | None, parameters: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return, for each task, the parameters that vary between tasks."""
    if chosen is None:
        return []
    tasks = array_tasks(chosen, parameters)
    return [{name: task[name] for name in chosen.array} for task in tasks]
