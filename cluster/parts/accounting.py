"""Slurm's accounting database, and the accounts, users and limits of the description in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from cluster.config.description import Layout
from cluster.config.paths import Paths
from cluster.errors import ClusterError
from cluster.host.machine import folder

# runs a program on the head, as root, with SLURM_CONF set: Ground.on_head
Run = Callable[..., str]


def ensure_database(paths: Paths, on_head: Run) -> None:
    """Create MariaDB's system tables in a new folder that is renamed into place when complete."""
    database = paths.data / "mysql"
    if database.exists():
        return
    fresh = paths.data / "mysql.new"
    shutil.rmtree(fresh, ignore_errors=True)
    folder(fresh, "mysql", 0o700)
    options = [f"--defaults-file={paths.etc}/my.cnf", f"--datadir={fresh}", "--user=mysql"]
    how = ["--auth-root-authentication-method=normal", "--skip-test-db"]
    on_head(["mariadb-install-db", *options, *how])
    fresh.rename(database)


def commands(layout: Layout) -> list[str]:
    """Return the sacctmgr commands that need no TRES; repeating them changes nothing."""
    lines = [f"add cluster {layout.name}"]
    for account in layout.accounts:
        lines.append(f'add account {account.name} Description="{account.description}"')
    for user in layout.users:
        accounts = ",".join(user.accounts)
        lines.append(f"add user {user.name} account={accounts} defaultaccount={user.accounts[0]}")
    for service in layout.service_accounts:
        if service.operator:
            lines.append(f"add user {service.name} account=root adminlevel=Operator")
    return lines


def limit_commands(layout: Layout) -> list[str]:
    """Return the commands for GPU limits, valid only once slurmctld has registered the GPUs."""
    lines = [
        f"modify account {account.name} set GrpTRES={account.grp_tres}"
        for account in layout.accounts
        if account.grp_tres
    ]
    # an operator views and cancels jobs, but runs none of its own
    lines += [
        f"modify user {service.name} where account=root set MaxSubmitJobs=0"
        for service in layout.service_accounts
        if service.operator
    ]
    return lines


def run_commands(lines: list[str], on_head: Run) -> None:
    """Run all commands in one sacctmgr, on its stdin.

    sacctmgr reports what already exists as a failure, so its exit status is ignored: call `check`.
    """
    on_head(["sacctmgr", "-i", "-Q"], stdin="\n".join([*lines, "exit", ""]), check=False)


def check(layout: Layout, on_head: Run) -> None:
    """Read the associations back, because sacctmgr's exit status is not reliable.

    Raises ClusterError when one is missing.
    """
    columns = "format=account,user,grptres"
    associations = set(on_head(["sacctmgr", "-nP", "show", "assoc", columns]).split())
    for line in expected(layout):
        if line not in associations:
            raise ClusterError(f"accounting lacks {line}; it has {' '.join(sorted(associations))}")


def expected(layout: Layout) -> list[str]:
    lines = [f"{account.name}||{account.grp_tres}" for account in layout.accounts]
    lines += [f"{name}|{user.name}|" for user in layout.users for name in user.accounts]
    lines += [f"root|{s.name}|" for s in layout.service_accounts if s.operator]
    return lines
