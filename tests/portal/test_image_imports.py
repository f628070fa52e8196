"""Images imported from a real registry by the real Apptainer, asked for through the API."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from portal import check
from portal.db import utcnow
from portal.models import AuditEvent, ImageImport, ImportState, JobState, Session, User, Wanted
from portal.services.catalog import importing
from tests import registry as registries
from tests.portal.conftest import Browser, MakeSettings, Portal, RunPortal
from tests.registry import Registry, Relay

pytestmark = pytest.mark.anyio

IMAGES = "/api/v1/admin/catalog/images"
IMPORTS = f"{IMAGES}/imports"
PATIENCE_S = 120
BALLAST_BYTES = 2_000_000
ENVIRONMENT = """
title: Small
language: python
version: "3.11"
runtime: apptainer
image: small.sif
"""


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with registries.running(tmp_path_factory.mktemp("registry")) as running:
        running.push("team/small")
        yield running


@pytest.fixture
def relay(registry: Registry) -> Iterator[Relay]:
    with Relay(registry.port) as relay:
        yield relay


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    folder = tmp_path / "imported"
    folder.mkdir()
    return folder


@asynccontextmanager
async def admin_of(portal: Portal, name: str = "carol") -> AsyncIterator[Browser]:
    async with portal.browser() as browser:
        assert (await browser.login(name)).status == 200
        yield browser


@pytest.fixture
async def site(
    run_portal: RunPortal, registry: Registry, relay: Relay, imported: Path, tmp_path: Path
) -> AsyncIterator[Portal]:
    """A portal that may import, whose own catalog waits for small.sif."""
    environments = tmp_path / "catalog" / "environments"
    environments.mkdir(parents=True)
    (environments / "small.yaml").write_text(ENVIRONMENT)
    async with run_portal(
        image_import_dir=imported,
        catalog_dir=tmp_path / "catalog",
        image_import_plain_registries=[registry.host, relay.host],
    ) as portal:
        yield portal


@pytest.fixture
async def carol(site: Portal) -> AsyncIterator[Browser]:
    async with admin_of(site) as browser:
        yield browser


async def ask(browser: Browser, reference: str, file: str, **more: Any) -> Any:
    answer = await browser.post(IMAGES, {"reference": reference, "file": file, **more})
    assert answer.status == 202, answer
    return answer.body


async def until(browser: Browser, import_id: str, *states: str) -> Any:
    """The import once it is in one of these states."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = (await browser.get(f"{IMPORTS}/{import_id}")).body
            if found["state"] in states:
                return found
            assert found["state"] in {"queued", "running"}, found
            await asyncio.sleep(0.05)


async def fetching(browser: Browser, import_id: str) -> Any:
    """The import once some of it has come."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = await until(browser, import_id, "queued", "running")
            if found["bytes_done"]:
                return found
            await asyncio.sleep(0.05)


def processes_of(place: Path) -> list[str]:
    """The command lines that name this folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(place).encode() in words:
                found.append(words.replace(b"\0", b" ").decode(errors="replace"))
    return found


def nothing_is_left(site: Portal, imported: Path) -> bool:
    """No half-made file, no folder of work, no process."""
    work = site.settings.state_dir / "imports"
    hidden = [path for path in imported.iterdir() if path.name.startswith(".")]
    folders = [path for path in work.iterdir() if path.is_dir()]
    return not hidden and not folders and not processes_of(imported)


async def audit_of(site: Portal) -> list[tuple[str, str, str]]:
    from sqlalchemy import select

    async with site.app.state.db.session() as db:
        rows = await db.scalars(select(AuditEvent).order_by(AuditEvent.id))
        found = [(row.action, row.actor, row.target) for row in rows]
    return [row for row in found if row[0].startswith("image.")]


async def availability(browser: Browser) -> bool:
    items = (await browser.get("/api/v1/environments")).body["items"]
    return bool(next(item for item in items if item["name"] == "small")["available"])


