"""Images imported from a real registry by the real Apptainer, requested through the API."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portal.health.checks.environments import check_imports
from portal.models import ImageImport
from tests import registry as registries
from tests.portal.conftest import Browser, MakeSettings, Portal, RunPortal
from tests.portal.image_imports import (
    IMAGES,
    IMPORTS,
    admin_of,
    ask,
    audit_of,
    availability,
    nothing_is_left,
    wait_for_import,
)
from tests.registry import Registry

pytest_plugins = ["tests.portal.image_fixtures"]

pytestmark = pytest.mark.anyio


@pytest.fixture
async def carol(site: Portal) -> AsyncIterator[Browser]:
    async with admin_of(site) as browser:
        yield browser


async def test_an_image_becomes_a_file_and_its_environment_can_be_used(
    site: Portal, carol: Browser, registry: Registry, imported: Path
) -> None:
    assert not await availability(carol)
    asked = await ask(carol, f"docker://{registry.host}/team/small", "small.sif")
    assert asked["reference"] == f"docker://{registry.host}/team/small:latest"
    done = await wait_for_import(carol, asked["id"], "done")
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
    await wait_for_import(carol, replaced["id"], "done")

    async with admin_of(site) as other:
        assert (await other.send("DELETE", f"{IMAGES}/small.sif")).status == 204
    assert (await carol.get(IMAGES)).body["items"] == []
    assert not await availability(carol)
    assert await audit_of(site) == [
        ("image.import", "carol", "small.sif"),
        ("image.import", "carol", "small.sif"),
        ("image.delete", "carol", "small.sif"),
    ]


async def test_refused_import_shows_the_reason(
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
        f"docker://{host}/team/arms": "no version for these machines (amd64)",
        f"docker://{host}/team/chart": "no container image",
        f"oras://{host}/team/text": "no container image",
        "docker://no-such-host.invalid/x": "The host no-such-host.invalid",
        f"docker://localhost:{registry.port}/team/small": "uses HTTP without TLS",
    }
    asked = [
        (await ask(carol, reference, f"n{number}.sif"))["id"]
        for number, reference in enumerate(expected)
    ]
    reasons = [(await wait_for_import(carol, import_id, "failed"))["reason"] for import_id in asked]
    for reason, words in zip(reasons, expected.values(), strict=True):
        assert words in reason
    assert (await carol.get(IMAGES)).body["items"] == []
    assert nothing_is_left(site, imported)


async def test_other_forms_of_images(site: Portal, carol: Browser, registry: Registry) -> None:
    """A multi-platform image, an image by digest, and an artifact that is already a SIF file."""
    registry.push_index("team/many", ["arm64", "amd64"])
    digest = registry.push("team/named", "v1")["digest"]
    many = await ask(carol, f"docker://{registry.host}/team/many", "many.sif")
    named = await ask(carol, f"docker://{registry.host}/team/named@{digest}", "named.sif")
    for asked in (many, named):
        await wait_for_import(carol, asked["id"], "done")
    folder = site.settings.image_import_dir
    assert folder is not None
    registry.push_file("team/file", (folder / "many.sif").read_bytes())
    file = await ask(carol, f"oras://{registry.host}/team/file", "file.sif")
    await wait_for_import(carol, file["id"], "done")
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
    assert (await carol.post(f"{IMPORTS}/none/cancel")).status == 404
    (imported / "theirs.sif").touch()
    assert (await carol.send("DELETE", f"{IMAGES}/theirs.sif")).status == 409
    assert (await carol.send("DELETE", f"{IMAGES}/none.sif")).status == 404


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
            reason = (await wait_for_import(browser, without["id"], "failed"))["reason"]
            assert f"Put credentials for {registry.host} into the file" in reason
            write(registry.host, "wrong-word")
            wrong = await ask(browser, reference, "a.sif")
            reason = (await wait_for_import(browser, wrong["id"], "failed"))["reason"]
            assert "are wrong, or lack permission for this image" in reason
            write(registry.host, registries.PASSWORD)
            right = await ask(browser, reference, "a.sif")
            await wait_for_import(browser, right["id"], "done")
            auth.chmod(0o640)
            opened = await ask(browser, reference, "b.sif")
            assert (
                "chmod 0600" in (await wait_for_import(browser, opened["id"], "failed"))["reason"]
            )
            answers = json.dumps((await browser.get(IMPORTS)).body)
    database = _database(tmp_path)
    output = "".join(capfd.readouterr())
    encoded = base64.b64encode(f"{registries.USER}:{registries.PASSWORD}".encode()).decode()
    for secret in (registries.PASSWORD, "wrong-word", "other-word", encoded):
        assert secret not in answers
        assert secret not in output
        assert secret.encode() not in database


def _database(folder: Path) -> bytes:
    """Return all bytes of the database on disk."""
    return b"".join(path.read_bytes() for path in folder.glob("portal.db*"))


def test_check_reports_missing_prerequisites(
    make_settings: MakeSettings, imported: Path, tmp_path: Path
) -> None:

    def problem(**changes: Any) -> str | None:
        health: Any = SimpleNamespace(settings=make_settings(**changes))
        result = check_imports(health)
        return result.problem if result else "off"

    assert problem() == "off"
    assert problem(image_import_dir=imported) is None
    for mode, words in ((0o700, "is not accessible to users"), (0o755, None)):
        imported.chmod(mode)
        found = problem(image_import_dir=imported)
        assert (words or "") in (found or "")
        assert (found is None) == (words is None)
    for name in ("image_import_dir", "apptainer_path"):
        wrong = {"image_import_dir": imported, name: tmp_path / "none"}
        assert problem(**wrong)


async def test_importing_can_be_off(browser: Browser) -> None:
    await browser.login("carol")
    shown = await browser.get(IMAGES)
    assert shown.status == 200
    assert shown.body["items"] == []
    assert "image_import_dir" in shown.body["off"]
    answer = await browser.post(IMAGES, {"reference": "docker://x", "file": "x.sif"})
    assert (answer.status, answer.body["detail"]) == (409, shown.body["off"])


async def test_the_list_of_imports_has_pages(portal: Portal) -> None:
    async with portal.context.db.session() as db:
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
