"""Checks that only `portal check` runs, because they concern what a start or a change of the
configuration needs: the account, the pages, the schema, Slurm's settings, sudo and site commands.
"""

import getpass
import os
import pwd
import re
import shutil
import subprocess
from contextlib import suppress

from portal import startup
from portal.backup import revisions
from portal.config.settings import Settings
from portal.context import AppContext
from portal.db import sqlite_file
from portal.health.result import CheckResult, failing
from portal.models import HomeTask
from portal.services.identity import home_directories as homes
from spawner.containers.runtimes import SYSTEM_PATH

SUDO_S = 10.0


def check_account(context: AppContext) -> CheckResult:
    """Check that this runs as the portal's account: results for another account are not
    meaningful.
    """
    me, folder = getpass.getuser(), context.settings.state_dir
    try:
        owner = folder.stat().st_uid
    except OSError as error:
        suggestion = "Create it, owned by the portal's account."
        return failing(f"state_dir {folder}: {error.strerror}", suggestion)
    if owner == os.geteuid():
        return CheckResult()
    try:
        name = pwd.getpwuid(owner).pw_name
    except KeyError:
        name = str(owner)
    problem = f"this command runs as {me}, but state_dir belongs to {name}"
    return failing(problem, f"Run: sudo -u {name} PORTAL_CONFIG=… portal check")


def check_pages(context: AppContext) -> CheckResult:
    """Check that the built frontend is at the path in the settings."""
    folder = context.settings.pages_dir
    if folder is not None and (folder / "index.html").is_file():
        return CheckResult()
    where = f"in {folder}" if folder else "with this installation"
    suggestion = (
        "Install the wheel, which includes the pages, or build the frontend and set frontend_dir."
    )
    return failing(f"there is no index.html {where}", suggestion)


async def check_schema(context: AppContext) -> CheckResult:
    """Check that a portal would start with this database."""
    settings = context.settings
    file = sqlite_file(settings.database)
    if file is not None and not file.exists():
        # Not created here: this check may run as an account other than the portal's.
        if os.access(file.parent, os.W_OK):
            return CheckResult()
        return failing(f"{file.parent} is not a writable folder", "Check state_dir.")
    try:
        database = startup.open_database(settings)
        try:
            schema = await startup.load_schema(database)
            startup.refuse_unusable(database.url, schema)
        finally:
            await database.close()
    except startup.StartRefused as error:
        return failing(str(error), "The portal does not start until this is fixed.")
    if schema.revision == revisions.head() or settings.migrates_at_start:
        return CheckResult()
    problem = f"it is at revision {schema.revision or 'none'}; this portal needs {revisions.head()}"
    return failing(problem, "Back it up, then run: portal migrate")


async def check_comments(context: AppContext) -> CheckResult:
    """Check that accounting keeps a job's comment, by which the portal recognizes its jobs."""
    if keeps_comments(await context.slurm.config()):
        return CheckResult()
    problem = (
        "Slurm's accounting does not store comments, so the portal may lose track of jobs "
        "that end during a restart"
    )
    suggestion = (
        "Add job_comment to AccountingStoreFlags in slurm.conf, then run: scontrol reconfigure"
    )
    return failing(problem, suggestion)


def keeps_comments(config: str) -> bool:
    """Return whether accounting keeps comments.

    Up to Slurm 20.11 this is a setting of its own (slurm.conf(5)).
    """
    flags = r"^AccountingStore(Flags\s*=.*\bjob_comment\b|JobComment\s*=\s*Yes)"
    return re.search(flags, config, re.MULTILINE | re.IGNORECASE) is not None


def check_sudo(context: AppContext) -> CheckResult:
    """Check that sudo lets this account run the launcher, by sudo's own listing.

    Runs nothing as a user.
    """
    settings = context.settings
    suggestion = "Run `portal system-files --install`, which writes /etc/sudoers.d/portal."
    process = subprocess.Popen(
        [settings.sudo_path, "-n", "-l"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    try:
        out, err = process.communicate(timeout=SUDO_S)
    except subprocess.TimeoutExpired:
        with suppress(PermissionError):  # it runs as root by then, and ends once it gets its answer
            process.kill()
            process.communicate()
        why = f"it didn't answer within {SUDO_S:g} s"
        return failing(why, "Check whether sudo queries a directory that doesn't answer.")
    if process.returncode != 0:
        output = " ".join(err.split())[:300]
        return failing(f"it permits no commands for this account: {output}", suggestion)
    allowed = [line for line in out.splitlines() if "NOPASSWD" in line]
    # sudo does not wrap within a word, and lists a command by its path.
    if any(str(settings.launcher_path) in line.split() for line in allowed):
        return CheckResult()
    return failing(
        f"it doesn't permit {getpass.getuser()} to run {settings.launcher_path}", suggestion
    )


def has_home_commands(settings: Settings) -> bool:
    """Return whether the site has commands for home directories."""
    return any(homes.get_command(settings, task) for task in HomeTask)


def check_home_commands(context: AppContext) -> CheckResult:
    """Check that the site's commands for home directories exist. They are not run."""
    for task in HomeTask:
        command = homes.get_command(context.settings, task)
        if command and shutil.which(command[0], path=SYSTEM_PATH) is None:
            return failing(f"{command[0]} can't be run", f"Check {homes.SETTINGS[task]}.")
    return CheckResult()