async def test_an_image_becomes_a_file_and_its_environment_can_be_used(
    site: Portal, carol: Browser, registry: Registry, imported: Path
) -> None:
    assert not await availability(carol)
    asked = await ask(carol, f"docker://{registry.host}/team/small", "small.sif")
    assert asked["reference"] == f"docker://{registry.host}/team/small:latest"
    done = await until(carol, asked["id"], "done")
    (shown,) = (await carol.get(IMAGES)).body["items"]
    content = (imported / "small.sif").read_bytes()
    assert done["sha256"] == shown["sha256"] == hashlib.sha256(content).hexdigest()
    assert done["size_bytes"] == shown["size_bytes"] == len(content)
    assert (imported / "small.sif").stat().st_mode & 0o777 == 0o644
    assert (shown["environments"], shown["imported_by"]) == (["small"], "carol")
    assert await availability(carol)
    assert nothing_is_left(site, imported)

    again = await carol.post(IMAGES, {"reference": asked["reference"], "file": "small.sif"})
    assert (again.status, again.body["errors"][0]["field"]) == (409, "file")
    replaced = await ask(carol, asked["reference"], "small.sif", replace=True)
    await until(carol, replaced["id"], "done")

    async with admin_of(site) as other:
        assert (await other.send("DELETE", f"{IMAGES}/small.sif")).status == 204
    assert (await carol.get(IMAGES)).body["items"] == []
    assert not await availability(carol)
    assert await audit_of(site) == [
        ("image.import", "carol", "small.sif"),
        ("image.import", "carol", "small.sif"),
        ("image.delete", "carol", "small.sif"),
    ]


async def test_what_can_t_be_imported_says_why(
    site: Portal, carol: Browser, registry: Registry, imported: Path
) -> None:
    registry.push("team/arm", architecture="arm64")
    registry.push_index("team/arms", ["arm64", "ppc64le"])
    registry.push_chart("team/chart")
    registry.push_file("team/text", b"no image" * 100)
    host = registry.host
    expected = {
        f"docker://{host}/team/small:never": "no such image or tag",
        f"docker://{host}/team/nothing": "no such image or tag",
        f"docker://{host}/team/arm": "made for arm64 machines; these are amd64",
        f"docker://{host}/team/arms": "no form of this image for these machines (amd64)",
        f"docker://{host}/team/chart": "no container image",
        f"oras://{host}/team/text": "no container image",
        "docker://no-such-host.invalid/x": "There is no host no-such-host.invalid",
        f"docker://localhost:{registry.port}/team/small": "speaks plain HTTP",
    }
    asked = [
        (await ask(carol, reference, f"n{number}.sif"))["id"]
        for number, reference in enumerate(expected)
    ]
    reasons = [(await until(carol, import_id, "failed"))["reason"] for import_id in asked]
    for reason, words in zip(reasons, expected.values(), strict=True):
        assert words in reason
    assert (await carol.get(IMAGES)).body["items"] == []
    assert nothing_is_left(site, imported)


async def test_other_forms_of_images(site: Portal, carol: Browser, registry: Registry) -> None:
    """For several machines under one name, by digest, and a file that is an image already."""
    registry.push_index("team/many", ["arm64", "amd64"])
    digest = registry.push("team/named", "v1")["digest"]
    many = await ask(carol, f"docker://{registry.host}/team/many", "many.sif")
    named = await ask(carol, f"docker://{registry.host}/team/named@{digest}", "named.sif")
    for asked in (many, named):
        await until(carol, asked["id"], "done")
    folder = site.settings.image_import_dir
    assert folder is not None
    registry.push_file("team/file", (folder / "many.sif").read_bytes())
    file = await ask(carol, f"oras://{registry.host}/team/file", "file.sif")
    await until(carol, file["id"], "done")
    assert (folder / "file.sif").read_bytes() == (folder / "many.sif").read_bytes()


