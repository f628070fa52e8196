"""From a wish to what is submitted: a template with its parameters, or a free script, checked,
completed with defaults and rendered. The same for a preview as for the real thing.

It writes nothing: jobs.py does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from portal.errors import FieldError, NotFound, invalid_input
from portal.models import BatchJob, User
from portal.parts import Parts
from portal.services.catalog.available import availability
from portal.services.limits import allowances
from portal.services.limits.limit_rules import Allowance
from portal.services.sessions.sessions import complete, named, usable_environment
from portal.services.slurm import launch
from portal.services.slurm.feasible import where_it_fits
from spawner import jobscript, scripts
from spawner.catalog import Environment
from spawner.errors import SpawnerError
from spawner.model import Resources
from spawner.templates import Template, array_tasks, check_parameters

PREVIEW = "00000000-0000-0000-0000-000000000000"
MAX_RENDERED_BYTES = 640 * 1024  # the launcher takes a frame of 1 MiB, with all of it quoted


@dataclass(frozen=True)
class Wish:
    """What a user asks for: `template` with `parameters`, or `script` (with an environment)."""

    template: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    script: str | None = None
    environment: str | None = None
    resources: dict[str, Any] = field(default_factory=dict)
    name: str | None = None
    logdir: str | None = None


@dataclass(frozen=True)
class Recipe:
    """A wish made complete. `tasks` are the parameters of each task of an array that differ."""

    name: str
    template: str | None
    environment: str | None
    parameters: dict[str, Any]
    resources: Resources
    rendered: jobscript.Rendered
    workdir: str
    tasks: list[dict[str, Any]] | None
    allowance: Allowance

    @property
    def kept_resources(self) -> dict[str, Any]:
        return launch.kept(self.resources)


def template(parts: Parts, name: str) -> Template:
    """The template of that name; raises NotFound."""
    found = parts.catalog.templates.get(name)
    if found is None:
        raise NotFound("There is no template of this name.")
    return found


def availability_of(parts: Parts, template: Template) -> tuple[bool, str | None]:
    """Whether a job of this template can be submitted now, by its environment, or by any that may
    be chosen instead."""
    if any(availability(parts, environment)[0] for environment in _choices(parts, template)):
        return True, None
    environment = parts.catalog.environments.get(template.environment)
    if environment is None:
        return False, f"Its environment, {template.environment}, is not in this site's catalog."
    return availability(parts, environment)


def _choices(parts: Parts, template: Template) -> list[Environment]:
    """The environments that a user may choose for this template; empty where there is no choice."""
    if template.environments is None:
        return []
    return [found for found in parts.catalog.environments.values() if found.kernel]


def environment_of(parts: Parts, template: Template, asked: str | None) -> Environment:
    """The environment that a job of this template runs in, or the one that was asked for.

    Raises InvalidInput: `environment` for a choice that can't be had, `template` for a template
    that can't be used here at all."""
    if template.environments is not None:
        chosen = usable_environment(parts, asked or template.environment)
        if not chosen.kernel:
            text = f"{chosen.title} has no kernel, and this template needs one."
            raise invalid_input([FieldError("environment", text)])
        return chosen
    if asked not in {None, template.environment}:
        text = f"This template runs in {template.environment}."
        raise invalid_input([FieldError("environment", text)])
    available, reason = availability_of(parts, template)
    if not available:
        raise invalid_input([FieldError("template", reason or "It can't be used here.")])
    return parts.catalog.environments[template.environment]


def defaults(parts: Parts, template: Template | None) -> dict[str, Any]:
    """The resources of a job of this template that asks for nothing. They name a partition only
    where the template does, or where the site's default one could never run it."""
    if template is None:
        return launch.kept(Resources())
    environment = parts.catalog.environments.get(template.environment)
    base = dict(environment.default_resources) if environment else {}
    found = Resources(**{**base, **_own_defaults(template, environment)})
    if found.partition is None:
        settings = parts.settings
        usual = settings.default_gpu_partition if found.gpus else None
        usual = usual or settings.default_partition
        fitting = where_it_fits(replace(found, partition=usual), parts.watcher.cluster)
        found = found if fitting.partition == usual else fitting
    return launch.kept(found)


def _own_defaults(template: Template, environment: Environment | None) -> dict[str, Any]:
    """What the template asks for; no GPU where the environment's image could not use it."""
    found = dict(template.default_resources)
    if environment is not None and environment.gpu == "none":
        found.pop("gpus", None)
    return found


