"""Starter notebooks of environments, and copying them into a user's home.

They belong to templates; an environment has the starters of the templates that run in it. The
files program writes the file as the user, and never overwrites an existing file: that one is opened
instead, with its owner's changes.
"""

import base64
from collections.abc import Iterable
from urllib.parse import quote

from portal.context import AppContext
from portal.errors import FieldError, invalid_input
from portal.models import User
from portal.services.slurm import launch
from spawner.catalog.template import Template
from spawner.errors import FileProblem, SpawnerError

EXISTS = "exists"


def list_starters(context: AppContext, environment: str) -> list[str]:
    """Return the file names of an environment's starter notebooks, in template order."""
    templates = _list_starter_templates(context, environment)
    return list(dict.fromkeys(template.starter for template in templates if template.starter))


def check(context: AppContext, environment: str, starter: str) -> None:
    """Raise InvalidInput for a notebook that this environment does not have."""
    names = list_starters(context, environment)
    if starter in names:
        return
    text = f"Available: {', '.join(names)}." if names else "It has no starter notebooks."
    message = f"This environment has no starter notebook with this name. {text}"
    raise invalid_input([FieldError("starter", message)])


async def copy_starter(context: AppContext, user: User, environment: str, starter: str) -> str:
    """Copy a starter notebook into a user's home, unless a file of that name exists.

    Returns the path for JupyterLab to open, relative to the session's address. Raises InvalidInput
    if it cannot be written, and the launcher's error for a home that does not answer.
    """
    check(context, environment, starter)
    templates = _list_starter_templates(context, environment)
    notebook = next(template.notebook for template in templates if template.starter == starter)
    data = base64.b64encode((notebook or "").encode()).decode()
    try:
        home = (await context.launchers.info(user.username)).home
        await context.file_pool.call(
            user.username, "save", root=home, path=starter, data_b64=data, version=None
        )
    except FileProblem as problem:
        if problem.code != EXISTS:
            text = f"The notebook can't be copied into your home directory. {problem.message}"
            raise invalid_input([FieldError("starter", text)]) from problem
    except SpawnerError as error:
        raise launch.to_launch_error(error) from error
    return f"lab/tree/{quote(starter)}"


def _list_starter_templates(context: AppContext, environment: str) -> Iterable[Template]:
    return [
        template
        for template in context.catalog.templates.values()
        if template.environment == environment and template.notebook is not None
    ]
