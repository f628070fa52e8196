"""The catalog while in use: changed files are reloaded, and mistakes are reported and harmless."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from portal.services.catalog.live_catalog import LiveCatalog
from spawner.catalog.environment import (
    CatalogError,
    CatalogFolders,
    Environment,
    availability,
    load_environment,
)

ENVIRONMENT = """\
title: {title}
language: python
version: "3.11"
runtime: apptainer
image: mine.sif
"""
TEMPLATE = """\
title: Mine
description: For a test.
environment: {environment}
programs: [mine.py]
script: |
  in_env python3 "$PORTAL_JOB_DIR/mine.py"
"""

pytestmark = pytest.mark.anyio
OpenShelf = Callable[[], LiveCatalog]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    for name in ("environments", "templates", "jobs"):
        (site / name).mkdir(parents=True)
    (site / "environments" / "mine.yaml").write_text(ENVIRONMENT.format(title="Mine"))
    (site / "templates" / "mine.yaml").write_text(TEMPLATE.format(environment="mine"))
    (site / "jobs" / "mine.py").write_text("print(1)\n")
    return site


@pytest.fixture
def open_shelf(site: Path, tmp_path: Path) -> OpenShelf:
    shipped, images = tmp_path / "shipped", tmp_path / "images"
    (shipped / "environments").mkdir(parents=True)
    (shipped / "environments" / "plain.yaml").write_text(ENVIRONMENT.format(title="Plain"))
    images.mkdir()
    (tmp_path / "imported").mkdir()

    def load() -> LiveCatalog:
        catalog = LiveCatalog(
            CatalogFolders((images, tmp_path / "imported"), site_dir=site, shipped=shipped)
        )
        catalog.load()
        return catalog

    return load


async def test_everything_is_there_with_its_file(site: Path, open_shelf: OpenShelf) -> None:
    shelf = open_shelf()
    assert list(shelf.environments) == ["mine", "plain"]
    assert list(shelf.templates) == ["mine"]
    assert shelf.problems == ()
    files = {name: item.file for name, item in shelf.snapshot.environments.items()}
    assert files["mine"] == site / "environments" / "mine.yaml"
    assert [shelf.is_of_site(file) for file in files.values()] == [True, False]


async def test_what_has_not_changed_is_not_read_again(open_shelf: OpenShelf) -> None:
    shelf = open_shelf()
    before = shelf.environments["mine"], shelf.templates["mine"]
    await shelf.refresh()
    assert shelf.environments["mine"] is before[0]
    assert shelf.templates["mine"] is before[1]


async def test_a_changed_a_new_and_a_removed_file_are_seen(
    site: Path, open_shelf: OpenShelf
) -> None:
    shelf = open_shelf()
    folder = site / "environments"
    (folder / "mine.yaml").write_text(ENVIRONMENT.format(title="Another title"))
    (folder / "new.yaml").write_text(ENVIRONMENT.format(title="New"))
    await shelf.refresh()
    titles = {name: found.title for name, found in shelf.environments.items()}
    assert titles == {"mine": "Another title", "new": "New", "plain": "Plain"}
    (folder / "new.yaml").unlink()
    await shelf.refresh()
    assert list(shelf.environments) == ["mine", "plain"]


async def test_apps_are_read_and_name_known_environments(site: Path, open_shelf: OpenShelf) -> None:
    (site / "apps").mkdir()
    file = site / "apps/demo.yaml"
    file.write_text("title: Demo\ncommand: [serve]\nenvironments: [mine, other]\n")
    shelf = open_shelf()
    assert shelf.apps["demo"].title == "Demo"
    assert shelf.problems == (
        f"{file}: environments: there is no environment other in this catalog",
    )
    file.write_text("title: Changed\ncommand: serve\n")
    await shelf.refresh()
    assert shelf.apps["demo"].title == "Demo"
    assert shelf.problems[0] == f"{file}: command: 'serve' is not of type 'array'"
    file.unlink()
    await shelf.refresh()
    assert not shelf.apps
    assert not shelf.problems


async def test_a_site_file_replaces_a_shipped_one_until_it_goes(
    site: Path, open_shelf: OpenShelf
) -> None:
    shelf = open_shelf()
    file = site / "environments" / "plain.yaml"
    file.write_text(ENVIRONMENT.format(title="Ours"))
    await shelf.refresh()
    assert shelf.environments["plain"].title == "Ours"
    file.unlink()
    await shelf.refresh()
    assert shelf.environments["plain"].title == "Plain"


async def test_mistake_is_reported_and_last_good_state_kept(
    site: Path, open_shelf: OpenShelf
) -> None:
    shelf = open_shelf()
    file = site / "environments" / "mine.yaml"
    file.write_text(ENVIRONMENT.format(title="Mine, again") + "gpu: maybe\n")
    other = site / "environments" / "other.yaml"
    other.write_text(ENVIRONMENT.format(title="Other"))
    await shelf.refresh()
    assert shelf.environments["mine"].title == "Mine"
    assert shelf.environments["other"].title == "Other"
    (problem,) = shelf.problems
    assert problem.startswith(f"{file}: gpu: 'maybe' is not one of ")
    await shelf.refresh()
    (again,) = shelf.problems
    assert again == problem
    file.write_text(ENVIRONMENT.format(title="Mine, again"))
    await shelf.refresh()
    assert shelf.environments["mine"].title == "Mine, again"
    assert shelf.problems == ()


async def test_invalid_new_file_is_reported_and_not_offered(
    site: Path, open_shelf: OpenShelf
) -> None:
    file = site / "templates" / "mine.yaml"
    file.write_text(TEMPLATE.format(environment="mine") + "extra: 1\n")
    shelf = open_shelf()
    assert list(shelf.templates) == []
    assert [problem.partition(": ")[0] for problem in shelf.problems] == [str(file)]


MISTAKES = {
    "a script with Jinja2": ("templates", TEMPLATE + "  echo {{{{ home }}}}\n"),
    "no such day": ("environments", "version: 2024-13-45\n"),
    "no whole number": ("environments", "cuda: !!int foo\n"),
    "no number": ("environments", "cuda: !!float x\n"),
    "a very long number": ("environments", "cuda: " + "9" * 5000 + "\n"),
    "a very long number in another base": ("environments", "cuda: 0x" + "f" * 5000 + "\n"),
    "neither yes nor no": ("environments", "cuda: !!bool x\n"),
    "no time": ("environments", "cuda: !!timestamp foo\n"),
    "no text": ("environments", "cuda: !!binary é\n"),
    "lists in lists": ("environments", "packages: " + "[" * 100_000 + "\n"),
    "a long name": ("environments", "image: " + "x" * 300 + "\n"),
    "a name with many bytes": ("environments", "image: " + "é" * 190 + "\n"),
    "a NUL": ("environments", 'image: "a\\0b"\n'),
    "a NUL in a prefix": ("environments", 'prefix: "/a\\0b"\n'),
}


@pytest.mark.parametrize(("kind", "text"), MISTAKES.values(), ids=MISTAKES)
async def test_no_mistake_stops_the_start_or_a_reload(
    site: Path, open_shelf: OpenShelf, kind: str, text: str
) -> None:
    file = site / kind / "other.yaml"
    sound = (ENVIRONMENT if kind == "environments" else TEMPLATE).format(
        title="Other", environment="mine"
    )
    field = text.partition(":")[0]
    kept = [line for line in sound.splitlines() if not line.startswith(f"{field}:")]
    wrong = text.format(environment="mine") if kind == "templates" else "\n".join([*kept, text])
    file.write_text(sound)
    shelf = open_shelf()
    assert shelf.problems == ()
    file.write_text(wrong)
    (site / "environments" / "new.yaml").write_text(ENVIRONMENT.format(title="New"))
    await shelf.refresh()
    assert "new" in shelf.environments
    assert "other" in (*shelf.environments, *shelf.templates)
    started = open_shelf()
    assert "mine" in started.environments
    assert "other" not in (*started.environments, *started.templates)
    for problems in (shelf.problems, started.problems):
        assert problems
        assert all(problem.startswith(f"{file}: ") for problem in problems)
        assert not any("see the portal's log" in problem for problem in problems)


async def test_unexpected_error_is_reported_with_its_file(
    site: Path, open_shelf: OpenShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(path: Path, folders: CatalogFolders) -> Environment:
        if path.stem == "mine":
            raise ZeroDivisionError("by nothing")
        return load_environment(path, folders)

    monkeypatch.setattr("portal.services.catalog.live_catalog.load_environment", load)
    shelf = open_shelf()
    assert list(shelf.environments) == ["plain"]
    file = site / "environments" / "mine.yaml"
    expected = f"{file}: it can't be used (ZeroDivisionError: by nothing); see the portal's log"
    assert expected in shelf.problems


async def test_a_template_is_read_again_with_its_program(site: Path, open_shelf: OpenShelf) -> None:
    shelf = open_shelf()
    program = site / "jobs" / "mine.py"
    program.write_text("print(22)\n")
    await shelf.refresh()
    assert shelf.templates["mine"].programs == {"mine.py": "print(22)\n"}
    program.unlink()
    await shelf.refresh()
    assert shelf.templates["mine"].programs == {"mine.py": "print(22)\n"}
    assert "programs: mine.py: there is no such file" in shelf.problems[0]


async def test_template_of_missing_environment_is_reported(
    site: Path, open_shelf: OpenShelf
) -> None:
    shelf = open_shelf()
    file = site / "environments" / "mine.yaml"
    text = file.read_text()
    file.unlink()
    await shelf.refresh()
    template = site / "templates" / "mine.yaml"
    (problem,) = shelf.problems
    assert problem == f"{template}: environment: there is no environment mine in this catalog"
    file.write_text(text)
    await shelf.refresh()
    assert shelf.problems == ()


async def test_a_folder_that_is_away_takes_nothing_with_it(
    site: Path, open_shelf: OpenShelf
) -> None:
    shelf = open_shelf()
    away = site.with_name("away")
    shutil.move(site, away)
    await shelf.refresh()
    assert list(shelf.environments) == ["mine", "plain"]
    (problem,) = shelf.problems
    assert problem == f"{site}: there is no such folder"
    shutil.move(away, site)
    await shelf.refresh()
    assert shelf.problems == ()


def test_a_site_folder_that_never_was_there_stops_the_start(
    site: Path, open_shelf: OpenShelf
) -> None:
    site.rename(site.with_name("away"))
    with pytest.raises(CatalogError, match="there is no such folder"):
        open_shelf()


async def test_an_image_is_found_in_either_folder_once_it_is_there(
    open_shelf: OpenShelf, tmp_path: Path
) -> None:
    shelf = open_shelf()
    assert not availability(shelf.environments["mine"])[0]
    (tmp_path / "imported" / "mine.sif").touch()
    await shelf.refresh()
    assert availability(shelf.environments["mine"]) == (True, None)
