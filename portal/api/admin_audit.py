"""The audit: who did what to what, searched and taken away as a file."""

import re
import time
from collections.abc import AsyncIterator
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse
from pydantic import (
    AwareDatetime,
    BaseModel,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

from portal.api.deps import ClientIp, CurrentIdentity, Identity, PartsDep, Reader, still_open
from portal.db import utcnow
from portal.models import AuditEvent, Role
from portal.parts import Parts
from portal.services.audit import audit_export, audit_search
from portal.services.audit.audit import Action, By
from portal.services.audit.audit_export import Format
from portal.services.audit.audit_search import Filter
from portal.services.audit.audit_titles import title
from portal.services.people.roles import role_of

router = APIRouter(prefix="/admin/audit", tags=["admin"])
RECHECK_S = 3.0
MEDIA_TYPES = {Format.CSV: "text/csv; charset=utf-8", Format.JSONL: "application/x-ndjson"}


class FieldChange(BaseModel):
    """What became of one field; any JSON."""

    field: str
    old: Any
    new: Any


class EventOut(BaseModel):
    """One event. `actor` may be nobody of the portal's: the name of a login that failed, `portal`
    for what it does by itself, `cli:…` for its command line. `title` is the action in words;
    `detail` what else is known, by the action. `token` names the access token that the act came
    with; `request_id` is the answer's X-Request-Id and stands in the log."""

    id: int
    at: datetime
    actor: str
    action: str
    title: str
    target: str
    changes: list[FieldChange]
    detail: dict[str, Any]
    ip: str
    token: str
    request_id: str


class EventPage(BaseModel):
    """Events, newest first; `next_cursor` asks for the older ones."""

    items: list[EventOut]
    next_cursor: str | None = None


class ActionOut(BaseModel):
    """A kind of event, and its name in words."""

    action: str
    title: str


class Actions(BaseModel):
    """All kinds of events."""

    items: list[ActionOut]


Words = Annotated[str, Query(max_length=200)]
Text = Annotated[str | None, Query(max_length=200)]
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def _time(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """A time with its zone, or a day, which is its beginning in UTC."""
    is_day = isinstance(value, str) and DAY.fullmatch(value)
    try:
        return read(f"{value}T00:00:00Z" if is_day else value)
    except ValidationError as error:
        words = "Give a day, as 2026-01-31, or a time with its zone, as 2026-01-31T08:00:00Z."
        raise PydanticCustomError("time", words) from error


Time = Annotated[AwareDatetime, WrapValidator(_time)]


def _filter(
    query: Words = "",
    actor: Text = None,
    action: Text = None,
    target: Text = None,
    ip: Text = None,
    since: Annotated[Time | None, Query(alias="from")] = None,
    until: Annotated[Time | None, Query(alias="to")] = None,
) -> Filter:
    """`query`: words that begin words of the event. `action`: one, or all that begin alike, as
    `token.`. `from` and `to` are times with their zone, or days: the beginning of it, in
    UTC."""
    return Filter(query, actor, action, target, ip, since, until)


FilterDep = Annotated[Filter, Depends(_filter)]


@router.get("")
async def search_audit(
    _reader: Reader, parts: PartsDep, wanted: FilterDep, cursor: str | None = None
) -> EventPage:
    """What was done, newest first."""
    before = audit_search.read_cursor(cursor) if cursor else None
    found = await audit_search.page(parts.db, wanted, before)
    shown = found[: audit_search.PAGE]
    more = len(found) > len(shown)
    return EventPage(
        items=[event_out(event) for event in shown],
        next_cursor=audit_search.cursor(shown[-1]) if more else None,
    )


@router.get("/actions")
async def audit_actions(_reader: Reader) -> Actions:
    """The kinds of events there are, to choose from."""
    return Actions(items=[ActionOut(action=each.value, title=title(each.value)) for each in Action])


@router.get("/export", response_class=StreamingResponse)
async def export_audit(
    reader: Reader,
    who: CurrentIdentity,
    parts: PartsDep,
    ip: ClientIp,
    wanted: FilterDep,
    format: Format = Format.CSV,  # noqa: A002 - the address's own word
) -> StreamingResponse:
    """All that fit, as a file: CSV for a spreadsheet, or JSON Lines. That it was taken is an event
    of its own."""
    await audit_export.begin(parts.db, wanted, format, By(reader, ip))
    name = f"audit-{utcnow():%Y-%m-%d}.{format.value}"
    return StreamingResponse(
        _while_open(parts, who, audit_export.export(parts.db, wanted, format)),
        media_type=MEDIA_TYPES[format],
        headers={
            "Cache-Control": "no-store",
            "Content-Disposition": f'attachment; filename="{name}"',
        },
    )


async def _while_open(
    parts: Parts, who: Identity, pieces: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    """The pieces, as long as whoever asked for them may see them. A file that is cut off ends
    without the end of its transfer, so that nobody takes it for the whole."""
    checked = time.monotonic()
    async for piece in pieces:
        if time.monotonic() - checked >= RECHECK_S:
            if not await _still_reads(parts, who):
                raise ConnectionAbortedError("a download was cut off: the login has ended")
            checked = time.monotonic()
        yield piece


async def _still_reads(parts: Parts, who: Identity) -> bool:
    """Whether `Reader` would still let them in."""
    is_open = await still_open(parts.db, parts.settings, who)
    return is_open and await role_of(parts.db, who.user.id) in {Role.ADMIN, Role.VIEWER}


def event_out(event: AuditEvent) -> EventOut:
    changes, detail = audit_export.told(event)
    return EventOut(
        id=event.id,
        at=event.at,
        actor=event.actor,
        action=event.action,
        title=title(event.action),
        target=event.target,
        changes=[FieldChange(**asdict(change)) for change in changes],
        detail=detail,
        ip=event.ip,
        token=event.token,
        request_id=event.request_id,
    )
