"""Readiness of a user: whether they can log in, start a session and use a home directory.

Each check has a reason and, if possible, a fix. What cannot be queried is unknown, never guessed.
"""

import asyncio
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from portal.config.settings import Settings
from portal.context import AppContext
from portal.directory.contract import Ability, DirectoryUser
from portal.models import AccountState, HomeState, HomeTask
from portal.services.identity import home_directories, memberships, roles
from portal.services.limits import user_accounts
from portal.services.limits.allowances import load_allowance
from portal.services.limits.limit_rules import Allowance
from portal.services.users import lookup
from portal.services.users.lookup import UserDetails

STAT_S = 2.0
_FILE_SYSTEM = ThreadPoolExecutor(2, thread_name_prefix="homes")
"""Separate threads, so that a hanging file server blocks nothing else."""


class ReadinessState(StrEnum):
    """The result of a check."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Fix(StrEnum):
    """An action for administrators that fixes the problem."""

    LOGIN_GROUP = "login-group"
    SLURM_ACCOUNT = "slurm-account"
    LIMITS = "limits"
    HOME = "home"
    EDIT = "edit"
    ENABLE = "enable"
    UNLOCK = "unlock"


@dataclass(frozen=True)
class Check:
    """A result with its reason.

    `choices`: the login groups or Slurm accounts for the fix, the default first.
    """

    answer: ReadinessState
    reason: str
    fix: Fix | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class UserReadiness:
    """The three checks of a user."""

    login: Check
    session: Check
    home: Check


async def check(context: AppContext, details: UserDetails) -> UserReadiness:
    """Check the directory, Slurm and the file system for a user."""
    login = check_login(context.settings, details)
    session, home = await asyncio.gather(
        _check_session(context, details, login), _check_home(context.settings, details)
    )
    return UserReadiness(login, session, home)


# --- logging in -----------------------------------------------------------------------------------


def check_login(settings: Settings, details: UserDetails) -> Check:
    """Check whether the user can log in, by the same rules as the login itself. Pure."""
    if problem := _check_row(details):
        return problem
    entry = details.entry
    if entry is None:
        if details.problem:
            return _unknown("The directory doesn't answer.")
        return _no("There is no such user in the directory.")
    return _check_entry(settings, details, entry) or _check_login_groups(settings, details, entry)


def _check_row(details: UserDetails) -> Check | None:
    user = details.user
    if user is None:
        return None
    # `directory_wants`: the state that the portal still has to write to the directory
    if user.deleted_at or user.directory_wants is AccountState.DELETED:
        return _no("The account was deleted.")
    return _no("The account is disabled.", Fix.ENABLE) if user.disabled_at else None


def _check_entry(settings: Settings, details: UserDetails, entry: DirectoryUser) -> Check | None:
    if why := lookup.explain_unmanaged(settings, entry):
        return _no(why)
    if details.user is not None and not memberships.is_same(details.user, entry):
        return _no("The UID in the directory has changed. Confirm it first.")
    if entry.disabled:
        return _no("The account is disabled in the directory.", Fix.ENABLE)
    return _no("The password is locked.", Fix.UNLOCK) if entry.locked else None


def _check_login_groups(settings: Settings, details: UserDetails, entry: DirectoryUser) -> Check:
    if roles.derive_role(entry.groups, settings) is not None:
        reason = "With the one-time password." if entry.must_change else "With their password."
        return Check(ReadinessState.YES, reason)
    groups = list_login_groups(settings)
    reason = f"They are in none of the groups that are allowed to log in: {', '.join(groups)}."
    if missing := details.capabilities.missing.get(Ability.GROUPS):
        return _no(f"{reason} {missing}")
    return Check(ReadinessState.NO, reason, Fix.LOGIN_GROUP, groups)


def list_login_groups(settings: Settings) -> tuple[str, ...]:
    """Return the groups whose members may log in as users, the default first."""
    default = settings.default_login_group
    first = [default] if default in settings.ldap_user_groups else []
    return tuple(dict.fromkeys([*first, *settings.ldap_user_groups]))


# --- starting a session ---------------------------------------------------------------------------


async def _check_session(context: AppContext, details: UserDetails, login: Check) -> Check:
    if not await context.accounting.is_recent():
        return _unknown("Slurm's accounting doesn't answer.")
    allowed = await load_allowance(context, details.username)
    check = check_accounts(context, details.username, allowed)
    if check.answer is ReadinessState.NO or login.answer is ReadinessState.YES:
        return check
    if login.answer is ReadinessState.UNKNOWN:
        return _unknown(f"{check.reason} Whether they can log in is unknown.")
    return _no(f"They can't log in. {check.reason}")


def check_accounts(context: AppContext, username: str, allowed: Allowance) -> Check:
    """Check whether Slurm's accounting, as last read, and the limits let a user start sessions."""
    if allowed.value("sessions") == 0:
        return _no("A limit allows them no sessions.", Fix.LIMITS)
    if not user_accounts.are_enforced(context):
        return Check(ReadinessState.YES, "Slurm requires no account here.")
    own_accounts = user_accounts.list_usable(context, username)
    if not own_accounts:
        return _without_account(context, username, allowed)
    default = context.settings.default_account
    if default and default not in own_accounts and allowed.value("accounts") is None:
        reason = f"Sessions run under the account {default}, which they may not use."
        return Check(ReadinessState.NO, reason, Fix.SLURM_ACCOUNT, (default,))
    return Check(ReadinessState.YES, f"Slurm accounts: {', '.join(own_accounts)}.")


