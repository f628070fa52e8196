"""Packages that a user has installed into an environment: listed, removed, restored.

A real launcher is used.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from portal.api.packages import MAX_REMOVED_SHOWN
from portal.models import AuditEvent
from portal.services.files import operations
from portal.services.files.packages import UNSEEN
from spawner.files.trash import MOST_SHOWN
from spawner.launcher.file_answers import Deleted
from tests.portal.conftest import Answer
from tests.portal.file_portal import FileWorld, file_world
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio

OWN = ".local/share/portal/packages"
PYTHON = f"{OWN}/python3/lib/python3.11/site-packages"


@pytest.fixture(scope="module")
async def shared(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FileWorld]:
    async with file_world(slapd, tmp_path_factory.mktemp("packages")) as made:
        yield made


@pytest.fixture
def world(shared: FileWorld) -> FileWorld:
    shared.empty()
    return shared


async def ask(
    world: FileWorld, act: str = "", body: Any = None, *, name: str = "python3", who: str = "alice"
) -> Answer:
    method = "POST" if act else "GET"
    path = f"/api/v1/environments/{name}/packages{act}"
    return await world.users[who].send(method, path, json=body)


def install(world: FileWorld, *names: str, site: str = PYTHON) -> None:
    for name in names:
        world.write(f"{site}/{name}/RECORD")


def linked(path: Path, target: Path) -> None:
    path.symlink_to(target)


async def named(world: FileWorld, **of: Any) -> list[tuple[str, str | None]]:
    answer = await ask(world, **of)
    assert answer.status == 200, answer
    return [(one["name"], one["version"]) for one in answer.body["items"]]


async def test_python_packages_by_name(world: FileWorld) -> None:
    assert await named(world) == []
    install(
        world, "torch_geometric-2.5.3.dist-info", "torch_geometric", "Babel-2.1+local.dist-info",
        "old-1.0-py3.11.egg-info", "~broken-1.dist-info.tmp", "__pycache__",
    )  # fmt: skip
    assert await named(world) == [
        ("Babel", "2.1+local"),
        ("old", "1.0"),
        ("torch_geometric", "2.5.3"),
    ]
    assert await named(world, who="bob") == []
    found = (await ask(world)).body
    assert (found["folder"], found["complete"], found["removed"]) == (f"~/{OWN}/python3", True, [])


async def test_r_packages_by_their_descriptions(world: FileWorld) -> None:
    site = f"{OWN}/r/lib/R/4.2"
    for name, text in {
        "sf": b"Package: sf\nVersion: 1.0-16\nTitle: Version: 9\n",
        "odd": b"\xff\xfe no fields",
        "nameless": b"Version: 3\n",
        "unversioned": b"Package: unversioned\n",
    }.items():
        world.write(f"{site}/{name}/DESCRIPTION", text)
    world.write(f"{site}/file")
    linked(world.home / site / "link", Path("/etc"))
    os.mkfifo(world.home / site / "sf" / "fifo")
    assert await named(world, name="r") == [("sf", "1.0-16"), ("unversioned", None)]


async def test_taken_away_and_brought_back(world: FileWorld) -> None:
    install(world, "einops-0.8.0.dist-info")
    world.write(f"{OWN}/python3/bin/einops")
    answer = await ask(world, "/reset")
    assert (answer.status, answer.body["items"]) == (200, [])
    (removed,) = answer.body["removed"]
    assert not (world.home / OWN / "python3").exists()
    # a kernel that starts in between creates the folder again
    world.write(f"{PYTHON}/.keep").unlink()
    back = await ask(world, "/restore", {"id": removed["id"]})
    assert (back.status, [one["name"] for one in back.body["items"]]) == (200, ["einops"])
    assert (world.home / OWN / "python3/bin/einops").exists()
    assert all(one["id"] != removed["id"] for one in back.body["removed"])


async def test_removed_long_before_much_else_and_brought_back(world: FileWorld) -> None:
    install(world, "einops-0.8.0.dist-info")
    (first,) = (await ask(world, "/reset")).body["removed"]
    os.utime(world.home / ".portal-trash" / first["id"], (1, 1))
    for number in range(MOST_SHOWN):
        own = f".portal-trash/{number:08x}-0000-4000-8000-000000000000"
        path = f"{OWN}/python3" if number < MAX_REMOVED_SHOWN else "notes.txt"
        world.write(f"{own}/item")
        world.write(f"{own}/about.json", json.dumps({"path": path}).encode())
    found = (await ask(world)).body
    assert (len(found["removed"]), found["removed_complete"]) == (MAX_REMOVED_SHOWN, True)
    answer = await ask(world, "/restore", {"id": first["id"]})
    assert (answer.status, await named(world)) == (200, [("einops", "0.8.0")])


async def test_the_audit_names_the_home_by_its_root_or_by_a_tilde(
    world: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(world, "einops-0.8.0.dist-info")
    assert (await ask(world, "/reset")).status == 200
    scratch_only = {"file_roots": world.files.settings.file_roots[1:]}
    monkeypatch.setattr(
        world.files, "settings", world.files.settings.model_copy(update=scratch_only)
    )
    install(world, "einops-0.8.0.dist-info")
    assert (await ask(world, "/reset")).status == 200
    async with world.portal.app.state.db.session() as db:
        query = select(AuditEvent.target).where(AuditEvent.action == "file.delete")
        targets = (await db.scalars(query.order_by(AuditEvent.id))).all()
    assert targets[-2:] == [f"home:{OWN}/python3", f"~/{OWN}/python3"]


async def test_unreadable_trash_is_reported_incomplete(
    world: FileWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def trash(*_: object) -> tuple[list[Deleted], bool]:
        return [], False

    monkeypatch.setattr(operations, "trash", trash)
    assert (await ask(world)).body["removed_complete"] is False
    answer = await ask(world, "/restore", {"id": "00000000-0000-4000-8000-000000000000"})
    assert (answer.status, answer.body["detail"]) == (404, UNSEEN)


async def test_what_was_installed_since_is_not_covered(world: FileWorld) -> None:
    install(world, "einops-0.8.0.dist-info")
    (removed,) = (await ask(world, "/reset")).body["removed"]
    install(world, "einops-0.9.dist-info")
    answer = await ask(world, "/restore", {"id": removed["id"]})
    assert (answer.status, answer.slug) == (409, "conflict")
    assert await named(world) == [("einops", "0.9")]


def install_whole(world: FileWorld, name: str, *files: str) -> None:
    """Create a package as pip installs it; `files` are relative to the folder of packages."""
    own = f"{name}-1.0.dist-info/RECORD"
    for file in files:
        world.write(str(Path(os.path.normpath(f"{PYTHON}/{file}"))))
    rows = "".join(f"{file},sha256=x,1\n" for file in (*files, own))
    world.write(f"{PYTHON}/{own}", rows.encode())


def left(world: FileWorld) -> set[str]:
    top = world.home / OWN / "python3"
    return {str(path.relative_to(top)) for path in top.rglob("*") if not path.is_dir()}


async def test_remove_python_package_deletes_its_files_alone(world: FileWorld) -> None:
    install_whole(world, "einops", "einops/__init__.py", "einops/a/b.py", "../../../bin/einops")
    install_whole(world, "google_one", "google/one.py")
    install_whole(world, "google_two", "google/two.py")
    world.write(f"{PYTHON}/einops/__pycache__/__init__.cpython-311.pyc")
    world.write(f"{PYTHON}/google/__pycache__/one.cpython-311.pyc")
    world.write(f"{PYTHON}/google/__pycache__/two.cpython-311.pyc")
    answer = await ask(world, "/remove", {"package": "einops"})
    assert answer.status == 200, answer
    assert [one["name"] for one in answer.body["items"]] == ["google_one", "google_two"]
    assert not (world.home / PYTHON / "einops").exists()
    assert (await ask(world, "/remove", {"package": "google_one"})).status == 200
    compiled = "google/__pycache__/two.cpython-311.pyc"
    assert {path.removeprefix("lib/python3.11/site-packages/") for path in left(world)} == {
        "google/two.py", compiled, "google_two-1.0.dist-info/RECORD",
    }  # fmt: skip


async def test_remove_follows_no_record_out_of_the_environment(world: FileWorld) -> None:
    notes = world.write("notes.txt")
    other = world.write(f"{OWN}/r/x")
    world.write(f"{PYTHON}/evil/x")
    linked(world.home / PYTHON / "evil" / "out", world.home)
    away = "../" * 7 + "notes.txt"
    whole = str(notes)
    record = f"{away}\n{whole}\n../../../../r/x\nevil/out/notes.txt\n../../../../python3\n"
    world.write(f"{PYTHON}/evil-1.0.dist-info/RECORD", record.encode())
    answer = await ask(world, "/remove", {"package": "evil"})
    assert answer.status == 409, answer
    assert notes.exists()
    assert other.exists()


async def test_remove_r_package_moves_its_folder_to_the_trash(world: FileWorld) -> None:
    site = f"{OWN}/r/lib/R/4.2"
    for name in ("sf", "terra"):
        world.write(f"{site}/{name}/DESCRIPTION", f"Package: {name}\nVersion: 1\n".encode())
    answer = await ask(world, "/remove", {"package": "sf"}, name="r")
    assert [one["name"] for one in answer.body["items"]] == ["terra"]


async def test_remove_refuses_what_is_not_installed_or_has_no_record(world: FileWorld) -> None:
    assert (await ask(world, "/remove", {"package": "einops"})).status == 404
    world.write(f"{PYTHON}/old-1.0.egg-info/PKG-INFO")
    answer = await ask(world, "/remove", {"package": "old"})
    assert "remove all packages" in answer.body["detail"]
    assert await named(world) == [("old", "1.0")]
    for body in ({}, {"package": ""}, {"package": "x", "more": 1}):
        assert (await ask(world, "/remove", body)).status == 422


async def test_where_there_is_nothing(world: FileWorld) -> None:
    assert (await ask(world, "/reset")).status == 404
    assert (await ask(world, name="unheard-of")).status == 404
    other = "00000000-0000-4000-8000-000000000000"
    assert (await ask(world, "/restore", {"id": other})).status == 404
    for body in ({}, {"id": "../x"}, {"id": other, "more": 1}, [], None):
        assert (await ask(world, "/restore", body)).status == 422


async def test_another_deleted_thing_is_not_brought_back_here(world: FileWorld) -> None:
    world.write("notes.txt")
    deleted = await world.ask("POST", "/delete", {"root": "home", "paths": ["notes.txt"]})
    assert deleted.status == 200, deleted
    (item,) = (await world.ask("GET", "/trash?root=home")).body["items"]
    assert (await ask(world, "/restore", {"id": item["id"]})).status == 404
    assert not (world.home / "notes.txt").exists()


async def test_of_packages_that_lie_elsewhere_only_the_link_is_moved(world: FileWorld) -> None:
    install(world, "einops-0.8.0.dist-info", site="elsewhere/lib/python3.11/site-packages")
    folder = world.write(f"{OWN}/x").parent
    linked(folder / "python3", world.home / "elsewhere")
    assert await named(world) == [("einops", "0.8.0")]
    assert (await ask(world, "/reset")).status == 200
    assert await named(world) == []
    assert (world.home / "elsewhere/lib/python3.11/site-packages").is_dir()


async def test_package_folder_of_another_user_is_refused(world: FileWorld) -> None:
    folder = world.write(f"{OWN}/x").parent
    linked(folder / "python3", world.homes / "bob")
    assert await named(world, who="bob") == []
    for act in ("", "/reset"):
        answer = await ask(world, act)
        assert (answer.status, answer.slug) == (403, "file-denied"), answer
