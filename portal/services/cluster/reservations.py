"""Upcoming and current reservations and maintenance, as visible to one user. Pure.

A reservation's name and its users may identify users, so both are hidden for reservations of
others; administrators and viewers see them.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from spawner.slurm.model import ReservationInfo


@dataclass(frozen=True)
class VisibleReservation:
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


def list_reservations(
    reservations: Iterable[ReservationInfo],
    now: datetime,
    username: str,
    accounts: Collection[str],
    sees_all: bool,
) -> list[VisibleReservation]:
    """Return the reservations of nodes that have not ended, the next one first."""
    open_reservations = (
        reservation for reservation in reservations if reservation.end > now and reservation.nodes
    )
    return [
        _to_visible(reservation, is_for(reservation, username, accounts), sees_all)
        for reservation in sorted(
            open_reservations,
            key=lambda reservation: (reservation.start, reservation.end, reservation.name),
        )
    ]


def is_for(reservation: ReservationInfo, username: str, accounts: Collection[str]) -> bool:
    """Return whether this user may run in it, as far as users and accounts decide."""
    allowed = {*reservation.users, *reservation.accounts}
    theirs = {username, *accounts}
    if not allowed.isdisjoint(f"-{name}" for name in theirs):
        return False
    everyone_else = bool(allowed) and all(name.startswith("-") for name in allowed)
    return (
        everyone_else
        or username in reservation.users
        or not set(reservation.accounts).isdisjoint(accounts)
    )


def _to_visible(reservation: ReservationInfo, is_own: bool, sees_all: bool) -> VisibleReservation:
    return VisibleReservation(
        start=reservation.start,
        end=reservation.end,
        nodes=reservation.nodes,
        maintenance=reservation.maintenance,
        mine=is_own,
        name=reservation.name if sees_all or is_own or reservation.maintenance else None,
        kept_for=(*reservation.users, *reservation.accounts) if sees_all else None,
    )
