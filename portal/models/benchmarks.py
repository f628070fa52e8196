"""The results of benchmark jobs."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from portal.db import utcnow
from portal.models.base import Base
from portal.models.jobs import BatchJob


class BenchmarkRun(Base):
    """The figures that one finished job of a benchmark template produced; empty if its output could
    not be parsed.

    `figures` come from the job's output, checked against the template: label, measure, unit, better
    and value of each. The hardware (`gpu_type`, `gpus` over all nodes, `nodes`) comes from Slurm;
    `gpu_type` is null without GPUs or with GPUs of several types. `user_id` repeats the owner of
    the job's row, for counts per user.
    """

    __tablename__ = "benchmark_runs"
    __table_args__ = (
        Index("ix_benchmark_runs_user_id_ended_at", "user_id", "ended_at"),
        Index("ix_benchmark_runs_ended_at", "ended_at"),
    )

    batch_job_id: Mapped[str] = mapped_column(
        ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True
    )
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    template: Mapped[str] = mapped_column(String(100))
    gpu_type: Mapped[str | None] = mapped_column(String(100))
    gpus: Mapped[int]
    nodes: Mapped[int]
    device: Mapped[str | None] = mapped_column(String(100))
    figures: Mapped[list[Any]]
    ended_at: Mapped[datetime]
    read_at: Mapped[datetime] = mapped_column(default=utcnow)

    job: Mapped[BatchJob] = relationship(lazy="joined", innerjoin=True)
