"""Limits against a real Slurm: enforced by the portal and by sbatch, and monitored for drift.

Also accounts granted and revoked, and usage counted from a real job.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from cluster.client import Client, RequestRefused
from tests.cluster.job_tools import SMALL, refused, settled, submit
from tests.cluster.slurm_tools import until
from tests.live import PYTHON, Live

pytestmark = pytest.mark.anyio

BOUND_S = 120.0
ACCOUNT = "limits-test"
GPU = {**SMALL, "partition": "gpu", "gpus": 1}
BOB = "/admin/limits/user/bob"
BY_HAND = ("modify", "user", "bob", "where", "account=research", "partition=", "set")


@pytest.fixture
async def carol(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("carol") as client:
        yield client


@pytest.fixture
async def bob(portal: Live) -> AsyncIterator[Client]:
    async with portal.login("bob") as client:
        yield client


@pytest.fixture
async def account(portal: Live, carol: Client) -> AsyncIterator[None]:
    """A separate account for this test; bob's limits are removed afterwards."""
    run_sacctmgr(portal, "add", "account", ACCOUNT, check=False)  # it may exist from an earlier run
    try:
        yield
    finally:
        try:
            await carol.api("DELETE", BOB)
        except RequestRefused as error:
            assert error.status == 404, error
        await until(lambda: bobs(portal) == ["research||||normal"] or accounts_only(portal))
        run_sacctmgr(portal, "remove", "user", "bob", "where", f"account={ACCOUNT}", check=False)
        run_sacctmgr(portal, "remove", "account", ACCOUNT, check=False)


def run_sacctmgr(live: Live, *words: str, check: bool = True) -> None:
    """Run sacctmgr as a Slurm administrator who makes manual changes."""
    try:
        live.exec_as("root", ["sacctmgr", "-i", *words])
    except RuntimeError:
        if check:
            raise


def bobs(live: Live) -> list[str]:
    """Return bob's associations in Slurm."""
    columns = "format=account,partition,grptres,maxwall,qos"
    text = live.exec_as("root", ["sacctmgr", "-nP", "show", "assoc", "user=bob", columns])
    return sorted(text.split())


def held(live: Live) -> set[str]:
    """Return the limits that slurmctld enforces for bob.

    slurmdbd sends them to slurmctld, with a delay after slurmctld's start.
    """
    argv = ["scontrol", "show", "assoc_mgr", "users=bob", "flags=assoc"]
    text = live.exec_as("root", argv).partition("UserName=bob(")[2]
    return set(re.split(r"[\s,(]+", text.replace("GrpTRES=", "").replace("MaxTRES", " ")))


def accounts_only(live: Live) -> bool:
    """Return whether only associations without limits are left."""
    return all(line.split("|")[1:4] == ["", "", ""] for line in bobs(live))


async def put(client: Client, path: str, **body: Any) -> Any:
    """Set a limit, replacing the current version."""
    limits = (await client.api("GET", "/admin/limits"))["items"]
    versions = {f"/admin/limits/{one['scope']}/{one['name']}": one["version"] for one in limits}
    return await client.api("PUT", path, {**body, "version": versions.get(path)})


async def drift_of(
    client: Client, field: str = "GPUs at once", *, accepted: bool = False, fresh: bool = True
) -> Any:
    """Return a displayed drift once it exists, found by the loop or, with `fresh`, on request."""
    query = "?fresh=true" if fresh else ""

    def match(item: Any) -> bool:
        return (item["username"], item["field"], item["accepted"]) == ("bob", field, accepted)

    async def load() -> list[Any]:
        items: list[Any] = (await client.api("GET", f"/admin/drift{query}"))["items"]
        return items

    what = f"the drift of {field}"
    items = await until(load, what, BOUND_S, done=lambda all_: any(map(match, all_)), pause_s=1)
    return next(filter(match, items))


def in_a_terminal(live: Live, *options: str) -> subprocess.CompletedProcess[str]:
    """Run sbatch as bob, bypassing the portal."""
    script = ["--parsable", "--mem=64M", "--time=5", "--output=/dev/null", "--wrap=sleep 300"]
    argv = [PYTHON, "-m", "cluster", "--state", str(live.state), "exec", "--user", "bob", "--"]
    return subprocess.run(
        [*argv, "sbatch", *options, *script], capture_output=True, text=True, check=False
    )


async def waits_for(live: Live, job_id: str) -> str:
    """Return the reason why a job is pending, once Slurm has considered it."""
    reason = ""

    def known() -> bool:
        nonlocal reason
        reason = live.exec_as("root", ["squeue", "-h", "-j", job_id, "-o", "%r"]).strip()
        return reason not in {"", "None", "Priority", "Resources"}

    await until(known)
    return reason


