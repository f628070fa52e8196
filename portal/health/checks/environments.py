"""Checks of environments and of importing images, for `portal check`."""

import os
import shutil
import stat
from pathlib import Path

from portal.config.settings import Settings
from portal.context import AppContext
from portal.health.result import CheckResult, failing, unknown
from portal.services.catalog.live_catalog import LiveCatalog
from spawner.catalog.environment import CatalogError, Environment, availability
from spawner.containers.runtimes import SYSTEM_PATH, Container, Modules, Virtualenv

PACKER = "mksquashfs"


def check_environments(context: AppContext) -> list[CheckResult]:
    """Check which environments can be used."""
    try:
        context.catalog.load()
    except CatalogError:  # the check of the catalog reports it
        return []
    catalog = context.catalog
    reasons = {
        name: availability(environment)[1] for name, environment in catalog.environments.items()
    }
    results = [_judge(catalog, name, reason) for name, reason in reasons.items()]
    if all(reasons.values()):
        problem = "none can be used: sessions can't be started"
        suggestion = "Build one: python -m deploy.images build python3 --out IMAGE_DIR"
        results.append(failing(problem, suggestion))
    return results


def _judge(catalog: LiveCatalog, name: str, reason: str | None) -> CheckResult:
    if reason is None:
        return CheckResult(name)
    if not catalog.is_of_site(catalog.snapshot.environments[name].file):
        # A site offers only some of the shipped environments.
        return unknown("not offered", name=name)
    return failing(reason, _environment_suggestion(catalog.environments[name]), name=name)


def _environment_suggestion(environment: Environment) -> str:
    match environment.runtime:
        case Container(image):
            return f"Build or copy it to {image}."
        case Modules():
            return "Set modules_init to the file that defines `module` in bash."
        case Virtualenv(prefix):
            return f"Create {prefix}, readable by all users, or correct `prefix`."


def check_imports(context: AppContext) -> CheckResult | None:
    """Check that images can be imported. The credentials file is checked with the settings."""
    settings = context.settings
    if settings.image_import_dir is None:
        return None
    problem = _folder_problem(settings.image_import_dir) or _tools_problem(settings)
    return failing(*problem) if problem else CheckResult()


def _folder_problem(folder: Path) -> tuple[str, str] | None:
    try:
        mode = stat.S_IMODE(folder.stat().st_mode)
    except OSError as error:
        return f"{folder}: {error.strerror}", "Create it, or correct image_import_dir."
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"{folder} can't be written to", "Make the portal's account its owner."
    if mode & 0o005 != 0o005:
        return f"{folder} is not accessible to users (mode {mode:04o})", f"Run: chmod 0755 {folder}"
    return None


def _tools_problem(settings: Settings) -> tuple[str, str] | None:
    if not os.access(settings.apptainer_path, os.X_OK):
        problem = f"{settings.apptainer_path} can't be run on this machine"
        return problem, "Install Apptainer here too, or correct apptainer_path."
    if shutil.which(PACKER, path=SYSTEM_PATH) is None:
        return f"{PACKER} is missing", "Install squashfs-tools on this machine."
    return None
