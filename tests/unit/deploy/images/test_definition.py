"""Definitions of images: what a hash depends on, what is refused, and pip's settings."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from deploy.images.definition import (
    DEFINITIONS,
    DefinitionError,
    PipStep,
    load,
    local_paths,
    pip_environment,
    read,
)
from tests.unit.deploy.images.samples import LOCK, TOML, put

PIN = re.compile(r"[A-Za-z0-9._-]+(\[[a-z,]+\])?==[^ ]+( ; .*)? \\")
HASH = re.compile(r" +--hash=sha256:[0-9a-f]{64}( \\)?")


def test_what_is_shipped_can_be_read() -> None:
    assert "python3" in [definition.name for definition in load(DEFINITIONS)]


def test_everything_shipped_is_pinned() -> None:
    """A lock has nothing but versions and hashes: no address of an index, no option."""
    locks = sorted(DEFINITIONS.glob("*.lock"))
    used = [step for definition in load(DEFINITIONS) for step in definition.pip]
    assert len(locks) >= len({step.lock for step in used}) > 0
    for lock in locks:
        pins = [line for line in lock.read_text().splitlines() if line.split("#")[0].strip()]
        wrong = [line for line in pins if not (PIN.fullmatch(line) or HASH.fullmatch(line))]
        assert wrong == [], lock.name
        following = [after for line, after in pairwise([*pins, ""]) if PIN.fullmatch(line)]
        assert following, lock.name
        assert all(HASH.fullmatch(line) for line in following), lock.name


def test_the_hash_follows_what_goes_in(tmp_path: Path) -> None:
    first = read(put(tmp_path))
    assert read(put(tmp_path)).file_name == first.file_name
    changed = [
        read(put(tmp_path, lock=LOCK.replace("2.4.6", "2.4.7"))),
        read(put(tmp_path, TOML.replace('"python3"]', '"python3", "git"]'))),
        read(put(tmp_path, TOML.replace("bookworm", "trixie"))),
    ]
    assert len({first.hash, *(definition.hash for definition in changed)}) == 4


def test_pip_may_run_several_times_each_in_its_own_way(tmp_path: Path) -> None:
    (tmp_path / "other.lock").write_text(LOCK.replace("numpy", "scipy"))
    second = """
[[pip]]
python = "python2.7"
lock = "mine.lock"
otherwise = "other.lock"
options = ["--no-deps"]
[pip.env]
WITH_MPI = "1"
"""
    once = read(put(tmp_path, TOML.replace("[pip]", "[[pip]]")))
    twice = read(
        put(tmp_path, TOML.replace("[pip]", "[[pip]]").replace("[check]", second + "[check]"))
    )
    assert once.pip == (PipStep("python3", LOCK),)
    other = LOCK.replace("numpy", "scipy")
    assert twice.pip[1] == PipStep("python2.7", LOCK, other, ("--no-deps",), {"WITH_MPI": "1"})
    assert once.hash != twice.hash


def test_a_comment_changes_no_hash(tmp_path: Path) -> None:
    assert read(put(tmp_path)).hash == read(put(tmp_path, "# well\n" + TOML)).hash


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('suites = ["bookworm"]', "", "suites"),
        ('suites = ["bookworm"]', "suites = []", "suites"),
        ('suites = ["bookworm"]', 'suites = "bookworm"', "suites"),
        ('packages = ["python3"]', "packages = [1]", "packages"),
        ('lock = "mine.lock"', "", "pip.lock"),
        ('lock = "mine.lock"', 'lock = "other.lock"', "pip.lock"),
        ('python = "python3"', "", "pip.python"),
        ('lock = "mine.lock"', 'lock = "mine.lock"\notherwise = 1', "pip.otherwise"),
        ('lock = "mine.lock"', 'lock = "mine.lock"\noptions = "--no-deps"', "pip.options"),
        ('lock = "mine.lock"', 'lock = "mine.lock"\nenv = {A = 1}', "pip.env.A"),
        ('lock = "mine.lock"', 'lock = "mine.lock"\noption = []', "pip.option"),
        ("[check]", "[links]\na = 1\n[check]", "links.a"),
        ("[check]", "[files]\na = 1\n[check]", "files.a"),
        ("[check]", '[files]\n"/a" = "missing"\n[check]', "files./a"),
        ('title = "Mine"', "only_by_name = 1", "only_by_name"),
        ('title = "Mine"', 'titel = "Mine"', "titel"),
        ('["true"]', '"true"', "check.command"),
    ],
)
def test_a_bad_field_is_named_with_its_file(tmp_path: Path, old: str, new: str, field: str) -> None:
    path = put(tmp_path, TOML.replace(old, new))
    with pytest.raises(DefinitionError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: {field}: ")


def test_a_lock_without_hashes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="has no hashes"):
        read(put(tmp_path, lock="numpy==2.4.6\n"))


def test_unknown_image_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="no such definition"):
        load(tmp_path, ["nothing"])


def test_pip_s_settings_are_merged_as_pip_does() -> None:
    machine = "[global]\ncert = /ca.pem\ntimeout = 60\n[install]\nuser = true\n"
    user = "[global]\ntimeout = 90\nextra-index-url =\n    file:///a/simple\n    file:///b/simple\n"
    environ = {"PIP_TIMEOUT": "120", "PIP_CONFIG_FILE": "/x", "HTTPS_PROXY": "p", "HOME": "/root"}
    assert pip_environment([machine, user], environ) == {
        "PIP_CERT": "/ca.pem",
        "PIP_TIMEOUT": "120",
        "PIP_EXTRA_INDEX_URL": "file:///a/simple file:///b/simple",
        "HTTPS_PROXY": "p",
    }


def test_the_host_s_own_folders_are_found() -> None:
    settings = ["file:///srv/pypi/simple/ https://x.test/simple", "/opt/wheels", "60", "/dev/null"]
    assert local_paths(settings) == ["/opt/wheels", "/srv/pypi"]
    assert local_paths(["file:///simple"]) == ["/simple"]


def test_hash_follows_programs_and_stays_without(tmp_path: Path) -> None:
    (tmp_path / "extra.py").write_text("print(1)")
    without = read(put(tmp_path))
    program = 'programs = ["extra.py"]\n'
    assert read(put(tmp_path, program + TOML)).hash != without.hash
    (tmp_path / "extra.py").write_text("print(2)")
    assert read(put(tmp_path, "programs = []\n" + TOML)).hash == without.hash


def test_hash_follows_files_and_stays_without(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("one")
    without = read(put(tmp_path))
    toml = TOML + '[files]\n"/srv/page.html" = "page.html"\n'
    first = read(put(tmp_path, toml))
    assert first.files == {"/srv/page.html": "one"}
    (tmp_path / "page.html").write_text("two")
    assert len({without.hash, first.hash, read(put(tmp_path, toml)).hash}) == 3
    assert read(put(tmp_path, TOML + "[files]\n")).hash == without.hash


def test_hash_stays_if_an_image_is_only_built_by_name(tmp_path: Path) -> None:
    alone = read(put(tmp_path, "only_by_name = true\n" + TOML))
    assert (alone.only_by_name, alone.hash) == (True, read(put(tmp_path)).hash)
