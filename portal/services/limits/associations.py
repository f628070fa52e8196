"""Slurm's associations as the limits want them, against what Slurm was told and what it has. Pure.

What an administrator said nothing of isn't there, and is left alone. A person's accounts are only
added or taken away where a limit names the accounts. Partitions that someone may not use have an
association of their own which takes no jobs, so that everything else still counts together.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from portal.services.limits.books import ROOT
from portal.services.limits.limit_rules import BY_TYPE, Effective, Figures
from spawner.parse_accounting import Facts, Place, is_name
from spawner.parse_accounting import Figures as Told

HERE = "association"
PRESENT, ABSENT = "present", "absent"
AGAIN = "again"
"""Of what Slurm was told: an administrator wants an association back that somebody took away."""
CLOSED: Told = {HERE: PRESENT, "MaxSubmitJobs": 0}
"""The association of a partition that someone may not use."""

Wanted = dict[Place, dict[str, Any]]


@dataclass(frozen=True)
class World:
    """What associations are made from. `people` are those whom limits concern at all, `accounts`
    what groups' members share, by account; `seen` what the portal has told before, by place."""

    people: Mapping[str, Effective]
    accounts: Mapping[str, Figures]
    found: Mapping[Place, Told]
    seen: Mapping[Place, Told]
    partitions: frozenset[str]
    facts: Facts


def wanted(world: World) -> Wanted:
    """Every association that the limits say something of, and what."""
    result: Wanted = {}
    places: dict[str, list[Place]] = {}
    for place in {*world.found, *world.seen}:
        places.setdefault(place[1], []).append(place)
    for account, shared in world.accounts.items():
        if (account, "", "") in world.found and is_name(account):
            said = figures_together(shared, world.facts)
            if said:
                result[account, "", ""] = said
    for username, counted in world.people.items():
        if is_name(username):
            result |= _of_person(username, counted, sorted(places.get(username, ())), world)
    return result


def _of_person(username: str, counted: Effective, places: list[Place], world: World) -> Wanted:
    said = figures_of(counted, world.facts)
    allowed = counted.get("accounts")
    has = {account for account, _, _ in places if account != ROOT}
    known = {account for account, user, _ in world.found if not user}
    mine = set(allowed.value) & known if allowed else has
    result: Wanted = {}
    for account in sorted(has - mine):
        result[account, username, ""] = {HERE: ABSENT}
    for account in sorted(mine):
        base = (account, username, "")
        if allowed is not None:
            result[base] = {HERE: PRESENT, **said}
        elif base in world.found and said:
            result[base] = dict(said)
        elif account in known and said and _was_told(world.seen.get(base, {})):
            result[base] = {HERE: PRESENT, **said}  # somebody took it away
        result |= _partitions(account, username, counted, places, said, world)
    return result


def _was_told(told: Told) -> bool:
    """Whether Slurm had an association with what the portal told it, and is to have it."""
    return bool(told) and told.get(HERE) != ABSENT


def _partitions(
    account: str,
    username: str,
    counted: Effective,
    places: list[Place],
    said: dict[str, Any],
    world: World,
) -> Wanted:
    """Those of single partitions: closed, or an operator's own, to which the limits apply too."""
    allowed = counted.get("partitions")
    closed = world.partitions - set(allowed.value) if allowed else frozenset()
    result: Wanted = {}
    exists = (account, username, "") in world.found or "accounts" in counted
    for partition in sorted(closed) if exists else ():
        if is_name(partition):
            result[account, username, partition] = dict(CLOSED)
    for place in places:
        own = place[0] == account and place[2] and place[2] not in closed
        if own and place in world.found and world.seen.get(place, {}).get(HERE) is None and said:
            result[place] = dict(said)
    return result


def figures_of(counted: Effective, facts: Facts) -> dict[str, Any]:
    """What Slurm is to hold each of a person's associations to."""
    values = {name: one.value for name, one in counted.items()}
    said = _tres(values, facts)
    if "sessions" in values and "jobs" in values:
        said["MaxSubmitJobs"] = values["sessions"] + values["jobs"]
    if "time_limit_minutes" in values:
        said["MaxWall"] = values["time_limit_minutes"]
    if "qos" in values:
        said["QOS"] = sorted(values["qos"])
        said["DefaultQOS"] = values["qos"][0]
    return said


def figures_together(shared: Figures, facts: Facts) -> dict[str, Any]:
    """What Slurm is to hold a group's account to."""
    values = shared.said
    said = _tres(values, facts)
    if "sessions" in values and "jobs" in values:
        said["GrpSubmitJobs"] = values["sessions"] + values["jobs"]
    return said


def _tres(values: Mapping[str, Any], facts: Facts) -> dict[str, Any]:
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
class Verdict:
    """Of one association: `tell` what Slurm has yet to be told (None ends a limit), `told` what it
    has, now that it was looked at, and `drift` what somebody changed by hand: (told, found)."""

    tell: dict[str, Any] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)
    drift: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    accepted: dict[str, Any] = field(default_factory=dict)


