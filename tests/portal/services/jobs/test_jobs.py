"""Submitting through the API: accepted requests, and refusals with their messages."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from portal.models import User, new_id
from portal.services.jobs import prepare
from portal.services.jobs.prepare import JobRequest
from spawner.catalog.jobscript import is_measured
from spawner.catalog.launch_files import quote
from tests.polling import until
from tests.portal.job_portal import JobPortal, run_job_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio
HOSTILE = "a'b\"c $(touch x) `touch x` ; touch x\n\\ ü <end>"


@pytest.fixture(scope="module")
async def shared(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobPortal]:
    async with run_job_portal(slapd, tmp_path_factory.mktemp("jobs")) as made:
        yield made


@pytest.fixture
def job_portal(shared: JobPortal) -> Iterator[JobPortal]:
    yield shared
    shared.launchers.mood, shared.slurm.away = "takes", False


async def test_what_is_submitted_is_what_was_asked_for(job_portal: JobPortal) -> None:
    job = await job_portal.job(
        script="echo hello", name="my job",
        resources={"partition": "gpu", "gpus": 2, "time_limit_minutes": 30},
    )  # fmt: skip
    username, spec, files = job_portal.launchers.submitted[-1]
    assert (username, spec.uuid, spec.name) == ("alice", job["id"], "my job")
    assert (spec.resources.partition, spec.resources.gpus) == ("gpu", 2)
    assert files["job"].rstrip() == "echo hello"
    assert (job["state"], job["source"]) == ("queued", "echo hello")
    assert job["job_id"] in job_portal.slurm.shown


@pytest.mark.parametrize("on", [True, False])
async def test_a_setting_turns_samplers_off(job_portal: JobPortal, on: bool) -> None:
    settings = job_portal.context.settings.model_copy(update={"job_usage_samplers": on})
    context = replace(job_portal.context, settings=settings)
    async with context.db.session() as db:
        user = (await db.scalars(select(User).where(User.username == "alice"))).one()
    prepared = await prepare.prepare(context, user, JobRequest(script="true"), new_id())
    assert is_measured(prepared.rendered.script) is on


@pytest.mark.parametrize("parameter", ["text", "words"])
async def test_hostile_text_reaches_the_script_as_one_word(
    job_portal: JobPortal, parameter: str
) -> None:
    value: Any = HOSTILE if parameter == "text" else [HOSTILE, "b"]
    job = await job_portal.job(template="every-kind", parameters={parameter: value})
    assert quote(HOSTILE) in job_portal.launchers.submitted[-1][1].script
    assert job["parameters"][parameter] == value
    again = await job_portal.ask(
        "POST", "/templates/every-kind/render", {"parameters": job["parameters"]}
    )
    assert quote(HOSTILE) in again.body["script"]


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"text": 7}, "text"), ({"text": None}, "text"), ({"text": ["a"]}, "text"),
        ({"text": "a\0b"}, "text"), ({"whole": "many"}, "whole"), ({"whole": 1.5}, "whole"),
        ({"whole": 0}, "whole"), ({"whole": 10}, "whole"), ({"whole": True}, "whole"),
        ({"number": "x"}, "number"), ({"number": 0}, "number"), ({"number": 2}, "number"),
        ({"flag": "yes"}, "flag"), ({"flag": 1}, "flag"), ({"choice": "three"}, "choice"),
        ({"words": "a"}, "words"), ({"words": [1]}, "words"), ({"none": 1}, "none"),
    ],
)  # fmt: skip
async def test_a_parameter_of_the_wrong_kind_is_named(
    job_portal: JobPortal, parameters: dict[str, Any], field: str
) -> None:
    before = len(job_portal.launchers.submitted)
    answer = await job_portal.submit(template="every-kind", parameters=parameters)
    assert (answer.status, answer.slug) == (422, "invalid-input")
    (error,) = answer.body["errors"]
    assert error["field"] == f"parameters.{field}"
    assert len(error["message"]) > 10
    assert len(job_portal.launchers.submitted) == before


async def test_a_folder_below_ones_home_can_be_written_with_a_tilde(job_portal: JobPortal) -> None:
    for logdir, found in (("~/runs/../a", "/home/alice/a"), ("~", "/home/alice")):
        assert (await job_portal.job(script="true", logdir=logdir))["logdir"] == found


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"template": "none"}, "template"),
        ({"template": "every-kind", "script": "true"}, "script"),
        ({"template": "torch7-training"}, "template"),
        ({"environment": "none"}, "environment"),
        ({"template": "every-kind", "environment": "python3"}, "environment"),
        ({"script": ""}, "script"), ({"script": " \n"}, "script"), ({"script": "\0"}, "script"),
        ({"script": "\ud800"}, "script"), ({"script": "x" * 300_000}, "script"),
        ({"script": "#SBATCH --array=0-9\ntrue"}, "script"),
        ({"name": "a\nb"}, "name"), ({"name": "x" * 101}, "name"), ({"logdir": "here"}, "logdir"),
        ({"logdir": "~bob/runs"}, "logdir"),
        ({"resources": {"cpus": 0}}, "resources.cpus"),
        ({"resources": {"cpus": "many"}}, "resources.cpus"),
        ({"resources": {"partition": "none"}}, "resources.partition"),
        ({"resources": {"time_limit_minutes": 2881}}, "resources.time_limit_minutes"),
        ({"resources": {"partition": "cpu", "memory_gb": 17}}, "resources.memory_gb"),
        ({"resources": {"partition": "cpu", "nodes": 2}}, "resources.nodes"),
        ({"parameters": {"a": 1}}, "parameters"), ({"none": 1}, "none"),
    ],
)  # fmt: skip
async def test_invalid_job_names_the_field(
    job_portal: JobPortal, body: dict[str, Any], field: str
) -> None:
    answer = await job_portal.submit(**body)
    assert (answer.status, answer.slug) == (422, "invalid-input"), answer
    assert field in {error["field"] for error in answer.body["errors"]}


@pytest.mark.parametrize(
    "raw", [b'{"script": "\xff"}', b"[]", b"{", b"null", b'{"script": ' + b"[" * 9999]
)
async def test_what_is_no_request_is_refused_as_such(job_portal: JobPortal, raw: bytes) -> None:
    browser = job_portal.users["alice"]
    headers = {"Origin": browser.origin, "Content-Type": "application/json"}
    async with browser.http.post("/api/v1/jobs", data=raw, headers=headers) as answer:
        assert answer.status == 422
        assert (await answer.json(content_type=None))["title"]


async def test_a_body_over_the_limit_is_not_even_read(job_portal: JobPortal) -> None:
    browser = job_portal.users["alice"]
    data = io.BytesIO(b'{"script": "' + b"x" * (1 << 21) + b'"}')
    headers = {"Origin": browser.origin, "Content-Type": "application/json"}
    async with browser.http.post("/api/v1/jobs", data=data, headers=headers) as answer:
        assert answer.status == 413


class TestKeys:
    """The same request under the same key is one job, however often it is sent."""

    async def test_the_same_again(self, job_portal: JobPortal) -> None:
        before = len(job_portal.launchers.submitted)
        found = await asyncio.gather(*(job_portal.submit(key="k1") for _ in range(8)))
        assert {answer.status for answer in found} == {201}
        assert len({answer.body["id"] for answer in found}) == 1
        assert len(job_portal.launchers.submitted) == before + 1

    async def test_reused_key_with_other_request_is_refused(self, job_portal: JobPortal) -> None:
        await job_portal.job(key="k2")
        answer = await job_portal.submit(key="k2", script="false")
        assert (answer.status, answer.slug) == (409, "conflict")

    async def test_another_user(self, job_portal: JobPortal) -> None:
        mine, theirs = await job_portal.job(key="k3"), await job_portal.job(key="k3", who="bob")
        assert mine["id"] != theirs["id"]

    async def test_after_a_refusal_the_key_is_free(self, job_portal: JobPortal) -> None:
        job_portal.launchers.mood = "refuses"
        assert (await job_portal.submit(key="k4")).status == 422
        job_portal.launchers.mood = "takes"
        assert (await job_portal.submit(key="k4")).status == 201

    @pytest.mark.parametrize("key", ["", "x" * 201])
    async def test_one_that_is_none(self, job_portal: JobPortal, key: str) -> None:
        browser = job_portal.users["alice"]
        headers = {"Idempotency-Key": key, "Origin": browser.origin}
        body = {"script": "true"}
        async with browser.http.post("/api/v1/jobs", json=body, headers=headers) as answer:
            assert answer.status == 422


async def test_what_slurm_refuses_leaves_nothing(job_portal: JobPortal) -> None:
    job_portal.launchers.mood = "refuses"
    answer = await job_portal.submit(name="refused")
    assert (answer.status, answer.slug) == (422, "slurm-rejected")
    assert answer.body["errors"][0]["field"] == "resources.account"
    assert (await job_portal.ask("GET", "/jobs?q=refused")).body["items"] == []


async def test_refused_account_is_named(job_portal: JobPortal) -> None:
    job_portal.launchers.mood = "refuses"
    answer = await job_portal.submit(resources={"account": "teaching", "partition": "cpu"})
    (error,) = answer.body["errors"]
    assert error["field"] == "resources.account"
    assert "the account teaching in the partition cpu" in error["message"]


async def test_user_without_slurm_account_gets_reason(job_portal: JobPortal) -> None:
    job_portal.launchers.mood = "refuses"
    await job_portal.context.accounting.refresh()
    first = job_portal.accounting.rows
    job_portal.accounting.rows = {place: row for place, row in first.items() if place[1] != "alice"}
    try:
        await job_portal.context.accounting.refresh()
        answer = await job_portal.submit()
        assert (answer.status, answer.slug) == (422, "slurm-rejected")
        assert "You have no Slurm account yet. Ask your administrators" in answer.body["detail"]
        assert answer.body["errors"] == [], "no account was given, so no field is wrong"
    finally:
        job_portal.accounting.rows = first
        await job_portal.context.accounting.refresh()


async def test_without_a_home_nothing_is_submitted(job_portal: JobPortal) -> None:
    job_portal.launchers.mood = "no home"
    answer = await job_portal.submit(name="homeless")
    assert (answer.status, answer.slug) == (409, "home-unavailable")
    assert "home" in answer.body["detail"]
    job_portal.launchers.mood = "takes"
    assert (await job_portal.ask("GET", "/jobs?q=homeless")).body["items"] == []


async def test_while_slurm_is_silent_it_is_kept_and_can_be_cancelled(job_portal: JobPortal) -> None:
    job_portal.launchers.mood, job_portal.slurm.away = "silent", True
    job = await job_portal.job()
    assert (job["state"], job["job_id"]) == ("submitting", None)
    assert "Slurm doesn't answer" in job["reason"]
    asked = await job_portal.ask("POST", f"/jobs/{job['id']}/cancel")
    assert (asked.body["state"], asked.body["reason"]) == ("stopping", None)
    ended = await job_portal.settled(job["id"], "ended")
    assert (ended["outcome"], ended["reason"]) == ("cancelled", None)
    assert job["id"] in job_portal.launchers.withdrawn


async def test_a_slow_slurm_is_waited_for_by_all_who_ask(job_portal: JobPortal) -> None:
    job_portal.launchers.go_on.clear()
    job_portal.launchers.hung.clear()
    job_portal.launchers.mood = "hangs"
    asked = [asyncio.create_task(job_portal.submit(key="slow", script="slow")) for _ in range(3)]
    try:
        await until(lambda: job_portal.launchers.hung, "a launcher hangs")
        assert (await job_portal.ask("GET", "/me")).status == 200, "other requests are answered"
    finally:
        job_portal.launchers.go_on.set()
    found = await asyncio.gather(*asked)
    assert [answer.status for answer in found] == [201] * 3
    assert len({answer.body["id"] for answer in found}) == 1


async def test_a_job_is_run_again_with_its_parameters(job_portal: JobPortal) -> None:
    """Its detail has all values that the form needs."""
    parameters = {"text": HOSTILE, "whole": 3, "words": ["a", "b c"]}
    resources = {"cpus": 2, "time_limit_minutes": 45}
    job = await job_portal.job(template="every-kind", parameters=parameters, resources=resources)
    payload = {key: job[key] for key in ("template", "parameters", "resources", "name")}
    again = await job_portal.job(**payload)
    assert again["id"] != job["id"]
    for key in payload:
        assert again[key] == job[key]
    free = await job_portal.job(script="echo 1 # ü", environment="plain")
    again = await job_portal.job(script=free["source"], environment=free["environment"])
    assert again["source"] == "echo 1 # ü"
