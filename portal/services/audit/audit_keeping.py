"""How long the audit is kept, and what was counted on its way into it. One loop.

Events are deleted here and nowhere else: the database refuses it (migration 0010) unless they are
older than a mark, which is set to what `audit_retention_days` says and is not there without it.
"""

import asyncio
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from sqlalchemy import delete, select

from portal.db import Database, utcnow
from portal.models import AuditEvent, Mark
from portal.services.audit.audit import Action, record
from portal.services.login import refusals
from portal.settings import Settings

log = structlog.get_logger(__name__)

MARK = "audit.retention"
BATCH = 500
PAUSE_S = 0.05
FLUSH_S = 30.0
RETAIN_S = 6 * 3600.0
ACTOR = "portal"


@dataclass
class AuditKeeping:
    """`run` is the loop, for the application's lifespan."""

    database: Database
    settings: Settings

    async def run(self) -> None:
        """Now and then, until cancelled."""
        retained = float("-inf")
        while True:
            await self.flush(utcnow())
            if time.monotonic() - retained >= RETAIN_S:
                await self.retain(utcnow())
                retained = time.monotonic()
            await asyncio.sleep(FLUSH_S)

    async def flush(self, now: datetime) -> None:
        """Counted refusals become events."""
        window = timedelta(minutes=self.settings.login_window_minutes)
        await refusals.flush(self.database, now, window)

    async def retain(self, now: datetime) -> int:
        """Delete what is older than the setting says, a little at a time so that nobody waits;
        how many events that were."""
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
                record(db, Action.AUDIT_RETENTION, actor=ACTOR, detail=detail)
                await db.commit()
        return total

    async def _set_mark(self, until: datetime | None) -> None:
        async with self.database.session() as db:
            await db.execute(delete(Mark).where(Mark.name == MARK))
            if until is not None:
                db.add(Mark(name=MARK, at=until))
            await db.commit()

    async def _delete_some(self, until: datetime) -> int:
        oldest = select(AuditEvent.id).where(AuditEvent.at < until).order_by(AuditEvent.at)
        async with self.database.session() as db:
            ids = (await db.scalars(oldest.limit(BATCH))).all()
            if ids:
                await db.execute(delete(AuditEvent).where(AuditEvent.id.in_(ids)))
                await db.commit()
            return len(ids)
