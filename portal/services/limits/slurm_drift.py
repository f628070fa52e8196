"""What somebody changed in Slurm by hand: shown, mended or accepted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from portal.errors import NotFound
from portal.models import Association
from portal.services.audit import audit
from portal.services.limits.associations import AGAIN, HERE, PRESENT, label, shown
from portal.services.limits.slurm_limits import SlurmLimits, Standing


@dataclass(frozen=True)
class Drift:
    """One figure of one association: what Slurm was told, and what it has."""

    standing: Standing
    name: str
    wanted: Any
    found: Any
    accepted: bool


def every(slurm: SlurmLimits) -> list[Drift]:
    """The oldest first, then what was accepted."""
    found = [
        Drift(one, name, wanted, is_, accepted=False)
        for one in slurm.standings.values()
        for name, (wanted, is_) in one.drift.items()
    ]
    found.sort(key=lambda d: (d.standing.drift_since is None, d.standing.drift_since, d.name))
    accepted = [
        Drift(one, name, one.told.get(name), is_, accepted=True)
        for one in slurm.standings.values()
        for name, is_ in one.accepted.items()
    ]
    return [*found, *sorted(accepted, key=lambda d: (d.standing.place, d.name))]


def _of(slurm: SlurmLimits, drift_id: str) -> Drift:
    for drift in every(slurm):
        if drift.standing.drift_id(drift.name) == drift_id:
            return drift
    raise NotFound("This isn't different any more. Look again.")


async def mend(slurm: SlurmLimits, by: audit.By, drift_id: str) -> None:
    """Have Slurm told again; the loop does it. Raises NotFound for what isn't so any more."""
    drift = _of(slurm, drift_id)

    def apply(row: Association) -> None:
        # as if Slurm had never heard of it, so that it is told; with an association its figures
        if drift.name == HERE and drift.wanted == PRESENT:
            row.written, row.accepted = {HERE: AGAIN}, {}
            return
        row.written = {name: v for name, v in row.written.items() if name != drift.name}
        row.accepted = {name: v for name, v in row.accepted.items() if name != drift.name}

    await _change(slurm, drift, apply, by, audit.Action.DRIFT_MEND)


async def accept(slurm: SlurmLimits, by: audit.By, drift_id: str) -> None:
    """Let it stand. Raises NotFound for what isn't so any more."""
    drift = _of(slurm, drift_id)

    def apply(row: Association) -> None:
        row.accepted = {**row.accepted, drift.name: drift.found}

    await _change(slurm, drift, apply, by, audit.Action.DRIFT_ACCEPT)


async def _change(
    slurm: SlurmLimits,
    drift: Drift,
    apply: Callable[[Association], None],
    by: audit.By,
    action: audit.Action,
) -> None:
    """Between two rounds, so that neither overwrites the other."""
    account, username, partition = drift.standing.place
    detail = {
        "account": account,
        "partition": partition,
        "field": label(drift.name),
        "wanted": shown(drift.name, drift.wanted),
        "found": shown(drift.name, drift.found),
    }
    target = username or f"account {account}"
    async with slurm.between_rounds(), slurm.parts.db.session() as db:
        row = await db.get(Association, drift.standing.id)
        if row is None:
            raise NotFound("This isn't different any more. Look again.")
        apply(row)
        audit.record(db, action, actor=by.actor, target=target, detail=detail, ip=by.ip)
        await db.commit()
