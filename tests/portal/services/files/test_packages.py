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
from spawner.files.trash import MAX_SHOWN
from spawner.launcher.file_answers import DeletedItem
from tests.portal.conftest import Answer
from tests.portal.file_portal import FilePortal, run_file_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio

OWN = ".local/share/portal/packages"
PYTHON = f"{OWN}/python3/lib/python3.11/site-packages"


@pytest.fixture(scope="module")
async def shared(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FilePortal]:
    async with run_file_portal(slapd, tmp_path_factory.mktemp("packages")) as made:
        yield made


@pytest.fixture
def file_portal(shared: FilePortal) -> FilePortal:
    shared.empty()
    return shared


async def ask(
    file_portal: FilePortal,
    act: str = "",
    body: Any = None,
    *,
    name: str = "python3",
    who: str = "alice",
) -> Answer:
    method = "POST" if act else "GET"
    path = f"/api/v1/environments/{name}/packages{act}"
    return await file_portal.users[who].send(method, path, json=body)


def install(file_portal: FilePortal, *names: str, site: str = PYTHON) -> None:
    for name in names:
        file_portal.write(f"{site}/{name}/RECORD")


def linked(path: Path, target: Path) -> None:
    path.symlink_to(target)


async def named(file_portal: FilePortal, **of: Any) -> list[tuple[str, str | None]]:
    answer = await ask(file_portal, **of)
    assert answer.status == 200, answer
    return [(one["name"], one["version"]) for one in answer.body["items"]]


async def test_python_packages_by_name(file_portal: FilePortal) -> None:
    assert await named(file_portal) == []
    install(
        file_portal, "torch_geometric-2.5.3.dist-info", "torch_geometric",
        "Babel-2.1+local.dist-info", "old-1.0-py3.11.egg-info", "~broken-1.dist-info.tmp",
        "__pycache__",
    )  # fmt: skip
    assert await named(file_portal) == [
        ("Babel", "2.1+local"),
        ("old", "1.0"),
        ("torch_geometric", "2.5.3"),
    ]
    assert await named(file_portal, who="bob") == []
    found = (await ask(file_portal)).body
    assert (found["folder"], found["complete"], found["removed"]) == (f"~/{OWN}/python3", True, [])


async def test_r_packages_by_their_descriptions(file_portal: FilePortal) -> None:
    site = f"{OWN}/r/lib/R/4.2"
    for name, text in {
        "sf": b"Package: sf\nVersion: 1.0-16\nTitle: Version: 9\n",
        "odd": b"\xff\xfe no fields",
        "nameless": b"Version: 3\n",
        "unversioned": b"Package: unversioned\n",
    }.items():
        file_portal.write(f"{site}/{name}/DESCRIPTION", text)
    file_portal.write(f"{site}/file")
    linked(file_portal.home / site / "link", Path("/etc"))
    os.mkfifo(file_portal.home / site / "sf" / "fifo")
    assert await named(file_portal, name="r") == [("sf", "1.0-16"), ("unversioned", None)]


async def test_taken_away_and_brought_back(file_portal: FilePortal) -> None:
    install(file_portal, "einops-0.8.0.dist-info")
    file_portal.write(f"{OWN}/python3/bin/einops")
    answer = await ask(file_portal, "/reset")
    assert (answer.status, answer.body["items"]) == (200, [])
    (removed,) = answer.body["removed"]
    assert not (file_portal.home / OWN / "python3").exists()
    # a kernel that starts in between creates the folder again
    file_portal.write(f"{PYTHON}/.keep").unlink()
    back = await ask(file_portal, "/restore", {"id": removed["id"]})
    assert (back.status, [one["name"] for one in back.body["items"]]) == (200, ["einops"])
    assert (file_portal.home / OWN / "python3/bin/einops").exists()
    assert all(one["id"] != removed["id"] for one in back.body["removed"])


