"""Starter notebooks: which an environment has, and how one gets into somebody's home.

They belong to templates; an environment has those of the templates that run in it. The launcher
writes the file as the user, and never over one that is there: that one is opened instead, with what
its owner has made of it.
"""

import base64
from collections.abc import Iterable
from urllib.parse import quote

from portal.errors import FieldError, invalid_input
from portal.models import User
from portal.parts import Parts
from portal.services.slurm import launch
from spawner.errors import FileProblem, SpawnerError
from spawner.templates import Template

EXISTS = "exists"


def of_environment(parts: Parts, environment: str) -> list[str]:
    """The file names of an environment's starter notebooks, in the order of their templates."""
    found = _templates(parts, environment)
    return list(dict.fromkeys(template.starter for template in found if template.starter))


def check(parts: Parts, environment: str, starter: str) -> None:
    """Raises InvalidInput for a notebook that this environment hasn't got."""
    names = of_environment(parts, environment)
    if starter in names:
        return
    text = f"There are: {', '.join(names)}." if names else "It has none."
    message = f"This environment has no starter notebook of this name. {text}"
    raise invalid_input([FieldError("starter", message)])


async def lay_out(parts: Parts, user: User, environment: str, starter: str) -> str:
    """Copy a starter notebook into somebody's home, unless there is something of its name; what
    JupyterLab is to open, below the session's address. Raises InvalidInput where it can't be
    written, and what a home that doesn't answer raises."""
    check(parts, environment, starter)
    found = _templates(parts, environment)
    notebook = next(template.notebook for template in found if template.starter == starter)
    data = base64.b64encode((notebook or "").encode()).decode()
    try:
        home = (await parts.agents.info(user.username)).home
        await parts.agents.call(
            user.username, "save", root=home, path=starter, data_b64=data, version=None
        )
    except FileProblem as problem:
        if problem.code != EXISTS:
            text = f"The notebook can't be copied into your home directory. {problem.message}"
            raise invalid_input([FieldError("starter", text)]) from problem
    except SpawnerError as error:
        raise launch.explained(error) from error
    return f"lab/tree/{quote(starter)}"


def _templates(parts: Parts, environment: str) -> Iterable[Template]:
    return [
        template
        for template in parts.catalog.templates.values()
        if template.environment == environment and template.notebook is not None
    ]