def _without_account(context: AppContext, username: str, allowed: Allowance) -> Check:
    refused = [
        association.refused
        for association in context.slurm_limits.by_user.get(username, ())
        if association.refused
    ]
    if refused:
        return _no(f"Slurm refused to give them an account: {refused[0]}", Fix.LIMITS)
    allowed_accounts = allowed.value("accounts")
    known = context.accounting.accounts
    if allowed_accounts and set(allowed_accounts) & set(known):
        return _unknown(f"The account {', '.join(allowed_accounts)} is being set up in Slurm.")
    if context.accounting.list_for_user(username):
        return _no("None of their Slurm accounts accepts jobs (MaxSubmitJobs is 0).", Fix.LIMITS)
    default = context.settings.default_slurm_account
    choices = dict.fromkeys([*([default] if default in known else []), *known])
    return Check(
        ReadinessState.NO, "They have no Slurm account.", Fix.SLURM_ACCOUNT, tuple(choices)
    )


# --- the home directory ---------------------------------------------------------------------------


async def _check_home(settings: Settings, details: UserDetails) -> Check:
    entry = details.entry
    if entry is None:
        return _unknown(
            "The directory doesn't answer." if details.problem else "The user no longer exists."
        )
    if not entry.home:
        return _no("The directory has no home directory for them.", Fix.EDIT)
    if problem := await look_at_home(entry.home, entry.uid):
        return problem
    return _check_last_run(settings, details, entry.home)


async def look_at_home(path: str, uid: int | None) -> Check | None:
    """Check the home directory in the file system of the portal's host.

    Returns None if it does not exist there or the file system does not answer: homes may be mounted
    only on the nodes.
    """
    looking = asyncio.get_running_loop().run_in_executor(_FILE_SYSTEM, Path(path).stat)
    try:
        state = await asyncio.wait_for(looking, STAT_S)
    except (OSError, ValueError, TimeoutError):
        return None
    if not stat.S_ISDIR(state.st_mode):
        return _no(f"{path} is not a folder.")
    if uid is not None and state.st_uid != uid:
        return _no(f"{path} belongs to the UID {state.st_uid}, not to theirs ({uid}).")
    return Check(ReadinessState.YES, f"The folder {path} exists.")


def _check_last_run(settings: Settings, details: UserDetails, path: str) -> Check:
    """Check the last result of the site's command."""
    runs = (run for run in details.home_runs if run.task is HomeTask.CREATE)
    last = next(runs, None)
    if last is not None and last.state in home_directories.LIVE:
        return _unknown("It is being created.")
    if last is not None and last.state is HomeState.DONE:
        return Check(ReadinessState.YES, "The site's command has created it.")
    fix = Fix.HOME if home_directories.get_command(settings, HomeTask.CREATE) else None
    if last is not None:
        return _no("The site's command failed to create it.", fix)
    if fix:
        return _no(f"The portal's host has no {path}.", fix)
    return _unknown(
        f"The portal's host has no {path}, and no command to create it is set "
        "(home_command). It may exist on the nodes, or be created at the first login."
    )


def _no(reason: str, fix: Fix | None = None) -> Check:
    return Check(ReadinessState.NO, reason, fix)


def _unknown(reason: str) -> Check:
    return Check(ReadinessState.UNKNOWN, reason)