async def prepare(parts: Parts, user: User, wish: Wish, uuid: str) -> Recipe:
    """Check a wish and render it; raises InvalidInput with the fields, and what asking who the
    user is raises."""
    chosen = _chosen(parts, wish)
    environment = _environment(parts, wish, chosen)
    parameters: dict[str, Any] = {}
    if chosen is not None:
        parameters, problems = check_parameters(chosen, wish.parameters)
        if problems:
            raise invalid_input([FieldError(name, text) for name, text in problems])
    resources = resources_for(parts, wish.resources, chosen, environment)
    resources, allowed = await allowances.fit(parts, user, resources, named(wish.resources))
    name = checked_name(wish.name) or (chosen.name if chosen else "script")
    try:
        home = (await parts.agents.info(user.username)).home
    except SpawnerError as error:
        raise launch.explained(error) from error
    place = _place(parts, user, home, uuid, environment, resources, name)
    rendered = _rendered(chosen, parameters, wish.script, place, environment)
    return Recipe(
        name=name,
        template=chosen.name if chosen else None,
        environment=environment.name if environment else None,
        parameters=parameters,
        resources=resources,
        rendered=rendered,
        workdir=home,
        allowance=allowed,
        tasks=_task_parameters(chosen, parameters) if rendered.array else None,
    )


def _chosen(parts: Parts, wish: Wish) -> Template | None:
    if (wish.template is None) == (wish.script is None):
        text = "Name a template, or give a script: one of the two."
        raise invalid_input([FieldError("template" if wish.script is None else "script", text)])
    if wish.template is None:
        if wish.parameters:
            text = "A script of your own takes no parameters."
            raise invalid_input([FieldError("parameters", text)])
        return None
    found = parts.catalog.templates.get(wish.template)
    if found is None:
        known = ", ".join(parts.catalog.templates)
        text = f"There is no template of this name. There are: {known}."
        raise invalid_input([FieldError("template", text)])
    return found


def _environment(parts: Parts, wish: Wish, chosen: Template | None) -> Environment | None:
    if chosen is None:
        return usable_environment(parts, wish.environment) if wish.environment else None
    return environment_of(parts, chosen, wish.environment)


def resources_for(
    parts: Parts,
    asked: Mapping[str, Any],
    chosen: Template | None,
    environment: Environment | None,
) -> Resources:
    """What was asked for, then the template's defaults, the environment's, the site's; in another
    partition than the site's default one where that is too small and none was named."""
    mine = {key: asked[key] for key in named(asked)}
    base = {**(_own_defaults(chosen, environment) if chosen else {}), **mine}
    found = complete(base, environment, parts.settings)
    return found if "partition" in base else where_it_fits(found, parts.watcher.cluster)


def checked_name(name: str | None) -> str | None:
    """A name that may stand in lists and in Slurm; raises InvalidInput."""
    if name is None:
        return None
    if not name.isprintable() or not name.strip():
        text = "Use letters, digits, blanks and signs that can be seen."
        raise invalid_input([FieldError("name", text)])
    return name.strip()


def _place(
    parts: Parts,
    user: User,
    home: str,
    uuid: str,
    environment: Environment | None,
    resources: Resources,
    name: str,
) -> jobscript.JobPlace:
    return jobscript.JobPlace(
        uuid=uuid,
        home=home,
        runtime_dir=str(parts.settings.runtime_dir),
        apptainer=str(parts.settings.apptainer_path),
        logdir=_logdir(home, name, uuid),
        username=user.username,
        environment=environment,
        resources=resources,
        node_dir=scripts.node_dir(uuid),
    )


def _logdir(home: str, name: str, uuid: str) -> str:
    return launch.session_logdir(home, _folder_word(name), uuid)


def own_logdir(job: BatchJob) -> str:
    """Where PORTAL_LOGDIR points in a job that was submitted here, whatever its TensorBoard is to
    show."""
    return _logdir(job.workdir or "", job.name, job.id)


def _folder_word(name: str) -> str:
    """A name as part of a folder's: plain letters, digits and hyphens."""
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower())
    return "-".join(word for word in plain.split("-") if word)[:40] or "job"


def _rendered(
    chosen: Template | None,
    parameters: dict[str, Any],
    script: str | None,
    place: jobscript.JobPlace,
    environment: Environment | None,
) -> jobscript.Rendered:
    try:
        if chosen is not None:
            rendered = jobscript.render_job(chosen, parameters, place)
        else:
            rendered = jobscript.render_script(script or "", place, environment)
    except jobscript.ScriptRefused as error:
        raise invalid_input([FieldError(error.field, error.message)]) from error
    size = len(rendered.script.encode()) + sum(len(t.encode()) for t in rendered.files.values())
    if size > MAX_RENDERED_BYTES:
        text = "The script that these parameters make is too long."
        raise invalid_input([FieldError("parameters" if chosen else "script", text)])
    return rendered


def _task_parameters(chosen: Template | None, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    """Of each task, the parameters that are spread over the tasks."""
    if chosen is None:
        return []
    tasks = array_tasks(chosen, parameters)
    return [{name: task[name] for name in chosen.array} for task in tasks]
