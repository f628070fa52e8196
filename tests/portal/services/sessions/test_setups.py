"""Setups: saved, changed, started; recent session configurations; and starter notebooks."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from portal.models import JobState, Session, User
from portal.services.sessions import setups
from spawner.errors import FileProblem
from spawner.slurm.model import Resources
from tests.portal import job_portal as stage
from tests.portal.job_portal import JobPortal, run_job_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio

ONE = {"gpus": 1, "gpu_type": "v100", "cpus": 4, "memory_gb": 16, "partition": "gpu"}
KERNEL = 'kernel: {{argv: [python3, "{{connection_file}}"]}}'
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
async def job_portal(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[JobPortal]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "ENVIRONMENT", stage.ENVIRONMENT + KERNEL)
        patch.setattr(stage, "TEMPLATE", stage.TEMPLATE + "starter: python3.ipynb\n")
        async with run_job_portal(slapd, tmp_path_factory.mktemp("setups")) as job_portal:
            yield job_portal


async def save(job_portal: JobPortal, who: str = "alice", **body: Any) -> Any:
    body = {"name": "Usual", "environment": "plain", "resources": ONE, **body}
    return await job_portal.ask("POST", "/setups", body, who)


async def ended(
    job_portal: JobPortal, who: str, *, days: int, removed: bool = False, **resources: Any
) -> None:
    """Add an ended session of a user, so many days after a fixed time in the past.

    `removed`: the user has removed it from the list.
    """
    at = LONG_AGO + timedelta(days=days)
    asked = Resources(**{"partition": "cpu", "cpus": 1, "time_limit_minutes": 60, **resources})
    async with job_portal.context.db.session() as db:
        owner = await db.scalar(select(User.id).where(User.username == who))
        db.add(
            Session(
                user_id=owner,
                name=f"day-{days}",
                environment="plain",
                resources=asdict(asked),
                state=JobState.ENDED,
                created_at=at,
                submitted_at=at,
                ended_at=at,
                removed_at=at if removed else None,
            )
        )
        await db.commit()


async def test_saved_changed_started_and_forgotten(job_portal: JobPortal) -> None:
    made = await save(job_portal, name=" Mein Übliches <b> ")
    assert made.status == 201
    assert made.body["name"] == "Mein Übliches <b>"
    assert made.body["resources"]["gpu_type"] == "v100"
    assert (made.body["problem"], made.body["used_at"]) == (None, None)
    where = f"/setups/{made.body['id']}"
    changed = await job_portal.ask("PATCH", where, {"name": "Bigger", "resources": {"gpus": 2}})
    assert (changed.body["name"], changed.body["resources"]["gpus"]) == ("Bigger", 2)
    assert changed.body["resources"]["cpus"] is None
    await job_portal.ask("PATCH", where, {"resources": {**ONE, "time_limit_minutes": 30}})
    started = await job_portal.ask("POST", f"{where}/start")
    assert started.status == 201
    assert started.body["environment"] == "plain"
    assert started.body["resources"]["time_limit_minutes"] == 30
    assert (await job_portal.ask("GET", "/setups")).body["items"][0]["used_at"] is not None
    assert (await job_portal.ask("DELETE", where)).status == 204
    assert (await job_portal.ask("GET", "/setups")).body["items"] == []
    assert (await job_portal.ask("DELETE", where)).status == 404
    assert (await job_portal.ask("DELETE", f"/sessions/{started.body['id']}")).status == 202


async def test_a_name_is_taken_once_for_each(job_portal: JobPortal) -> None:
    first = (await save(job_portal)).body
    again = await save(job_portal)
    assert (again.status, again.body["errors"][0]["field"]) == (409, "name")
    assert (await save(job_portal, "bob")).status == 201
    other = (await save(job_portal, name="Other")).body
    renamed = await job_portal.ask("PATCH", f"/setups/{other['id']}", {"name": "Usual"})
    assert (renamed.status, renamed.body["errors"][0]["field"]) == (409, "name")
    for setup in (first, other):
        await job_portal.ask("DELETE", f"/setups/{setup['id']}")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "  "}, "name"),
        ({"name": "a\u202eb"}, "name"),
        ({"name": "x" * 61}, "name"),
        ({"name": None}, "name"),
        ({"environment": "no-such"}, "environment"),
        ({"resources": {"gpus": -1}}, "resources.gpus"),
        ({"resources": {"nodes": 2}}, "resources.nodes"),
        ({"resources": {"cpus": "many"}}, "resources.cpus"),
        ({"resources": {"speed": 1}}, "resources.speed"),
    ],
)
async def test_what_no_session_could_ask_for(job_portal: JobPortal, body: Any, field: str) -> None:
    answer = await save(job_portal, **body)
    assert answer.status == 422, answer
    assert field in {error["field"] for error in answer.body["errors"]}


async def test_impossible_setup_is_kept_with_its_problem(
    job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = (await save(job_portal, resources={"gpus": 64, "partition": "gpu"})).body
    assert "No node of partition gpu has more than 4 GPUs" in made["problem"]
    refused = await job_portal.ask("POST", f"/setups/{made['id']}/start")
    assert refused.status == 422
    monkeypatch.setattr(job_portal.context.catalog, "environments", {})
    (gone,) = (await job_portal.ask("GET", "/setups")).body["items"]
    assert gone["problem"] == setups.ENVIRONMENT_GONE
    monkeypatch.undo()
    await job_portal.ask("DELETE", f"/setups/{made['id']}")


async def test_setup_of_another_user_is_not_found(job_portal: JobPortal) -> None:
    made = (await save(job_portal, name="Mine")).body
    where = f"/setups/{made['id']}"
    for method, path, body in (
        ("PATCH", where, {"name": "Yours"}),
        ("DELETE", where, None),
        ("POST", f"{where}/start", None),
    ):
        assert (await job_portal.ask(method, path, body, "bob")).status == 404
    assert made["id"] not in str((await job_portal.ask("GET", "/setups", who="bob")).body)
    await job_portal.ask("DELETE", where)


async def test_there_is_an_end_to_them(
    job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setups, "MAX_SETUPS", 1)
    made = (await save(job_portal, "carol")).body
    assert (await save(job_portal, "carol", name="One more")).status == 409
    assert (await job_portal.ask("DELETE", f"/setups/{made['id']}", who="carol")).status == 204


async def test_of_two_at_once_only_one_is_the_last_that_is_allowed(
    job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setups, "MAX_SETUPS", 1)
    made = await asyncio.gather(
        *(save(job_portal, "carol", name=f"Number {number}") for number in range(4))
    )
    assert sorted(answer.status for answer in made) == [201, 409, 409, 409]
    (kept,) = (await job_portal.ask("GET", "/setups", who="carol")).body["items"]
    await job_portal.ask("DELETE", f"/setups/{kept['id']}", who="carol")


async def test_the_last_ones_each_once_without_the_site_s_own_account(
    job_portal: JobPortal,
) -> None:
    settings = job_portal.context.settings
    site = {"account": settings.default_account, "qos": settings.default_qos}
    each: list[dict[str, Any]] = [{}, {"gpus": 1}, {}, {"gpus": 2}, {"account": "lab"}]
    for days, more in enumerate(each):
        await ended(job_portal, "carol", days=days, removed=days == 3, **{**site, **more})
    found = (await job_portal.ask("GET", "/setups/recent", who="carol")).body["items"]
    shown = [(one["name"], one["resources"]["gpus"], one["resources"]["account"]) for one in found]
    assert shown == [
        ("day-4", 0, "lab"), ("day-3", 2, None), ("day-2", 0, None), ("day-1", 1, None),
    ]  # fmt: skip
    assert "has no GPUs" in found[1]["problem"]
    assert found[2]["problem"] is None
    assert (await job_portal.ask("GET", "/setups/recent", who="bob")).body["items"] == []


# --- starter notebooks --------------------------------------------------------------------------


@pytest.fixture
def saves(job_portal: JobPortal, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The launcher's requests to save; it finds no conflicting files."""
    asked: list[dict[str, Any]] = []

    async def call(username: str, op: str, **fields: Any) -> dict[str, Any]:
        asked.append({"username": username, "op": op, **fields})
        return {}

    monkeypatch.setattr(job_portal.launchers, "call", call, raising=False)
    return asked


