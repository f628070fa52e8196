"""Creation of the Slurm account that belongs to a group, on an administrator's request."""

from portal.context import AppContext
from portal.errors import SlurmRejected, SlurmUnreachable
from portal.services.limits.all_limits import get_account
from spawner.errors import SlurmError
from spawner.slurm import parse_accounting


async def create(context: AppContext, group: str) -> str:
    """Create the account below Slurm's root account unless it exists. Return its name.

    Raises SlurmRejected with sacctmgr's message, SlurmUnreachable.
    """
    account = get_account(context.settings, group)
    accounting_cache = context.accounting
    if not parse_accounting.is_name(account):
        raise SlurmRejected(f"{account} can't be the name of an account in Slurm.")
    try:
        await accounting_cache.refresh()
        facts = accounting_cache.facts
        if account in accounting_cache.accounts or facts is None:
            return account
        complaint = await accounting_cache.accounting.update(
            [parse_accounting.add_account(facts.cluster, account, group)]
        )
        await accounting_cache.refresh()
    except SlurmError as error:
        text = "Slurm's accounting doesn't answer, so the account wasn't created. Try again."
        raise SlurmUnreachable(text) from error
    if account not in accounting_cache.accounts:
        raise SlurmRejected(
            f"Slurm didn't create the account {account}: {complaint or 'no reason'}"
        )
    return account
