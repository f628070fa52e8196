"""The build of one image: Debian, pip, programs, then packing and a test.

A build works in a folder of its own and moves the finished and tested image into place. The next
build removes the remains of an interrupted one. Each program runs in its own namespaces, which end
with this process, so no mount and no process outlives it. Standard library only.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from deploy.apptainer import parse_os_release
from deploy.apptainer_sources import for_suites, read_sources
from deploy.images.definition import Definition, PipStep, local_paths
from deploy.images.host_settings import apt_settings, host_pip_settings
from deploy.images.programs import BuildError, Programs
from spawner.containers.image_packages import LISTING, package_list_path, parse_listing
from spawner.containers.runtimes import SYSTEM_PATH

_STARTED = time.monotonic()
_LEFT_OUT = ("doc", "info", "locale", "man")
_NO_TRACE = ("etc/resolv.conf", "etc/hostname")
# Bytecode that is never checked against its source: kernels start in half the time. (Python 2 does
# not support this and gets its normal bytecode.)
_COMPILE = """
import compileall, py_compile, sys
how = {"maxlevels": 40, "quiet": 2, "force": True}
if sys.version_info >= (3, 7):
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    how.update(workers=0, invalidation_mode=mode)
for folder in filter(None, sys.path):
    compileall.compile_dir(folder, **how)
