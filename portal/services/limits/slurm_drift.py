"""Drift: changes made in Slurm outside the portal, listed, reverted or accepted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from portal.context import AppContext
from portal.errors import NotFound
from portal.models import Association
from portal.services.audit import audit
from portal.services.limits.association_states import AssociationState
from portal.services.limits.associations import EXISTS, PRESENT, RESTORE, format_value, label


@dataclass(frozen=True)
class Drift:
    """One drifted value of one association: as the portal last applied it, and as Slurm has it."""

    association: AssociationState
    name: str
    applied: Any
    actual: Any
    accepted: bool


def list_drift(context: AppContext) -> list[Drift]:
    """Return all drift, oldest first, then the accepted one."""
    drifts = [
        Drift(association, name, applied, actual, accepted=False)
        for association in context.slurm_limits.associations.values()
        for name, (applied, actual) in association.drift.items()
    ]
    drifts.sort(
        key=lambda d: (d.association.drift_since is None, d.association.drift_since, d.name)
    )
    accepted = [
        Drift(association, name, association.applied.get(name), actual, accepted=True)
        for association in context.slurm_limits.associations.values()
        for name, actual in association.accepted.items()
    ]
    return [*drifts, *sorted(accepted, key=lambda d: (d.association.key, d.name))]


def _find(context: AppContext, drift_id: str) -> Drift:
    for drift in list_drift(context):
        if drift.association.drift_id(drift.name) == drift_id:
            return drift
    raise NotFound("This difference no longer exists. Reload the page.")


async def revert(context: AppContext, by: audit.Actor, drift_id: str) -> None:
    """Have the loop apply the value again. Raises NotFound if the drift is gone."""
    drift = _find(context, drift_id)

    def edit(row: Association) -> None:
        # The column `written` holds the applied values, and the loop applies those that it lacks:
        # here one value or, of an association that was removed in Slurm, all of them.
        if drift.name == EXISTS and drift.applied == PRESENT:
            row.written, row.accepted = {EXISTS: RESTORE}, {}
            return
        row.written = {name: v for name, v in row.written.items() if name != drift.name}
        row.accepted = {name: v for name, v in row.accepted.items() if name != drift.name}

    await _edit_row(context, drift, edit, by, audit.Action.DRIFT_MEND)


async def accept(context: AppContext, by: audit.Actor, drift_id: str) -> None:
    """Accept the actual value. Raises NotFound if the drift is gone."""
    drift = _find(context, drift_id)

    def edit(row: Association) -> None:
        row.accepted = {**row.accepted, drift.name: drift.actual}

    await _edit_row(context, drift, edit, by, audit.Action.DRIFT_ACCEPT)


async def _edit_row(
    context: AppContext,
    drift: Drift,
    edit: Callable[[Association], None],
    by: audit.Actor,
    action: audit.Action,
) -> None:
    """Edit the association's row and record it, between two rounds of the loop.

    So neither overwrites the other.
    """
    account, username, partition = drift.association.key
    detail = {
        "account": account,
        "partition": partition,
        "field": label(drift.name),
        "wanted": format_value(drift.name, drift.applied),
        "found": format_value(drift.name, drift.actual),
    }
    target = username or f"account {account}"
    async with context.slurm_limits.between_rounds(), context.db.session() as db:
        row = await db.get(Association, drift.association.id)
        if row is None:
            raise NotFound("This difference no longer exists. Reload the page.")
        edit(row)
        audit.record(db, action, actor=by.actor, target=target, detail=detail, ip=by.ip)
        await db.commit()
