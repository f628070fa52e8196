"""Checks of the launcher: its installation, and its last use."""

import os
from pathlib import Path

from portal.context import AppContext
from portal.db import utcnow
from portal.health.result import CheckResult, ago, failing, format_names, sentence, unknown
from spawner.launcher.installed import FILES_PROGRAM, files_program, launcher_program

INSTALL_SUGGESTION = (
    "Install the launcher and files.pyz as described in docs/install.md: run `portal system-files "
    "--install` as root."
)
SUGGESTION = (
    "Check launcher_path and the portal's line in sudoers. Until this works, users can't "
    "start anything or read logs."
)
HOMES_SUGGESTION = (
    "Check that the file system with the home directories is mounted and answers on the "
    "portal's host: `ls -ld ~NAME`."
)
MAX_HOMELESS = 1
"""If more users than this have unusable homes, and no user has a usable one, the homes are
unavailable.
"""


def check_launcher(context: AppContext) -> CheckResult:
    """Check that the launcher, the files program beside it and sudo are installed correctly."""
    settings = context.settings
    path = settings.launcher_path
    problem = _find_problem(path, launcher_program()) or _find_problem(
        path.with_name(FILES_PROGRAM), files_program()
    )
    if problem is not None:
        return failing(problem, INSTALL_SUGGESTION)
    if not os.access(path, os.X_OK):
        return failing(f"{path} must be executable.", INSTALL_SUGGESTION)
    if not os.access(settings.sudo_path, os.X_OK):
        return failing(f"The program {settings.sudo_path} can't be run.", "Check sudo_path.")
    return CheckResult(timed=False)


def _find_problem(path: Path, content: bytes) -> str | None:
    """Return why an installed program can't be used, None if it can."""
    try:
        status, installed = path.stat(), path.read_bytes()
    except OSError as error:
        return f"{path}: {error.strerror}."
    if status.st_uid != 0 or status.st_mode & 0o022:
        return f"{path} must be owned by root and writable only by root."
    if installed != content:
        return f"{path} is from another version of the portal."
    return None


async def check_last_use(context: AppContext) -> CheckResult:
    """Report the result of the portal's last use of the launcher."""
    pool = context.launchers
    at = pool.answered_at
    if pool.trouble is not None and (at is None or at < pool.trouble[0]):
        since = ago(pool.trouble[0], utcnow())
        text = f"{sentence(pool.trouble[1])} It was last used {since} ago."
        return failing(text, SUGGESTION, answered_at=at)
    if len(pool.home_problems) > MAX_HOMELESS:
        why = next(reversed(pool.home_problems.values()))
        text = (
            f"No home directory could be used recently: {format_names(sorted(pool.home_problems))}."
        )
        return failing(f"{text} {why}", HOMES_SUGGESTION, answered_at=at)
    if at is None:
        return unknown("Installed. It has not been used since the portal started.")
    text = "It worked when it was last used."
    return CheckResult(text=text, answered_at=at, timed=False)
