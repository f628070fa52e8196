"""States of the managed associations, and their table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from sqlalchemy import delete, insert, select, update

from portal.db import Database
from portal.models import Association
from spawner.slurm.parse_accounting import AssociationKey

IDS_PER_STATEMENT = 500


@dataclass
class AssociationState:
    """One association that limits apply to, as of the last comparison (slurm_limits.py).

    `drift`: values changed in Slurm outside the portal, as (applied, actual); `accepted`: drift
    that an administrator accepted; `refused`: sacctmgr's message; other values as in
    AssociationDiff. The columns of `applied` and `actual` are `written` and `found`.
    """

    id: str
    key: AssociationKey
    desired: Mapping[str, Any] = field(default_factory=dict)
    applied: dict[str, Any] = field(default_factory=dict)
    actual: Mapping[str, Any] | None = None
    accepted: dict[str, Any] = field(default_factory=dict)
    pending: dict[str, Any] = field(default_factory=dict)
    drift: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    refused: str | None = None
    tried_at: datetime | None = None
    written_at: datetime | None = None
    drift_since: datetime | None = None

    def to_columns(self) -> dict[str, Any]:
        """Return the columns of its row."""
        names = ("applied", "accepted", "refused", "tried_at", "written_at", "drift_since")
        row = {name: getattr(self, name) for name in names}
        actual = None if self.actual is None else dict(self.actual)
        row["written"] = dict(row.pop("applied"))
        return {**row, "accepted": dict(self.accepted), "found": actual}

    def drift_id(self, name: str) -> str:
        """Return the id of one drifted value; it may appear in a URL."""
        return str(uuid5(NAMESPACE_OID, f"{self.id}/{name}"))


async def load(database: Database) -> dict[AssociationKey, AssociationState]:
    """Return all associations of the table by key."""
    table = Association.__table__
    async with database.session() as db:
        rows = (await db.execute(select(table))).mappings().all()
    return {
        (row["account"], row["username"], row["partition"]): AssociationState(
            id=row["id"],
            key=(row["account"], row["username"], row["partition"]),
            applied=row["written"] or {},
            actual=row["found"],
            accepted=row["accepted"] or {},
            refused=row["refused"],
            tried_at=row["tried_at"],
            written_at=row["written_at"],
            drift_since=row["drift_since"],
        )
        for row in rows
    }


async def save(
    database: Database,
    before: Mapping[AssociationKey, AssociationState],
    after: Mapping[AssociationKey, AssociationState],
) -> None:
    """Store the differences."""
    gone = [association.id for key, association in before.items() if key not in after]
    new = [association for key, association in after.items() if key not in before]
    both = [(before[key], association) for key, association in after.items() if key in before]
    changed = [new for old, new in both if old.to_columns() != new.to_columns()]
    if not (gone or new or changed):
        return
    async with database.session() as db:
        for at in range(0, len(gone), IDS_PER_STATEMENT):
            ids = gone[at : at + IDS_PER_STATEMENT]
            await db.execute(delete(Association).where(Association.id.in_(ids)))
        if new:
            await db.execute(insert(Association), [_to_row(association) for association in new])
        if changed:
            rows = [{"id": association.id, **association.to_columns()} for association in changed]
            await db.execute(update(Association), rows)
        await db.commit()


def _to_row(association: AssociationState) -> dict[str, Any]:
    account, username, partition = association.key
    where = {"account": account, "username": username, "partition": partition}
    return {"id": association.id, **where, **association.to_columns()}
