"""Slurm accounts of users, and granting one to a user through a limit of their own.

A limit that names accounts creates the associations (services/limits/associations.py). So granting
an account writes such a limit, and drift and removal work as for every other limit.
"""

from dataclasses import replace

from portal.context import AppContext
from portal.errors import FieldError, InvalidInput, SlurmUnreachable, invalid_input
from portal.models import LimitScope
from portal.services.audit.audit import Actor
from portal.services.limits import limit_changes
from portal.services.limits.accounting_cache import ROOT
from portal.services.limits.all_limits import (
    group_by_scope,
    load_for_user,
    load_groups,
    to_limit_values,
)
from portal.services.limits.limit_changes import LimitRequest
from portal.services.limits.limit_rules import LimitValues

FIELD = "slurm_account"
NO_ACCOUNT = "You have no Slurm account yet. Ask your administrators to give you one."
_ENFORCES_NOTHING = frozenset({"", "none", "nosteps", "nojobs"})
NOT_KNOWN = (
    "Slurm's accounting doesn't answer, so the portal can't see which accounts this user has. Try "
    "again in a minute."
)


async def list_accounts(context: AppContext) -> list[str] | None:
    """Return the names of Slurm's accounts, without root; None while Slurm can't be queried."""
    return context.accounting.accounts if await context.accounting.is_recent() else None


def are_enforced(context: AppContext) -> bool:
    """Return whether Slurm refuses jobs of users without an account, by the last known facts."""
    facts = context.accounting.facts
    return bool(facts and facts.enforces - _ENFORCES_NOTHING)


def list_usable(context: AppContext, username: str) -> list[str]:
    """Return the accounts in which Slurm accepts jobs of a user, by the last known associations."""
    keys = context.accounting.list_for_user(username).items()
    return sorted({key[0] for key, values in keys if values.get("MaxSubmitJobs") != 0} - {ROOT})


async def explain_missing(context: AppContext, username: str) -> str | None:
    """Return the message for a user who can start nothing without a Slurm account.

    Returns None where they can, or Slurm can't be queried.
    """
    if not await context.accounting.is_recent() or not are_enforced(context):
        return None
    return None if list_usable(context, username) else NO_ACCOUNT


async def check(
    context: AppContext, username: str, account: str | None, limits: LimitValues
) -> list[FieldError]:
    """Return the errors in an account and limits for a user who may not exist yet."""
    given = replace(limits, accounts=[account]) if account else limits
    try:
        await limit_changes.check(context, LimitScope.USER, username, given)
    except InvalidInput as error:
        return [
            FieldError(
                FIELD if problem.field == "accounts" else f"limits.{problem.field}", problem.message
            )
            for problem in error.errors
        ]
    return []


async def give(
    context: AppContext,
    by: Actor,
    username: str,
    account: str | None,
    limits: LimitValues | None = None,
    *,
    is_new: bool = False,
) -> bool:
    """Let a user submit under an account, and set limits of their own. Existing accounts stay.

    `is_new`: the user was created just now, so Slurm has no accounts of theirs to keep.

    Returns whether a limit was written: False where the limits already grant all of it.

    Raises:
        InvalidInput: Slurm has no such account; the error's field is `slurm_account`.
        SlurmUnreachable: the user's accounts cannot be read from Slurm.
    """
    limits = limits or LimitValues()
    if problems := await check(context, username, account, limits):
        raise invalid_input(problems)
    async with context.db.session() as db:
        groups = await load_groups(db, username)
        rows = await load_for_user(db, username, groups)
    own = next((row for row in rows if row.scope is LimitScope.USER), None)
    before = to_limit_values(own) if own else LimitValues()
    given = replace(before, **limits.set_fields)
    has = group_by_scope(rows).merge(username, groups).get("accounts")
    if account and (has is None or account not in has.value):
        kept = has.value if has else [] if is_new else await _in_slurm(context, username)
        given = replace(given, accounts=list(dict.fromkeys([*kept, account])))
    if given.set_fields == before.set_fields:
        return False
    version = own.version if own else None
    request = LimitRequest((LimitScope.USER, username), given, version)
    await limit_changes.put(context, by, request)
    return True


async def _in_slurm(context: AppContext, username: str) -> list[str]:
    """Return the accounts that the user has in Slurm; a limit must not remove them."""
    if not await context.accounting.is_recent():
        raise SlurmUnreachable(NOT_KNOWN)
    return sorted(
        {account for account, _, _ in context.accounting.list_for_user(username)} - {ROOT}
    )