def compare(place: Place, should: Told, told: Told, found: Told | None, accepted: Told) -> Verdict:
    """`should` is what the limits want, `told` what Slurm was told last, `found` what it has (None:
    no such association), `accepted` what an administrator lets stand."""
    now = {HERE: PRESENT, **found} if found is not None else {HERE: ABSENT}
    if found is None and told and should.get(HERE) == PRESENT:
        told = {HERE: PRESENT, **told}  # one with figures was there
    verdict = Verdict()
    for name in {**told, **should}:
        if found is None and name != HERE and should.get(HERE) != PRESENT:
            continue  # of what isn't there nothing can be said
        if name in should:
            _compare_one(verdict, name, should, told, now, accepted)
        elif name == HERE:
            if place[2] and told[HERE] == PRESENT == now[HERE]:
                verdict.tell[HERE] = ABSENT  # it was made only to close a partition
        elif now.get(name) == told[name] is not None:
            verdict.tell[name] = None  # else somebody has given it another value: it is theirs now
    if ABSENT in {should.get(HERE), now[HERE], verdict.tell.get(HERE)}:
        _only_existence(verdict, gone=now[HERE] == ABSENT)
    return verdict


def differs(told: Told, found: Told | None, accepted: Told) -> dict[str, tuple[Any, Any]]:
    """Of an association that somebody has changed: what Slurm was told and what it has, by name."""
    now = {HERE: PRESENT, **found} if found is not None else {HERE: ABSENT}
    only_existence = ABSENT in {told.get(HERE), now[HERE]}
    return {
        name: (value, now.get(name))
        for name, value in told.items()
        if now.get(name) != value and name not in accepted
        if name == HERE or not only_existence
    }


def _compare_one(
    verdict: Verdict, name: str, should: Told, told: Told, now: Told, accepted: Told
) -> None:
    want, is_ = should[name], now.get(name)
    if name == "DefaultQOS" and is_ in should.get("QOS", ()):
        want = is_  # any of the allowed ones will do
    if is_ == want:
        verdict.told[name] = want
    elif told.get(name, _NOTHING) != want:
        verdict.tell[name] = want
    else:
        verdict.told[name] = want
        if accepted.get(name, _NOTHING) == is_:
            verdict.accepted[name] = is_
        else:
            verdict.drift[name] = (want, is_)


_NOTHING = object()


def _only_existence(verdict: Verdict, *, gone: bool) -> None:
    """Of an association that is to go, or is gone, the figures don't matter."""
    for part in (verdict.drift, verdict.accepted):
        for name in [name for name in part if name != HERE]:
            del part[name]
    if verdict.tell.get(HERE) == ABSENT or (gone and HERE not in verdict.tell):
        for name in [name for name in verdict.tell if name != HERE]:
            del verdict.tell[name]


def taken_for_told(place: Place, should: Told, told_before: bool) -> Told:
    """What Slurm counts as having been told of an association that is new to the portal. One that
    somebody's limits don't name, and that came after Slurm had been told of those, was made by
    hand: it is shown before anything happens to it."""
    by_hand = told_before and not place[2] and should.get(HERE) == ABSENT
    return {HERE: ABSENT} if by_hand else {}


# --- words --------------------------------------------------------------------------------------

LABELS: dict[str, str] = {
    "gres/gpu": "GPUs at once",
    "cpu": "CPUs at once",
    "mem": "Memory at once",
    "MaxSubmitJobs": "Jobs that wait or run",
    "GrpSubmitJobs": "Jobs that wait or run, of all together",
    "MaxWall": "Longest time",
    "QOS": "QOS",
    "DefaultQOS": "Default QOS",
    HERE: "Association",
}


def label(name: str) -> str:
    """A figure of an association in plain words."""
    kind = name.removeprefix("gres/gpu:")
    return f"GPUs of type {kind} at once" if kind != name else LABELS.get(name, name)


def shown(name: str, value: Any) -> str:
    """A figure's value as people read it."""
    if value is None:
        return "no limit" if name not in {"QOS", "DefaultQOS"} else "as the account"
    if isinstance(value, list):
        return ", ".join(value)
    if name == "mem":
        return f"{value / 1024:g} GB"
    if name == "MaxWall":
        return _length(value)
    return str(value)


def _length(minutes: int) -> str:
    """`30 minutes`, `24 h`, `25 h 30 min`."""
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} minutes"
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def place_words(place: Place) -> str:
    """`bob in account research`, `account research`."""
    account, username, partition = place
    where = f"{username} in account {account}" if username else f"account {account}"
    return f"{where}, partition {partition}" if partition else where


def names(values: Iterable[str]) -> str:
    return ", ".join(sorted(values))
