"""Desired Slurm associations, compared with the last applied and the actual ones. Pure.

Settings that no limit mentions are absent here and left alone in Slurm. A user's accounts are only
added or removed where a limit names accounts. A partition that a user may not use gets an
association of its own that accepts no jobs, so that all other limits still count across partitions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from portal.services.limits.accounting_cache import ROOT
from portal.services.limits.limit_rules import BY_TYPE, Effective, LimitValues
from spawner.durations import format_minutes
from spawner.slurm.parse_accounting import (
    AssociationKey,
    AssociationValues,
    ClusterFacts,
    is_name,
)

EXISTS = "association"
PRESENT, ABSENT = "present", "absent"
RESTORE = "again"
"""Stored as the applied value of EXISTS after an administrator has reverted the removal of an
association in Slurm. As it differs from PRESENT, the next round applies PRESENT again instead of
reporting drift.
"""
CLOSED: AssociationValues = {EXISTS: PRESENT, "MaxSubmitJobs": 0}
"""The association for a partition that a user may not use."""

DesiredValues = dict[AssociationKey, dict[str, Any]]


@dataclass(frozen=True)
class AssociationInput:
    """Input for the desired associations.

    `users` are the effective limits of all limited users, `accounts` the group totals by account;
    `actual` are the values in Slurm, `applied` the last applied ones, by association.
    `partitions` are all partitions of the cluster, `facts` what its Slurm counts and enforces.
    """

    users: Mapping[str, Effective]
    accounts: Mapping[str, LimitValues]
    actual: Mapping[AssociationKey, AssociationValues]
    applied: Mapping[AssociationKey, AssociationValues]
    partitions: frozenset[str]
    facts: ClusterFacts


def desired_values(given: AssociationInput) -> DesiredValues:
    """Return the desired values of every association that limits apply to."""
    result: DesiredValues = {}
    keys: dict[str, list[AssociationKey]] = {}
    for key in {*given.actual, *given.applied}:
        keys.setdefault(key[1], []).append(key)
    for account, shared in given.accounts.items():
        if (account, "", "") in given.actual and is_name(account):
            values = to_account_values(shared, given.facts)
            if values:
                result[account, "", ""] = values
    for username, effective in given.users.items():
        if is_name(username):
            result |= _build_for_user(username, effective, sorted(keys.get(username, ())), given)
    return result


def _build_for_user(
    username: str, effective: Effective, keys: list[AssociationKey], given: AssociationInput
) -> DesiredValues:
    values = to_user_values(effective, given.facts)
    allowed = effective.get("accounts")
    has = {account for account, _, _ in keys if account != ROOT}
    known = {account for account, user, _ in given.actual if not user}
    own_accounts = set(allowed.value) & known if allowed else has
    result: DesiredValues = {}
    for account in sorted(has - own_accounts):
        result[account, username, ""] = {EXISTS: ABSENT}
    for account in sorted(own_accounts):
        base = (account, username, "")
        if allowed is not None:
            result[base] = {EXISTS: PRESENT, **values}
        elif base in given.actual and values:
            result[base] = dict(values)
        elif account in known and values and _was_applied(given.applied.get(base, {})):
            result[base] = {EXISTS: PRESENT, **values}  # it was removed outside the portal
        result |= _build_for_partitions(account, username, effective, keys, values, given)
    return result


def _was_applied(applied: AssociationValues) -> bool:
    """Return whether the portal applied values to an association that should exist."""
    return bool(applied) and applied.get(EXISTS) != ABSENT


def _build_for_partitions(
    account: str,
    username: str,
    effective: Effective,
    keys: list[AssociationKey],
    values: dict[str, Any],
    given: AssociationInput,
) -> DesiredValues:
    """Return the associations of single partitions.

    These are closed partitions, and associations of single partitions that were made outside the
    portal, to which the limits apply too.
    """
    allowed = effective.get("partitions")
    closed = given.partitions - set(allowed.value) if allowed else frozenset()
    result: DesiredValues = {}
    exists = (account, username, "") in given.actual or "accounts" in effective
    for partition in sorted(closed) if exists else ():
        if is_name(partition):
            result[account, username, partition] = dict(CLOSED)
    for key in keys:
        own = key[0] == account and key[2] and key[2] not in closed
        if (
            own
            and key in given.actual
            and given.applied.get(key, {}).get(EXISTS) is None
            and values
        ):
            result[key] = dict(values)
    return result


def to_user_values(effective: Effective, facts: ClusterFacts) -> dict[str, Any]:
    """Return the values for each association of a user."""
    limits = {name: limit.value for name, limit in effective.items()}
    values = _to_tres(limits, facts)
    if "sessions" in limits and "jobs" in limits:
        values["MaxSubmitJobs"] = limits["sessions"] + limits["jobs"]
    if "time_limit_minutes" in limits:
        values["MaxWall"] = limits["time_limit_minutes"]
    if "qos" in limits:
        values["QOS"] = sorted(limits["qos"])
        values["DefaultQOS"] = limits["qos"][0]
    return values


def to_account_values(shared: LimitValues, facts: ClusterFacts) -> dict[str, Any]:
    """Return the values for a group's account."""
    limits = shared.set_fields
    values = _to_tres(limits, facts)
    if "sessions" in limits and "jobs" in limits:
        values["GrpSubmitJobs"] = limits["sessions"] + limits["jobs"]
    return values


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
    that count as applied: those found in Slurm, and those applied before and then changed outside
    the portal. These are also in `drift`, as (applied, actual), or, if an administrator accepted
    the change, in `accepted`, with the actual value.
    """

    pending: dict[str, Any] = field(default_factory=dict)
    applied: dict[str, Any] = field(default_factory=dict)
    drift: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    accepted: dict[str, Any] = field(default_factory=dict)


def compare(
    key: AssociationKey,
    desired: AssociationValues,
    applied: AssociationValues,
    actual: AssociationValues | None,
    accepted: AssociationValues,
) -> AssociationDiff:
    """Compare one association.

    `applied` are the last applied values, `accepted` the drift that an administrator accepted.
    `actual` is None if there is no such association.
    """
    current = {EXISTS: PRESENT, **actual} if actual is not None else {EXISTS: ABSENT}
    if actual is None and applied and desired.get(EXISTS) == PRESENT:
        applied = {EXISTS: PRESENT, **applied}  # values were applied, so the association existed
    diff = AssociationDiff()
    for name in {**applied, **desired}:
        if actual is None and name != EXISTS and desired.get(EXISTS) != PRESENT:
            continue  # a missing association has no values
        if name in desired:
            _compare_one(diff, name, desired, applied, current, accepted)
        elif name == EXISTS:
            if key[2] and applied[EXISTS] == PRESENT == current[EXISTS]:
                diff.pending[EXISTS] = ABSENT  # it only existed to close a partition
        elif current.get(name) == applied[name] is not None:
            diff.pending[name] = None  # any other value was set outside the portal, and stays
    if ABSENT in {desired.get(EXISTS), current[EXISTS], diff.pending.get(EXISTS)}:
        _drop_values(diff, gone=current[EXISTS] == ABSENT)
    return diff


def find_drift(
    applied: AssociationValues, actual: AssociationValues | None, accepted: AssociationValues
) -> dict[str, tuple[Any, Any]]:
    """Return the drift of an association: the applied and the actual value, by name."""
    current = {EXISTS: PRESENT, **actual} if actual is not None else {EXISTS: ABSENT}
    only_existence = ABSENT in {applied.get(EXISTS), current[EXISTS]}
    return {
        name: (value, current.get(name))
        for name, value in applied.items()
        if current.get(name) != value and name not in accepted
        if name == EXISTS or not only_existence
    }


def _compare_one(
    diff: AssociationDiff,
    name: str,
    desired: AssociationValues,
    applied: AssociationValues,
    current: AssociationValues,
    accepted: AssociationValues,
) -> None:
    value, actual = desired[name], current.get(name)
    if name == "DefaultQOS" and actual in desired.get("QOS", ()):
        value = actual  # any of the allowed ones is fine
    if actual == value:
        diff.applied[name] = value
    elif applied.get(name, _UNSET) != value:
        diff.pending[name] = value
    else:
        diff.applied[name] = value
        if accepted.get(name, _UNSET) == actual:
            diff.accepted[name] = actual
        else:
            diff.drift[name] = (value, actual)


_UNSET = object()


def _drop_values(diff: AssociationDiff, *, gone: bool) -> None:
    """Drop the values of an association that is missing or will be removed: they don't matter."""
    for part in (diff.drift, diff.accepted):
        for name in [name for name in part if name != EXISTS]:
            del part[name]
    if diff.pending.get(EXISTS) == ABSENT or (gone and EXISTS not in diff.pending):
        for name in [name for name in diff.pending if name != EXISTS]:
            del diff.pending[name]


def assume_applied(
    key: AssociationKey, desired: AssociationValues, applied_before: bool
) -> AssociationValues:
    """Return the values to assume as applied to an association that is new to the portal.

    If the portal had already applied the user's accounts, an association outside these was made by
    hand. It is reported as drift before anything happens to it.
    """
    by_hand = applied_before and not key[2] and desired.get(EXISTS) == ABSENT
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
