"""Upcoming and current reservations and maintenance, as visible to one user. Pure.

A reservation's name and its users may identify users, so both are hidden for reservations of
others; administrators and viewers see them.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from spawner.slurm.model import ReservationInfo


@dataclass(frozen=True)
class Ahead:
    """A reservation. `mine`: it is for the current user. `name` is what a job has to specify to run
    in it; None if hidden, like `kept_for`.
    """

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
    """Return the reservations of nodes that have not ended, the next one first."""
    open_reservations = (one for one in reservations if one.end > now and one.nodes)
    return [
        _to_ahead(one, is_for(one, username, accounts), sees_all)
        for one in sorted(open_reservations, key=lambda one: (one.start, one.end, one.name))
    ]


def is_for(one: ReservationInfo, username: str, accounts: Collection[str]) -> bool:
    """Return whether this user may run in it, as far as users and accounts decide."""
    named = {*one.users, *one.accounts}
    theirs = {username, *accounts}
    if not named.isdisjoint(f"-{name}" for name in theirs):
        return False
    everyone_else = bool(named) and all(name.startswith("-") for name in named)
    return everyone_else or username in one.users or not set(one.accounts).isdisjoint(accounts)


def _to_ahead(one: ReservationInfo, mine: bool, sees_all: bool) -> Ahead:
    return Ahead(
        start=one.start,
        end=one.end,
        nodes=one.nodes,
        maintenance=one.maintenance,
        mine=mine,
        name=one.name if sees_all or mine or one.maintenance else None,
        kept_for=(*one.users, *one.accounts) if sees_all else None,
    )
