"""Announcements: what everyone is shown, and how administrators make them."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, field_validator

from portal.api.deps import Anyone, ClientIp, CurrentUser, FreshAdmin, NoToken, PartsDep, Reader
from portal.db import utcnow
from portal.models import Announcement, AnnouncementLevel
from portal.parts import Parts
from portal.services import announcements
from portal.services.announcements import Phase, Wish
from portal.services.audit.audit import By
from portal.services.paging import cursor as cursor_of
from portal.services.paging import read_cursor

router = APIRouter(tags=["announcements"])

Title = Annotated[str, Field(min_length=1, max_length=announcements.MAX_TITLE)]
Words = Annotated[str, Field(max_length=announcements.MAX_TEXT)]


class AnnouncementOut(BaseModel):
    """One announcement, to show from `starts_at` until `ends_at`; null is until further notice.
    Title and text are plain text."""

    id: str
    level: AnnouncementLevel
    title: str
    text: str
    starts_at: datetime
    ends_at: datetime | None


class Announcements(BaseModel):
    """Those that are on, and those that begin within ten minutes; the gravest first."""

    items: list[AnnouncementOut]


class AnnouncementIn(BaseModel):
    """`starts_at` null is now. `public`: on the login page too, where anybody can read it."""

    model_config = ConfigDict(extra="forbid")

    level: AnnouncementLevel = AnnouncementLevel.INFO
    title: Title
    text: Words = ""
    starts_at: AwareDatetime | None = None
    ends_at: AwareDatetime | None = None
    public: bool = False


class AnnouncementEdit(BaseModel):
    """What is to change; `version` is that of the announcement as it was when it was read."""

    model_config = ConfigDict(extra="forbid")

    version: int
    level: AnnouncementLevel | None = None
    title: Title | None = None
    text: Words | None = None
    starts_at: AwareDatetime | None = None
    ends_at: AwareDatetime | None = None
    public: bool | None = None

    @field_validator("level", "title", "text", "starts_at", "public")
    @classmethod
    def _only_the_end_may_be_open(cls, value: object) -> object:
        if value is None:
            raise ValueError("This can be left out, but it can't be null.")
        return value


class ManagedAnnouncement(AnnouncementOut):
    """An announcement as administrators see it. `state`: planned, shown or ended, at this moment.
    An edit hands `version` back."""

    public: bool
    state: Phase
    created_by: str
    created_at: datetime
    updated_by: str
    updated_at: datetime
    version: int


class AnnouncementPage(BaseModel):
    """All announcements, the newest first; `next_cursor` asks for the older ones."""

    items: list[ManagedAnnouncement]
    next_cursor: str | None = None


@router.get("/announcements")
async def list_announcements(_user: CurrentUser, parts: PartsDep) -> Announcements:
    """What everyone is shown. Open pages hear of changes by the event stream."""
    return Announcements(items=current(parts))


@router.get("/announcements/public", dependencies=[Anyone, NoToken])
async def list_public_announcements(parts: PartsDep, response: Response) -> Announcements:
    """What those are shown who haven't logged in, or can't."""
    response.headers["Cache-Control"] = "no-store"
    return Announcements(items=[_out(row) for row in parts.board.rows if row.public])


@router.get("/admin/announcements")
async def list_all_announcements(
    _reader: Reader, parts: PartsDep, cursor: str | None = None
) -> AnnouncementPage:
    """All there are, also those that have ended."""
    found = await announcements.page(parts.db, read_cursor(cursor) if cursor else None)
    shown = found[: announcements.PAGE]
    last = shown[-1] if len(found) > len(shown) else None
    return AnnouncementPage(
        items=[managed(row) for row in shown],
        next_cursor=cursor_of(last.created_at, last.id) if last else None,
    )


@router.post("/admin/announcements", status_code=201)
async def add_announcement(
    body: AnnouncementIn, admin: FreshAdmin, parts: PartsDep, ip: ClientIp
) -> ManagedAnnouncement:
    """Announce something. Open pages show it within seconds of its beginning."""
    wish = Wish(**{name: getattr(body, name) for name in AnnouncementIn.model_fields})
    row = await announcements.add(parts.db, wish, By(admin, ip))
    await announcements.news(parts)
    return managed(row)


@router.patch("/admin/announcements/{announcement_id}")
async def edit_announcement(
    announcement_id: str, body: AnnouncementEdit, admin: FreshAdmin, parts: PartsDep, ip: ClientIp
) -> ManagedAnnouncement:
    """Change it. 409 `changed-meanwhile`, with who and when, if somebody has since `version`."""
    values = {name: getattr(body, name) for name in body.model_fields_set - {"version"}}
    row = await announcements.edit(parts.db, announcement_id, body.version, values, By(admin, ip))
    await announcements.news(parts)
    return managed(row)


@router.delete("/admin/announcements/{announcement_id}", status_code=204)
async def delete_announcement(
    announcement_id: str, admin: FreshAdmin, parts: PartsDep, ip: ClientIp
) -> None:
    """Take it away; what it said stays in the audit."""
    await announcements.delete(parts.db, announcement_id, By(admin, ip))
    await announcements.news(parts)


def current(parts: Parts) -> list[AnnouncementOut]:
    """What everyone is shown."""
    return [_out(row) for row in parts.board.rows]


def _out(row: Announcement) -> AnnouncementOut:
    return AnnouncementOut(
        id=row.id,
        level=row.level,
        title=row.title,
        text=row.text,
        starts_at=row.starts_at,
        ends_at=row.ends_at,
    )


def managed(row: Announcement) -> ManagedAnnouncement:
    """The announcement as administrators see it."""
    return ManagedAnnouncement(
        **_out(row).model_dump(),
        public=row.public,
        state=announcements.phase(row, utcnow()),
        created_by=row.created_by,
        created_at=row.created_at,
        updated_by=row.updated_by,
        updated_at=row.updated_at,
        version=row.version,
    )
