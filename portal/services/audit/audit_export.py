"""Audit events as text, a batch at a time: CSV for spreadsheets, JSON Lines for programs."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from portal.db import Database
from portal.models import AuditEvent
from portal.services.audit.audit import Action, By, record
from portal.services.audit.audit_search import Filter, every
from portal.services.csv_cells import csv_lines

COLUMNS = (
    "id", "at", "actor", "action", "target", "changes", "detail", "ip", "token", "request_id",
)  # fmt: skip


class Format(StrEnum):
    CSV = "csv"
    JSONL = "jsonl"


@dataclass(frozen=True)
class Change:
    """What became of one field; any JSON."""

    field: str
    old: Any
    new: Any


def told(event: AuditEvent) -> tuple[list[Change], dict[str, Any]]:
    """What an event's detail says: what changed, and the rest of it."""
    changes, rest = [], {}
    for key, value in event.detail.items():
        if isinstance(value, dict) and value.keys() == {"old", "new"}:
            changes.append(Change(key, value["old"], value["new"]))
        else:
            rest[key] = value
    return changes, rest


async def begin(database: Database, wanted: Filter, how: Format, by: By) -> None:
    """Write down that somebody takes events away, and which."""
    asked = {name: str(value) for name, value in vars(wanted).items() if value}
    async with database.session() as db:
        detail = {"format": how.value, **asked}
        record(db, Action.AUDIT_EXPORT, actor=by.actor, detail=detail, ip=by.ip)
        await db.commit()


async def export(database: Database, wanted: Filter, how: Format) -> AsyncIterator[bytes]:
    """All that fit, newest first; one batch is in memory at a time."""
    if how is Format.CSV:
        yield csv_lines([COLUMNS]).encode()
    async for batch in every(database, wanted):
        yield (_csv(batch) if how is Format.CSV else _json_lines(batch)).encode()


def _csv(batch: Sequence[AuditEvent]) -> str:
    return csv_lines([_row(event) for event in batch])


def _row(event: AuditEvent) -> list[object]:
    changes, rest = told(event)
    shown = "; ".join(f"{each.field}: {_json(each.old)} → {_json(each.new)}" for each in changes)
    return [
        event.id, event.at.isoformat(), event.actor, event.action, event.target, shown,
        _json(rest) if rest else "", event.ip, event.token, event.request_id,
    ]  # fmt: skip


def _json_lines(batch: Sequence[AuditEvent]) -> str:
    return "".join(f"{_json(_whole(event))}\n" for event in batch)


def _whole(event: AuditEvent) -> dict[str, Any]:
    changes, rest = told(event)
    return {
        "id": event.id,
        "at": event.at.isoformat(),
        "actor": event.actor,
        "action": event.action,
        "target": event.target,
        "changes": [vars(each) for each in changes],
        "detail": rest,
        "ip": event.ip,
        "token": event.token,
        "request_id": event.request_id,
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
