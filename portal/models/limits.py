"""What people may use, what of it Slurm has been told, and what they have used."""

from datetime import date, datetime
from typing import Any

from sqlalchemy import BigInteger, Integer, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from portal.db import utcnow
from portal.models.base import GROUP_NAME_LENGTH, Base, LimitScope, new_id


class Limit(Base):
    """The limits of one person, one group, or everybody; a column that is null says nothing.

    `name` is a username, a group's name, or empty for the default. `gpus_by_type` maps a type to a
    number; `partitions`, `accounts` and `qos` are lists of names. `held` is what a group's leader
    who has written this was held to: what an administrator, or the leader of another group, had
    set before, by the field's name; after an administrator, all of it.
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
    held: Mapped[dict[str, Any] | None]
    updated_at: Mapped[datetime] = mapped_column(default=utcnow)
    updated_by: Mapped[str] = mapped_column(String(100))
    version: Mapped[int] = mapped_column(Integer, default=1)

    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012


class Association(Base):
    """One association of Slurm's that the portal looks after. `username` is empty for an account's
    own, `partition` for one that holds in every partition.

    `written` is what the portal has told Slurm, `found` what Slurm said when it was last looked at,
    both as sacctmgr names it, and `association` ("present" or "absent") where the portal says
    whether there is one. They differ since `drift_since`, when someone changed Slurm by hand.
    `accepted` is what an administrator lets stand. `refused` is sacctmgr's own sentence.
    """

    __tablename__ = "associations"
    __table_args__ = (UniqueConstraint("account", "username", "partition"),)

    id: Mapped[str] = mapped_column(String(36), primary_key=True, default=new_id)
    account: Mapped[str] = mapped_column(String(100))
    username: Mapped[str] = mapped_column(String(32), default="", index=True)
    partition: Mapped[str] = mapped_column(String(100), default="")
    written: Mapped[dict[str, Any]] = mapped_column(default=dict)
    found: Mapped[dict[str, Any] | None]
    accepted: Mapped[dict[str, Any]] = mapped_column(default=dict)
    refused: Mapped[str | None] = mapped_column(String(500))
    tried_at: Mapped[datetime | None]
    written_at: Mapped[datetime | None]
    drift_since: Mapped[datetime | None] = mapped_column(index=True)


class UsageDay(Base):
    """What someone's jobs with one account used in one day of UTC. `jobs` are those that began."""

    __tablename__ = "usage_days"

    day: Mapped[date] = mapped_column(primary_key=True)
    username: Mapped[str] = mapped_column(String(64), primary_key=True, index=True)
    account: Mapped[str] = mapped_column(String(100), primary_key=True)
    gpu_seconds: Mapped[int] = mapped_column(BigInteger)
    cpu_seconds: Mapped[int] = mapped_column(BigInteger)
    jobs: Mapped[int]


class UsageRead(Base):
    """When a day was last read from Slurm's accounting."""

    __tablename__ = "usage_reads"

    day: Mapped[date] = mapped_column(primary_key=True)
    read_at: Mapped[datetime]
