"""Availability of environments, by the image or software that they run from and the GPU that they
need, and of apps, by the environments that offer them.
"""

from portal.context import AppContext
from portal.errors import FieldError, invalid_input
from portal.services.catalog.feasible import has_no_gpus
from spawner.catalog import environment as catalog
from spawner.catalog.app import App, explain_missing_program
from spawner.catalog.environment import Environment

NO_GPU = "No node of this cluster has a GPU, and this environment needs one."
NOWHERE_OFFERED = "No environment of this catalog offers it: see its language and version."


def check_environment(context: AppContext, environment: Environment) -> tuple[bool, str | None]:
    """Return whether a session or job in this environment can start here, and the reason for its
    user if not.

    The GPU is checked first: without one, an administrator need not import the image. The nodes'
    driver versions are unknown, so `cuda` and `min_driver` are not considered.
    """
    if environment.gpu == "required" and has_no_gpus(context.watcher.cluster):
        return False, NO_GPU
    return catalog.availability(environment)


def check_app(context: AppContext, app: App) -> tuple[bool, str | None]:
    """Return whether sessions of any environment offer this app, and the reason if none does, for
    administrators.
    """
    if not any(map(app.is_offered_in, context.catalog.environments.values())):
        return False, NOWHERE_OFFERED
    missing = explain_missing_program(app, context.settings.app_dir)
    return missing is None, missing


def find_environment(context: AppContext, name: str) -> Environment:
    """Return the environment of this name. Raises InvalidInput if it is unknown or not available
    here.
    """
    environment = context.catalog.environments.get(name)
    if environment is None:
        names = ", ".join(sorted(context.catalog.environments))
        raise invalid_input(
            [
                FieldError(
                    "environment", f"There is no environment with this name. Available: {names}."
                )
            ]
        )
    available, reason = check_environment(context, environment)
    if not available:
        raise invalid_input(
            [FieldError("environment", reason or "This environment can't be used here.")]
        )
    return environment


def get_environment_title(context: AppContext, name: str | None) -> str:
    """Return an environment's title, or its name if it is no longer in the catalog."""
    known = context.catalog.environments.get(name or "")
    return known.title if known else name or ""
