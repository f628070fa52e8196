"""Checks before an upgrade, which change nothing. They run with the new version's code."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from deploy import runtime, system, version_folder
from deploy.upgrade import UpgradeRefused, database, health, services
from deploy.upgrade.installed import run_portal
from deploy.upgrade.plan import Plan
from deploy.version_folder import InstallRefused
from portal.backup.archive import BackupError
from portal.cli.context import BAD_SETTINGS
from portal.health.result import CheckResult, failing
from portal.startup import StartRefused, in_short

SPARE_BYTES = 200 * 1024**2
"""Free space beyond the files that an upgrade writes: logs, and the database's own growth."""
GIB = 1024**3
EXPECTED = (
    *(UpgradeRefused, InstallRefused, system.SystemFilesRefused, BackupError, StartRefused),
    OSError,
)


def run_prechecks(plan: Plan) -> Iterator[CheckResult]:
    """Yield the results; a check that can't be completed has failed."""
    checks: dict[str, Callable[[Plan], str]] = {
        "settings for the old version": check_old_settings,
        "database": check_database,
        "files of this machine": check_files,
        "services": check_services,
        "runtime of the nodes": check_runtime,
        "disk": check_disk,
        "answers through nginx": check_answers,
    }
    for name, check in checks.items():
        try:
            problem = check(plan)
        except EXPECTED as error:
            problem = str(error)
        except SQLAlchemyError as error:
            problem = f"The database doesn't answer: {in_short(error)}."
        yield failing(problem, SUGGESTIONS[name], name=name) if problem else CheckResult(name)


SUGGESTIONS = {
    "settings for the old version": (
        "Keep them as they were, write the new version's settings to another file, and name it "
        "with --settings. Otherwise there is no way back."
    ),
    "database": "Nothing was changed. docs/operation.md describes each message about the database.",
    "files of this machine": "Correct the settings, or the path that is named.",
    "services": "Start them with `systemctl start portal.target`, or find the cause first.",
    "runtime of the nodes": "Run `portal runtime` as in docs/install.md, step 4, to see the cause.",
    "disk": "Free that space, for example by removing old virtualenvs, runtimes and backups.",
    "answers through nginx": (
        "The upgrade ends with the same check, which has to pass before it, too."
    ),
}


def check_old_settings(plan: Plan) -> str:
    """Check that the installed version reads the current settings: a rollback starts it again."""
    uid = plan.settings.state_dir.stat().st_uid
    with tempfile.TemporaryDirectory(prefix="portal-upgrade-") as folder:
        shutil.chown(folder, uid)
        words = ["system-files", "--out", folder]
        done = run_portal(plan.installed.prefix, words, plan.installed.config, uid)
    return " ".join(done.stderr.split())[:500] if done.returncode == BAD_SETTINGS else ""


def check_database(plan: Plan) -> str:
    if plan.settings.portals:
        return "`portals` names several portals, which have to be upgraded by hand, all at once."
    database.check_usable(plan.settings)
    return ""


def check_files(plan: Plan) -> str:
    """Check that every file can be rendered."""
    system.files(plan.new_installation)
    return ""


def check_services(_plan: Plan) -> str:
    return ", ".join(services.find_inactive())


def check_runtime(plan: Plan) -> str:
    link = plan.settings.runtime_dir
    runtime.locate(link, runtime.find_python(link))
    return ""


def check_disk(plan: Plan) -> str:
    """Check the free space for the backup with a copy of the database beside it, for the tables
    that a migration copies, and for the nodes' runtime.
    """
    settings, size = plan.settings, database.measure(plan.settings)
    link = settings.runtime_dir
    needs = [(plan.backup_dir, 2 * size), (settings.state_dir, 2 * size)]
    if link.exists() and not version_folder.is_complete(
        runtime.locate(link, runtime.find_python(link))
    ):
        needs.append((link.parent, measure_folder(link.resolve())))
    return explain_missing_space(needs)


def measure_folder(folder: Path) -> int:
    paths = (path for path in folder.rglob("*") if not path.is_symlink())
    return sum(path.stat().st_size for path in paths if path.is_file())


def explain_missing_space(needs: list[tuple[Path, int]]) -> str:
    """Return which disk has too little space for all that is written to it; "" if none."""
    total: dict[int, int] = {}
    for folder, number in needs:
        device = folder.stat().st_dev
        total[device] = total.get(device, SPARE_BYTES) + number
        free = shutil.disk_usage(folder).free
        if free < total[device]:
            return (
                f"{free / GIB:.1f} GiB are free on the disk of {folder}, and the upgrade needs "
                f"{total[device] / GIB:.1f} GiB."
            )
    return ""


def check_answers(plan: Plan) -> str:
    results = health.check_health(plan.settings)
    return " ".join(f"{result.text} {result.suggestion}" for result in results if result.problem)
