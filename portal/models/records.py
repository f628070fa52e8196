"""What is written down beside people and jobs: the audit, imports of images, marks."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from portal.db import utcnow
from portal.models.base import AnnouncementLevel, Base, ImportState, Wanted, new_id


class Mark(Base):
    """How far something that goes on has come: until when accounting has been read."""

    __tablename__ = "marks"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    at: Mapped[datetime]


class ImageImport(Base):
    """One import of an image from a registry into a file. `state` is what is, `wanted` what should
    be.

    `reference` holds no credentials: one with any is refused before it gets here. `percent` is of
    the phase, `bytes_done` what has been fetched, of `bytes_total` once that is known; `size_bytes`
    and `sha256` are the file's.
    """

    __tablename__ = "image_imports"
    __table_args__ = (
        Index(
            "uq_image_imports_live_file",
            "file",
            unique=True,
            sqlite_where=text("state IN ('queued', 'running')"),
            postgresql_where=text("state IN ('queued', 'running')"),
        ),
    )

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    reference: Mapped[str] = mapped_column(String(600))
    file: Mapped[str] = mapped_column(String(100), index=True)
    replace: Mapped[bool] = mapped_column(default=False)
    state: Mapped[ImportState] = mapped_column(default=ImportState.QUEUED)
    wanted: Mapped[Wanted] = mapped_column(default=Wanted.RUN)
    phase: Mapped[str | None] = mapped_column(String(16))
    percent: Mapped[int | None]
    bytes_done: Mapped[int | None] = mapped_column(BigInteger)
    bytes_total: Mapped[int | None] = mapped_column(BigInteger)
    reason: Mapped[str | None] = mapped_column(Text)
    requested_by: Mapped[str] = mapped_column(String(100))
    created_at: Mapped[datetime] = mapped_column(default=utcnow, index=True)
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    size_bytes: Mapped[int | None] = mapped_column(BigInteger)
    sha256: Mapped[str | None] = mapped_column(String(64))
    version: Mapped[int] = mapped_column(default=1)

    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012


class AuditEvent(Base):
    """Who did what to what. Rows are only ever added; the actor's name outlives the account."""

    __tablename__ = "audit_events"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(default=utcnow, index=True)
    actor_id: Mapped[str | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    actor: Mapped[str] = mapped_column(String(100))
    action: Mapped[str] = mapped_column(String(64), index=True)
    target: Mapped[str] = mapped_column(String(200), default="")
    detail: Mapped[dict[str, Any]] = mapped_column(default=dict)
    ip: Mapped[str] = mapped_column(String(45), default="")


class Announcement(Base):
    """A sentence from the administrators to everyone, shown from `starts_at` until `ends_at`."""

    __tablename__ = "announcements"

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    level: Mapped[AnnouncementLevel] = mapped_column(default=AnnouncementLevel.INFO)
    title: Mapped[str] = mapped_column(String(200))
    text: Mapped[str] = mapped_column(Text, default="")
    starts_at: Mapped[datetime] = mapped_column(default=utcnow)
    ends_at: Mapped[datetime | None] = mapped_column(index=True)
    created_by: Mapped[str] = mapped_column(String(100))
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    updated_at: Mapped[datetime] = mapped_column(default=utcnow, onupdate=utcnow)
    version: Mapped[int] = mapped_column(default=1)

    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012
