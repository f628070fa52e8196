"""`dsp cp` against a real portal and its files program, in both directions."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from client.config import load_logins
from client.files.transfer import part_path
from tests.polling import PATIENCE_S
from tests.portal.client.program import ClientProgram, create_token, finish
from tests.portal.file_portal import FilePortal, run_file_portal
from tests.servers.slapd import Slapd

pytestmark = pytest.mark.anyio
CHUNK = 8 * 1024 * 1024
HOSTILE = "a\nb\x1b[2J\x1b]0;title\x07.txt"


@pytest.fixture(scope="module")
async def files(
    slapd: Slapd, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FilePortal]:
    async with run_file_portal(slapd, tmp_path_factory.mktemp("copy")) as made:
        await made.users["alice"].confirm()
        token = await create_token(made.users["alice"])
        made.portal.app.state.client_token = token["token"]
        yield made


@pytest.fixture
def program(files: FilePortal, tmp_path: Path) -> ClientProgram:
    home = tmp_path / "laptop"
    home.mkdir()
    made = ClientProgram(files.portal.url, home)
    made.save_token(files.portal.app.state.client_token)
    files.empty()
    return made


async def test_a_file_arrives_unchanged_and_comes_back(
    program: ClientProgram, files: FilePortal
) -> None:
    content = os.urandom(CHUNK + 12345)
    (program.home / "data.bin").write_bytes(content)
    up = await program.run("cp", "--json", "data.bin", ":")
    assert up.code == 0, up
    assert up.value[0]["size_bytes"] == len(content)
    assert (files.home / "data.bin").read_bytes() == content
    down = await program.run("cp", ":data.bin", "back.bin")
    assert down.code == 0, down
    assert (program.home / "back.bin").read_bytes() == content
    assert sorted(path.name for path in program.home.iterdir()) == [
        ".config",
        "back.bin",
        "data.bin",
    ]


async def test_an_existing_file_is_replaced_only_on_request(
    program: ClientProgram, files: FilePortal
) -> None:
    files.write("data.txt", b"old")
    (program.home / "data.txt").write_bytes(b"new")
    refused = await program.run("cp", "data.txt", ":", "--json")
    assert (refused.code, refused.problem["error"]) == (5, "file-exists")
    assert (await program.run("cp", ":data.txt", ".")).code == 2
    assert (program.home / "data.txt").read_bytes() == b"new"
    assert (await program.run("cp", "--overwrite", "data.txt", ":")).code == 0
    assert (files.home / "data.txt").read_bytes() == b"new"


async def test_folders_are_copied_with_their_contents(
    program: ClientProgram, files: FilePortal
) -> None:
    for name in ("project/a.txt", "project/deep/down/b.txt"):
        path = program.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    assert (await program.run("cp", "project", ":")).code == 2
    assert (await program.run("cp", "-r", "project", ":into/")).code == 0
    assert (files.home / "into/project/deep/down/b.txt").read_text() == "project/deep/down/b.txt"
    (files.home / "into/circle").symlink_to(files.home / "into")
    done = await program.run("cp", "-r", ":into", ".")
    assert done.code == 0, done
    assert "Left out" in done.err
    assert (program.home / "into/project/a.txt").read_text() == "project/a.txt"


async def test_names_with_escape_sequences_reach_no_terminal(
    program: ClientProgram, files: FilePortal
) -> None:
    files.write(f"odd/{HOSTILE}", b"content")
    done = await program.run("cp", "-r", ":odd", ".")
    assert done.code == 0, done
    assert (program.home / "odd" / HOSTILE).read_bytes() == b"content"
    again = await program.run("cp", "-r", ":odd", ".")
    assert again.code == 2
    assert "a\\nb\\x1b[2J" in again.err
    assert "\x1b" not in again.err + again.out
    (program.home / "odd" / HOSTILE).write_bytes(b"changed")
    back = await program.run("cp", "--overwrite", "--json", f"odd/{HOSTILE}", ":odd/")
    assert back.code == 0, back
    assert (files.home / "odd" / HOSTILE).read_bytes() == b"changed"
    assert "\x1b" not in back.out


async def test_a_name_that_is_not_utf8_is_kept(program: ClientProgram, files: FilePortal) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    (program.home / name).write_bytes(b"x")
    assert (await program.run("cp", name, ":")).code == 0
    assert (files.home / name).read_bytes() == b"x"
    (program.home / "back").mkdir()
    assert (await program.run("cp", "-r", ":/" + str(files.home)[1:], "back")).code == 0
    (found,) = (program.home / "back").rglob("caf*")
    assert found.name == name


async def test_an_interrupted_upload_continues_in_the_next_run(
    program: ClientProgram, files: FilePortal
) -> None:
    content = os.urandom(3 * CHUNK)
    (program.home / "data.bin").write_bytes(content)
    begun = await files.ask(
        "POST", "/uploads", {"root": "home", "path": "data.bin", "size_bytes": len(content)}
    )
    chunk = f"/uploads/{begun.body['id']}?offset=0"
    assert (await files.raw("PUT", chunk, content[:CHUNK]))[0] == 200
    async with program.started("cp", "data.bin", ":") as process, asyncio.timeout(PATIENCE_S):
        process.terminate()
        await finish(process)
    done = await program.run("cp", "data.bin", ":")
    assert done.code == 0, done
    assert (files.home / "data.bin").read_bytes() == content
    assert (await files.ask("GET", "/uploads")).body["items"] == []


async def test_an_upload_of_a_file_that_has_changed_begins_again(
    program: ClientProgram, files: FilePortal
) -> None:
    (program.home / "data.bin").write_bytes(b"new content")
    begun = await files.ask(
        "POST", "/uploads", {"root": "home", "path": "data.bin", "size_bytes": 11}
    )
    chunk = f"/uploads/{begun.body['id']}?offset=0"
    assert (await files.raw("PUT", chunk, b"old"))[0] == 200
    done = await program.run("cp", "data.bin", ":")
    assert done.code == 0, done
    assert (files.home / "data.bin").read_bytes() == b"new content"


@pytest.fixture
def part_of(files: FilePortal, program: ClientProgram) -> Any:
    """Return a function that leaves the part file of an interrupted download."""

    async def leave(path: str, content: bytes, version: str | None = None) -> Path:
        entry = (await files.ask("GET", f"/entry?root=home&path={path}")).body
        part = part_path(program.home / path, version or entry["version"])
        part.write_bytes(content)
        return part

    return leave


async def test_an_interrupted_download_continues(
    program: ClientProgram, files: FilePortal, part_of: Any
) -> None:
    files.write("data.txt", b"0123456789")
    part = await part_of("data.txt", b"abc")  # shows which bytes were not sent again
    assert (await program.run("cp", ":data.txt", ".")).code == 0
    assert (program.home / "data.txt").read_bytes() == b"abc3456789"
    assert not part.exists()


async def test_a_download_of_another_version_begins_again(
    program: ClientProgram, files: FilePortal, part_of: Any
) -> None:
    files.write("data.txt", b"0123456789")
    await part_of("data.txt", b"abc", "other")
    assert (await program.run("cp", ":data.txt", ".")).code == 0
    assert (program.home / "data.txt").read_bytes() == b"0123456789"


@pytest.mark.parametrize("size", [3, 10])
@pytest.mark.parametrize("name_with", [os.symlink, os.link])
async def test_a_part_file_that_leads_elsewhere_is_refused(
    program: ClientProgram, files: FilePortal, part_of: Any, name_with: Any, size: int
) -> None:
    files.write("data.txt", b"0123456789")
    part = await part_of("data.txt", b"")
    other = program.home / "other.txt"
    other.write_bytes(b"x" * size)
    part.unlink()
    name_with(other, part)
    done = await program.run("cp", ":data.txt", ".")
    assert (done.code, "not a part of this download" in done.err) == (2, True)
    assert other.read_bytes() == b"x" * size
    assert not (program.home / "data.txt").exists()


async def test_only_a_complete_file_has_the_usual_mode(
    program: ClientProgram, files: FilePortal, part_of: Any
) -> None:
    files.write("data.txt", b"0123456789")
    usual = program.home / "usual.txt"
    usual.touch()
    assert (await program.run("cp", ":data.txt", ".")).code == 0
    assert (program.home / "data.txt").stat().st_mode == usual.stat().st_mode


async def test_a_missing_file_is_not_found_on_both_sides(program: ClientProgram) -> None:
    assert (await program.run("cp", ":missing", ".")).code == 4
    assert (await program.run("cp", "missing", ":")).code == 4
    assert (await program.run("cp", ":/etc/passwd", ".")).code in {4, 5}
    assert load_logins(program.config).logins


async def test_run_uploads_the_folder_without_what_is_ignored(
    program: ClientProgram, files: FilePortal
) -> None:
    project = program.home / "project"
    for name in ("train.py", "lib/a b.py", ".git/config", "data/big.csv", HOSTILE):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (project / ".dspignore").write_text("data/\n")
    done = await program.run("run", "train.py", "--folder", "project", "--json")
    assert "Uploading 3 files" in done.err
    assert "\x1b" not in done.err
    (folder,) = (files.home / "portal-runs").iterdir()
    assert folder.name.startswith("train-")
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found == {"train.py", "lib/a b.py", HOSTILE}
    assert (folder / "lib/a b.py").read_text() == "lib/a b.py"


async def test_run_of_a_folder_above_the_limit_sends_nothing(
    program: ClientProgram, files: FilePortal
) -> None:
    (program.home / "train.py").write_text("")
    (program.home / "model.bin").write_bytes(b"x" * (2 << 20))
    done = await program.run("run", "train.py", "--max-mb", "1", "--json")
    assert (done.code, done.problem["error"]) == (5, "folder-too-large")
    assert "2.0 MiB  model.bin" in done.problem["suggestion"]
    assert not (files.home / "portal-runs").exists()
