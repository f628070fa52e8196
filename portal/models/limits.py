"""What people may use, and what of it Slurm has been told."""

from datetime import datetime
from typing import Any

from sqlalchemy import Integer, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from portal.db import utcnow
from portal.models.base import GROUP_NAME_LENGTH, Base, LimitScope, new_id


class Limit(Base):
    """The limits of one person, one group, or everybody; a column that is null says nothing.

    `name` is a username, a group's name, or empty for the default. `gpus_by_type` maps a type to a
    number; `partitions`, `accounts` and `qos` are lists of names.
    """

    __tablename__ = "limits"
    __table_args__ = (UniqueConstraint("scope", "name"),)

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    scope: Mapped[LimitScope]
    name: Mapped[str] = mapped_column(String(GROUP_NAME_LENGTH), default="")
    gpus: Mapped[int | None]
    gpus_by_type: Mapped[dict[str, Any] | None]
    sessions: Mapped[int | None]
    jobs: Mapped[int | None]
    cpus: Mapped[int | None]
    memory_gb: Mapped[int | None]
    time_limit_minutes: Mapped[int | None]
    partitions: Mapped[list[Any] | None]
    accounts: Mapped[list[Any] | None]
    qos: Mapped[list[Any] | None]
    updated_at: Mapped[datetime] = mapped_column(default=utcnow)
    updated_by: Mapped[str] = mapped_column(String(100))
    version: Mapped[int] = mapped_column(Integer, default=1)

    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012


class Association(Base):
    """One association of Slurm's that the portal looks after. `username` is empty for an account's
    own.

    `written` is what the portal has told Slurm, `found` what Slurm said when it was last looked at,
    both as sacctmgr names them; they differ since `drift_since`, when someone changed Slurm by
    hand. `accepted` is what an administrator lets stand. `refused` is sacctmgr's own sentence.
    """

    __tablename__ = "associations"
    __table_args__ = (UniqueConstraint("account", "username"),)

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    account: Mapped[str] = mapped_column(String(100))
    username: Mapped[str] = mapped_column(String(32), default="", index=True)
    written: Mapped[dict[str, Any] | None]
    found: Mapped[dict[str, Any] | None]
    accepted: Mapped[dict[str, Any] | None]
    refused: Mapped[str | None] = mapped_column(String(500))
    written_at: Mapped[datetime | None]
    drift_since: Mapped[datetime | None] = mapped_column(index=True)
