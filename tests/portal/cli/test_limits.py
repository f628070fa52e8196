"""Limits, usage and announcements on the command line, and their effect on a running portal."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from datetime import date
from typing import Any

import pytest
from sqlalchemy import insert

from portal.models import UsageDay
from tests.polling import until
from tests.portal.command_line import ME, Run, command_line, write_config
from tests.portal.job_portal import JobPortal, run_job_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio

ALICE = ("--user", "alice")
BASE = ("research", "alice", "")


@pytest.fixture(scope="module")
async def job_portal(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobPortal]:
    """A portal whose loops run often."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("portal.services.limits.slurm_limits.ROUND_S", 0.2)
        patch.setattr("portal.services.announcements.announcements.REFRESH_S", 0.2)
        async with run_job_portal(slapd, tmp_path_factory.mktemp("cli-limits")) as made:
            yield made


@pytest.fixture(scope="module")
def run(job_portal: JobPortal) -> Iterator[Run]:
    settings = job_portal.portal.settings
    with command_line(write_config(settings, settings.state_dir / "portal.toml")) as made:
        yield made


async def listed(run: Run, *arguments: str) -> Any:
    done = await run(*arguments, "--json")
    assert done.code == 0, done
    return json.loads(done.out)


async def test_limit_is_applied_in_slurm_shown_and_removed(job_portal: JobPortal, run: Run) -> None:
    rows = job_portal.accounting.rows
    made = await run(
        *("limits", "set", "--user", "Alice", "--gpus", "2", "--gpus-by-type", "v100=1"),
        *("--partitions", "gpu,cpu"),
    )
    assert (made.code, made.err) == (0, ""), made
    assert "alice: gpus 2; gpus_by_type v100=1; partitions gpu,cpu" in made.out
    await until(lambda: rows[BASE] == {"gres/gpu": 2, "gres/gpu:v100": 1})
    more = await run("limits", "set", *ALICE, "--cpus", "8")
    less = await run("limits", "unset", *ALICE, "gpus-by-type", "partitions")
    assert (more.code, less.code) == (0, 0), (more, less)
    await until(lambda: rows[BASE] == {"gres/gpu": 2, "cpu": 8})
    shown = await listed(run, "limits", "show", *ALICE)
    assert shown["effective"]["gpus"]["from"] == {"scope": "user", "name": "alice"}
    assert (await run("limits", "show", *ALICE)).out.startswith("FIELD")
    (row,) = await listed(run, "limits", "list")
    assert (row["updated_by"], row["slurm"]) == (ME, None)

    job_portal.accounting.mood = "refuses"
    await run("limits", "set", *ALICE, "--gpus", "3")
    async with asyncio.timeout(120):
        while "Access/permission denied" not in (table := await run("limits", "list")).out:
            assert table.code == 0, table
    job_portal.accounting.mood = "obeys"
    await run("limits", "set", *ALICE, "--gpus", "1")  # it is new, so it is applied at once
    await until(lambda: rows[BASE] == {"gres/gpu": 1, "cpu": 8})
    # it has read its own changes back
    async with job_portal.context.slurm_limits.between_rounds():
        rows[BASE] = {"gres/gpu": 4, "cpu": 8}
    async with asyncio.timeout(120):
        while not (drift := await listed(run, "limits", "drift", "list")):
            pass
    assert [(one["wanted"], one["found"]) for one in drift] == [("1", "4")]
    assert "GPUs at once  1        4" in (await run("limits", "drift", "list")).out
    rows[BASE] = {"gres/gpu": 1, "cpu": 8}

    removed = await run("limits", "remove", *ALICE)
    again = await run("limits", "remove", *ALICE)
    assert (removed.code, again.code, again.err) == (0, 1, "No limit is set here.\n")
    await until(lambda: rows[BASE] == {})
    events = await listed(run, "audit", "list", "--action", "limit.", "--target", "alice")
    assert {event["actor"] for event in events} == {ME}
    assert (events[0]["action"], len(events)) == ("limit.remove", 6)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((*ALICE, "--gpus", "-1"), 1, "--gpus: This must be at least 0."),
        ((*ALICE, "--gpus-by-type", "v100"), 1, "--gpus-by-type: This must be a whole number."),
        ((*ALICE, "--partitions", "nowhere"), 1, "--partitions: There is no partition nowhere."),
        ((*ALICE, "--qos", "fast"), 1, "--qos: There is no QOS fast. Available: high, normal."),
        (("--group", "scientists", "--together", "--qos", "high"), 1, "--qos: A group total can't"),
        (("--user", "unknown", "--gpus", "1"), 1, "There is no user unknown"),
        ((*ALICE, "--default", "--gpus", "1"), 2, "--user NAME"),
        (ALICE, 2, "--gpus 2"),
    ],
)
async def test_invalid_option_is_named_in_the_message(
    run: Run, arguments: tuple[str, ...], code: int, words: str
) -> None:
    done = await run("limits", "set", *arguments)
    assert (done.code, done.out) == (code, "")
    assert words in done.err


async def test_use_as_table_and_csv(job_portal: JobPortal, run: Run) -> None:
    day = date(2020, 2, 3)
    used = {"account": "research", "cpu_seconds": 7200, "jobs": 1}
    async with job_portal.context.db.session() as db:
        rows = [{"day": day, "username": name, "gpu_seconds": 3600} for name in ("alice", "=bob")]
        await db.execute(insert(UsageDay), [{**row, **used} for row in rows])
        await db.commit()
    span = ("--from", "2020-01", "--to", "2020-02")
    table = await run("usage", *span)
    csv = await run("usage", *span, "--csv")
    months = await listed(run, "usage", *span, "--by", "month", "--user", "alice")
    wrong = await run("usage", "--from", "2020-13")
    assert table.out.splitlines()[-2].split() == ["total", "2.0", "4.0", "2"]
    assert csv.out.splitlines()[1:] == ["'=bob,1.0,2.0,1", "alice,1.0,2.0,1"]
    assert [(row["name"], row["gpu_hours"]) for row in months["items"]] == [("2020-02", 1)]
    assert (wrong.code, wrong.err) == (
        1,
        "--from: Enter a month such as 2026-10, or a day such as 2026-10-31.\n",
    )


async def test_open_pages_receive_announced_and_edited_texts(
    job_portal: JobPortal, run: Run
) -> None:
    stream = job_portal.users["alice"].http.get("/api/v1/events")
    async with asyncio.timeout(120), stream as answer:
        await answer.content.readline()  # changes are sent from here on
        key = (await run("announcements", "add", "Soon", "--ends", "2999-01-01")).out.strip()
        await _heard(answer.content, "Soon")
        edited = await run("announcements", "edit", key, "--title", "Now", "--no-end", "--public")
        assert (edited.code, edited.err) == (0, ""), edited
        await _heard(answer.content, "Now")
        await run("announcements", "delete", key)
        await _heard(answer.content, None)
    late = await run("announcements", "add", "X", "--starts", "2030-01-02", "--ends", "2030-01-01")
    assert (late.code, late.err) == (1, "--ends: The end must be after the start.\n")
    assert (await run("announcements", "edit", key, "--text", "x")).code == 1


async def _heard(stream: Any, title: str | None) -> None:
    """Wait until the event stream has exactly this announcement, or none."""
    wanted, name = [title] if title else [], ""
    async for line in stream:
        if line.startswith(b"event: "):
            name = line[7:].strip().decode()
        elif line.startswith(b"data: ") and name == "announcements":
            items = json.loads(line[6:])["items"]
            if [item["title"] for item in items] == wanted:
                return
