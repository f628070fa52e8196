"""Imports that do not succeed: cancelled, killed with the portal, never started."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from portal.db import utcnow
from portal.models import ImageImport, ImportState, JobState, Session, User, Wanted
from portal.services.catalog import image_importer
from tests.polling import until
from tests.portal.conftest import Browser, Portal, RunPortal
from tests.portal.image_imports import (
    BALLAST_BYTES,
    IMAGES,
    IMPORTS,
    admin_of,
    ask,
    fetching,
    find_import,
    nothing_is_left,
    processes_of,
    wait_for_import,
)
from tests.registry import Registry, Relay

pytest_plugins = ["tests.portal.image_fixtures"]

pytestmark = pytest.mark.anyio


@pytest.fixture
async def carol(site: Portal) -> AsyncIterator[Browser]:
    async with admin_of(site) as browser:
        yield browser


async def test_a_cancelled_import_leaves_nothing(
    site: Portal, carol: Browser, registry: Registry, relay: Relay, imported: Path
) -> None:
    registry.push("team/large", ballast_bytes=BALLAST_BYTES)
    relay.hold_after(BALLAST_BYTES // 2)
    asked = await ask(carol, f"docker://{relay.host}/team/large", "large.sif")
    twice = {"reference": asked["reference"], "file": "large.sif"}
    assert (await carol.post(IMAGES, twice)).status == 409
    shown = await fetching(carol, asked["id"])
    assert (shown["phase"], shown["bytes_total"]) == ("fetching", None)
    assert processes_of(imported)
    assert (await carol.get(IMAGES)).body["items"] == []  # a partial file is not listed
    answer = await carol.post(f"{IMPORTS}/{asked['id']}/cancel")
    assert answer.status == 202
    assert (await wait_for_import(carol, asked["id"], "cancelled"))["reason"] is None
    assert (await carol.post(f"{IMPORTS}/{asked['id']}/cancel")).status == 409
    await until(lambda: nothing_is_left(site, imported), "nothing is left")


async def test_only_some_run_at_once_and_waiting_ones_can_be_cancelled(
    carol: Browser, registry: Registry, relay: Relay
) -> None:
    registry.push("team/large", ballast_bytes=BALLAST_BYTES)
    relay.hold_after(BALLAST_BYTES // 2)
    reference = f"docker://{relay.host}/team/large"
    asked = [(await ask(carol, reference, f"l{number}.sif"))["id"] for number in range(3)]
    for import_id in asked[:2]:
        await wait_for_import(carol, import_id, "running")
    assert (await find_import(carol, asked[2]))["state"] == "queued"
    assert (await carol.post(f"{IMPORTS}/{asked[2]}/cancel")).body["state"] == "cancelled"
    relay.release()
    for import_id in asked[:2]:
        await wait_for_import(carol, import_id, "done")
    shown = (await carol.get(IMPORTS)).body["items"]
    assert [row["state"] for row in shown] == ["cancelled", "done", "done"]


async def test_an_import_that_takes_too_long_is_ended(
    run_portal: RunPortal, registry: Registry, relay: Relay, imported: Path
) -> None:
    registry.push("team/large", ballast_bytes=BALLAST_BYTES)
    relay.hold_after(BALLAST_BYTES // 2)
    settings = {
        "image_import_dir": imported,
        "image_import_plain_registries": [relay.host],
        "image_import_hours": 0.001,
    }
    async with run_portal(**settings) as portal, admin_of(portal) as browser:
        asked = await ask(browser, f"docker://{relay.host}/team/large", "large.sif")
        row = await wait_for_import(browser, asked["id"], "failed")
        assert row["reason"] == (
            "It took longer than 0.001 hours (image_import_hours) and was ended."
        )
        assert processes_of(imported) == []
        assert nothing_is_left(portal, imported)


async def test_an_import_goes_on_after_the_portal_s_end(
    run_portal: RunPortal, registry: Registry, relay: Relay, imported: Path
) -> None:
    registry.push("team/large", ballast_bytes=BALLAST_BYTES)
    relay.hold_after(BALLAST_BYTES // 2)
    settings = {"image_import_dir": imported, "image_import_plain_registries": [relay.host]}
    async with run_portal(**settings) as portal, admin_of(portal) as browser:
        asked = await ask(browser, f"docker://{relay.host}/team/large", "large.sif")
        await fetching(browser, asked["id"])
    assert processes_of(imported) == []
    relay.release()
    async with run_portal(**settings) as portal, admin_of(portal) as browser:
        await wait_for_import(browser, asked["id"], "done")
        assert nothing_is_left(portal, imported)


async def test_what_a_killed_portal_left_is_settled_at_the_next_start(
    run_portal: RunPortal, imported: Path
) -> None:
    """Killed after the file was moved into place, and after a cancellation was requested."""
    begun = {"state": ImportState.RUNNING, "reference": "docker://x", "requested_by": "carol"}
    # this portal imports nothing
    async with run_portal() as portal, portal.context.db.session() as db:
        whole = ImageImport(
            **begun, file="whole.sif", started_at=utcnow(), size_bytes=5, sha256="0" * 64
        )
        unwanted = ImageImport(**begun, file="unwanted.sif", wanted=Wanted.STOP)
        db.add_all([whole, unwanted])
        await db.commit()
    (imported / "whole.sif").write_text("whole")
    (imported / ".import-of-old.sif").touch()
    async with run_portal(image_import_dir=imported) as portal, admin_of(portal) as browser:
        await wait_for_import(browser, whole.id, "done")
        await wait_for_import(browser, unwanted.id, "cancelled")
        assert [image["file"] for image in (await browser.get(IMAGES)).body["items"]] == [
            "whole.sif"
        ]
        assert nothing_is_left(portal, imported)


async def test_what_can_not_be_removed_or_written_down_does_not_stay_under_way(
    site: Portal,
    carol: Browser,
    registry: Registry,
    imported: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settle, refused = image_importer.ImageImporter._update_row, list[str]()

    def full(folder: Path) -> None:
        raise OSError(f"{folder} can't be removed")

    async def once_refused(self: image_importer.ImageImporter, import_id: str, apply: Any) -> Any:
        if apply is image_importer._set_done and import_id not in refused:
            refused.append(import_id)
            raise OperationalError("COMMIT", {}, Exception("disk full"))
        return await settle(self, import_id, apply)

    monkeypatch.setattr(image_importer, "_remove_folder", full)
    monkeypatch.setattr(image_importer, "ROUND_S", 0.2)
    monkeypatch.setattr(image_importer.ImageImporter, "_update_row", once_refused)
    asked = await ask(carol, f"docker://{registry.host}/team/small", "small.sif")
    await wait_for_import(carol, asked["id"], "done")
    assert refused == [asked["id"]]
    assert (imported / "small.sif").exists()


async def test_import_marked_running_without_process_can_be_cancelled(
    site: Portal, carol: Browser
) -> None:
    async with site.context.db.session() as db:
        row = ImageImport(
            reference="docker://127.0.0.1:1/x",
            file="x.sif",
            requested_by="carol",
            state=ImportState.RUNNING,
        )
        db.add(row)
        await db.commit()
    assert (await carol.post(f"{IMPORTS}/{row.id}/cancel")).status == 202
    assert (await wait_for_import(carol, row.id, "cancelled"))["reason"] is None


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Wanted.RUN, (ImportState.FAILED, "No host.")),
        (Wanted.STOP, (ImportState.CANCELLED, None)),
    ],
)
def test_import_that_failed_before_its_cancellation_counts_as_cancelled(
    wanted: Wanted, expected: tuple[ImportState, str | None]
) -> None:
    row = ImageImport(wanted=wanted, state=ImportState.RUNNING)
    image_importer._set_failed("No host.")(row)
    assert (row.state, row.reason) == expected


async def test_an_image_in_use_stays(
    site: Portal, carol: Browser, registry: Registry, imported: Path
) -> None:
    reference = f"docker://{registry.host}/team/small"
    await wait_for_import(carol, (await ask(carol, reference, "small.sif"))["id"], "done")
    async with site.context.db.session() as db:
        user = User(username="alice")
        db.add(user)
        await db.flush()
        session = Session(
            user_id=user.id, name="s", environment="small", state=JobState.RUNNING, logdir="/"
        )
        db.add(session)
        await db.commit()
    refused = await carol.send("DELETE", f"{IMAGES}/small.sif")
    assert (refused.status, refused.slug) == (409, "conflict")
    assert refused.body["detail"].startswith("1 session would lose this image")
    replace = {"reference": reference, "file": "small.sif", "replace": True}
    assert (await carol.post(IMAGES, replace)).status == 409
    assert (imported / "small.sif").exists()
