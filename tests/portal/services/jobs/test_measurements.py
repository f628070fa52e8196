"""A job's usage over time, from files that its owner may have filled with anything."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from portal.db import utcnow
from portal.models import BatchJob, JobState, User, new_id
from portal.services.jobs import measurements
from spawner.catalog import jobscript
from spawner.slurm.model import Resources
from tests.portal.conftest import Answer
from tests.portal.file_portal import UIDS, FilePortal, run_file_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio

NOTHING = {"nodes": [], "nodes_left_out": 0, "measured": False}


class Measured:
    """A job of alice's that started an hour ago, and files in its folder."""

    def __init__(self, file_portal: FilePortal) -> None:
        self.file_portal = file_portal
        self.id = ""
        self.started = utcnow() - timedelta(hours=1)

    async def create(self, **changed: Any) -> None:
        self.id = new_id()
        times = {"submitted_at": self.started, "started_at": self.started}
        async with self.file_portal.portal.context.db.session() as db:
            alice = (await db.scalars(select(User).where(User.username == "alice"))).one()
            columns = {"state": JobState.RUNNING, "name": "job", "resources": {}, **times}
            owner = {"id": self.id, "user_id": alice.id, "owner_id": alice.id}
            db.add(BatchJob(**{**columns, **owner, **changed}))
            await db.commit()

    def at(self, seconds: float) -> float:
        return self.started.timestamp() + seconds

    def write(self, name: str, *lines: Any) -> None:
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        self.file_portal.write(f".local/share/portal/jobs/{self.id}/usage/{name}", text.encode())

    async def usage(self, query: str = "", who: str = "alice") -> Answer:
        user = self.file_portal.users[who]
        return await user.send("GET", f"/api/v1/jobs/{self.id}/usage{query}")

    async def nodes(self, query: str = "") -> list[Any]:
        answer = await self.usage(query)
        assert answer.status == 200, answer.body
        return list(answer.body["nodes"])


@pytest.fixture(scope="module")
async def file_portal(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FilePortal]:
    async with run_file_portal(slapd, tmp_path_factory.mktemp("usage")) as made:
        yield made


@pytest.fixture
async def job(file_portal: FilePortal) -> Measured:
    file_portal.empty()
    made = Measured(file_portal)
    await made.create()
    return made


async def test_usage_is_shown_by_node(job: Measured) -> None:
    gpu = {"name": "V100", "memory_total_mb": 32768}
    header = {
        "step_s": 10, "memory_limit_mb": 8192, "killed_at": job.at(30), "gpus": [gpu, gpu],
    }  # fmt: skip
    job.write("0-0-n2.jsonl", {"step_s": 20}, [job.at(5), 1, None, 0.5])
    rows = [[job.at(2), 1, 100, None, 40, 7, None, 8], [job.at(12), 1, 200, 1.25, 50, 9]]
    job.write("0-0-n1.jsonl", header, *rows)
    first, second = await job.nodes()
    assert [round(at - job.at(0)) for at in first.pop("at")] == [2, 12]
    killed_at = datetime.fromisoformat(first.pop("memory_killed_at"))
    assert abs(killed_at.timestamp() - job.at(30)) < 1
    assert first == {
        "node": "n1",
        "step_s": 10,
        "memory_mb": [100, 200],
        "cpus": [None, 1.25],
        "memory_limit_mb": 8192,
        "gpus": [
            {**gpu, "use_percent": [40, 50], "memory_mb": [7, 9]},
            {**gpu, "use_percent": [None, None], "memory_mb": [8, None]},
        ],
    }
    assert (second["node"], second["gpus"], second["memory_mb"]) == ("n2", None, [None])


async def test_points_outside_the_job_s_time_are_dropped(job: Measured) -> None:
    ends = [0.0, job.at(-3600), job.at(5), job.at(1e6), 3e10]
    job.write("0-0-n1.jsonl", {"step_s": 1}, *([at, 1, 1, 1] for at in ends))
    job.write("0-0-n2.jsonl", {"step_s": 1}, [3e10, 1, 1, 1])
    (node,) = await job.nodes()
    assert [round(at - job.at(0)) for at in node["at"]] == [5]


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\x00" * 4096, b"\xff\xfe\n", b"[" * 2_000_000, b'{"step_s": NaN}\n[NaN,1,1,1]\n',
        b'{"step_s": -1}\n[-1,1,1,1]\n', b"[1e999,1,1,1]\n", b"1" * 500_000 + b"\n",
        b'{"nodes": [{"node": "x"}], "left_out": -5}\n',
    ],
)  # fmt: skip
async def test_hostile_content_is_no_measurement(job: Measured, content: bytes) -> None:
    job.file_portal.write(f".local/share/portal/jobs/{job.id}/usage/0-0-n1.jsonl", content)
    assert (await job.usage()).body == NOTHING


