"""Creation of users who are ready to work: with a login group (one of `ldap_user_groups`, which
lets them log in to the portal; not the primary group), a Slurm account and limits.

Defaults come from the settings `default_login_group` and `default_slurm_account`.
"""

from dataclasses import dataclass, field, replace

import structlog

from portal.context import AppContext
from portal.directory import checks
from portal.directory.contract import CreatedUser, NewDirectoryUser
from portal.errors import FieldError, PortalError, invalid_input
from portal.services.audit.audit import Actor
from portal.services.limits import user_accounts
from portal.services.limits.limit_rules import LimitValues
from portal.services.users import commands

log = structlog.get_logger(__name__)

NO_GROUP = "The directory has no group {name}: choose another login group."


@dataclass(frozen=True)
class NewUser:
    """A user to create. `entry.groups` does not contain the login group."""

    entry: NewDirectoryUser
    login_group: str | None
    slurm_account: str | None
    limits: LimitValues = field(default_factory=LimitValues)

    @property
    def groups(self) -> frozenset[str]:
        """All groups of the new user."""
        return self.entry.groups | ({self.login_group} if self.login_group else frozenset())


async def create(context: AppContext, new: NewUser, by: Actor) -> CreatedUser:
    """Create a user in the directory, then let them use Slurm.

    Raises:
        InvalidInput: with the field `login_group`, `slurm_account`, `limits.…`, or one of those
            of `commands.create`, whose other errors this raises too. No user was created.
    """
    if problems := await _check_access(context, new):
        raise invalid_input([*problems, *_check_entry(context, new)])
    entry = replace(new.entry, groups=new.groups)
    created = await commands.create(context, entry, by)
    await _give_account(context, new, by)
    return created


async def _give_account(context: AppContext, new: NewUser, by: Actor) -> None:
    """Grant the Slurm account and limits.

    The user exists now and their password must be shown, so a failure is only logged. The user's
    page shows the missing parts and offers the fix.
    """
    username, account = new.entry.username, new.slurm_account
    try:
        await user_accounts.give(context, by, username, account, new.limits, is_new=True)
    except PortalError as error:
        log.warning("a new user has no limits yet", username=username, cause=error.detail)


async def _check_access(context: AppContext, new: NewUser) -> list[FieldError]:
    problems = await user_accounts.check(context, new.entry.username, new.slurm_account, new.limits)
    group = new.login_group
    if group is not None and await context.directory.group(group) is None:
        problems = [FieldError("login_group", NO_GROUP.format(name=group[:64])), *problems]
    return problems


def _check_entry(context: AppContext, new: NewUser) -> list[FieldError]:
    """Return the errors in the entry alone, so that one response reports all errors."""
    return checks.new_user(new.entry, context.settings, checks.local_accounts())
