"""Routes of announcements: reading for all users, management for administrators."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, field_validator

from portal.context import AppContext
from portal.db import utcnow
from portal.models import Announcement, AnnouncementLevel
from portal.services.announcements import announcements
from portal.services.announcements.announcements import (
    AnnouncementPhase,
    AnnouncementRequest,
)
from portal.services.audit.audit import Actor
from portal.services.paging import cursor as cursor_of
from portal.web.dependencies import (
    Anyone,
    ClientIp,
    ContextDep,
    CurrentUser,
    NoToken,
    Reader,
    RecentPasswordAdmin,
)
from portal.web.fields import DateTime, Line, Lines
from portal.web.pages import Page

router = APIRouter(tags=["announcements"])

Title = Annotated[Line, Field(min_length=1, max_length=announcements.MAX_TITLE)]
Words = Annotated[Lines, Field(max_length=announcements.MAX_TEXT)]


class AnnouncementOut(BaseModel):
    """An announcement, shown from `starts_at` until `ends_at`; null means until further notice.

    Title and text are plain text.
    """

    id: str
    level: AnnouncementLevel
    title: str
    text: str
    starts_at: datetime
    ends_at: datetime | None


class Announcements(BaseModel):
    """Current announcements, and those that start within ten minutes; the most severe first."""

    items: list[AnnouncementOut]


class AnnouncementIn(BaseModel):
    """An announcement to create.

    `starts_at` null means now. `public`: also on the login page, where it can be read without a
    login.
    """

    model_config = ConfigDict(extra="forbid")

    level: AnnouncementLevel = AnnouncementLevel.INFO
    title: Title
    text: Words = ""
    starts_at: DateTime | None = None
    ends_at: DateTime | None = None
    public: StrictBool = False


class AnnouncementEdit(BaseModel):
    """Changes to an announcement; `version` is the one that was read."""

    model_config = ConfigDict(extra="forbid")

    version: StrictInt
    level: AnnouncementLevel | None = None
    title: Title | None = None
    text: Words | None = None
    starts_at: DateTime | None = None
    ends_at: DateTime | None = None
    public: StrictBool | None = None

    @field_validator("level", "title", "text", "starts_at", "public")
    @classmethod
    def _refuse_null(cls, value: object) -> object:
        if value is None:
            raise ValueError("Omit this field instead of setting it to null.")
        return value


class ManagedAnnouncement(AnnouncementOut):
    """An announcement with its details for administrators. `state`: planned, shown or ended, as of
    now.

    An edit passes `version` back.
    """

    public: bool
    state: AnnouncementPhase
    created_by: str
    created_at: datetime
    updated_by: str
    updated_at: datetime
    version: int


@router.get("/announcements")
async def list_announcements(_user: CurrentUser, context: ContextDep) -> Announcements:
    """Return the announcements for all users. Open pages get changes by the event stream."""
    return Announcements(items=current(context))


@router.get("/announcements/public", dependencies=[Anyone, NoToken])
async def list_public_announcements(context: ContextDep, response: Response) -> Announcements:
    """Return the announcements that are shown without a login."""
    response.headers["Cache-Control"] = "no-store"
    return Announcements(items=[_to_out(row) for row in context.announcements.rows if row.public])


@router.get("/admin/announcements")
async def list_all_announcements(
    _reader: Reader, context: ContextDep, cursor: str | None = None
) -> Page[ManagedAnnouncement]:
    """Return all announcements, including ended ones, newest first."""
    rows = await announcements.page(context.db, cursor)
    shown = rows[: announcements.PAGE]
    last = shown[-1] if len(rows) > len(shown) else None
    return Page[ManagedAnnouncement](
        items=[managed(row) for row in shown],
        next_cursor=cursor_of(last.created_at, last.id) if last else None,
    )


@router.post("/admin/announcements", status_code=201)
async def add_announcement(
    body: AnnouncementIn, admin: RecentPasswordAdmin, context: ContextDep, ip: ClientIp
) -> ManagedAnnouncement:
    """Create an announcement. Open pages show it within seconds of its start."""
    new = AnnouncementRequest(**{name: getattr(body, name) for name in AnnouncementIn.model_fields})
    row = await announcements.add(context.db, new, Actor(admin, ip))
    await announcements.refresh(context)
    return managed(row)


@router.patch("/admin/announcements/{announcement_id}")
async def edit_announcement(
    announcement_id: str,
    body: AnnouncementEdit,
    admin: RecentPasswordAdmin,
    context: ContextDep,
    ip: ClientIp,
) -> ManagedAnnouncement:
    """Edit an announcement.

    409 `edit-conflict`, with the author and time, if it was changed since `version`.
    """
    values = {name: getattr(body, name) for name in body.model_fields_set - {"version"}}
    row = await announcements.edit(
        context.db, announcement_id, body.version, values, Actor(admin, ip)
    )
    await announcements.refresh(context)
    return managed(row)


@router.delete("/admin/announcements/{announcement_id}", status_code=204)
async def delete_announcement(
    announcement_id: str, admin: RecentPasswordAdmin, context: ContextDep, ip: ClientIp
) -> None:
    """Delete an announcement; its text stays in the audit log."""
    await announcements.delete(context.db, announcement_id, Actor(admin, ip))
    await announcements.refresh(context)


def current(context: AppContext) -> list[AnnouncementOut]:
    """Return the announcements for all users."""
    return [_to_out(row) for row in context.announcements.rows]


def _to_out(row: Announcement) -> AnnouncementOut:
    return AnnouncementOut(
        id=row.id,
        level=row.level,
        title=row.title,
        text=row.text,
        starts_at=row.starts_at,
        ends_at=row.ends_at,
    )


def managed(row: Announcement) -> ManagedAnnouncement:
    """Convert an announcement to its form for administrators."""
    return ManagedAnnouncement(
        **_to_out(row).model_dump(),
        public=row.public,
        state=announcements.phase(row, utcnow()),
        created_by=row.created_by,
        created_at=row.created_at,
        updated_by=row.updated_by,
        updated_at=row.updated_at,
        version=row.version,
    )
