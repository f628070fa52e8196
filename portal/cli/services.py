"""The services at the command line, including those that run Slurm commands; no loop runs."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from portal.app import open_context
from portal.cli.context import CliContext, run
from portal.context import AppContext
from portal.services.identity.memberships import DirectoryUsers
from portal.services.limits.limited_users import LimitedUsers
from portal.services.limits.slurm_limits import SlurmLimits

T = TypeVar("T")


@dataclass(frozen=True)
class Counter:
    """The command's services, and those for Slurm's accounts and limits."""

    desk: CliContext
    context: AppContext
    slurm: SlurmLimits


def run_with_parts(
    work: Callable[[Counter], Awaitable[T]], option: Callable[[str], str] | None = None
) -> T:
    """Run a command as `portal.cli.context.run` does."""

    async def execute(desk: CliContext) -> T:
        async with _open_counter(desk) as counter:
            return await work(counter)

    return run(execute, option)


@asynccontextmanager
async def _open_counter(desk: CliContext) -> AsyncIterator[Counter]:
    accounts = desk.accounts
    settings, database, directory = accounts.settings, accounts.database, accounts.directory
    async with AsyncExitStack() as stack:
        context = await open_context(settings, database, stack)
        directory_users = DirectoryUsers(database, directory, settings)
        slurm = SlurmLimits(context, LimitedUsers(settings, database, directory, directory_users))
        await slurm.recall()
        yield Counter(replace(desk, accounts=replace(accounts, slurm=slurm)), context, slurm)
