"""The build of an image: its output, what remains of a failed one, and pip's substitutes."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from deploy.images import builder
from deploy.images.builder import Build
from deploy.images.definition import Definition, PipStep
from deploy.images.programs import BuildError, Programs
from spawner.containers.image_packages import package_list_path

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
        package_list_path(final).write_text("{}")

    def _pack(self) -> Path:
        left = [str(p.relative_to(self.rootfs)) for p in self.rootfs.rglob("*") if p.is_file()]
        image = self.work / "image.sif"
        image.write_text("\n".join(sorted(left)))
        return image


@pytest.fixture(autouse=True)
def _fuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "fuse_works", lambda: True)


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


def test_files_are_written_to_the_image(tmp_path: Path) -> None:
    files = {"/usr/local/bin/start": "#!/bin/sh\n", "/srv/pages/index.html": "<html>"}
    build = FakeBuild(
        Definition("mine", "Mine", ("bookworm",), (), files=files), tmp_path, Programs()
    )
    build.fuse = False
    build.run()
    image = tmp_path / build.definition.file_name
    found = [image / path.lstrip("/") for path in files]
    assert [path.read_text() for path in found] == list(files.values())
    assert [path.stat().st_mode & 0o777 for path in found] == [0o755, 0o644]


def test_a_file_does_not_leave_the_image_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()

    class LinkBuild(FakeBuild):
        """A build whose Debian has a link to a folder of the machine, as /var/run is one."""

        def _install_debian(self) -> None:
            super()._install_debian()
            (self.rootfs / "var/run").symlink_to(outside)

    for where in ("/var/run/file", "/../../file"):
        definition = Definition("mine", "Mine", ("bookworm",), (), files={where: "x"})
        with pytest.raises(BuildError, match=f"{where} is not in the image"):
            LinkBuild(definition, tmp_path, Programs()).run()
    assert list(outside.iterdir()) == []


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
    with builder._mount_points(rootfs, binds):
        assert all((rootfs / name.lstrip("/")).exists() for name in binds)
    assert names(rootfs) == {"etc"}
