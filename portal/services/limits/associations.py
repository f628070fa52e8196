"""Desired Slurm associations, compared with the last applied and the actual ones. Pure.

Settings that no limit mentions are absent here and left alone in Slurm. A user's accounts are only
added or removed where a limit names accounts. A partition that a user may not use gets an
association of its own that accepts no jobs, so that all other limits still count across partitions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from portal.services.limits.accounting_cache import ROOT
from portal.services.limits.limit_rules import BY_TYPE, Effective, Figures
from spawner.durations import format_minutes
from spawner.slurm.parse_accounting import AssociationKey, ClusterFacts, is_name
from spawner.slurm.parse_accounting import Figures as SlurmValues

EXISTS = "association"
PRESENT, ABSENT = "present", "absent"
AGAIN = "again"
"""A last-applied value: an administrator wants a removed association to be restored."""
CLOSED: SlurmValues = {EXISTS: PRESENT, "MaxSubmitJobs": 0}
"""The association for a partition that a user may not use."""

Wanted = dict[AssociationKey, dict[str, Any]]


@dataclass(frozen=True)
class DesiredAssociations:
    """Input for the desired associations.

    `users` are the effective limits of all limited users, `accounts` the shared limits of groups
    by account; `found` are the actual values and `seen` the last applied ones, by association.
    """

    users: Mapping[str, Effective]
    accounts: Mapping[str, Figures]
    found: Mapping[AssociationKey, SlurmValues]
    seen: Mapping[AssociationKey, SlurmValues]
    partitions: frozenset[str]
    facts: ClusterFacts


def desired_values(state: DesiredAssociations) -> Wanted:
    """Return the desired values of every association that limits apply to."""
    result: Wanted = {}
    keys: dict[str, list[AssociationKey]] = {}
    for key in {*state.found, *state.seen}:
        keys.setdefault(key[1], []).append(key)
    for account, shared in state.accounts.items():
        if (account, "", "") in state.found and is_name(account):
            figures = figures_together(shared, state.facts)
            if figures:
                result[account, "", ""] = figures
    for username, counted in state.users.items():
        if is_name(username):
            result |= _build_for_user(username, counted, sorted(keys.get(username, ())), state)
    return result


def _build_for_user(
    username: str, counted: Effective, keys: list[AssociationKey], state: DesiredAssociations
) -> Wanted:
    figures = figures_of(counted, state.facts)
    allowed = counted.get("accounts")
    has = {account for account, _, _ in keys if account != ROOT}
    known = {account for account, user, _ in state.found if not user}
    own_accounts = set(allowed.value) & known if allowed else has
    result: Wanted = {}
    for account in sorted(has - own_accounts):
        result[account, username, ""] = {EXISTS: ABSENT}
    for account in sorted(own_accounts):
        base = (account, username, "")
        if allowed is not None:
            result[base] = {EXISTS: PRESENT, **figures}
        elif base in state.found and figures:
            result[base] = dict(figures)
        elif account in known and figures and _was_applied(state.seen.get(base, {})):
            result[base] = {EXISTS: PRESENT, **figures}  # it was removed outside the portal
        result |= _build_for_partitions(account, username, counted, keys, figures, state)
    return result


def _was_applied(applied: SlurmValues) -> bool:
    """Return whether the portal applied values to an association that should exist."""
    return bool(applied) and applied.get(EXISTS) != ABSENT


def _build_for_partitions(
    account: str,
    username: str,
    counted: Effective,
    keys: list[AssociationKey],
    figures: dict[str, Any],
    state: DesiredAssociations,
) -> Wanted:
    """Return the associations of single partitions.

    These are closed partitions, and associations that an operator made, to which the limits apply
    too.
    """
    allowed = counted.get("partitions")
    closed = state.partitions - set(allowed.value) if allowed else frozenset()
    result: Wanted = {}
    exists = (account, username, "") in state.found or "accounts" in counted
    for partition in sorted(closed) if exists else ():
        if is_name(partition):
            result[account, username, partition] = dict(CLOSED)
    for key in keys:
        own = key[0] == account and key[2] and key[2] not in closed
        if own and key in state.found and state.seen.get(key, {}).get(EXISTS) is None and figures:
            result[key] = dict(figures)
    return result


def figures_of(counted: Effective, facts: ClusterFacts) -> dict[str, Any]:
    """Return the values for each association of a user."""
    values = {name: limit.value for name, limit in counted.items()}
    figures = _to_tres(values, facts)
    if "sessions" in values and "jobs" in values:
        figures["MaxSubmitJobs"] = values["sessions"] + values["jobs"]
    if "time_limit_minutes" in values:
        figures["MaxWall"] = values["time_limit_minutes"]
    if "qos" in values:
        figures["QOS"] = sorted(values["qos"])
        figures["DefaultQOS"] = values["qos"][0]
    return figures


def figures_together(shared: Figures, facts: ClusterFacts) -> dict[str, Any]:
    """Return the values for a group's account."""
    values = shared.set_fields
    figures = _to_tres(values, facts)
    if "sessions" in values and "jobs" in values:
        figures["GrpSubmitJobs"] = values["sessions"] + values["jobs"]
    return figures


def _to_tres(values: Mapping[str, Any], facts: ClusterFacts) -> dict[str, Any]:
    numbers = {"gres/gpu": values.get("gpus"), "cpu": values.get("cpus")}
    if (gigabytes := values.get("memory_gb")) is not None:
        numbers["mem"] = gigabytes * 1024
    for kind, number in (values.get(BY_TYPE) or {}).items():
        numbers[f"gres/gpu:{kind}"] = number
    return {n: v for n, v in numbers.items() if v is not None and n in facts.tres and is_tres(n)}


