"""Checks of Slurm: its controller, its accounting, its settings for the portal, and its nodes."""

import getpass
import re
from contextlib import suppress

from portal.context import AppContext
from portal.db import utcnow
from portal.health.result import (
    CheckResult,
    ago,
    failing,
    format_count,
    format_names,
    sentence,
    unknown,
)
from spawner.errors import SlurmError, Unreachable
from spawner.slurm.model import NodeInfo

OPERATORS = {"Operator", "Administrator"}
DOWN = ("DOWN", "FAIL", "ERROR", "UNKNOWN")
SUGGESTION = (
    "Check slurm_bin_dir and slurm_conf, that slurmctld is running (`scontrol ping`), that munged "
    "is running on this machine with the cluster's munge.key, and that the clocks are "
    "synchronized. Jobs continue, and the portal shows the last known state until Slurm answers "
    "again."
)
ACCOUNTING_SUGGESTION = (
    "Check that slurmdbd and its database are running (`sacctmgr show cluster`). Until then, "
    "the portal can't see how jobs ended, and limits aren't applied in Slurm."
)
NO_ACCOUNTING_SUGGESTION = "The portal needs slurmdbd: set AccountingStorageType in slurm.conf."
OPERATOR_SUGGESTION = "Run: sacctmgr modify user {account} set AdminLevel=Operator"
DENIED_SUGGESTION = (
    "Check slurmdbd's log, and check that the account exists on its machine (`id {account}`); "
    "then restart slurmdbd. The portal retries every minute."
)
NODES_SUGGESTION = (
    "`sinfo -R` shows the reasons; `scontrol update NodeName=… State=RESUME` resumes a node. "
    "If a node doesn't answer, slurmd or munged may not be running on it, or its clock or "
    "munge.key may differ: check with `munge -n | ssh NODE unmunge`."
)


async def check_slurm(context: AppContext) -> CheckResult:
    """Check that slurmctld answers. A running portal polls it all the time."""
    if not context.is_serving:
        try:
            await context.slurm.jobs()
        except SlurmError as error:
            return _refuse(error, SUGGESTION)
        return CheckResult()
    watcher = context.watcher
    if watcher.stale_since is None:
        took_ms = round(watcher.took_s * 1000) if watcher.took_s is not None else None
        text = f"Responding; {format_count(len(watcher.jobs), 'job')} known."
        return CheckResult(text=text, answered_at=watcher.at, latency_ms=took_ms, timed=False)
    if watcher.trouble is None:
        return unknown("Not checked yet.")
    for_long = ago(watcher.stale_since, utcnow())
    text = f"No answer for {for_long}: {sentence(watcher.trouble)}"
    return failing(text, SUGGESTION, answered_at=watcher.at)


async def check_version(context: AppContext) -> CheckResult | None:
    """Return the version of Slurm's commands; `check_slurm` reports missing ones."""
    with suppress(SlurmError):
        return CheckResult(version=await context.slurm.version(), timed=False)
    return None


async def check_accounting(context: AppContext) -> CheckResult:
    """Check that slurmdbd answers, and name the jobs whose end it never received."""
    try:
        await context.slurm.check_accounting()
    except SlurmError as error:
        is_off = "accounting_storage/none" in await _read_config(context)
        return _refuse(error, NO_ACCOUNTING_SUGGESTION if is_off else ACCOUNTING_SUGGESTION)
    if not (runaways := context.accounting.runaways):
        return CheckResult(text="Responding.")
    text = (
        f"Responding. It lacks the end of {format_count(len(runaways), 'job')} that Slurm has "
        f"lost: {format_names(map(str, runaways))}. To list and repair them, run `sacctmgr show "
        "runawayjobs`."
    )
    return CheckResult(text=text)


async def check_operator(context: AppContext) -> CheckResult:
    """Check that Slurm lets the portal's account see and end all jobs, and apply limits."""
    account = getpass.getuser()
    level = await context.slurm.admin_level(account)
    if level not in OPERATORS:
        return refuse_operator(account, await _read_config(context))
    if context.accounting.denied:
        text = f"{account} is a Slurm operator, but slurmdbd refuses the portal's changes."
        return failing(text, DENIED_SUGGESTION.format(account=account))
    return CheckResult()


def refuse_operator(account: str, config: str) -> CheckResult:
    """Return the result for an account that isn't an operator of this Slurm. Pure."""
    if "jobs" in private_data(config):
        text = (
            f"The portal's account {account} is not a Slurm operator: Slurm hides other users' "
            "jobs from it, and the portal can't end jobs or apply limits."
        )
    else:
        text = (
            f"The portal's account {account} is not a Slurm operator: Slurm shows it all jobs, "
            "but the portal can't end them or apply limits."
        )
    return failing(text, OPERATOR_SUGGESTION.format(account=account))


def private_data(config: str) -> set[str]:
    """Return what Slurm hides from ordinary users."""
    match = re.search(r"^PrivateData\s*=\s*(\S+)", config, re.MULTILINE)
    return set(match.group(1).split(",")) if match else set()


async def check_nodes(context: AppContext) -> CheckResult:
    """Check that Slurm reports no node as down."""
    watcher = context.watcher
    if watcher.cluster is None:
        return unknown("The node list is not available yet.")
    nodes, at = watcher.cluster.nodes, watcher.cluster.at
    if watcher.stale_since is not None:
        text = "Slurm doesn't answer: the state of the nodes is unknown."
        return unknown(text, answered_at=at)
    down = [node.name for node in nodes if is_down(node)]
    if down:
        text = (
            f"{len(down)} of {format_count(len(nodes), 'node')} down: {format_names(sorted(down))}."
        )
        return failing(text, NODES_SUGGESTION)
    drained = sum("DRAIN" in node.state.upper() for node in nodes)
    by_administrator = f", {drained} of them drained by an administrator" if drained else ""
    text = f"{format_count(len(nodes), 'node')}, none down{by_administrator}."
    return CheckResult(text=text, answered_at=at, timed=False)


def is_down(node: NodeInfo) -> bool:
    """Return whether Slurm has lost a node unintentionally: a drained one is not down."""
    flags = node.state.upper().rstrip("~#!%$@^-").rstrip("*").split("+")
    return node.state.endswith("*") or any(flag.startswith(DOWN) for flag in flags)


async def _read_config(context: AppContext) -> str:
    """Return slurmctld's configuration, empty if it does not answer."""
    with suppress(SlurmError):
        return await context.slurm.config()
    return ""


def _refuse(error: SlurmError, suggestion: str) -> CheckResult:
    reply = error.stderr.strip().partition("\n")[0][:300]
    if not isinstance(error, Unreachable):
        return failing(error.message, suggestion, details=(reply,) if reply else ())
    return failing(f"No answer: {sentence(f'{error.message} {reply}')}", suggestion)