async def start(job_portal: JobPortal, starter: Any) -> Any:
    return await job_portal.ask("POST", "/sessions", {"environment": "plain", "starter": starter})


async def test_a_starter_is_laid_out_and_the_session_opens_with_it(
    job_portal: JobPortal, saves: list[dict[str, Any]]
) -> None:
    environments = (await job_portal.ask("GET", "/environments")).body["items"]
    assert {one["name"]: one["starters"] for one in environments}["plain"] == ["python3.ipynb"]
    started = await start(job_portal, "python3.ipynb")
    assert (started.status, started.body["opens"]) == (201, "lab/tree/python3.ipynb")
    (saved,) = saves
    assert (saved["username"], saved["op"]) == ("alice", "save")
    assert (saved["root"], saved["path"], saved["version"]) == (
        "/home/alice",
        "python3.ipynb",
        None,
    )
    assert b'"cells"' in base64.b64decode(saved["data_b64"])
    await job_portal.ask("DELETE", f"/sessions/{started.body['id']}")


async def test_one_that_is_there_is_opened_as_it_is(
    job_portal: JobPortal, saves: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def there(*_: Any, **__: Any) -> None:
        raise FileProblem("exists", "“python3.ipynb” already exists.", {})

    monkeypatch.setattr(job_portal.launchers, "call", there)
    started = await start(job_portal, "python3.ipynb")
    assert started.body["opens"] == "lab/tree/python3.ipynb"
    assert not saves
    await job_portal.ask("DELETE", f"/sessions/{started.body['id']}")


async def test_one_that_cannot_be_written_starts_nothing(
    job_portal: JobPortal, saves: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: Any, **__: Any) -> None:
        raise FileProblem("quota", "Your quota is used up.", {})

    monkeypatch.setattr(job_portal.launchers, "call", full)
    before = len(job_portal.launchers.submitted)
    refused = await start(job_portal, "python3.ipynb")
    (error,) = refused.body["errors"]
    assert (refused.status, error["field"]) == (422, "starter")
    assert error["message"].endswith("home directory. Your quota is used up.")
    assert len(job_portal.launchers.submitted) == before
    assert not saves


@pytest.mark.parametrize("starter", ["no-such.ipynb", "../python3.ipynb", "", "x" * 201, 7])
async def test_a_starter_that_is_none_of_the_environment_s(
    job_portal: JobPortal, saves: list[dict[str, Any]], starter: Any
) -> None:
    refused = await start(job_portal, starter)
    assert (refused.status, refused.body["errors"][0]["field"]) == (422, "starter")
    assert not saves