def is_tres(name: str) -> bool:
    return all(is_name(part) for part in name.replace("/", ":").split(":"))


# --- comparing ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class AssociationDiff:
    """The result of comparing one association.

    `pending` are values yet to be written to Slurm (None removes a limit), `applied` the values
    that Slurm has now as applied, `drift` the values changed outside the portal as (applied,
    actual), `accepted` the changed values that an administrator accepted.
    """

    pending: dict[str, Any] = field(default_factory=dict)
    applied: dict[str, Any] = field(default_factory=dict)
    drift: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    accepted: dict[str, Any] = field(default_factory=dict)


def compare(
    key: AssociationKey,
    should: SlurmValues,
    applied: SlurmValues,
    actual: SlurmValues | None,
    accepted: SlurmValues,
) -> AssociationDiff:
    """Compare one association.

    `should` are the desired values, `applied` the last applied ones, `actual` the actual ones
    (None: no such association), `accepted` the drift that an administrator accepted.
    """
    now = {EXISTS: PRESENT, **actual} if actual is not None else {EXISTS: ABSENT}
    if actual is None and applied and should.get(EXISTS) == PRESENT:
        applied = {EXISTS: PRESENT, **applied}  # values were applied, so the association existed
    verdict = AssociationDiff()
    for name in {**applied, **should}:
        if actual is None and name != EXISTS and should.get(EXISTS) != PRESENT:
            continue  # a missing association has no values
        if name in should:
            _compare_one(verdict, name, should, applied, now, accepted)
        elif name == EXISTS:
            if key[2] and applied[EXISTS] == PRESENT == now[EXISTS]:
                verdict.pending[EXISTS] = ABSENT  # it only existed to close a partition
        elif now.get(name) == applied[name] is not None:
            verdict.pending[name] = None  # any other value was set outside the portal, and stays
    if ABSENT in {should.get(EXISTS), now[EXISTS], verdict.pending.get(EXISTS)}:
        _drop_figures(verdict, gone=now[EXISTS] == ABSENT)
    return verdict


def differs(
    applied: SlurmValues, actual: SlurmValues | None, accepted: SlurmValues
) -> dict[str, tuple[Any, Any]]:
    """Return the drift of an association: the applied and the actual value, by name."""
    now = {EXISTS: PRESENT, **actual} if actual is not None else {EXISTS: ABSENT}
    only_existence = ABSENT in {applied.get(EXISTS), now[EXISTS]}
    return {
        name: (value, now.get(name))
        for name, value in applied.items()
        if now.get(name) != value and name not in accepted
        if name == EXISTS or not only_existence
    }


def _compare_one(
    verdict: AssociationDiff,
    name: str,
    should: SlurmValues,
    applied: SlurmValues,
    now: SlurmValues,
    accepted: SlurmValues,
) -> None:
    want, actual = should[name], now.get(name)
    if name == "DefaultQOS" and actual in should.get("QOS", ()):
        want = actual  # any of the allowed ones is fine
    if actual == want:
        verdict.applied[name] = want
    elif applied.get(name, _UNSET) != want:
        verdict.pending[name] = want
    else:
        verdict.applied[name] = want
        if accepted.get(name, _UNSET) == actual:
            verdict.accepted[name] = actual
        else:
            verdict.drift[name] = (want, actual)


_UNSET = object()


def _drop_figures(verdict: AssociationDiff, *, gone: bool) -> None:
    """Drop the values of an association that is missing or will be removed: they don't matter."""
    for part in (verdict.drift, verdict.accepted):
        for name in [name for name in part if name != EXISTS]:
            del part[name]
    if verdict.pending.get(EXISTS) == ABSENT or (gone and EXISTS not in verdict.pending):
        for name in [name for name in verdict.pending if name != EXISTS]:
            del verdict.pending[name]


def assume_applied(key: AssociationKey, should: SlurmValues, applied_before: bool) -> SlurmValues:
    """Return the values to assume as applied to an association that is new to the portal.

    If the portal had already applied the user's accounts, an association outside these was made by
    hand. It is reported as drift before anything happens to it.
    """
    by_hand = applied_before and not key[2] and should.get(EXISTS) == ABSENT
    return {EXISTS: ABSENT} if by_hand else {}


# --- display text -------------------------------------------------------------------------------

LABELS: dict[str, str] = {
    "gres/gpu": "GPUs at once",
    "cpu": "CPUs at once",
    "mem": "Memory at once",
    "MaxSubmitJobs": "Pending and running jobs",
    "GrpSubmitJobs": "Pending and running jobs in total",
    "MaxWall": "Time limit",
    "QOS": "QOS",
    "DefaultQOS": "Default QOS",
    EXISTS: "Association",
}


def label(name: str) -> str:
    """Return the label of an association's value."""
    kind = name.removeprefix("gres/gpu:")
    return f"GPUs of type {kind} at once" if kind != name else LABELS.get(name, name)


def format_value(name: str, value: Any) -> str:
    """Format an association's value for display."""
    if value is None:
        return "no limit" if name not in {"QOS", "DefaultQOS"} else "as the account"
    if isinstance(value, list):
        return ", ".join(value)
    if name == "mem":
        return f"{value / 1024:g} GB"
    if name == "MaxWall":
        return format_minutes(value)
    return str(value)


def association_text(key: AssociationKey) -> str:
    """Describe an association: `bob in account research`, `account research`."""
    account, username, partition = key
    where = f"{username} in account {account}" if username else f"account {account}"
    return f"{where}, partition {partition}" if partition else where


def names(values: Iterable[str]) -> str:
    return ", ".join(sorted(values))
