"""Writing and searching events of the audit log."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select

from portal.models import AuditEvent
from tests.portal.conftest import Browser, Portal

AUDIT = "/api/v1/admin/audit"


async def events(portal: Portal, *conditions: Any) -> list[AuditEvent]:
    async with portal.context.db.session() as db:
        query = select(AuditEvent).where(*conditions).order_by(AuditEvent.id)
        return list((await db.scalars(query)).all())


async def add(portal: Portal, *rows: Mapping[str, Any]) -> None:
    """Add events as the portal writes them, with their own times."""
    plain = {"actor": "alice", "action": "login", "target": "", "detail": {}, "ip": ""}
    async with portal.context.db.session() as db:
        db.add_all(AuditEvent(**{**plain, **row}) for row in rows)
        await db.commit()


async def found(browser: Browser, query: str) -> list[str]:
    """Return the targets of the matching events, newest first."""
    answer = await browser.get(f"{AUDIT}?{query}")
    assert answer.status == 200, answer
    return [item["target"] for item in answer.body["items"]]
