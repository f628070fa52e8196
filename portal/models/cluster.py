"""The table of the cluster's history."""

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from portal.models.base import Base


class ClusterSample(Base):
    """Means over the `step_s` seconds from `at`: GPUs, CPUs and pending jobs of a cluster.

    `gpus_used` and `cpus_used` are null where no measurement is complete. `median_wait_s` is the
    median wait in the queue of the jobs that started in this time, null without any; samples of
    one minute don't have it.
    """

    __tablename__ = "cluster_samples"

    cluster: Mapped[str] = mapped_column(String(100), primary_key=True)
    step_s: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(primary_key=True)
    gpus: Mapped[float]
    gpus_allocated: Mapped[float]
    gpus_used: Mapped[float | None]
    cpus: Mapped[float]
    cpus_allocated: Mapped[float]
    cpus_used: Mapped[float | None]
    pending_jobs: Mapped[float]
    median_wait_s: Mapped[float | None]
