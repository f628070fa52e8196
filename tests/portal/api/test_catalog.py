"""The catalog for administrators, and its reload by a running portal."""

from pathlib import Path
from typing import Any

import pytest

from tests.polling import until
from tests.portal.conftest import Browser, RunPortal

ENVIRONMENT = 'title: {}\nlanguage: python\nversion: "3.11"\nruntime: apptainer\nimage: mine.sif\n'
PATIENCE_S = 60

pytestmark = pytest.mark.anyio


async def catalog(browser: Browser) -> Any:
    answer = await browser.get("/api/v1/admin/catalog")
    assert answer.status == 200, answer
    return answer.body


async def list_offered(browser: Browser) -> dict[str, Any]:
    """Return the apps that users can choose, by name."""
    answer = await browser.get("/api/v1/apps")
    return {item["name"]: item for item in answer.body["items"]}


async def test_running_portal_loads_changes_and_reports_mistakes(
    run_portal: RunPortal, tmp_path: Path
) -> None:
    file = tmp_path / "site" / "environments" / "mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(ENVIRONMENT.format("Mine"))
    async with run_portal(catalog_dir=tmp_path / "site") as portal, portal.browser() as carol:
        await carol.login("carol")
        found = {item["name"]: item for item in (await catalog(carol))["environments"]}
        assert (found["mine"]["file"], found["mine"]["origin"]) == (str(file), "site")
        assert "mine.sif" in found["mine"]["unavailable_reason"]
        assert found["python3"]["origin"] == "shipped"
        templates = {item["name"]: item for item in (await catalog(carol))["templates"]}
        assert templates["python-training"]["origin"] == "shipped"

        file.write_text(ENVIRONMENT.format("Mine") + "gpu: maybe\n")
        shown = await until(
            lambda: catalog(carol),
            "the problem is shown",
            done=lambda answer: answer["problems"],
            pause_s=0.1,
        )
        assert f"{file}: gpu: 'maybe' is not one of" in shown["problems"][0]
        assert "mine" in {item["name"] for item in shown["environments"]}

        file.write_text(ENVIRONMENT.format("A new title"))
        shown = await until(
            lambda: catalog(carol),
            "the problem disappears",
            done=lambda answer: not answer["problems"],
            pause_s=0.1,
        )
        served = (await carol.get("/api/v1/environments")).body["items"]
        assert {item["name"]: item["title"] for item in served}["mine"] == "A new title"


async def test_apps_are_listed_with_their_availability(
    run_portal: RunPortal, tmp_path: Path
) -> None:
    file = tmp_path / "site" / "apps" / "future.yaml"
    file.parent.mkdir(parents=True)
    file.write_text('title: Future\ncommand: [serve]\nlanguage: python\nmin_version: "9.0"\n')
    program = tmp_path / "programs/vscode/bin/vscode"
    changes = {"catalog_dir": tmp_path / "site", "app_dir": tmp_path / "programs"}
    async with run_portal(**changes) as portal, portal.browser() as carol:
        await carol.login("carol")
        found = {item["name"]: item for item in (await catalog(carol))["apps"]}
        offered = await list_offered(carol)
        program.parent.mkdir(parents=True)
        program.touch()
        offered_later = await list_offered(carol)
    assert (found["future"]["file"], found["future"]["origin"]) == (str(file), "site")
    assert "No environment" in found["future"]["unavailable_reason"]
    assert "future" not in offered
    assert (offered["marimo"]["input"], offered["marimo"]["extensions"]) == ("file", [".py"])
    assert "python3" in offered["marimo"]["environments"]
    assert not found["vscode"]["available"]
    assert str(program) in found["vscode"]["unavailable_reason"]
    assert "vscode" not in offered
    assert (offered_later["vscode"]["title"], offered_later["vscode"]["input"]) == ("VS Code", None)
    own = found["own"]
    assert (own["origin"], own["available"], own["unavailable_reason"]) == ("shipped", True, None)


async def test_environment_shows_its_facts_and_why_it_is_unavailable(
    run_portal: RunPortal, tmp_path: Path
) -> None:
    folder = tmp_path / "site" / "environments"
    folder.mkdir(parents=True)
    (folder / "on_gpu.yaml").write_text(
        ENVIRONMENT.format("On GPUs")
        + 'framework: foo 2.1\ngpu: required\ncuda: "13.0"\nmin_driver: "580.65"\n'
        + 'kernel: {argv: [python3, -m, ipykernel_launcher, -f, "{connection_file}"]}\n'
    )
    common = 'title: Plain\nlanguage: python\nversion: "3.11"\n'
    (folder / "loaded.yaml").write_text(common + "runtime: modules\nmodules: [python]\n")
    (folder / "venv.yaml").write_text(common + "runtime: virtualenv\nprefix: /no/such/folder\n")
    async with run_portal(catalog_dir=tmp_path / "site") as portal, portal.browser() as alice:
        await alice.login("alice")
        items = (await alice.get("/api/v1/environments")).body["items"]
    found = {item["name"]: item for item in items}
    of_gpu = found["on_gpu"]
    listed = {
        "language": "python",
        "framework": "foo 2.1",
        "version": "3.11",
        "cuda": "13.0",
        "min_driver": "580.65",
        "gpu": "required",
        "kernel": True,
        "runtime": "apptainer",
        "available": False,
    }
    assert {field: of_gpu[field] for field in listed} == listed
    assert "mine.sif, is not there" in of_gpu["unavailable_reason"]
    assert found["loaded"]["runtime"] == "modules"
    assert not found["loaded"]["available"]
    assert "modules_init" in found["loaded"]["unavailable_reason"]
    assert found["venv"]["runtime"] == "virtualenv"
    assert "/no/such/folder, is not there" in found["venv"]["unavailable_reason"]


async def test_it_is_for_administrators(browser: Browser) -> None:
    await browser.login("alice")
    assert (await browser.get("/api/v1/admin/catalog")).status == 403
