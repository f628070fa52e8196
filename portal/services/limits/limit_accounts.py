"""The account of Slurm's that belongs to a group, made on an administrator's word."""

from portal.errors import SlurmRejected, SlurmUnreachable
from portal.parts import Parts
from portal.services.limits.allowances import account_of
from spawner import parse_accounting as words
from spawner.errors import SlurmError


async def create(parts: Parts, group: str) -> str:
    """Have Slurm make it, at the top of its tree, unless it is there; its name. Raises
    SlurmRejected with sacctmgr's sentence, SlurmUnreachable."""
    account = account_of(parts.settings, group)
    books = parts.books
    if not words.is_name(account):
        raise SlurmRejected(f"{account} can't be the name of an account in Slurm.")
    try:
        await books.look()
        facts = books.facts
        if account in books.accounts or facts is None:
            return account
        complaint = await books.accounting.tell([words.add_account(facts.cluster, account, group)])
        await books.look()
    except SlurmError as error:
        text = "Slurm's accounting doesn't answer, so the account isn't made. Please try again."
        raise SlurmUnreachable(text) from error
    if account not in books.accounts:
        raise SlurmRejected(f"Slurm didn't make the account {account}: {complaint or 'no reason'}")
    return account
