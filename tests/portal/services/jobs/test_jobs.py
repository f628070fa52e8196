"""Submitting through the API: accepted requests, and refusals with their messages."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from spawner.catalog.launch_files import quote
from tests.patience import PATIENCE_S
from tests.portal.job_portal import World, job_world
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio
HOSTILE = "a'b\"c $(touch x) `touch x` ; touch x\n\\ ü <end>"


@pytest.fixture(scope="module")
async def shared(slapd: Slapd, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with job_world(slapd, tmp_path_factory.mktemp("jobs")) as made:
        yield made


@pytest.fixture
def world(shared: World) -> Iterator[World]:
    yield shared
    shared.agents.mood, shared.slurm.away = "takes", False


async def test_what_is_submitted_is_what_was_asked_for(world: World) -> None:
    job = await world.job(
        script="echo hello", name="my job",
        resources={"partition": "gpu", "gpus": 2, "time_limit_minutes": 30},
    )  # fmt: skip
    username, spec, files = world.agents.submitted[-1]
    assert (username, spec.uuid, spec.name) == ("alice", job["id"], "my job")
    assert (spec.resources.partition, spec.resources.gpus) == ("gpu", 2)
    assert files["job"].rstrip() == "echo hello"
    assert (job["state"], job["source"]) == ("queued", "echo hello")
    assert job["job_id"] in world.slurm.shown


@pytest.mark.parametrize("parameter", ["text", "words"])
async def test_hostile_text_reaches_the_script_as_one_word(world: World, parameter: str) -> None:
    value: Any = HOSTILE if parameter == "text" else [HOSTILE, "b"]
    job = await world.job(template="every-kind", parameters={parameter: value})
    assert quote(HOSTILE) in world.agents.submitted[-1][1].script
    assert job["parameters"][parameter] == value
    again = await world.ask(
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
    world: World, parameters: dict[str, Any], field: str
) -> None:
    before = len(world.agents.submitted)
    answer = await world.submit(template="every-kind", parameters=parameters)
    assert (answer.status, answer.slug) == (422, "invalid-input")
    (error,) = answer.body["errors"]
    assert error["field"] == f"parameters.{field}"
    assert len(error["message"]) > 10
    assert len(world.agents.submitted) == before


async def test_a_folder_below_ones_home_can_be_written_with_a_tilde(world: World) -> None:
    for logdir, found in (("~/runs/../a", "/home/alice/a"), ("~", "/home/alice")):
        assert (await world.job(script="true", logdir=logdir))["logdir"] == found


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
async def test_invalid_job_names_the_field(world: World, body: dict[str, Any], field: str) -> None:
    answer = await world.submit(**body)
    assert (answer.status, answer.slug) == (422, "invalid-input"), answer
    assert field in {error["field"] for error in answer.body["errors"]}


@pytest.mark.parametrize(
    "raw", [b'{"script": "\xff"}', b"[]", b"{", b"null", b'{"script": ' + b"[" * 9999]
)
async def test_what_is_no_request_is_refused_as_such(world: World, raw: bytes) -> None:
    browser = world.users["alice"]
    headers = {"Origin": browser.origin, "Content-Type": "application/json"}
    async with browser.http.post("/api/v1/jobs", data=raw, headers=headers) as answer:
        assert answer.status == 422
        assert (await answer.json(content_type=None))["title"]


async def test_a_body_over_the_limit_is_not_even_read(world: World) -> None:
    browser = world.users["alice"]
    data = io.BytesIO(b'{"script": "' + b"x" * (1 << 21) + b'"}')
    headers = {"Origin": browser.origin, "Content-Type": "application/json"}
    async with browser.http.post("/api/v1/jobs", data=data, headers=headers) as answer:
        assert answer.status == 413


class TestKeys:
    """The same request under the same key is one job, however often it is sent."""

    async def test_the_same_again(self, world: World) -> None:
        before = len(world.agents.submitted)
        found = await asyncio.gather(*(world.submit(key="k1") for _ in range(8)))
        assert {answer.status for answer in found} == {201}
        assert len({answer.body["id"] for answer in found}) == 1
        assert len(world.agents.submitted) == before + 1

    async def test_reused_key_with_other_request_is_refused(self, world: World) -> None:
        await world.job(key="k2")
        answer = await world.submit(key="k2", script="false")
        assert (answer.status, answer.slug) == (409, "conflict")

    async def test_another_user(self, world: World) -> None:
        mine, theirs = await world.job(key="k3"), await world.job(key="k3", who="bob")
        assert mine["id"] != theirs["id"]

    async def test_after_a_refusal_the_key_is_free(self, world: World) -> None:
        world.agents.mood = "refuses"
        assert (await world.submit(key="k4")).status == 422
        world.agents.mood = "takes"
        assert (await world.submit(key="k4")).status == 201

    @pytest.mark.parametrize("key", ["", "x" * 201])
    async def test_one_that_is_none(self, world: World, key: str) -> None:
        browser = world.users["alice"]
        headers = {"Idempotency-Key": key, "Origin": browser.origin}
        body = {"script": "true"}
        async with browser.http.post("/api/v1/jobs", json=body, headers=headers) as answer:
            assert answer.status == 422


async def test_what_slurm_refuses_leaves_nothing(world: World) -> None:
    world.agents.mood = "refuses"
    answer = await world.submit(name="refused")
    assert (answer.status, answer.slug) == (422, "slurm-rejected")
    assert answer.body["errors"][0]["field"] == "resources.account"
    assert (await world.ask("GET", "/jobs?q=refused")).body["items"] == []


async def test_refused_account_is_named(world: World) -> None:
    world.agents.mood = "refuses"
    answer = await world.submit(resources={"account": "teaching", "partition": "cpu"})
    (error,) = answer.body["errors"]
    assert error["field"] == "resources.account"
    assert "the account teaching in the partition cpu" in error["message"]


async def test_user_without_slurm_account_gets_reason(world: World) -> None:
    world.agents.mood = "refuses"
    await world.context.accounting.look()
    first = world.accounting.rows
    world.accounting.rows = {place: row for place, row in first.items() if place[1] != "alice"}
    try:
        await world.context.accounting.look()
        answer = await world.submit()
        assert (answer.status, answer.slug) == (422, "slurm-rejected")
        assert "You have no Slurm account yet. Ask your administrators" in answer.body["detail"]
        assert answer.body["errors"] == [], "no account was given, so no field is wrong"
    finally:
        world.accounting.rows = first
        await world.context.accounting.look()


async def test_without_a_home_nothing_is_submitted(world: World) -> None:
    world.agents.mood = "no home"
    answer = await world.submit(name="homeless")
    assert (answer.status, answer.slug) == (409, "home-unavailable")
    assert "home" in answer.body["detail"]
    world.agents.mood = "takes"
    assert (await world.ask("GET", "/jobs?q=homeless")).body["items"] == []


async def test_while_slurm_is_silent_it_is_kept_and_can_be_cancelled(world: World) -> None:
    world.agents.mood, world.slurm.away = "silent", True
    job = await world.job()
    assert (job["state"], job["job_id"]) == ("submitting", None)
    assert "Slurm is not responding" in job["reason"]
    asked = await world.ask("POST", f"/jobs/{job['id']}/cancel")
    assert (asked.body["state"], asked.body["reason"]) == ("stopping", None)
    ended = await world.settled(job["id"], "ended")
    assert (ended["outcome"], ended["reason"]) == ("cancelled", None)
    assert job["id"] in world.agents.withdrawn


async def test_a_slow_slurm_is_waited_for_by_all_who_ask(world: World) -> None:
    world.agents.go_on.clear()
    world.agents.hung.clear()
    world.agents.mood = "hangs"
    asked = [asyncio.create_task(world.submit(key="slow", script="slow")) for _ in range(3)]
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not world.agents.hung:
                await asyncio.sleep(0.01)
        assert (await world.ask("GET", "/me")).status == 200, "other requests are answered"
    finally:
        world.agents.go_on.set()
    found = await asyncio.gather(*asked)
    assert [answer.status for answer in found] == [201] * 3
    assert len({answer.body["id"] for answer in found}) == 1


async def test_a_job_is_run_again_with_its_parameters(world: World) -> None:
    """Its detail has all values that the form needs."""
    parameters = {"text": HOSTILE, "whole": 3, "words": ["a", "b c"]}
    resources = {"cpus": 2, "time_limit_minutes": 45}
    job = await world.job(template="every-kind", parameters=parameters, resources=resources)
    payload = {key: job[key] for key in ("template", "parameters", "resources", "name")}
    again = await world.job(**payload)
    assert again["id"] != job["id"]
    for key in payload:
        assert again[key] == job[key]
    free = await world.job(script="echo 1 # ü", environment="plain")
    again = await world.job(script=free["source"], environment=free["environment"])
    assert again["source"] == "echo 1 # ü"
