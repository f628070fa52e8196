"""Steps of the background loops for audit retention and for writing counted login refusals.

Audit events are deleted here and nowhere else. The database rejects deletes (migration 0010) except
of events older than a mark, which this loop sets from `audit_retention_days` and removes if that is
unset.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from sqlalchemy import delete, select

from portal.config.settings import Settings
from portal.db import AdvisoryLock, Database, take_advisory_lock
from portal.models import AuditEvent, Mark
from portal.services.audit import refused_logins
from portal.services.audit.audit import PORTAL, Action, record

log = structlog.get_logger(__name__)

MARK = "audit.retention"
BATCH = 500
PAUSE_S = 0.05
FLUSH_S = 30.0
RETAIN_S = 6 * 3600.0


@dataclass
class AuditKeeping:
    """Audit maintenance: `flush` and `retain` are steps of two background loops."""

    database: Database
    settings: Settings

    async def flush(self, now: datetime) -> None:
        """Write counted refusals as audit events."""
        window = timedelta(minutes=self.settings.login_window_minutes)
        await refused_logins.flush(self.database, now, window)

    async def retain(self, now: datetime) -> int:
        """Delete events older than `audit_retention_days` and return their number.

        Deletes in small batches with pauses, so that other writers are not blocked.
        """
        days = self.settings.audit_retention_days
        until = None if days is None else now - timedelta(days=days)
        await self._set_mark(until)
        if until is None:
            return 0
        total = 0
        while count := await self._delete_some(until):
            total += count
            await asyncio.sleep(PAUSE_S)
        if total:
            async with self.database.session() as db:
                detail = {"events": total, "before": until.isoformat()}
                record(db, Action.AUDIT_RETENTION, actor=PORTAL, detail=detail)
                await db.commit()
        return total

    async def _set_mark(self, until: datetime | None) -> None:
        async with self.database.session() as db:
            await take_advisory_lock(db, AdvisoryLock.AUDIT_RETENTION)
            await db.execute(delete(Mark).where(Mark.name == MARK))
            if until is not None:
                db.add(Mark(name=MARK, at=until))
            await db.commit()

    async def _delete_some(self, until: datetime) -> int:
        oldest = select(AuditEvent.id).where(AuditEvent.at < until).order_by(AuditEvent.at)
        async with self.database.session() as db:
            ids = (await db.scalars(oldest.limit(BATCH))).all()
            if not ids:
                return 0
            deleted = delete(AuditEvent).where(AuditEvent.id.in_(ids)).returning(AuditEvent.id)
            # fewer than selected if another portal deletes at the same moment
            count = len((await db.scalars(deleted)).all())
            await db.commit()
            return count
