"""The tables of limits, of the Slurm associations that the portal manages, and of usage."""

from datetime import date, datetime
from typing import Any

from sqlalchemy import BigInteger, Index, Integer, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from portal.db import utcnow
from portal.models.base import GROUP_NAME_LENGTH, Base, LimitScope, new_id


class Limit(Base):
    """The limits of one user, one group, or the default; a null column means unset.

    `name` is a username, a group name, or empty for the default. `gpus_by_type` maps a GPU type to
    a number; `partitions`, `accounts` and `qos` are lists of names. `held`: the values, by field
    name, that an administrator or the manager of another group set last, and that a group manager
    can only lower. After a change by an administrator they are the row's own.
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
    """A Slurm association that the portal manages. `username` is empty for an account's own
    association, `partition` for one that applies to every partition.

    `written` is what the portal applied to Slurm, `found` what Slurm reported when last read. Both
    use sacctmgr's names, plus `association` ("present" or "absent") where the portal decides
    whether the association exists. They have differed since `drift_since` because of a change
    outside the portal. `accepted` holds the differences that an administrator accepted. `refused`
    is sacctmgr's error message.
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
    """The usage of a user's jobs under one account during one UTC day.

    `jobs` counts the jobs that started. The index contains all columns: sums over a year read
    nothing else.
    """

    __tablename__ = "usage_days"
    __table_args__ = (
        Index(
            "ix_usage_days_sums",
            "day",
            "username",
            "account",
            "gpu_seconds",
            "cpu_seconds",
            "jobs",
        ),
    )

    day: Mapped[date] = mapped_column(primary_key=True)
    username: Mapped[str] = mapped_column(String(64), primary_key=True, index=True)
    account: Mapped[str] = mapped_column(String(100), primary_key=True)
    gpu_seconds: Mapped[int] = mapped_column(BigInteger)
    cpu_seconds: Mapped[int] = mapped_column(BigInteger)
    jobs: Mapped[int]


class UsageRead(Base):
    """The time at which a day was last read from Slurm's accounting."""

    __tablename__ = "usage_reads"

    day: Mapped[date] = mapped_column(primary_key=True)
    read_at: Mapped[datetime]