"""
# pip's message when the machine's package sources lack a file that a lock names
_ABSENT = "No matching distribution found"


class Build:
    """One image being built into `out`."""

    def __init__(self, definition: Definition, out: Path, programs: Programs) -> None:
        self.definition = definition
        self.out = out
        self.work = out / f".build-{definition.name}"
        self.rootfs = self.work / "rootfs"
        self.log = out / f"{definition.name}.log"
        self.programs = programs
        self.fuse = fuse_works()

    def run(self) -> None:
        """Make NAME.sif the image of the definition. Raises BuildError."""
        final = self.out / self.definition.file_name
        with _locked(self.out / f".{self.definition.name}.lock", self.log_progress):
            if final.exists():
                if not package_list_path(final).exists():  # built by an older version
                    self._list_packages(final, final)
                self.log_progress("already exists")
            else:
                started = time.monotonic()
                self._build(final)
                self.log_progress(
                    f"built in {time.monotonic() - started:.0f} s, {_format_size(final)}"
                )
            _link(self.out / f"{self.definition.name}.sif", final.name)

    def log_progress(self, text: str) -> None:
        elapsed = time.monotonic() - _STARTED
        print(f"[{elapsed:5.1f} s] image {self.definition.name}: {text}", flush=True)

    def _build(self, final: Path) -> None:
        self._clean()
        self.work.mkdir(mode=0o700)
        self.log.write_bytes(b"")
        try:
            self.log_progress(f"installing Debian {self.definition.suites[0]}")
            self._install_debian()
            for number, step in enumerate(self.definition.pip, 1):
                self.log_progress(
                    f"installing Python packages ({number} of {len(self.definition.pip)})"
                )
                self._install_pip_step(step)
            for program in self.definition.programs:
                self._run_program(program)
            for target, text in self.definition.files.items():
                _write_file(self._place(target), text)
            for python in dict.fromkeys(step.python for step in self.definition.pip):
                self.log_progress(f"compiling Python packages of {python}")
                environments = [step.env for step in self.definition.pip if step.python == python]
                self._run_inside(
                    [python, "-c", _COMPILE], {k: v for env in environments for k, v in env.items()}
                )
            for link, target in self.definition.links.items():
                self._place(link).symlink_to(target)
            self._remove_traces()
            self.log_progress("packing")
            image = self._pack() if self.fuse else self.rootfs
            self.log_progress("testing the image")
            self._test(image)
            self._list_packages(image, final)
            if self.fuse:
                _sync_to_disk(image)
            image.rename(final)
        finally:
            self._clean()

    def _install_debian(self) -> None:
        facts = parse_os_release(Path("/etc/os-release").read_text(encoding="utf-8"))
        try:
            codename = facts.get("VERSION_CODENAME", "")
            sources = for_suites(read_sources(), codename, self.definition.suites)
        except ValueError as error:
            raise BuildError(str(error)) from error
        listing = self.work / "debian.sources"
        listing.write_text("\n".join(s.deb822() for s in sources), encoding="utf-8")
        options = self.work / "apt.conf"
        options.write_text('APT::Install-Recommends "false";\n' + apt_settings(), encoding="utf-8")
        argv = ["mmdebstrap", "--mode=root", "--variant=minbase", f"--aptopt={options}"]
        argv += [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _LEFT_OUT]
        argv += ["--dpkgopt=path-include=/usr/share/doc/*/copyright"]
        argv += [f"--include={','.join(self.definition.packages)}"]
        self._run([*argv, self.definition.suites[0], str(self.rootfs), str(listing)])

    def _install_pip_step(self, step: PipStep) -> None:
        try:
            self._run_pip(step, step.lock)
        except BuildError as error:
            if step.otherwise is None or _ABSENT not in str(error):
                raise
            self.log_progress("some packages are not available here; installing their substitutes")
            self._run_pip(step, step.otherwise)

    def _run_pip(self, step: PipStep, lock: str) -> None:
        settings = host_pip_settings()
        binds = [path for path in local_paths(settings.values()) if Path(path).exists()]
        settings |= {
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_BREAK_SYSTEM_PACKAGES": "1",
            "PIP_NO_CACHE_DIR": "1",
            "PIP_NO_COMPILE": "1",
            "PIP_ROOT_USER_ACTION": "ignore",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            **step.env,
        }
        (self.rootfs / "tmp/lock.txt").write_text(lock, encoding="utf-8")
        pip = [step.python, "-m", "pip", "install", "--require-hashes", *step.options]
        with _mount_points(self.rootfs, binds):
            self._run_inside([*pip, "-r", "/tmp/lock.txt"], settings, binds)  # noqa: S108

    def _run_program(self, text: str) -> None:
        """Run a program of the definition with the image's Python."""
        (self.rootfs / "tmp/program.py").write_text(text, encoding="utf-8")
        self._run_inside(["python3", "-I", "/tmp/program.py"], {})  # noqa: S108 - inside the image

    def _run_inside(
        self, argv: Sequence[str], settings: Mapping[str, str], binds: Sequence[str] = ()
    ) -> None:
        """Run a program in the folder that becomes the image."""
        bound = [word for path in binds for word in ("--bind", f"{path}:{path}:ro")]
        apart = ["--no-privs", "--writable", "--no-mount", "home,cwd,tmp", "--pwd", "/"]
        command = ["apptainer", "-q", "exec", *apart, *bound, str(self.rootfs), *argv]
        self._run(command, settings)

    def _place(self, path: str) -> Path:
        """Return where a path of the image is now, in a folder that exists. Raises BuildError."""
        place = self.rootfs / path.lstrip("/")
        # an absolute link in the image, such as /var/run, would lead to this machine's folder
        if not place.parent.resolve().is_relative_to(self.rootfs.resolve()):
            raise BuildError(f"{path} is not in the image: name it without links")
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def _remove_traces(self) -> None:
        """Remove all traces of this machine: mirrors, name servers, caches and logs."""
        for name in _NO_TRACE:
            (self.rootfs / name).write_bytes(b"")
        apt = self.rootfs / "etc/apt"
        for path in [*apt.glob("sources.list*"), apt / "apt.conf.d/99mmdebstrap"]:
            _remove(path)
        for name in ("tmp", "var/tmp", "root", "var/log", "var/cache/apt", "var/lib/apt/lists"):
            for path in (self.rootfs / name).iterdir():
                _remove(path)

    def _pack(self) -> Path:
        zstd = "-all-root -comp zstd -Xcompression-level 3"
        # with a relative name, because the image records it
        self._run(
            ["apptainer", "-q", "build", "-F", "--mksquashfs-args", zstd, "image.sif", "rootfs"]
        )
        return self.work / "image.sif"

    def _test(self, image: Path) -> None:
        if self.definition.check:
            options = ["--no-privs", "--no-mount", "home,cwd", "--pwd", "/"]
            self._run(["apptainer", "-q", "exec", *options, str(image), *self.definition.check])

    def _list_packages(self, image: Path, final: Path) -> None:
        """Write the list of the image's packages, which the portal shows."""
        options = ["--no-privs", "--no-mount", "home,cwd", "--pwd", "/"]
        argv = ["apptainer", "-q", "exec", *options, str(image), "/bin/sh", "-c", LISTING]
        listed = self.programs.output(argv, self.log, self._make_environment(), self.out)
        fresh = package_list_path(final).with_suffix(".new")
        fresh.write_text(json.dumps(parse_listing(listed), indent=0), encoding="utf-8")
        fresh.replace(package_list_path(final))

    def _run(self, argv: Sequence[str], settings: Mapping[str, str] | None = None) -> None:
        self.programs.run(
            argv, self.log, {**self._make_environment(), **(settings or {})}, self.work
        )

    @staticmethod
    def _make_environment() -> dict[str, str]:
        proxies = {k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")}
        base = {"PATH": SYSTEM_PATH, "HOME": "/root", "LC_ALL": "C.UTF-8", "TMPDIR": "/tmp"}  # noqa: S108
        return {**base, **proxies}

    def _clean(self) -> None:
        if self.work.exists():
            mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
            if f" {self.work}/" in mounts:
                raise BuildError(f"there is a mount under {self.work}: unmount it first")
            shutil.rmtree(self.work)


@contextlib.contextmanager
def _locked(path: Path, log_progress: Callable[[str], None]) -> Iterator[None]:
    """Hold the file's lock, waiting for another build of the same image."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log_progress("waiting for another build of this image")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _mount_points(rootfs: Path, binds: Sequence[str]) -> Iterator[None]:
    """Create mount points for the host's paths in a writable folder, and remove them afterwards."""
    created: list[Path] = []
    try:
        for name in binds:
            target = rootfs / name.lstrip("/")
            missing = [p for p in [*reversed(target.parents), target] if not p.exists()]
            for path in missing:
                if path == target and Path(name).is_file():
                    path.touch()
                else:
                    path.mkdir()
                created.append(path)
        yield
    finally:
        for path in reversed(created):
            _remove(path)


def _write_file(place: Path, text: str) -> None:
    """Write a file for all users; a program is recognized by its first line."""
    place.write_text(text, encoding="utf-8")
    place.chmod(0o755 if text.startswith("#!") else 0o644)


def fuse_works() -> bool:
    """Return whether FUSE's device can be opened; otherwise image files cannot be mounted."""
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _sync_to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _format_size(image: Path) -> str:
    return "a folder" if image.is_dir() else f"{image.stat().st_size / 1e6:.0f} MB"


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _link(link: Path, target: str) -> None:
    """Point `link` to `target` atomically: a reader finds either the old image or the new one."""
    if link.is_symlink() and str(link.readlink()) == target:
        return
    fresh = link.with_name(f".{link.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(link)