async def test_removed_long_before_much_else_and_brought_back(file_portal: FilePortal) -> None:
    install(file_portal, "einops-0.8.0.dist-info")
    (first,) = (await ask(file_portal, "/reset")).body["removed"]
    os.utime(file_portal.home / ".portal-trash" / first["id"], (1, 1))
    for number in range(MAX_SHOWN):
        own = f".portal-trash/{number:08x}-0000-4000-8000-000000000000"
        path = f"{OWN}/python3" if number < MAX_REMOVED_SHOWN else "notes.txt"
        file_portal.write(f"{own}/item")
        file_portal.write(f"{own}/about.json", json.dumps({"path": path}).encode())
    found = (await ask(file_portal)).body
    assert (len(found["removed"]), found["removed_complete"]) == (MAX_REMOVED_SHOWN, True)
    answer = await ask(file_portal, "/restore", {"id": first["id"]})
    assert (answer.status, await named(file_portal)) == (200, [("einops", "0.8.0")])


async def test_the_audit_names_the_home_by_its_root_or_by_a_tilde(
    file_portal: FilePortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(file_portal, "einops-0.8.0.dist-info")
    assert (await ask(file_portal, "/reset")).status == 200
    scratch_only = {"file_roots": file_portal.files.settings.file_roots[1:]}
    monkeypatch.setattr(
        file_portal.files, "settings", file_portal.files.settings.model_copy(update=scratch_only)
    )
    install(file_portal, "einops-0.8.0.dist-info")
    assert (await ask(file_portal, "/reset")).status == 200
    async with file_portal.portal.context.db.session() as db:
        query = select(AuditEvent.target).where(AuditEvent.action == "file.delete")
        targets = (await db.scalars(query.order_by(AuditEvent.id))).all()
    assert targets[-2:] == [f"home:{OWN}/python3", f"~/{OWN}/python3"]


async def test_unreadable_trash_is_reported_incomplete(
    file_portal: FilePortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def trash(*_: object) -> tuple[list[DeletedItem], bool]:
        return [], False

    monkeypatch.setattr(operations, "trash", trash)
    assert (await ask(file_portal)).body["removed_complete"] is False
    answer = await ask(file_portal, "/restore", {"id": "00000000-0000-4000-8000-000000000000"})
    assert (answer.status, answer.body["detail"]) == (404, UNSEEN)


async def test_what_was_installed_since_is_not_covered(file_portal: FilePortal) -> None:
    install(file_portal, "einops-0.8.0.dist-info")
    (removed,) = (await ask(file_portal, "/reset")).body["removed"]
    install(file_portal, "einops-0.9.dist-info")
    answer = await ask(file_portal, "/restore", {"id": removed["id"]})
    assert (answer.status, answer.slug) == (409, "conflict")
    assert await named(file_portal) == [("einops", "0.9")]


def install_whole(file_portal: FilePortal, name: str, *files: str) -> None:
    """Create a package as pip installs it; `files` are relative to the folder of packages."""
    own = f"{name}-1.0.dist-info/RECORD"
    for file in files:
        file_portal.write(str(Path(os.path.normpath(f"{PYTHON}/{file}"))))
    rows = "".join(f"{file},sha256=x,1\n" for file in (*files, own))
    file_portal.write(f"{PYTHON}/{own}", rows.encode())


def left(file_portal: FilePortal) -> set[str]:
    top = file_portal.home / OWN / "python3"
    return {str(path.relative_to(top)) for path in top.rglob("*") if not path.is_dir()}


async def test_remove_python_package_deletes_its_files_alone(file_portal: FilePortal) -> None:
    install_whole(
        file_portal, "einops", "einops/__init__.py", "einops/a/b.py", "../../../bin/einops"
    )
    install_whole(file_portal, "google_one", "google/one.py")
    install_whole(file_portal, "google_two", "google/two.py")
    file_portal.write(f"{PYTHON}/einops/__pycache__/__init__.cpython-311.pyc")
    file_portal.write(f"{PYTHON}/google/__pycache__/one.cpython-311.pyc")
    file_portal.write(f"{PYTHON}/google/__pycache__/two.cpython-311.pyc")
    answer = await ask(file_portal, "/remove", {"package": "einops"})
    assert answer.status == 200, answer
    assert [one["name"] for one in answer.body["items"]] == ["google_one", "google_two"]
    assert not (file_portal.home / PYTHON / "einops").exists()
    assert (await ask(file_portal, "/remove", {"package": "google_one"})).status == 200
    compiled = "google/__pycache__/two.cpython-311.pyc"
    assert {path.removeprefix("lib/python3.11/site-packages/") for path in left(file_portal)} == {
        "google/two.py", compiled, "google_two-1.0.dist-info/RECORD",
    }  # fmt: skip


async def test_remove_follows_no_record_out_of_the_environment(file_portal: FilePortal) -> None:
    notes = file_portal.write("notes.txt")
    other = file_portal.write(f"{OWN}/r/x")
    file_portal.write(f"{PYTHON}/evil/x")
    linked(file_portal.home / PYTHON / "evil" / "out", file_portal.home)
    away = "../" * 7 + "notes.txt"
    whole = str(notes)
    record = f"{away}\n{whole}\n../../../../r/x\nevil/out/notes.txt\n../../../../python3\n"
    file_portal.write(f"{PYTHON}/evil-1.0.dist-info/RECORD", record.encode())
    answer = await ask(file_portal, "/remove", {"package": "evil"})
    assert answer.status == 409, answer
    assert notes.exists()
    assert other.exists()


async def test_remove_r_package_moves_its_folder_to_the_trash(file_portal: FilePortal) -> None:
    site = f"{OWN}/r/lib/R/4.2"
    for name in ("sf", "terra"):
        file_portal.write(f"{site}/{name}/DESCRIPTION", f"Package: {name}\nVersion: 1\n".encode())
    answer = await ask(file_portal, "/remove", {"package": "sf"}, name="r")
    assert [one["name"] for one in answer.body["items"]] == ["terra"]


async def test_remove_refuses_what_is_not_installed_or_has_no_record(
    file_portal: FilePortal,
) -> None:
    assert (await ask(file_portal, "/remove", {"package": "einops"})).status == 404
    file_portal.write(f"{PYTHON}/old-1.0.egg-info/PKG-INFO")
    answer = await ask(file_portal, "/remove", {"package": "old"})
    assert "remove all packages" in answer.body["detail"]
    assert await named(file_portal) == [("old", "1.0")]
    for body in ({}, {"package": ""}, {"package": "x", "more": 1}):
        assert (await ask(file_portal, "/remove", body)).status == 422


async def test_where_there_is_nothing(file_portal: FilePortal) -> None:
    assert (await ask(file_portal, "/reset")).status == 404
    assert (await ask(file_portal, name="unheard-of")).status == 404
    other = "00000000-0000-4000-8000-000000000000"
    assert (await ask(file_portal, "/restore", {"id": other})).status == 404
    body: Any
    for body in ({}, {"id": "../x"}, {"id": other, "more": 1}, [], None):
        assert (await ask(file_portal, "/restore", body)).status == 422


async def test_another_deleted_thing_is_not_brought_back_here(file_portal: FilePortal) -> None:
    file_portal.write("notes.txt")
    deleted = await file_portal.ask("POST", "/delete", {"root": "home", "paths": ["notes.txt"]})
    assert deleted.status == 200, deleted
    (item,) = (await file_portal.ask("GET", "/trash?root=home")).body["items"]
    assert (await ask(file_portal, "/restore", {"id": item["id"]})).status == 404
    assert not (file_portal.home / "notes.txt").exists()


async def test_of_packages_that_lie_elsewhere_only_the_link_is_moved(
    file_portal: FilePortal,
) -> None:
    install(file_portal, "einops-0.8.0.dist-info", site="elsewhere/lib/python3.11/site-packages")
    folder = file_portal.write(f"{OWN}/x").parent
    linked(folder / "python3", file_portal.home / "elsewhere")
    assert await named(file_portal) == [("einops", "0.8.0")]
    assert (await ask(file_portal, "/reset")).status == 200
    assert await named(file_portal) == []
    assert (file_portal.home / "elsewhere/lib/python3.11/site-packages").is_dir()


async def test_package_folder_of_another_user_is_refused(file_portal: FilePortal) -> None:
    folder = file_portal.write(f"{OWN}/x").parent
    linked(folder / "python3", file_portal.homes / "bob")
    assert await named(file_portal, who="bob") == []
    for act in ("", "/reset"):
        answer = await ask(file_portal, act)
        assert (answer.status, answer.slug) == (403, "file-denied"), answer
