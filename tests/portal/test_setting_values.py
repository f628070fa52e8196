"""Settings whose defaults the other tests use, each with another value."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import update

from portal.api.cluster_nodes import to_viewer
from portal.db import Database, utcnow
from portal.models import LoginFailure, Role, WebSession
from portal.services.limits import gpu_hours
from portal.services.limits.all_limits import get_account
from tests.portal.authenticator import HERE
from tests.portal.conftest import MakeSettings, Portal, RunPortal
from tests.servers import databases

pytestmark = pytest.mark.anyio


async def set_back(portal: Portal, table: Any, column: str, **ago: float) -> None:
    async with portal.context.db.session() as db:
        await db.execute(update(table).values({column: utcnow() - timedelta(**ago)}))
        await db.commit()


async def test_a_login_lasts_as_long_as_the_settings_say(run_portal: RunPortal) -> None:
    lasts = {"web_session_hours": 3, "web_session_idle_hours": 1, "reauth_minutes": 30}
    async with run_portal(**lasts) as portal, portal.browser() as browser:
        answer = await browser.login("alice")
        assert "Max-Age=10800" in answer.headers["Set-Cookie"]
        await set_back(portal, WebSession, "created_at", hours=2)  # confirmed since then
        await set_back(portal, WebSession, "password_at", minutes=29)
        assert (await browser.get("/api/v1/me")).body["password_fresh"] is True
        await set_back(portal, WebSession, "password_at", minutes=31)
        assert (await browser.get("/api/v1/me")).body["password_fresh"] is False
        await set_back(portal, WebSession, "last_seen_at", minutes=58)
        assert (await browser.get("/api/v1/me")).status == 200
        await set_back(portal, WebSession, "last_seen_at", minutes=61)
        assert (await browser.get("/api/v1/me")).status == 401


async def test_failed_logins_count_in_the_window_of_the_setting(run_portal: RunPortal) -> None:
    window = {"login_attempts": 2, "login_window_minutes": 60}
    async with run_portal(**window) as portal, portal.browser() as browser:
        for _ in range(2):
            assert (await browser.login("bob", "wrong")).status == 401
        await set_back(portal, LoginFailure, "at", minutes=58)
        assert (await browser.login("bob")).status == 429
        await set_back(portal, LoginFailure, "at", minutes=61)
        assert (await browser.login("bob")).status == 200


async def test_the_second_factors_key_is_in_the_file_of_the_setting(
    run_portal: RunPortal, tmp_path: Path
) -> None:
    key = tmp_path / "elsewhere.key"
    async with run_portal(second_factor_key_file=key) as portal, portal.browser() as browser:
        await browser.login("alice")
        await browser.confirm()
        assert (await browser.post(f"{HERE}/enrolment")).status == 201
    assert key.stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "second-factor.key").exists()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({}, "physics"),
        ({"physics": "phys"}, "phys"),
        ({"biology": "bio"}, "physics"),
        ({"*": "lab_{group}"}, "lab_physics"),
        ({"*": "everyone", "physics": "phys"}, "phys"),
    ],
)
def test_a_groups_account_follows_the_setting(
    make_settings: MakeSettings, names: dict[str, str], expected: str
) -> None:
    assert get_account(make_settings(slurm_account_of_group=names), "physics") == expected


@pytest.mark.parametrize("months", [1, 3])
async def test_usage_is_read_for_the_months_of_the_setting(tmp_path: Path, months: int) -> None:
    db = Database(databases.database_of(tmp_path))
    await db.migrate()
    context: Any = SimpleNamespace(
        db=db,
        settings=SimpleNamespace(usage_months=months),
        accounting=SimpleNamespace(days_at_once=31),
    )
    spans = await gpu_hours.list_due_spans(context, datetime(2026, 11, 20, 12, tzinfo=UTC))
    await db.close()
    oldest = min(first for first, _ in spans)
    assert (oldest.month, oldest.day) == (11 - (months - 1), 1)


@pytest.mark.parametrize("role", list(Role))
def test_nodes_addresses_are_for_the_roles_of_the_setting(
    make_settings: MakeSettings, role: Role
) -> None:
    who: Any = SimpleNamespace(user=SimpleNamespace(username="x", role=role), token=None)
    for roles in ([], [Role.USER], [Role.ADMIN, Role.USER]):
        viewer = to_viewer(who, make_settings(node_addresses_for=roles))
        assert viewer.sees_addresses is (role in roles)
