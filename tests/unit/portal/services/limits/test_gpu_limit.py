"""The GPU limit that holds a job back, from Slurm's associations and the running jobs."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from portal.services.cluster.identity_cache import IdentityCache
from portal.services.limits.gpu_limit import find_gpu_limit
from spawner.slurm.model import JobInfo, JobPhase
from spawner.slurm.reasons.pending import GpuLimit

PENDING = JobInfo(
    1, "alice", "x", JobPhase.QUEUED, "PENDING", reason="AssocGrpGRES", account="research",
    partition="gpu", gpus=(("v100", 2),), uuid="u",
)  # fmt: skip


def running(number: int, user: str, gpus: int, nodes: int = 1, **fields: Any) -> JobInfo:
    names = tuple(f"node{n}" for n in range(nodes))
    asked = (("v100", gpus),) if gpus else ()
    info = replace(PENDING, job_id=number, user=user, nodes=names, gpus=asked, reason=None)
    return replace(info, **{"phase": JobPhase.RUNNING, **fields})


def find(found: Any, *jobs: JobInfo, **fields: Any) -> GpuLimit | None:
    context: Any = SimpleNamespace(
        accounting=SimpleNamespace(associations=found),
        watcher=SimpleNamespace(jobs={job.job_id: job for job in jobs}),
        running_gpus=IdentityCache(),
    )
    return find_gpu_limit(context, replace(PENDING, **fields))


GROUP = ("research", "", "")
OWN = ("research", "alice", "")
ALL_USED = (running(2, "bob", 3, nodes=2), running(3, "alice", 2))


@pytest.mark.parametrize(
    ("found", "jobs", "limit"),
    [
        ({GROUP: {"gres/gpu": 8}}, ALL_USED, GpuLimit(8, 8, own=False)),
        ({GROUP: {"gres/gpu": 9}}, ALL_USED, GpuLimit(9, 8, own=False)),
        ({GROUP: {"gres/gpu": 8}, OWN: {"gres/gpu": 3}}, ALL_USED, GpuLimit(3, 2, own=True)),
        ({GROUP: {"gres/gpu": 8}, OWN: {"gres/gpu": 4}}, ALL_USED, GpuLimit(8, 8, own=False)),
        ({GROUP: {"gres/gpu": 1}}, (), GpuLimit(1, 0, own=False)),
        # an external job without GPUs per node may hold some
        ({GROUP: {"gres/gpu": 9}}, (*ALL_USED, running(4, "bob", 0, uuid=None)),
         GpuLimit(9, None, own=False)),
        ({GROUP: {"gres/gpu": 8}}, (*ALL_USED, running(4, "bob", 0, uuid=None)),
         GpuLimit(8, 8, own=False)),
        ({GROUP: {"gres/gpu": 9}}, (*ALL_USED, running(4, "bob", 0)), GpuLimit(9, 8, own=False)),
    ],
)  # fmt: skip
def test_find_gpu_limit_returns_the_limit_that_is_reached(
    found: Any, jobs: tuple[JobInfo, ...], limit: GpuLimit
) -> None:
    assert find(found, *jobs) == limit


@pytest.mark.parametrize(
    ("found", "fields"),
    [
        (None, {}),
        ({}, {}),
        ({GROUP: {}}, {}),
        ({GROUP: {"gres/gpu": 0}}, {}),
        ({GROUP: {"gres/gpu": 10}}, {}),  # enough are free, so another limit is reached
        ({GROUP: {"gres/gpu": 8}}, {"reason": "Priority"}),
        ({GROUP: {"gres/gpu": 8}}, {"reason": None}),
        ({GROUP: {"gres/gpu": 8}}, {"account": "teaching"}),
        ({OWN: {"gres/gpu": 3}, ("research", "alice", "gpu"): {}}, {}),
    ],
)
def test_find_gpu_limit_is_none_unless_certain(found: Any, fields: dict[str, Any]) -> None:
    assert find(found, *ALL_USED, **fields) is None
