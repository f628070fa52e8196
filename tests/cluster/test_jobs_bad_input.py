"""Invalid job requests: each response names the field clearly, and nothing is left behind."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cluster.client import Client, RequestRefused
from tests.cluster.job_tools import SMALL, log_of, refused, settled, submit
from tests.live import Live

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def bob(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("bob") as client:
        yield client
        assert (await client.api("GET", "/jobs?state=live&external=false"))["items"] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "template"),
        ({"script": "true", "template": "python-training"}, "script"),
        ({"template": "nope"}, "template"),
        ({"script": ""}, "script"),
        ({"script": "  \n"}, "script"),
        ({"script": "x" * 300_000}, "script"),
        ({"script": "echo \0"}, "script"),
        ({"script": "echo \ud800"}, "script"),
        ({"script": "#SBATCH --output=/tmp/x\ntrue"}, "script"),
        ({"script": "#SBATCH --array=0-9\ntrue"}, "script"),
        ({"script": "true", "parameters": {"x": 1}}, "parameters"),
        ({"script": "true", "environment": "nope"}, "environment"),
        ({"script": "true", "name": ""}, "name"),
        ({"script": "true", "name": "a\nb"}, "name"),
        ({"script": "true", "name": "x" * 101}, "name"),
        ({"script": "true", "logdir": "relative"}, "logdir"),
        ({"script": "true", "resources": {"cpus": 0}}, "resources.cpus"),
        ({"script": "true", "resources": {"nodes": 99}}, "resources.nodes"),
        ({"script": "true", "resources": {"account": "nope"}}, "resources.account"),
        ({"template": "python-training", "parameters": {"nope": 1}}, "parameters.nope"),
        ({"script": "true", "unknown": 1}, "unknown"),
    ],
)
async def test_what_cannot_be(bob: Client, body: Any, field: str) -> None:
    error = await refused(bob, **body)
    assert error.status == 422
    assert field in error.fields, error
    assert len(error.fields[field]) > 10


async def test_parameters_of_every_wrong_kind(bob: Client) -> None:
    template = await bob.api("GET", "/templates/python-training")
    rules = template["parameters"]["properties"]
    tried = 0
    for name, rule in rules.items():
        bad = {"integer": "many", "number": "many", "boolean": "maybe", "array": 7, "string": 7}
        kind = rule["type"] if isinstance(rule["type"], str) else rule["type"][0]
        wrong = [bad[kind], *([rule["maximum"] + 1] if "maximum" in rule else [])]
        for value in wrong:
            error = await refused(bob, template="python-training", parameters={name: value})
            assert list(error.fields) == [f"parameters.{name}"], (name, value)
            tried += 1
    assert tried >= len(rules) > 1


HOSTILE = "a'b\"c $(touch pwned) `touch pwned` ; touch pwned\n\\ end ü"


async def test_hostile_text_arrives_as_it_is(portal: Live, bob: Client) -> None:
    """In a name and in a script: only the script itself executes any of it."""
    word = f"n{uuid.uuid4().hex[:8]} '$(touch pwned)' \"`touch pwned`\" ;touch pwned ü"
    made = await submit(bob, "printf '%s' \"$SLURM_JOB_NAME\"", name=word)
    job = await settled(bob, made["id"])
    assert (job["name"], job["outcome"]) == (word, "completed")
    assert not (portal.state / "home/bob/pwned").exists()


@pytest.mark.parametrize("what", ["/jobs/{}", "/jobs/{}/log", "/jobs/{}/tensorboard"])
@pytest.mark.parametrize("name", ["nope", "00000000-0000-0000-0000-000000000000", "%2e%2e"])
async def test_there_is_no_such_job(bob: Client, what: str, name: str) -> None:
    with pytest.raises(RequestRefused) as found:
        await bob.api("GET", what.format(name))
    assert found.value.status == 404


async def test_a_cursor_that_is_none(bob: Client) -> None:
    with pytest.raises(RequestRefused) as found:
        await bob.api("GET", "/jobs?cursor=nonsense")
    assert found.value.fields.keys() == {"cursor"}


async def test_a_logdir_that_is_not_the_users(portal: Live, bob: Client) -> None:
    job = await settled(bob, (await submit(bob))["id"])
    private = portal.state / "home/alice"
    for logdir in ("/root", str(private / "portal"), "relative", "/none/at/all", "/etc/passwd"):
        with pytest.raises(RequestRefused) as found:
            await bob.api("PUT", f"/jobs/{job['id']}/tensorboard", {"logdir": logdir})
        assert found.value.fields.keys() == {"logdir"}, logdir


@pytest.mark.parametrize("name", ["Bob!", "root;", "x" * 40])
async def test_sharing_with_unknown_user_is_refused(bob: Client, name: str) -> None:
    job = await settled(bob, (await submit(bob))["id"])
    with pytest.raises(RequestRefused) as found:
        await bob.api("PUT", f"/jobs/{job['id']}/shares/{name}")
    assert found.value.fields.keys() == {"username"}


async def test_logs_of_every_kind(portal: Live, bob: Client) -> None:
    """Five gigabytes with direct access to the end; no line ends; binary data; a missing log."""
    job = await settled(bob, (await submit(bob, "echo begin"))["id"])
    log = portal.state / f"home/bob/.local/share/portal/jobs/{job['id']}/stdout.log"
    os.truncate(log, 5 << 30)
    with log.open("ab") as file:
        file.write(b"the end\n")
    tail = await bob.api("GET", f"/jobs/{job['id']}/log?offset=-8")
    assert (tail["text"], tail["size"], tail["end"]) == ("the end\n", (5 << 30) + 8, True)
    whole = await bob.api("GET", f"/jobs/{job['id']}/log?offset=-99999999999")
    assert len(whole["text"]) <= 128 * 1024
    assert whole["text"].endswith("the end\n")
    first = await bob.api("GET", f"/jobs/{job['id']}/log?offset=0")
    assert first["text"].startswith("begin\n")
    assert (first["next_offset"], first["end"]) == (128 * 1024, False)
    log.write_bytes(b"x" * 300_000)
    assert len((await bob.api("GET", f"/jobs/{job['id']}/log"))["text"]) == 65536
    log.write_bytes(bytes(range(256)))
    assert "�" in await log_of(bob, job)
    log.unlink()
    log.symlink_to("/etc/passwd")
    with pytest.raises(RequestRefused):
        await log_of(bob, job)
    log.unlink()
    assert await log_of(bob, job) == ""


async def test_estimates_that_cannot_be(bob: Client) -> None:
    for resources, field in (({"nodes": 99}, "nodes"), ({"account": "nope"}, "account")):
        with pytest.raises(RequestRefused) as found:
            await bob.api("POST", "/estimates", {"resources": {**SMALL, **resources}})
        assert found.value.fields.keys() == {f"resources.{field}"}