async def test_values_out_of_range_are_unknown(job: Measured) -> None:
    header = {"step_s": 1, "memory_limit_mb": 1e300, "gpus": [{"name": "<b>\n" * 100}]}
    job.write("0-0-n1.jsonl", header, [job.at(1), 1, -5, 1e99, 101, True])
    (node,) = await job.nodes()
    assert (node["memory_mb"], node["cpus"], node["memory_limit_mb"]) == ([None], [None], None)
    (gpu,) = node["gpus"]
    assert (gpu["use_percent"], gpu["memory_mb"]) == ([None], [None])
    assert len(gpu["name"]) <= 100
    assert "\n" not in gpu["name"]


async def test_links_are_not_followed(job: Measured) -> None:
    job.write("0-0-n1.jsonl", {"step_s": 1}, [job.at(1), 1, 1, 1])
    folder = job.file_portal.home / f".local/share/portal/jobs/{job.id}/usage"
    secret = job.file_portal.write("secret", (folder / "0-0-n1.jsonl").read_bytes())
    (folder / "0-0-n2.jsonl").symlink_to(secret)
    os.mkfifo(folder / "0-0-n3.jsonl")
    os.chown(folder / "0-0-n3.jsonl", UIDS["alice"], UIDS["alice"])
    assert [node["node"] for node in await job.nodes()] == ["n1"]


async def test_each_task_has_its_own(job: Measured) -> None:
    await job.create(array_size=3)
    job.write("2-0-n1.jsonl", {"step_s": 1}, [job.at(1), 1, 1, 1])
    assert await job.nodes("?task=0") == []
    assert len(await job.nodes("?task=2")) == 1
    for query in ("", "?task=3", "?task=-1", "?task=x"):
        assert (await job.usage(query)).status == 422


async def test_only_the_owner_sees_it(job: Measured) -> None:
    job.write("0-0-n1.jsonl", {"step_s": 1}, [job.at(1), 1, 1, 1])
    assert (await job.usage(who="bob")).status == 404


@pytest.mark.parametrize("columns", [{"external": True}, {"started_at": None}])
async def test_job_without_samplers_has_nothing(job: Measured, columns: dict[str, Any]) -> None:
    await job.create(**columns)
    job.write("0-0-n1.jsonl", {"step_s": 1}, [job.at(1), 1, 1, 1])
    assert (await job.usage()).body == NOTHING


GPUS = {"step_s": 10, "gpus": [{"name": "V100", "memory_total_mb": None}] * 2}


async def test_an_ended_job_keeps_the_mean_use_of_its_gpus(job: Measured) -> None:
    context = job.file_portal.portal.context
    resources = asdict(Resources(gpus=2))
    await job.create(state=JobState.ENDED, ended_at=utcnow(), resources=resources)
    other = [job.at(9e6), 1, 1, 1, 99, 1, 99, 1]
    job.write("0-0-n1.jsonl", GPUS, [job.at(1), 3, 1, 1, 80, 1, None, 1], other)
    job.write("0-0-n2.jsonl", GPUS, [job.at(1), 1, 1, 1, 20, 900, 40, 900])
    async with context.db.session() as db:
        row = await db.get_one(BatchJob, job.id)
    assert measurements.is_gpu_usage_unread(row)
    await measurements.store_gpu_usage(context, row)
    async with context.db.session() as db:
        row = await db.get_one(BatchJob, job.id)
    assert not measurements.is_gpu_usage_unread(row)
    answer = await job.file_portal.users["alice"].send("GET", f"/api/v1/jobs/{job.id}")
    assert answer.body["gpu_percent"] == 60  # three times 80, then 20 and 40


async def test_the_use_of_gpus_stays_unknown_without_measurements(job: Measured) -> None:
    context = job.file_portal.portal.context
    await job.create(state=JobState.ENDED, ended_at=utcnow(), resources={"gpus": 1})
    job.write("0-0-n1.jsonl", {"step_s": 10}, [job.at(1), 1, 1, 1])
    async with context.db.session() as db:
        row = await db.get_one(BatchJob, job.id)
    await measurements.store_gpu_usage(context, row)
    async with context.db.session() as db:
        assert (await db.get_one(BatchJob, job.id)).gpu_percent is None


@pytest.mark.parametrize(
    "changed",
    [
        {"state": JobState.RUNNING},
        {"started_at": None},
        {"resources": {"gpus": 0}},
        {"external": True},
        {"array_size": 2},
    ],
)
async def test_gpu_use_is_only_read_of_ended_jobs_with_gpus(
    job: Measured, changed: dict[str, object]
) -> None:
    columns = {"state": JobState.ENDED, "ended_at": utcnow(), "resources": {"gpus": 1}}
    await job.create(**{**columns, **changed})
    async with job.file_portal.portal.context.db.session() as db:
        assert not measurements.is_gpu_usage_unread(await db.get_one(BatchJob, job.id))


@pytest.mark.parametrize("measured", [True, False])
async def test_a_job_is_measured_if_its_script_starts_samplers(
    job: Measured, measured: bool
) -> None:
    resources = Resources()
    place = jobscript.JobContext(
        "u", "alice", "/home/alice", "/opt/runtime", "/usr/bin/apptainer", "/home/alice/runs",
        None, resources, measured=measured,
    )  # fmt: skip
    script = jobscript.render_script("echo hello", place, None).script
    await job.create(script=script)
    assert (await job.usage()).body["measured"] is measured