async def test_what_is_asked_for_is_checked_first(
    site: Portal, carol: Browser, registry: Registry, imported: Path
) -> None:
    wrong = await carol.post(IMAGES, {"reference": "library://a/b", "file": "../x.sif"})
    assert wrong.status == 422
    assert [error["field"] for error in wrong.body["errors"]] == ["reference", "file"]
    secret = {"reference": "docker://me:hidden-word@example.org/x", "file": "x.sif"}
    refused = await carol.post(IMAGES, secret)
    assert refused.status == 422
    assert "image_import_auth_file" in refused.body["detail"]
    assert "hidden-word" not in json.dumps(refused.body)
    site.settings.image_dir.mkdir()
    (site.settings.image_dir / "own.sif").touch()
    reference = f"docker://{registry.host}/team/small"
    shadowed = await carol.post(IMAGES, {"reference": reference, "file": "own.sif"})
    assert (shadowed.status, shadowed.body["errors"][0]["field"]) == (422, "file")
    assert (await carol.get(IMPORTS)).body["items"] == []
    assert (await carol.get(f"{IMPORTS}/none")).status == 404
    (imported / "theirs.sif").touch()
    assert (await carol.send("DELETE", f"{IMAGES}/theirs.sif")).status == 409
    assert (await carol.send("DELETE", f"{IMAGES}/none.sif")).status == 404


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
    assert (await carol.get(IMAGES)).body["items"] == []  # half a file isn't shown
    answer = await carol.post(f"{IMPORTS}/{asked['id']}/cancel")
    assert answer.status == 202
    assert (await until(carol, asked["id"], "cancelled"))["reason"] is None
    assert (await carol.post(f"{IMPORTS}/{asked['id']}/cancel")).status == 409
    async with asyncio.timeout(PATIENCE_S):
        while not nothing_is_left(site, imported):
            await asyncio.sleep(0.05)


