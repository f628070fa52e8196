"""Reservations and maintenance that lie ahead or have begun, as one person may know of them. Pure.

What a reservation is called and for whom it is may name people, so others' are told without either;
administrators and viewers see both.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from spawner.model import ReservationInfo


@dataclass(frozen=True)
class Ahead:
    """A reservation. `mine`: it is kept for the one who asks. `name` is what a job has to say to
    run in it; None where it isn't theirs to know, as `kept_for`."""

    start: datetime
    end: datetime
    nodes: tuple[str, ...]
    maintenance: bool
    mine: bool
    name: str | None
    kept_for: tuple[str, ...] | None


def ahead(
    reservations: Iterable[ReservationInfo],
    now: datetime,
    username: str,
    accounts: Collection[str],
    sees_all: bool,
) -> list[Ahead]:
    """Those of nodes that aren't over, the next one first."""
    left = (one for one in reservations if one.end > now and one.nodes)
    return [
        _shown(one, is_for(one, username, accounts), sees_all)
        for one in sorted(left, key=lambda one: (one.start, one.end, one.name))
    ]


def is_for(one: ReservationInfo, username: str, accounts: Collection[str]) -> bool:
    """Whether this person may run in it, as far as users and accounts say."""
    named = {*one.users, *one.accounts}
    theirs = {username, *accounts}
    if not named.isdisjoint(f"-{name}" for name in theirs):
        return False
    everyone_else = bool(named) and all(name.startswith("-") for name in named)
    return everyone_else or username in one.users or not set(one.accounts).isdisjoint(accounts)


def _shown(one: ReservationInfo, mine: bool, sees_all: bool) -> Ahead:
    return Ahead(
        start=one.start,
        end=one.end,
        nodes=one.nodes,
        maintenance=one.maintenance,
        mine=mine,
        name=one.name if sees_all or mine or one.maintenance else None,
        kept_for=(*one.users, *one.accounts) if sees_all else None,
    )
