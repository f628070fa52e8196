"""The tables beside users and jobs: audit log, image imports, announcements, e-mails and progress
marks.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from portal.db import utcnow
from portal.models.base import AnnouncementLevel, Base, ImportState, Wanted, new_id


class Mark(Base):
    """The progress of a continuing task, such as the time until which accounting was read."""

    __tablename__ = "marks"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    at: Mapped[datetime]


class ImageImport(Base):
    """An import of a container image from a registry into a file. `state` is its actual state,
    `wanted` the desired one.

    `reference` holds no credentials: a reference with credentials is rejected before it gets here.
    `phase` is the step of a running import (spawner/containers/pull.py), `percent` its progress;
    `bytes_done` is the number of bytes fetched, of `bytes_total` once that is known; `size_bytes`
    and `sha256` describe the finished file.
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
    """An audit event: who did what to which target. Rows are append-only: the database rejects
    updates, and deletes other than those by retention (services/audit/retention.py).

    `actor_id` is the user's id, without a foreign key so that it outlives the user. `token` is the
    name of the access token that was used, `request_id` the id in the response header and in the
    log; both are empty where there is none.
    """

    __tablename__ = "audit_events"
    __table_args__ = (Index("ix_audit_events_target_id", "target", "id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(default=utcnow, index=True)
    actor_id: Mapped[str | None] = mapped_column(String(36))
    actor: Mapped[str] = mapped_column(String(100))
    action: Mapped[str] = mapped_column(String(64))
    target: Mapped[str] = mapped_column(String(200), default="")
    detail: Mapped[dict[str, Any]] = mapped_column(default=dict)
    ip: Mapped[str] = mapped_column(String(45), default="")
    token: Mapped[str] = mapped_column(String(100), default="")
    request_id: Mapped[str] = mapped_column(String(32), default="")


class Refusals(Base):
    """Refused logins, or other refused actions, of one name from one address since `since`.

    `own_events` counts the refusals that got an audit event each, `times` the further ones, which
    are merged into one event. Then the row is deleted.
    """

    __tablename__ = "refusals"

    action: Mapped[str] = mapped_column(String(64), primary_key=True)
    actor: Mapped[str] = mapped_column(String(100), primary_key=True)
    ip: Mapped[str] = mapped_column(String(45), primary_key=True)
    since: Mapped[datetime] = mapped_column(default=utcnow, index=True)
    last_at: Mapped[datetime] = mapped_column(default=utcnow)
    own_events: Mapped[int] = mapped_column(default=0)
    times: Mapped[int] = mapped_column(default=0)


class Announcement(Base):
    """An announcement from the administrators to all users, shown from `starts_at` until `ends_at`.

    If `public`, it is also shown before login.
    """

    __tablename__ = "announcements"

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    level: Mapped[AnnouncementLevel] = mapped_column(default=AnnouncementLevel.INFO)
    title: Mapped[str] = mapped_column(String(200))
    text: Mapped[str] = mapped_column(Text, default="")
    starts_at: Mapped[datetime] = mapped_column(default=utcnow)
    ends_at: Mapped[datetime | None] = mapped_column(index=True)
    public: Mapped[bool] = mapped_column(default=False)
    created_by: Mapped[str] = mapped_column(String(100))
    created_at: Mapped[datetime] = mapped_column(default=utcnow, index=True)
    updated_by: Mapped[str] = mapped_column(String(100))
    updated_at: Mapped[datetime] = mapped_column(default=utcnow, onupdate=utcnow)
    version: Mapped[int] = mapped_column(default=1)

    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012


class Mail(Base):
    """An e-mail that notifies a user of an event of their session or job (`subject_id`); at most
    one per event.

    Sent once `sent_at` is set, given up where both it and `next_try_at` are null; `problem` is the
    last error.
    """

    __tablename__ = "mails"
    __table_args__ = (UniqueConstraint("subject_id", "event"),)

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    subject_id: Mapped[str] = mapped_column(String(36))
    event: Mapped[str] = mapped_column(String(32))
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    next_try_at: Mapped[datetime | None] = mapped_column(default=utcnow, index=True)
    tries: Mapped[int] = mapped_column(default=0)
    sent_at: Mapped[datetime | None]
    problem: Mapped[str | None] = mapped_column(Text)