async def test_only_some_run_at_once_and_waiting_ones_can_be_cancelled(
    carol: Browser, registry: Registry, relay: Relay
) -> None:
    registry.push("team/large", ballast_bytes=BALLAST_BYTES)
    relay.hold_after(BALLAST_BYTES // 2)
    reference = f"docker://{relay.host}/team/large"
    asked = [(await ask(carol, reference, f"l{number}.sif"))["id"] for number in range(3)]
    for import_id in asked[:2]:
        await until(carol, import_id, "running")
    assert (await carol.get(f"{IMPORTS}/{asked[2]}")).body["state"] == "queued"
    assert (await carol.post(f"{IMPORTS}/{asked[2]}/cancel")).body["state"] == "cancelled"
    relay.release()
    for import_id in asked[:2]:
        await until(carol, import_id, "done")
    shown = (await carol.get(IMPORTS)).body["items"]
    assert [row["state"] for row in shown] == ["cancelled", "done", "done"]


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
        await until(browser, asked["id"], "done")
        assert nothing_is_left(portal, imported)


async def test_what_a_killed_portal_left_is_settled_at_the_next_start(
    run_portal: RunPortal, imported: Path
) -> None:
    """Killed after the file was put in its place, and after a cancellation was asked for."""
    begun = {"state": ImportState.RUNNING, "reference": "docker://x", "requested_by": "carol"}
    async with run_portal() as portal, portal.app.state.db.session() as db:  # it imports nothing
        whole = ImageImport(
            **begun, file="whole.sif", started_at=utcnow(), size_bytes=5, sha256="0" * 64
        )
        unwanted = ImageImport(**begun, file="unwanted.sif", wanted=Wanted.STOP)
        db.add_all([whole, unwanted])
        await db.commit()
    (imported / "whole.sif").write_text("whole")
    (imported / ".import-of-old.sif").touch()
    async with run_portal(image_import_dir=imported) as portal, admin_of(portal) as browser:
        await until(browser, whole.id, "done")
        await until(browser, unwanted.id, "cancelled")
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
    settle, refused = importing.Importer._settle, list[str]()

    def full(folder: Path) -> None:
        raise OSError(f"{folder} can't be removed")

    async def once_refused(self: importing.Importer, import_id: str, apply: Any) -> Any:
        if apply is importing._done and import_id not in refused:
            refused.append(import_id)
            raise OperationalError("COMMIT", {}, Exception("disk full"))
        return await settle(self, import_id, apply)

    monkeypatch.setattr(importing, "_remove_folder", full)
    monkeypatch.setattr(importing, "ROUND_S", 0.2)
    monkeypatch.setattr(importing.Importer, "_settle", once_refused)
    asked = await ask(carol, f"docker://{registry.host}/team/small", "small.sif")
    await until(carol, asked["id"], "done")
    assert refused == [asked["id"]]
    assert (imported / "small.sif").exists()


async def test_one_that_says_it_runs_and_does_not_can_be_cancelled(
    site: Portal, carol: Browser
) -> None:
    async with site.app.state.db.session() as db:
        row = ImageImport(
            reference="docker://x", file="x.sif", requested_by="carol", state=ImportState.RUNNING
        )
        db.add(row)
        await db.commit()
    assert (await carol.post(f"{IMPORTS}/{row.id}/cancel")).status == 202
    assert (await until(carol, row.id, "cancelled"))["reason"] is None


async def test_an_image_in_use_stays(
    site: Portal, carol: Browser, registry: Registry, imported: Path
) -> None:
    reference = f"docker://{registry.host}/team/small"
    await until(carol, (await ask(carol, reference, "small.sif"))["id"], "done")
    async with site.app.state.db.session() as db:
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


async def test_credentials_are_used_and_never_shown(
    run_portal: RunPortal,
    imported: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    auth = tmp_path / "auth.json"

    def write(host: str, password: str) -> None:
        known = base64.b64encode(f"{registries.USER}:{password}".encode()).decode()
        auth.touch(0o600)
        auth.write_text(json.dumps({"auths": {host: {"auth": known}}}))

    folder = tmp_path / "registry"
    folder.mkdir()
    with registries.running(folder, private=True) as registry:
        registry.push("team/secret")
        reference = f"docker://{registry.host}/team/secret"
        write("elsewhere.example.org", "other-word")
        async with (
            run_portal(
                image_import_dir=imported,
                image_import_plain_registries=[registry.host],
                image_import_auth_file=auth,
            ) as portal,
            admin_of(portal) as browser,
        ):
            without = await ask(browser, reference, "a.sif")
            reason = (await until(browser, without["id"], "failed"))["reason"]
            assert f"Put credentials for {registry.host} into the file" in reason
            write(registry.host, "wrong-word")
            wrong = await ask(browser, reference, "a.sif")
            reason = (await until(browser, wrong["id"], "failed"))["reason"]
            assert "are wrong, or don't reach so far" in reason
            write(registry.host, registries.PASSWORD)
            right = await ask(browser, reference, "a.sif")
            await until(browser, right["id"], "done")
            auth.chmod(0o640)
            opened = await ask(browser, reference, "b.sif")
            assert "chmod 0600" in (await until(browser, opened["id"], "failed"))["reason"]
            answers = json.dumps((await browser.get(IMPORTS)).body)
    database = _database(tmp_path)
    said = "".join(capfd.readouterr())
    encoded = base64.b64encode(f"{registries.USER}:{registries.PASSWORD}".encode()).decode()
    for secret in (registries.PASSWORD, "wrong-word", "other-word", encoded):
        assert secret not in answers
        assert secret not in said
        assert secret.encode() not in database


def _database(folder: Path) -> bytes:
    """All that is on the disk of it."""
    return b"".join(path.read_bytes() for path in folder.glob("portal.db*"))


def test_what_is_missing_is_told_beforehand(
    make_settings: MakeSettings, imported: Path, tmp_path: Path
) -> None:
    assert check.imports(make_settings()) == check.Finding("image imports (off)")
    assert check.imports(make_settings(image_import_dir=imported)).problem is None
    for mode, problem in ((0o700, "is closed to users"), (0o755, None)):
        imported.chmod(mode)
        found = check.imports(make_settings(image_import_dir=imported))
        assert (problem or "") in (found.problem or "")
        assert (found.problem is None) == (problem is None)
    for name in ("image_import_dir", "apptainer_path"):
        wrong = {"image_import_dir": imported, name: tmp_path / "none"}
        assert check.imports(make_settings(**wrong)).problem


async def test_importing_can_be_off(browser: Browser) -> None:
    await browser.login("carol")
    shown = await browser.get(IMAGES)
    assert shown.status == 200
    assert shown.body["items"] == []
    assert "image_import_dir" in shown.body["off"]
    answer = await browser.post(IMAGES, {"reference": "docker://x", "file": "x.sif"})
    assert (answer.status, answer.body["detail"]) == (409, shown.body["off"])


async def test_the_list_of_imports_has_pages(portal: Portal) -> None:
    async with portal.app.state.db.session() as db:
        for number in range(60):
            db.add(ImageImport(reference="docker://x", file=f"{number}.sif", requested_by="carol"))
        await db.commit()
    async with admin_of(portal) as browser:
        first = (await browser.get(IMPORTS)).body
        rest = (
            await browser.get(f"{IMPORTS}?cursor={first['next_cursor']}".replace("+", "%2B"))
        ).body
    assert len(first["items"]) == 50
    assert len({row["id"] for row in first["items"] + rest["items"]}) == 60
    assert rest["next_cursor"] is None