async def test_a_limit_holds_in_the_portal_and_in_a_terminal(
    portal: Live, carol: Client, bob: Client, account: None
) -> None:
    answer = await put(carol, BOB, gpus=1, time_limit_minutes=30, partitions=["gpu", "debug"])
    assert answer["slurm"]["state"] == "written", answer
    assert "research||gres/gpu=1|00:30:00|normal" in bobs(portal)
    run_sacctmgr(portal, *BY_HAND, "MaxWall=40")  # is detected while everything below happens
    await until(lambda: {"gres/gpu=1", "MaxWallPJ=40"} <= held(portal))

    problem = await refused(bob, script="true", resources={**GPU, "gpus": 2})
    assert problem.status == 422
    assert problem.fields["resources.gpus"].startswith(
        "You may use 1 GPU at once (a limit of your own); this asks for 2."
    )
    problem = await refused(bob, script="true", resources={**SMALL, "partition": "cpu"})
    assert "these partitions: gpu, debug" in problem.fields["resources.partition"]

    first = in_a_terminal(portal, "--partition=gpu", "--gres=gpu:1").stdout.strip()
    second = in_a_terminal(portal, "--partition=gpu", "--gres=gpu:1").stdout.strip()
    closed = in_a_terminal(portal, "--partition=cpu")
    try:
        assert closed.returncode != 0
        assert "AssocMaxSubmitJobLimit" in closed.stderr
        reasons = {await waits_for(portal, second)}
        assert reasons == {"AssocGrpGRES"}
        mine = await bob.api("GET", "/me/limits")
        assert mine["effective"]["gpus"]["value"] == 1
        assert mine["effective"]["gpus"]["from"] == {"scope": "user", "name": "bob"}
        await until(
            lambda: bob.api("GET", "/me/limits"),
            "one GPU in use",
            BOUND_S,
            done=lambda limits: limits["use"]["gpus"] == 1,
            pause_s=2,
        )
    finally:
        portal.exec_as("root", ["scancel", first, second])

    await changed_by_hand(portal, carol)
    await accounts_come_and_go(portal, carol)


async def changed_by_hand(portal: Live, carol: Client) -> None:
    """Detected, fixed, detected again, accepted; a new limit ends the acceptance."""
    item = await drift_of(carol, "Time limit", fresh=False)
    assert (item["wanted"], item["found"]) == ("30 minutes", "40 minutes")
    mended = await carol.api("POST", f"/admin/drift/{item['id']}/mend")
    assert [i for i in mended["items"] if i["username"] == "bob"] == []
    assert "research||gres/gpu=1|00:30:00|normal" in bobs(portal)

    run_sacctmgr(portal, *BY_HAND, "GrpTRES=gres/gpu=3")
    item = await drift_of(carol)
    await carol.api("POST", f"/admin/drift/{item['id']}/accept")
    item = await drift_of(carol, accepted=True)
    assert item["found"] == "3"
    (standing,) = [
        one
        for one in (await carol.api("GET", "/admin/users/bob/limits"))["slurm"]
        if (one["account"], one["partition"]) == ("research", "")
    ]
    assert standing["accepted"] == {"GPUs at once": "3"}
    assert (await put(carol, BOB, gpus=2))["slurm"]["state"] == "written"
    assert bobs(portal) == ["research||gres/gpu=2||normal"]


async def accounts_come_and_go(portal: Live, carol: Client) -> None:
    answer = await put(carol, BOB, accounts=["research", ACCOUNT])
    assert answer["slurm"]["state"] == "written", answer
    assert bobs(portal) == [f"{ACCOUNT}||||normal", "research||||normal"]
    job = in_a_terminal(portal, "--partition=cpu", f"--account={ACCOUNT}").stdout.strip()
    sacct = ["sacct", "-nX", "-j", job, "-o", "state"]
    try:
        # Slurm enforces limits on jobs that its database has
        await until(lambda: "RUNNING" in portal.exec_as("root", sacct))
        answer = await put(carol, BOB, accounts=["research"])
        assert answer["slurm"]["state"] == "refused", answer
        assert "active" in answer["slurm"]["message"], answer
    finally:
        portal.exec_as("root", ["scancel", job])
    await until(lambda: "CANCELLED" in portal.exec_as("root", sacct))
    answer = await put(carol, BOB, accounts=["research"])
    assert answer["slurm"]["state"] == "written", answer
    assert bobs(portal) == ["research||||normal"]


async def test_use_is_counted_from_accounting(portal: Live, carol: Client, bob: Client) -> None:
    """A GPU for a few seconds; accounting is read again soon while a user views the page."""
    job = await submit(bob, "sleep 5", resources=GPU)
    await settled(bob, job["id"])
    month = f"{datetime.now(UTC):%Y-%m}"

    async def load() -> dict[str, Any]:
        usage = await carol.api("GET", f"/admin/usage?from={month}&by=user")
        return {row["name"]: row for row in usage["items"]}

    rows = await until(
        load,
        "bob's GPU hours",
        BOUND_S,
        done=lambda rows: rows.get("bob", {}).get("gpu_hours", 0) > 0,
        pause_s=1,
    )
    assert rows["bob"]["jobs"] >= 1
    mine = await bob.api("GET", "/me/usage")
    assert mine["items"][-1]["gpu_hours"] == rows["bob"]["gpu_hours"]
    async with carol.http.get(
        f"{carol.base_url}/api/v1/admin/usage", params={"format": "csv", "by": "month"}
    ) as answer:
        assert answer.headers["content-type"].startswith("text/csv")
        assert (await answer.text()).startswith("month,gpu_hours,cpu_hours,jobs\r\n")
