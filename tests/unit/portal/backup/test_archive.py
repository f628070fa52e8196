"""A backup's file: content survives a round trip, and any modification is detected."""

import gzip
import hashlib
import io
import os
import tarfile
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from portal.backup.archive import (
    DATABASE,
    LEFT_AFTER_S,
    MANIFEST,
    TEMP_PREFIX,
    ArchiveMember,
    BackupError,
    Manifest,
    new_file,
    private_temp_folder,
    read,
    take_database,
    write,
)

SECRET = b"a secret of thirty-two characters"
COPY = bytes(range(256)) * 9000


def member(name: str, data: bytes) -> ArchiveMember:
    digest = hashlib.sha256(data).hexdigest()
    return ArchiveMember(name=name, size=len(data), sha256=digest, mode=0o600, owner="a", group="b")


def manifest(**members: bytes) -> Manifest:
    return Manifest(
        portal="1",
        revision="0001",
        database="sqlite",
        made_at=datetime(2026, 1, 2, tzinfo=UTC),
        members=[member(name, data) for name, data in members.items()],
        left_out=["images"],
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "backup"
    with private_temp_folder(tmp_path) as folder:
        copy = folder / "copy"
        copy.write_bytes(COPY)
        held = manifest(database=COPY, secret=SECRET)
        write(made, held, {DATABASE: copy, "secret": SECRET}, folder)
    return made


def test_what_is_written_is_read_back(file: Path, tmp_path: Path) -> None:
    found, small = read(file)
    assert found == manifest(database=COPY, secret=SECRET)
    assert small == {"secret": SECRET}
    with new_file(tmp_path / "out") as out:
        take_database(file, found, out)
    assert (tmp_path / "out").read_bytes() == COPY


def test_it_is_for_its_owner_alone_and_nothing_else_is_left(file: Path, tmp_path: Path) -> None:
    assert file.stat().st_mode & 0o777 == 0o600
    with new_file(tmp_path / "out") as out:
        take_database(file, read(file)[0], out)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o600
    assert {one.name for one in tmp_path.iterdir()} == {"backup", "out"}


def test_the_next_backup_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    left, in_use = (tmp_path / f"{TEMP_PREFIX}{name}" for name in ("left", "in-use"))
    for folder in (left, in_use):
        folder.mkdir()
        (folder / DATABASE).write_bytes(COPY)
    old = time.time() - LEFT_AFTER_S - 60
    os.utime(left, (old, old))
    with private_temp_folder(tmp_path):
        assert not left.exists()
        assert in_use.exists()


def test_no_file_is_written_over(file: Path, tmp_path: Path) -> None:
    before = file.read_bytes()
    with (
        private_temp_folder(tmp_path) as folder,
        pytest.raises(BackupError, match="already exists"),
    ):
        write(file, manifest(), {}, folder)
    assert file.read_bytes() == before


@pytest.mark.parametrize("part", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_byte_that_was_changed_is_found(file: Path, part: float) -> None:
    data = bytearray(gzip.decompress(file.read_bytes()))
    # a tar ends with zeros that are never read
    data[int(len(data.rstrip(b"\0")) * part)] ^= 0xFF
    file.write_bytes(gzip.compress(bytes(data)))
    with pytest.raises(BackupError, match=str(file)):
        read(file)


@pytest.mark.parametrize("part", [0.0, 0.01, 0.5, 0.99])
def test_a_file_that_was_cut_is_found(file: Path, part: float) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * part)])
    with pytest.raises(BackupError, match=r"damaged|not a backup"):
        read(file)


def packed(file: Path, **members: bytes) -> Path:
    with tarfile.open(file, "w:gz") as tar:
        for name, data in members.items():
            entry = tarfile.TarInfo(MANIFEST if name == "manifest" else name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return file


def make_manifest(**members: bytes) -> bytes:
    return manifest(**members).model_dump_json().encode()


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({"notes": b"hello"}, "its manifest is missing"),
        ({"manifest": b"{}"}, "that this portal can't read"),
        ({"manifest": make_manifest(secret=SECRET)}, "secret is missing"),
        (
            {"manifest": make_manifest(), "other": b"x"},
            "contains other, which is not in its manifest",
        ),
        (
            {"manifest": make_manifest(secret=SECRET), "secret": SECRET[:-1] + b"!"},
            "secret does not match",
        ),
        ({"manifest": make_manifest(secret=COPY), "secret": COPY}, "secret is too large"),
    ],
)
def test_a_foreign_file_is_refused_with_a_sentence(
    members: dict[str, bytes], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(BackupError, match=sentence):
        read(packed(tmp_path / "file", **members))


def test_text_a_folder_and_nothing_are_no_backups(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("hello")
    with pytest.raises(BackupError, match="not a backup of the portal"):
        read(text)
    with pytest.raises(BackupError, match="does not exist"):
        read(tmp_path / "nothing")
    with pytest.raises(BackupError, match="can't be read: Is a directory"):
        read(tmp_path)
