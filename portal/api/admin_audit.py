"""Routes of the audit log: search and export."""

import re
import time
from collections.abc import AsyncIterator
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse
from pydantic import (
    BaseModel,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from portal.context import AppContext
from portal.db import utcnow
from portal.models import AuditEvent, Role
from portal.services.audit import export, search
from portal.services.audit.audit import Action, Actor, to_current_action
from portal.services.audit.export import Format
from portal.services.audit.search import AuditFilter
from portal.services.audit.titles import title
from portal.services.identity.roles import load_role
from portal.web.dependencies import (
    ClientIp,
    ContextDep,
    CurrentIdentity,
    Identity,
    Reader,
    still_open,
)
from portal.web.fields import DateTime
from portal.web.pages import Page

router = APIRouter(prefix="/admin/audit", tags=["admin"])
RECHECK_S = 3.0
MEDIA_TYPES = {Format.CSV: "text/csv; charset=utf-8", Format.JSONL: "application/x-ndjson"}


class FieldChange(BaseModel):
    """The old and new value of one field; any JSON."""

    field: str
    old: Any
    new: Any


class EventOut(BaseModel):
    """An audit event.

    `actor` need not be a user: it can be the name of a failed login, `portal` for the portal's own
    actions, or `cli:…` for its command line. `title` is the action as text; `detail` has further
    data, depending on the action. `token` names the access token that was used; `request_id` is the
    response's X-Request-Id, which is also in the portal's log.
    """

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


class ActionOut(BaseModel):
    """A kind of event, with its title."""

    action: str
    title: str


class Actions(BaseModel):
    """All kinds of events."""

    items: list[ActionOut]


Words = Annotated[str, Query(max_length=200)]
Text = Annotated[str | None, Query(max_length=200)]
INVALID_TIME = (
    "Enter a date such as 2026-01-31, or a time with a time zone such as 2026-01-31T08:00:00Z."
)
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def _parse_day_or_time(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """Read a time with its zone, or a day, which means its start in UTC."""
    is_day = isinstance(value, str) and DAY.fullmatch(value)
    try:
        return read(f"{value}T00:00:00Z" if is_day else value)
    except ValidationError as error:
        raise ValueError(INVALID_TIME) from error


Time = Annotated[DateTime, WrapValidator(_parse_day_or_time)]


async def _read_filter(
    query: Words = "",
    actor: Text = None,
    action: Text = None,
    target: Text = None,
    ip: Text = None,
    since: Annotated[Time | None, Query(alias="from")] = None,
    until: Annotated[Time | None, Query(alias="to")] = None,
) -> AuditFilter:
    """Build the filter from the query parameters.

    `query`: prefixes of words of the event. `action`: one action, or a prefix such as `token.`.
    `from` and `to` are times with their zone, or days: the start of the day in UTC.
    """
    return AuditFilter(query, actor, action, target, ip, since, until)


FilterDep = Annotated[AuditFilter, Depends(_read_filter)]


@router.get("")
async def search_audit(
    _reader: Reader, context: ContextDep, event_filter: FilterDep, cursor: str | None = None
) -> Page[EventOut]:
    """Return audit events, newest first."""
    before = search.read_cursor(cursor) if cursor else None
    events = await search.page(context.db, event_filter, before)
    shown = events[: search.PAGE]
    has_more = len(events) > len(shown)
    return Page[EventOut](
        items=[event_out(event) for event in shown],
        next_cursor=search.cursor(shown[-1]) if has_more else None,
    )


@router.get("/actions")
async def audit_actions(_reader: Reader) -> Actions:
    """Return the kinds of events to choose from."""
    return Actions(items=[ActionOut(action=each.value, title=title(each.value)) for each in Action])


@router.get("/export", response_class=StreamingResponse)
async def export_audit(
    reader: Reader,
    who: CurrentIdentity,
    context: ContextDep,
    ip: ClientIp,
    event_filter: FilterDep,
    format: Format = Format.CSV,  # noqa: A002 - the name of the query parameter
) -> StreamingResponse:
    """Export all matching events as a file.

    CSV for a spreadsheet, or JSON Lines. The export is itself an event.
    """
    await export.record_export(context.db, event_filter, format, Actor(reader, ip))
    name = f"audit-{utcnow():%Y-%m-%d}.{format.value}"
    return StreamingResponse(
        _stream_while_allowed(context, who, export.export(context.db, event_filter, format)),
        media_type=MEDIA_TYPES[format],
        headers={
            "Cache-Control": "no-store",
            "Content-Disposition": f'attachment; filename="{name}"',
        },
    )


async def _stream_while_allowed(
    context: AppContext, who: Identity, pieces: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    """Yield the pieces for as long as the caller may read them.

    A file that is cut off ends with a broken connection, so that it is not mistaken for a complete
    one.
    """
    checked = time.monotonic()
    async for piece in pieces:
        if time.monotonic() - checked >= RECHECK_S:
            if not await _may_still_read(context, who):
                raise ConnectionAbortedError("a download was cut off: the login has ended")
            checked = time.monotonic()
        yield piece


async def _may_still_read(context: AppContext, who: Identity) -> bool:
    """Return whether the caller still passes `Reader`."""
    is_open = await still_open(context, who)
    return is_open and await load_role(context.db, who.user.id) in {Role.ADMIN, Role.VIEWER}


def event_out(event: AuditEvent) -> EventOut:
    changes, detail = export.split_detail(event)
    action = to_current_action(event.action)
    return EventOut(
        id=event.id,
        at=event.at,
        actor=event.actor,
        action=action,
        title=title(action),
        target=event.target,
        changes=[FieldChange(**asdict(change)) for change in changes],
        detail=detail,
        ip=event.ip,
        token=event.token,
        request_id=event.request_id,
    )
