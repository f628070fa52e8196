"""Images: the inputs of a definition's hash, the host's settings in a build, and its output."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from deploy import images
from deploy.images import DEFINITIONS, Build
from deploy.images_definition import (
    Definition,
    DefinitionError,
    PipStep,
    load,
    local_paths,
    pip_environment,
    read,
)
from deploy.images_programs import BuildError, Programs
from spawner.containers.image_packages import beside
from tests.needs import needs_root
from tests.polling import wait_until

TOML = """
title = "Mine"
suites = ["bookworm"]
packages = ["python3"]
[pip]
python = "python3"
lock = "mine.lock"
[check]
command = ["true"]
"""
LOCK = "numpy==2.4.6 --hash=sha256:00\n"
PIN = re.compile(r"[A-Za-z0-9._-]+(\[[a-z,]+\])?==[^ ]+( ; .*)? \\")
HASH = re.compile(r" +--hash=sha256:[0-9a-f]{64}( \\)?")


def put(folder: Path, toml: str = TOML, lock: str = LOCK) -> Path:
    (folder / "mine.lock").write_text(lock)
    path = folder / "mine.toml"
    path.write_text(toml)
    return path


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


DEFINITION = Definition("mine", "Mine", ("bookworm",), ())


class FakeBuild(Build):
    """A build with one file as its Debian, and that file as its image."""

    fail = False

    def _install_debian(self) -> None:
        for name in ("etc/apt", "tmp", "var/tmp", "root", "var/log", "var/cache/apt"):
            (self.rootfs / name).mkdir(parents=True)
        (self.rootfs / "var/lib/apt/lists").mkdir(parents=True)
        (self.rootfs / "etc/apt/sources.list").write_text("deb http://mirror.test/debian x main")
        (self.rootfs / "etc/resolv.conf").write_text("nameserver 192.0.2.1")
        (self.rootfs / "var/log/dpkg.log").write_text("x")
        if self.fail:
            raise BuildError("no space left")

    def _list_packages(self, image: Path, final: Path) -> None:
        beside(final).write_text("{}")

    def _pack(self) -> Path:
        left = [str(p.relative_to(self.rootfs)) for p in self.rootfs.rglob("*") if p.is_file()]
        image = self.work / "image.sif"
        image.write_text("\n".join(sorted(left)))
        return image


@pytest.fixture(autouse=True)
def _fuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "fuse_works", lambda: True)


@pytest.fixture
def build(tmp_path: Path) -> FakeBuild:
    return FakeBuild(DEFINITION, tmp_path, Programs())


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_finished_image_lies_under_both_names(build: FakeBuild, tmp_path: Path) -> None:
    build.run()
    final = tmp_path / DEFINITION.file_name
    assert (tmp_path / "mine.sif").readlink() == Path(final.name)
    assert final.read_text() == "etc/hostname\netc/resolv.conf"
    own = {final.name, f"{final.name}.packages.json"}
    assert names(tmp_path) == {*own, "mine.sif", "mine.log", ".mine.lock"}


def test_without_fuse_the_image_is_a_folder(build: FakeBuild, tmp_path: Path) -> None:
    build.fuse = False
    build.run()
    final = tmp_path / DEFINITION.file_name
    assert (final / "etc/resolv.conf").read_bytes() == b""
    assert not (final / "etc/apt/sources.list").exists()
    assert (tmp_path / "mine.sif").resolve() == final


def test_what_is_built_is_left_alone(
    build: FakeBuild, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / DEFINITION.file_name).write_text("earlier")
    build.run()
    assert (tmp_path / "mine.sif").read_text() == "earlier"
    assert "already exists" in capsys.readouterr().out


def test_a_failed_build_leaves_the_old_image(build: FakeBuild, tmp_path: Path) -> None:
    (tmp_path / "mine-0123.sif").write_text("old")
    (tmp_path / "mine.sif").symlink_to("mine-0123.sif")
    build.fail = True
    with pytest.raises(BuildError, match="no space left"):
        build.run()
    assert (tmp_path / "mine.sif").read_text() == "old"
    assert not (tmp_path / DEFINITION.file_name).exists()
    assert not build.work.exists()


def test_what_an_interrupted_build_left_is_removed(build: FakeBuild) -> None:
    (build.rootfs / "half").mkdir(parents=True)
    build.run()
    assert not build.work.exists()
    assert "half" not in (build.out / DEFINITION.file_name).read_text()


def test_a_new_definition_moves_the_link(build: FakeBuild, tmp_path: Path) -> None:
    build.run()
    newer = Definition("mine", "Mine", ("trixie",), ())
    FakeBuild(newer, tmp_path, Programs()).run()
    assert (tmp_path / "mine.sif").readlink() == Path(newer.file_name)
    assert (tmp_path / DEFINITION.file_name).exists()


class PipBuild(FakeBuild):
    """A build in which pip finds no torch==1+cpu; it records the installed locks."""

    trouble = "No matching distribution found for torch==1+cpu"

    def _run_inside(
        self, words: Sequence[str], settings: Mapping[str, str], binds: Sequence[str] = ()
    ) -> None:
        if "-r" in words:
            lock = (self.rootfs / "tmp/lock.txt").read_text()
            if "+cpu" in lock:
                raise BuildError(self.trouble)
            (self.out / "installed").write_text(lock)


CPU = PipStep("python3", "torch==1+cpu --hash=sha256:00", "torch==1 --hash=sha256:11")


def test_another_lock_stands_in_for_what_cannot_be_had(tmp_path: Path) -> None:
    PipBuild(Definition("mine", "Mine", ("bookworm",), (), (CPU,)), tmp_path, Programs()).run()
    assert (tmp_path / "installed").read_text() == CPU.otherwise


@pytest.mark.parametrize(
    ("step", "trouble"),
    [(CPU, "Connection broken"), (PipStep("python3", CPU.lock), PipBuild.trouble)],
)
def test_other_trouble_of_pip_is_no_reason_for_it(
    tmp_path: Path, step: PipStep, trouble: str
) -> None:
    broken = PipBuild(Definition("mine", "Mine", ("bookworm",), (), (step,)), tmp_path, Programs())
    broken.trouble = trouble
    with pytest.raises(BuildError, match=re.escape(trouble)):
        broken.run()
    assert not (tmp_path / "mine.sif").exists()


def test_links_are_made_in_the_image(tmp_path: Path) -> None:
    links = {"/var/libold.so.1": "libnew.so.4"}
    build = FakeBuild(
        Definition("mine", "Mine", ("bookworm",), (), (), links), tmp_path, Programs()
    )
    seen: list[str] = []
    build._remove_traces = lambda: seen.append(  # type: ignore[method-assign]
        str((build.rootfs / "var/libold.so.1").readlink())
    )
    build.run()
    assert seen == ["libnew.so.4"]


class ProgramBuild(FakeBuild):
    """A build that records the programs it ran, and their order."""

    def _run_inside(
        self, words: Sequence[str], settings: Mapping[str, str], binds: Sequence[str] = ()
    ) -> None:
        self.ran = (list(words), (self.rootfs / "tmp/program.py").read_text())


def test_build_with_programs_runs_them_in_the_image(tmp_path: Path) -> None:
    text = "print('made')"
    definition = Definition("mine", "Mine", ("bookworm",), (), programs=(text,))
    build = ProgramBuild(definition, tmp_path, Programs())
    build.run()
    assert build.ran == (["python3", "-I", "/tmp/program.py"], text)
    assert "program.py" not in (tmp_path / "mine.sif").read_text()


def test_hash_follows_programs_and_stays_without(tmp_path: Path) -> None:
    (tmp_path / "extra.py").write_text("print(1)")
    without = read(put(tmp_path))
    program = 'programs = ["extra.py"]\n'
    assert read(put(tmp_path, program + TOML)).hash != without.hash
    (tmp_path / "extra.py").write_text("print(2)")
    assert read(put(tmp_path, "programs = []\n" + TOML)).hash == without.hash


def test_two_builds_of_one_image_take_turns(tmp_path: Path) -> None:
    builds = [FakeBuild(DEFINITION, tmp_path, Programs()) for _ in range(2)]
    threads = [threading.Thread(target=build.run) for build in builds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (tmp_path / "mine.sif").exists()
    assert not builds[0].work.exists()


def test_mount_points_of_the_host_s_paths_leave_no_trace(tmp_path: Path) -> None:
    host, rootfs = tmp_path / "host", tmp_path / "rootfs"
    for folder in (host / "wheels", rootfs / "etc"):
        folder.mkdir(parents=True)
    (host / "ca.pem").write_text("x")
    binds = [str(host / "wheels"), str(host / "ca.pem")]
    with images._mount_points(rootfs, binds):
        assert all((rootfs / name.lstrip("/")).exists() for name in binds)
    assert names(rootfs) == {"etc"}


def test_a_missing_program_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert images.main(["build", "--out", str(tmp_path / "out")]) == 1
    assert "mmdebstrap" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_list_shows_which_images_are_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path)
    arguments = ["list", "--definitions", str(tmp_path), "--out", str(tmp_path)]
    assert images.main(arguments) == 0
    assert capsys.readouterr().out.startswith("mine\tmissing\tmine-")
    (tmp_path / read(tmp_path / "mine.toml").file_name).write_text("")
    images.main(arguments)
    assert capsys.readouterr().out.startswith("mine\tbuilt\t")


@needs_root("it creates namespaces")
def test_stopping_ends_what_runs_and_all_below_it(tmp_path: Path) -> None:
    """A grandchild that ignores signals, in a session of its own, ends with its namespace."""
    programs = Programs()
    mark = f"portal-test-{os.getpid()}"
    program = "trap '' TERM INT HUP; setsid sh -c 'exec -a \"$0\" sleep 300' \"$0\" & wait"
    failed: list[BaseException] = []

    def run() -> None:
        try:
            programs.run(
                ["bash", "-c", program.replace("sh -c", "bash -c"), mark], log, {}, tmp_path
            )
        except BuildError as error:
            failed.append(error)

    log = tmp_path / "log"
    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: sleeping(mark))
    programs.stop()
    thread.join(30)
    assert str(failed[0]) == "interrupted"
    wait_until(lambda: not sleeping(mark))
    with pytest.raises(BuildError, match="interrupted"):
        programs.run(["true"], log, {}, tmp_path)


@needs_root("it creates namespaces")
def test_a_failing_program_is_named_with_the_end_of_its_log(tmp_path: Path) -> None:
    words = ["sh", "-c", "echo no such package >&2; exit 3"]
    with pytest.raises(BuildError, match=r"(?s)sh failed \(3\).*no such package"):
        Programs().run(words, tmp_path / "log", {"PATH": "/usr/bin:/bin"}, tmp_path)


def sleeping(mark: str) -> bool:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if command.split(b"\0")[0] == mark.encode():
            return True
    return False
