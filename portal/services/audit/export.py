"""Export of audit events in batches: CSV for spreadsheets, JSON Lines for programs."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from portal.db import Database
from portal.models import AuditEvent
from portal.services.audit.audit import Action, Actor, record, to_current_action
from portal.services.audit.search import AuditFilter, iterate_events
from portal.services.csv_cells import csv_lines

COLUMNS = (
    "id", "at", "actor", "action", "target", "changes", "detail", "ip", "token", "request_id",
)  # fmt: skip


class Format(StrEnum):
    CSV = "csv"
    JSONL = "jsonl"


@dataclass(frozen=True)
class ExportedChange:
    """The old and new value of one field; any JSON."""

    field: str
    old: Any
    new: Any


def split_detail(event: AuditEvent) -> tuple[list[ExportedChange], dict[str, Any]]:
    """Split an event's detail into field changes and the remaining entries."""
    changes, rest = [], {}
    for key, value in event.detail.items():
        if isinstance(value, dict) and value.keys() == {"old", "new"}:
            changes.append(ExportedChange(key, value["old"], value["new"]))
        else:
            rest[key] = value
    return changes, rest


async def record_export(
    database: Database, event_filter: AuditFilter, how: Format, by: Actor
) -> None:
    """Record the export itself: the format and the filter."""
    fields = {name: str(value) for name, value in vars(event_filter).items() if value}
    async with database.session() as db:
        detail = {"format": how.value, **fields}
        record(db, Action.AUDIT_EXPORT, actor=by.actor, detail=detail, ip=by.ip)
        await db.commit()


async def export(
    database: Database, event_filter: AuditFilter, how: Format
) -> AsyncIterator[bytes]:
    """Yield all matching events, newest first. Only one batch is in memory at a time."""
    if how is Format.CSV:
        yield csv_lines([COLUMNS]).encode()
    async for batch in iterate_events(database, event_filter):
        yield (_render_csv(batch) if how is Format.CSV else _render_json_lines(batch)).encode()


def _render_csv(batch: Sequence[AuditEvent]) -> str:
    return csv_lines([_to_csv_row(event) for event in batch])


def _to_csv_row(event: AuditEvent) -> list[object]:
    changes, rest = split_detail(event)
    shown = "; ".join(
        f"{each.field}: {_dump_json(each.old)} → {_dump_json(each.new)}" for each in changes
    )
    return [
        event.id, event.at.isoformat(), event.actor, to_current_action(event.action), event.target,
        shown, _dump_json(rest) if rest else "", event.ip, event.token, event.request_id,
    ]  # fmt: skip


def _render_json_lines(batch: Sequence[AuditEvent]) -> str:
    return "".join(f"{_dump_json(_to_json_object(event))}\n" for event in batch)


def _to_json_object(event: AuditEvent) -> dict[str, Any]:
    changes, rest = split_detail(event)
    return {
        "id": event.id,
        "at": event.at.isoformat(),
        "actor": event.actor,
        "action": to_current_action(event.action),
        "target": event.target,
        "changes": [vars(each) for each in changes],
        "detail": rest,
        "ip": event.ip,
        "token": event.token,
        "request_id": event.request_id,
    }


def _dump_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
